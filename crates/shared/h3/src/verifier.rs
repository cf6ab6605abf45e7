//! A verifier of certificates that counts.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// Counts the certificate chains that another verifier is given. A handshake that verifies none has resumed a session
/// (RFC 8446 section 2.2: the pre-shared key authenticates the server). quinn offers no other way to find out.
#[derive(Debug)]
pub struct CountingVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    verified: AtomicU64,
    refused: AtomicU64,
}

impl CountingVerifier {
    /// Wraps a verifier.
    pub fn new(inner: Arc<dyn ServerCertVerifier>) -> Self {
        Self {
            inner,
            verified: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the number of chains verified so far, accepted or not.
    pub fn chains_verified(&self) -> u64 {
        self.verified.load(Ordering::Relaxed)
    }

    /// Returns the number of chains and of signatures by their keys that were refused so far.
    pub fn refusals(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn count<T>(&self, checked: Result<T, Error>) -> Result<T, Error> {
        checked.inspect_err(|_| {
            self.refused.fetch_add(1, Ordering::Relaxed);
        })
    }
}

impl ServerCertVerifier for CountingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verified.fetch_add(1, Ordering::Relaxed);
        let inner = &self.inner;
        self.count(inner.verify_server_cert(end_entity, intermediates, name, ocsp, now))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let inner = &self.inner;
        self.count(inner.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let inner = &self.inner;
        self.count(inner.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
