//! TLS as the protocol demands: one authority, an optional client key, tickets under control.

use std::sync::{Arc, Mutex, PoisonError};

use driver::protocol::Setup;
use h3_quic::CountingVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::stack_error::StackError;

/// TLS library and version, for `hello`.
pub const VERSION: &str = concat!("rustls ", env!("RUSTLS_VERSION"), " (ring)");

/// Number of sessions whose tickets are kept; rustls' own default (`Resumption::default`).
const SESSIONS: usize = 256;

/// The client's side of every handshake. Clones share the tickets and the verifier.
#[derive(Clone)]
pub struct Tls {
    config: Arc<Mutex<ClientConfig>>,
    verifier: Arc<CountingVerifier>,
}

impl Tls {
    /// Reads the files of `setup`. Offers only `alpn`, so that no other protocol can be
    /// negotiated.
    pub fn new(setup: &Setup, alpn: &[u8]) -> Result<Self, StackError> {
        let mut roots = RootCertStore::empty();
        for authority in read_certificates(&setup.ca_file)? {
            roots
                .add(authority)
                .map_err(|error| file_error(&setup.ca_file, &error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let web_pki = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
            .build()
            .map_err(|error| file_error(&setup.ca_file, &error))?;
        let verifier = Arc::new(CountingVerifier::new(web_pki));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| StackError::Failed(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as _);
        let mut config = match (&setup.client_cert_file, &setup.client_key_file) {
            (None, None) => builder.with_no_client_auth(),
            (Some(chain), Some(file)) => {
                let key = PrivateKeyDer::from_pem_file(file).map_err(|e| file_error(file, &e))?;
                builder
                    .with_client_auth_cert(read_certificates(chain)?, key)
                    .map_err(|error| file_error(chain, &error))?
            }
            _ => {
                let reason = "client_cert_file and client_key_file must be given together";
                return Err(StackError::Failed(reason.into()));
            }
        };
        config.alpn_protocols = vec![alpn.to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(Self {
            config: Arc::new(Mutex::new(config)),
            verifier,
        })
    }

    /// Returns the configuration of one handshake. All configurations share the tickets.
    pub fn config(&self, early_data: bool) -> ClientConfig {
        let mut config = self
            .config
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        config.enable_early_data = early_data;
        config
    }

    /// Returns the number of certificate chains verified so far; see [`CountingVerifier`].
    pub fn chains_verified(&self) -> u64 {
        self.verifier.chains_verified()
    }

    /// Discards all session tickets.
    pub fn discard_tickets(&self) {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
    }
}

fn read_certificates(file: &str) -> Result<Vec<CertificateDer<'static>>, StackError> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| file_error(file, &error))
}

fn file_error(file: &str, error: &dyn std::fmt::Display) -> StackError {
    StackError::Failed(format!("{file}: {error}"))
}
