//! Two endpoints on loopback that trust each other.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// A server's endpoint, a client's endpoint, and the client's configuration.
pub struct Pair {
    pub server: Endpoint,
    pub client: Endpoint,
    pub config: quinn::ClientConfig,
}

/// Options of the pair.
#[derive(Default)]
pub struct Options {
    /// The server issues stateless tickets instead of storing sessions.
    pub stateless_tickets: bool,
    /// The client's receive window per stream, bytes.
    pub client_window: Option<u32>,
    /// How many request streams the server allows at a time.
    pub request_streams: Option<u32>,
}

impl Pair {
    pub fn new(options: &Options) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Self {
            server: server(certificate.clone(), key, options),
            client: Endpoint::client(loopback()).unwrap(),
            config: client(certificate, options.client_window),
        }
    }

    /// Starts a handshake.
    pub fn connecting(&self) -> quinn::Connecting {
        let to = self.server.local_addr().unwrap();
        self.client
            .connect_with(self.config.clone(), to, "localhost")
            .unwrap()
    }

    /// Connects. Returns the client's side first.
    pub async fn connect(&self) -> (Connection, Connection) {
        let server = async { self.server.accept().await.unwrap().await.unwrap() };
        let client = async { self.connecting().await.unwrap() };
        tokio::join!(client, server)
    }
}

fn server(
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
    options: &Options,
) -> Endpoint {
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.max_early_data_size = u32::MAX;
    if options.stateless_tickets {
        tls.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    }
    let tls = QuicServerConfig::try_from(tls).unwrap();
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(tls));
    if let Some(streams) = options.request_streams {
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(VarInt::from_u32(streams));
        config.transport_config(Arc::new(transport));
    }
    Endpoint::server(config, loopback()).unwrap()
}

fn client(certificate: CertificateDer<'static>, window: Option<u32>) -> quinn::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.enable_early_data = true;
    let tls = QuicClientConfig::try_from(tls).unwrap();
    let mut config = quinn::ClientConfig::new(Arc::new(tls));
    if let Some(window) = window {
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(VarInt::from_u32(window));
        config.transport_config(Arc::new(transport));
    }
    config
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}
