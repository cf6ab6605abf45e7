//! The certificate of all servers of a test.

use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;

/// A certificate for localhost, signed by itself, and its key.
pub struct Credentials(CertifiedKey<KeyPair>);

impl Credentials {
    /// Makes a certificate.
    ///
    /// # Panics
    ///
    /// Panics if the platform has no random numbers.
    pub fn new() -> Self {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        Self(own.expect("the name is valid"))
    }

    /// Returns the certificate as PEM, for clients to trust.
    pub fn pem(&self) -> String {
        self.0.cert.pem()
    }

    /// Returns a configuration of TLS that offers this protocol.
    pub(crate) fn tls(&self, alpn: &str) -> ServerConfig {
        let key = PrivatePkcs8KeyDer::from(self.0.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![self.0.cert.der().clone()], key.into())
            })
            .expect("the key belongs to the certificate");
        config.alpn_protocols = vec![alpn.into()];
        config
    }
}

impl Default for Credentials {
    fn default() -> Self {
        Self::new()
    }
}
