//! A private key: read from its file, and used to sign.
//!
//! Nothing of a key shows in an error or in `Debug`. A key that could not be verified by a receiver is refused here.

use crate::domain::fault::{Fault, Kind, words_of};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use sha2::{Digest, Sha256};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest file that is read, in bytes: an RSA key of 4,096 bits has 3,300.
const LONGEST: u64 = 64 * 1024;

/// A key that can sign.
pub(super) enum Key {
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Key {
    /// Reads the key of `domain` from the PEM file `path`.
    pub(super) fn read(domain: &str, path: &Path) -> Result<Key, Fault> {
        let shown = path.display();
        let fail = |why: &str| {
            Fault::new(Kind::Config, format!("dkim {domain}: the key file {shown} {why}"))
        };
        let pem = load(path).map_err(|error| {
            fail(&format!("cannot be read: {}", words_of(&error)))
                .hint("the user who runs send-batch must be able to read it, and nobody else")
        })?;
        Key::parse(&pem).map_err(|(why, hint)| fail(why).hint(hint))
    }

    /// The key in `pem`, or what is wrong with it and what to do.
    pub(super) fn parse(pem: &[u8]) -> Result<Key, (&'static str, &'static str)> {
        const MAKE: &str = "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 makes one";
        let is_encrypted = pem.windows(10).any(|ten| ten == b"ENCRYPTED ");
        if is_encrypted {
            let hint = "openssl pkey -in FILE -out NEW writes it without its passphrase";
            return Err(("is encrypted with a passphrase", hint));
        }
        let parsed = match PrivateKeyDer::from_pem_slice(pem) {
            Ok(PrivateKeyDer::Pkcs1(der)) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            Ok(PrivateKeyDer::Pkcs8(der)) => {
                let der = der.secret_pkcs8_der();
                // Without the public half, as openssl writes it, there is nothing to compare.
                if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
                    return Ok(Key::Ed25519(pair));
                }
                RsaKeyPair::from_pkcs8(der)
            }
            Ok(_) => return Err(("is for neither RSA nor Ed25519", MAKE)),
            Err(_) => return Err(("holds no private key in PEM (PKCS#8 or PKCS#1)", MAKE)),
        };
        let pair = parsed.map_err(|rejected| match rejected.to_string().as_str() {
            "TooSmall" => ("has an RSA key of less than 2048 bits", MAKE),
            "TooLarge" => ("has an RSA key of more than 4096 bits", MAKE),
            "WrongAlgorithm" => ("is for neither RSA nor Ed25519", MAKE),
            _ => ("holds a key that is damaged", MAKE),
        })?;
        Ok(Key::Rsa(pair))
    }

    /// The word for `a=`.
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Key::Rsa(_) => "rsa-sha256",
            Key::Ed25519(_) => "ed25519-sha256",
        }
    }

    /// The signature of `text`.
    pub(super) fn sign(&self, text: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Key::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                // The draw only blinds the arithmetic: the signature is the same whatever it is.
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature)
                    .map_err(|_| io::Error::other("the RSA key of its sender does not sign"))?;
                Ok(signature)
            }
            // RFC 8463, 3: it signs the digest, not the text.
            Key::Ed25519(pair) => Ok(pair.sign(&Sha256::digest(text)).as_ref().to_vec()),
        }
    }
}

fn load(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe in its place must not stop the run.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
