//! TLS configuration: trust anchors and client identity.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use h3_quic::CountingVerifier;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::error::BuildError;

/// Whose certificates are accepted.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The authorities that Mozilla trusts.
    #[default]
    WebPki,
    /// These, as PEM.
    Roots(Vec<u8>),
    /// Those that the app accepts. That the server has the key is checked nevertheless.
    App(Arc<dyn CheckChain>),
}

/// An app's own check of servers' certificates, of their chain as well as their names. It is asked
/// in every handshake, with the chain of the session if one is resumed, and the engine's thread waits for it.
pub trait CheckChain: Debug + Send + Sync {
    /// Reports whether this chain is accepted for this host. The certificates are in DER, the server's own first.
    fn accepts(&self, chain: &[&[u8]], host: &str) -> bool;
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
    /// The same, but HTTP/2 is not offered.
    http1: Arc<ClientConfig>,
    quic: Arc<ClientConfig>,
    over_quic: Arc<CountingVerifier>,
    check: Option<Arc<dyn CheckChain>>,
}

impl Tls {
    pub(crate) fn new(trust: &Trust, identity: Option<&Identity>) -> Result<Self, BuildError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let inner: Arc<dyn ServerCertVerifier> = match trust {
            Trust::WebPki => {
                let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
                web_pki(RootCertStore::from_iter(roots), &provider)?
            }
            Trust::Roots(pem) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(pem)? {
                    roots.add(authority)?;
                }
                web_pki(roots, &provider)?
            }
            Trust::App(check) => Arc::new(AppVerifier {
                check: Arc::clone(check),
                algorithms: provider.signature_verification_algorithms,
            }),
        };
        let over_quic = Arc::new(CountingVerifier::new(Arc::clone(&inner)));
        let of = |alpn: &[&[u8]], verifier: Arc<dyn ServerCertVerifier>| {
            let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()?
                .dangerous()
                .with_custom_certificate_verifier(verifier);
            let mut config = match identity {
                None => builder.with_no_client_auth(),
                Some(identity) => {
                    let key = PrivateKeyDer::from_pem_slice(&identity.key_pem)?;
                    builder.with_client_auth_cert(certificates(&identity.chain_pem)?, key)?
                }
            };
            config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
            config.resumption = rustls::client::Resumption::in_memory_sessions(256);
            Ok::<_, BuildError>(Arc::new(config))
        };
        let tcp = of(&[b"h2", b"http/1.1"], inner)?;
        let http1 = offering_http1(&tcp);
        let check = match trust {
            Trust::App(check) => Some(Arc::clone(check)),
            Trust::WebPki | Trust::Roots(_) => None,
        };
        let quic = of(&[b"h3"], Arc::clone(&over_quic) as _)?;
        Ok(Self {
            tcp,
            http1,
            quic,
            over_quic,
            check,
        })
    }

    /// Returns the same configuration without any session ticket.
    pub(crate) fn without_sessions(&self) -> Self {
        let fresh = |config: &ClientConfig| {
            let mut config = config.clone();
            config.resumption = rustls::client::Resumption::in_memory_sessions(256);
            Arc::new(config)
        };
        let (tcp, quic) = (fresh(&self.tcp), fresh(&self.quic));
        let http1 = offering_http1(&tcp);
        let (over_quic, check) = (Arc::clone(&self.over_quic), self.check.clone());
        Self {
            tcp,
            http1,
            quic,
            over_quic,
            check,
        }
    }

    /// Reports whether the app accepts the chain of a session that was resumed. rustls asks in other handshakes only,
    /// and the app may have changed its mind.
    pub(crate) fn accepts_resumed(&self, chain: &[CertificateDer<'_>], host: &str) -> bool {
        let chain: Vec<&[u8]> = chain.iter().map(AsRef::as_ref).collect();
        self.check
            .as_ref()
            .is_none_or(|check| accepts(&**check, &chain, host))
    }

    /// Counts the chains that are verified in QUIC's handshakes.
    pub(crate) fn quic_verifier(&self) -> Arc<CountingVerifier> {
        Arc::clone(&self.over_quic)
    }

    /// Returns the configuration over TCP, without HTTP/2 if it must not be offered.
    pub(crate) fn tcp(&self, http1: bool) -> Arc<ClientConfig> {
        Arc::clone(if http1 { &self.http1 } else { &self.tcp })
    }

    pub(crate) fn quic(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.quic)
    }

    /// Returns the configuration for QUIC with early data. Returns nothing if the app checks chains, since it does so
    /// once the handshake is done.
    pub(crate) fn quic_early(&self) -> Option<Arc<ClientConfig>> {
        let mut config = self.check.is_none().then(|| (*self.quic).clone())?;
        config.enable_early_data = true;
        Some(Arc::new(config))
    }
}

/// Returns the same configuration, sessions included, which offers HTTP/1.1 only.
fn offering_http1(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Leaves chain and name to the app, and the signature to rustls.
#[derive(Debug)]
struct AppVerifier {
    check: Arc<dyn CheckChain>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// Reports whether the app's check accepts the chain. A check that panics accepts nothing.
fn accepts(check: &dyn CheckChain, chain: &[&[u8]], host: &str) -> bool {
    catch_unwind(AssertUnwindSafe(|| check.accepts(chain, host))).unwrap_or(false)
}

impl ServerCertVerifier for AppVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let chain: Vec<&[u8]> = std::iter::once(end_entity)
            .chain(intermediates)
            .map(AsRef::as_ref)
            .collect();
        if accepts(&*self.check, &chain, &name.to_str()) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(..)")
    }
}

/// Creates a verifier of chains that end in one of these roots.
fn web_pki(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, BuildError> {
    if roots.is_empty() {
        return Err(BuildError::NoRoots);
    }
    let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
    builder
        .build()
        .map_err(|error| BuildError::Roots(error.to_string()))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    Ok(CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>()?)
}
