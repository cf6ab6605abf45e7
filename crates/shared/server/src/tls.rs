//! The TLS configurations of a port: one for TCP, one for QUIC.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::{
    NoServerSessionStorage, ServerSessionMemoryCache, StoresServerSessions, WebPkiClientVerifier,
};
use rustls::{RootCertStore, ServerConfig};

use crate::credentials::Credentials;

/// Sessions remembered per port and transport. rustls issues two tickets per handshake, so this
/// serves 8,000 connections before the oldest is forgotten.
const SESSIONS: usize = 16_384;

/// TLS could not be configured.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// rustls rejected the certificate or the key.
    #[error("rustls rejected the generated certificate: {0}")]
    Rustls(#[from] rustls::Error),
    /// The client verifier rejected the root.
    #[error("rustls rejected the generated root: {0}")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// rustls has no cipher suite for QUIC's Initial packets.
    #[error("rustls was built without the cipher suite that QUIC's Initial packets need")]
    Quic(#[from] quinn::crypto::rustls::NoInitialCipherSuite),
}

/// The options that differ between configurations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) client_certificates: bool,
    pub(crate) resumption: bool,
    pub(crate) early_data: bool,
    pub(crate) reject_tickets: bool,
}

/// Returns the configuration for TCP: TLS 1.3 and 1.2, HTTP/2 and HTTP/1.1.
pub(crate) fn tcp(credentials: &Credentials, options: Options) -> Result<ServerConfig, TlsError> {
    let versions = &[&rustls::version::TLS13, &rustls::version::TLS12];
    let mut config = config(credentials, versions, options)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns the configuration for QUIC: TLS 1.3 (RFC 9001 section 4.2), HTTP/3.
pub(crate) fn quic(credentials: &Credentials, options: Options) -> Result<ServerConfig, TlsError> {
    let mut config = config(credentials, &[&rustls::version::TLS13], options)?;
    config.alpn_protocols = vec![b"h3".to_vec()];
    if options.early_data && options.resumption {
        // RFC 9001 section 4.6.1 allows no other value; flow control limits early data.
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
        // Stateful: a ticket works once and only in this process, no ticket key outlives a run,
        // and rustls accepts early data with stateful tickets only.
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

/// Stores no session but claims to, so that tickets are issued and then rejected.
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
