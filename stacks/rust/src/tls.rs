//! TLS by the lab's rules: one authority, one optional client key, tickets on command.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use driver::protocol::Setup;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::Refused;

/// Library and version, for `hello`.
pub const VERSION: &str = concat!("rustls ", env!("RUSTLS_VERSION"), " (ring)");

/// Origins whose tickets are kept; rustls' own default (`Resumption::default`).
const SESSIONS: usize = 256;

/// The client's side of every handshake. Clones share tickets and witness.
#[derive(Clone)]
pub struct Tls {
    config: Arc<Mutex<ClientConfig>>,
    witness: Arc<Witness>,
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
        let witness = Arc::new(Witness {
            verifier: WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
                .build()
                .map_err(|error| unreadable(&setup.ca_file, &error))?,
            chains: AtomicU64::new(0),
        });
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Refused::Failed(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&witness) as _);
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
            config: Arc::new(Mutex::new(config)),
            witness,
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

    /// How many servers' chains were verified. A handshake over which it does not grow has
    /// resumed a session (RFC 8446 section 2.2: the key vouches for the server); quinn has
    /// no other way to say so.
    pub fn chains_verified(&self) -> u64 {
        self.witness.chains.load(Ordering::Relaxed)
    }

    /// Throws every ticket away.
    pub fn forget(&self) {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
    }
}

/// rustls' own verifier, and how often it was asked.
#[derive(Debug)]
struct Witness {
    verifier: Arc<WebPkiServerVerifier>,
    chains: AtomicU64,
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.chains.fetch_add(1, Ordering::Relaxed);
        self.verifier
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
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
