//! rustls as this server wants it: one configuration for a port over TCP, one over QUIC.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::{
    NoServerSessionStorage, ServerSessionMemoryCache, StoresServerSessions, WebPkiClientVerifier,
};
use rustls::{RootCertStore, ServerConfig};

use crate::credentials::Credentials;

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// rustls refuses the certificate or the key.
    #[error("rustls refuses the certificate made for it: {0}")]
    Rustls(#[from] rustls::Error),
    /// The client verifier refuses the root.
    #[error("rustls refuses the root made for it: {0}")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// No cipher suite for QUIC's Initial packets.
    #[error("rustls was built without the cipher suite that QUIC's first packets need")]
    Quic(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
}

/// What differs between the configurations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) client_certificates: bool,
    pub(crate) resumption: bool,
    pub(crate) early_data: bool,
    pub(crate) reject_tickets: bool,
}

/// TLS 1.3 and 1.2, HTTP/2 and HTTP/1.1.
pub(crate) fn tcp(credentials: &Credentials, options: Options) -> Result<ServerConfig, TlsError> {
    let versions = &[&rustls::version::TLS13, &rustls::version::TLS12];
    let mut config = config(credentials, versions, options)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// TLS 1.3 (RFC 9001 section 4.2), HTTP/3.
pub(crate) fn quic(credentials: &Credentials, options: Options) -> Result<ServerConfig, TlsError> {
    let mut config = config(credentials, &[&rustls::version::TLS13], options)?;
    config.alpn_protocols = vec![b"h3".to_vec()];
    if options.early_data && options.resumption {
        // RFC 9001 section 4.6.1 knows no other value; the limit is flow control.
        config.max_early_data_size = u32::MAX;
    }
    Ok(config)
}

fn config(
    credentials: &Credentials,
    versions: &[&'static rustls::SupportedProtocolVersion],
    options: Options,
) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions)?;
    let builder = if options.client_certificates {
        let mut roots = RootCertStore::empty();
        roots.add(credentials.root.clone())?;
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let mut config =
        builder.with_single_cert(credentials.chain.clone(), credentials.key.clone_key())?;
    if options.reject_tickets {
        config.session_storage = Arc::new(RejectTickets);
    } else if options.resumption {
        // Stateful: a ticket works once, in this process only, and rustls takes early data
        // with no other kind. There are no ticket keys that could outlive a run.
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

/// Takes every session and gives none back.
#[derive(Debug)]
struct RejectTickets;

impl StoresServerSessions for RejectTickets {
    fn put(&self, _: Vec<u8>, _: Vec<u8>) -> bool {
        true
    }

    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn can_cache(&self) -> bool {
        true
    }
}

/// Sessions remembered per port and transport. rustls hands out two tickets a handshake,
/// so this many serve 8,000 connections before the oldest is forgotten.
const SESSIONS: usize = 16_384;
