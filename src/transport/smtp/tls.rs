//! Whom a connection trusts: the TLS configurations of a run, made at most once each and only when needed.

use super::settings::Settings;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::{Arc, OnceLock};

type Made = Result<Arc<ClientConfig>, String>;

/// The two ways to look at a certificate. Loading the system's store takes some milliseconds, so it is done once.
#[derive(Default)]
pub(super) struct Clients {
    checking: OnceLock<Made>,
    blind: OnceLock<Made>,
}

/// The configuration that checks the server's certificate, or (`check` is false) only encrypts. The error is one line.
pub(super) fn client(settings: &Settings, check: bool) -> Made {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    if check {
        let make = || verifier(settings.ca_file.as_deref(), &provider).and_then(config(&provider));
        settings.clients.checking.get_or_init(make).clone()
    } else {
        let make = || config(&provider)(Arc::new(Blind(provider.clone())));
        settings.clients.blind.get_or_init(make).clone()
    }
}

fn config(
    provider: &Arc<CryptoProvider>,
) -> impl FnOnce(Arc<dyn ServerCertVerifier>) -> Made + use<> {
    let provider = provider.clone();
    move |verifier| {
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config =
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        Ok(Arc::new(config))
    }
}

fn verifier(
    ca_file: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    let mut named = Vec::new();
    match ca_file {
        Some(path) => {
            let wrong = |why: String| format!("ca_file {} cannot be used: {why}", path.display());
            for certificate in
                CertificateDer::pem_file_iter(path).map_err(|e| wrong(e.to_string()))?
            {
                let certificate = certificate.map_err(|e| wrong(e.to_string()))?;
                roots.add(certificate.clone()).map_err(|e| wrong(e.to_string()))?;
                named.push(certificate);
            }
            if named.is_empty() {
                return Err(wrong("it holds no certificate".to_owned()));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            // Stores hold odd certificates; each one that can be read is good on its own.
            let _ = roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let why = found.errors.first().map(ToString::to_string);
                return Err(format!(
                    "the system has no certificates to trust ({}); set ca_file",
                    why.unwrap_or_else(|| "none was found".to_owned())
                ));
            }
        }
    }
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(Checking { chain, named }))
}

/// Checks chain, dates and name. A certificate that `ca_file` itself holds is trusted as the server's own too, though
/// it is marked as that of an authority, as self-signed ones mostly are.
#[derive(Debug)]
struct Checking {
    chain: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Checking {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.chain.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        // The dates have been checked when this error is met: they come first.
        let only_marked = matches!(
            &verdict,
            Err(Error::InvalidCertificate(CertificateError::Other(other)))
                if other.0.to_string() == "CaUsedAsEndEntity"
        );
        if !only_marked {
            return verdict;
        }
        if !self.named.iter().any(|named| named == end_entity) {
            return Err(CertificateError::UnknownIssuer.into());
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// Asks nobody who the server is, as opportunistic encryption does; the handshake itself is checked.
#[derive(Debug)]
struct Blind(Arc<CryptoProvider>);

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
