//! Throw-away certificates for the test server.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// A self-signed certificate of a test's own.
pub struct Certificate {
    /// What a client trusts it by.
    pub pem: String,
    pub(super) server: Arc<ServerConfig>,
}

impl Certificate {
    /// For these names and addresses, changed by `shape` where it is to be a bad one.
    pub fn new(names: &[&str], shape: impl FnOnce(&mut rcgen::CertificateParams)) -> Self {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let mut params = rcgen::CertificateParams::new(names.clone()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("sink for {names:?}"));
        shape(&mut params);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let pem = certificate.pem();
        let chain = vec![CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        Certificate { pem, server: Arc::new(server) }
    }
}
