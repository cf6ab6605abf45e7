//! TLS by the lab's rules: one authority, one optional client key, tickets on command.

use std::sync::{Arc, Mutex, PoisonError};

use driver::protocol::Setup;
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::Refused;

/// Library and version, for `hello`.
pub const VERSION: &str = concat!("rustls ", env!("RUSTLS_VERSION"), " (ring)");

/// Origins whose tickets are kept; rustls' own default (`Resumption::default`).
const SESSIONS: usize = 256;

/// The client's side of every handshake.
pub struct Tls {
    config: Mutex<ClientConfig>,
}

impl Tls {
    /// Reads the files of `setup`; offers `alpn` and nothing else, so that what is spoken
    /// is what was asked for.
    pub fn new(setup: &Setup, alpn: &[u8]) -> Result<Self, Refused> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(&setup.ca_file)? {
            roots
                .add(authority)
                .map_err(|error| unreadable(&setup.ca_file, &error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Refused::Failed(error.to_string()))?
            .with_root_certificates(roots);
        let mut config = match (&setup.client_cert_file, &setup.client_key_file) {
            (None, None) => builder.with_no_client_auth(),
            (Some(chain), Some(file)) => {
                let key = PrivateKeyDer::from_pem_file(file).map_err(|e| unreadable(file, &e))?;
                builder
                    .with_client_auth_cert(certificates(chain)?, key)
                    .map_err(|error| unreadable(chain, &error))?
            }
            _ => {
                let reason = "client_cert_file and client_key_file come together";
                return Err(Refused::Failed(reason.into()));
            }
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(Self {
            config: Mutex::new(config),
        })
    }

    /// For one handshake. The tickets are shared by all.
    pub fn config(&self, early_data: bool) -> ClientConfig {
        let mut config = self
            .config
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        config.enable_early_data = early_data;
        config
    }

    /// Throws every ticket away.
    pub fn forget(&self) {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
    }
}

fn certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, Refused> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &str, error: &dyn std::fmt::Display) -> Refused {
    Refused::Failed(format!("{file}: {error}"))
}
