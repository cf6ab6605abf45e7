//! Whom the engine trusts, and who it is.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::engine::BuildError;

/// Whose certificates are accepted.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The authorities that Mozilla trusts.
    #[default]
    WebPki,
    /// These, as PEM.
    Roots(Vec<u8>),
}

/// The client's certificate chain and its key, as PEM.
#[derive(Clone)]
pub struct Identity {
    /// The chain, the client's own certificate first.
    pub chain_pem: Vec<u8>,
    /// Its key.
    pub key_pem: Vec<u8>,
}

/// TLS over TCP and within QUIC. Sessions are resumed within the process; tickets of one are not
/// used for the other.
#[derive(Clone)]
pub(crate) struct Tls {
    tcp: Arc<ClientConfig>,
    quic: Arc<ClientConfig>,
}

impl Tls {
    pub(crate) fn new(trust: &Trust, identity: Option<&Identity>) -> Result<Self, BuildError> {
        let mut roots = RootCertStore::empty();
        match trust {
            Trust::WebPki => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Trust::Roots(pem) => {
                for authority in certificates(pem)? {
                    roots.add(authority)?;
                }
            }
        }
        if roots.is_empty() {
            return Err(BuildError::NoRoots);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::from_pem_slice(&identity.key_pem)?;
                builder.with_client_auth_cert(certificates(&identity.chain_pem)?, key)?
            }
        };
        let of = |alpn: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
            config.resumption = rustls::client::Resumption::in_memory_sessions(256);
            Arc::new(config)
        };
        let (tcp, quic) = (of(&[b"h2", b"http/1.1"]), of(&[b"h3"]));
        Ok(Self { tcp, quic })
    }

    /// The same without any ticket.
    pub(crate) fn without_sessions(&self) -> Self {
        let fresh = |config: &ClientConfig| {
            let mut config = config.clone();
            config.resumption = rustls::client::Resumption::in_memory_sessions(256);
            Arc::new(config)
        };
        let (tcp, quic) = (fresh(&self.tcp), fresh(&self.quic));
        Self { tcp, quic }
    }

    pub(crate) fn tcp(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.tcp)
    }

    pub(crate) fn quic(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.quic)
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(..)")
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    Ok(CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?)
}
