//! Certificates and engines for tests with servers of their own.

use std::net::Ipv4Addr;
use std::sync::Arc;

use client::{Builder, Engine, Trust};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Creates the configuration of a server with a certificate for localhost, and an engine's builder
/// that trusts it.
pub fn self_signed(alpn: &[&[u8]]) -> (ServerConfig, Builder) {
    let (config, certificate) = server_config(alpn);
    let engine = Engine::builder()
        .trust(Trust::Roots(certificate.pem().into_bytes()))
        .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()]);
    (config, engine)
}

/// Creates the configuration of a server with a certificate for localhost, and returns the
/// certificate, too.
pub fn server_config(alpn: &[&[u8]]) -> (ServerConfig, rcgen::Certificate) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    (config, own.cert)
}

/// Connections over TLS.
pub struct Listener {
    tcp: TcpListener,
    tls: TlsAcceptor,
}

impl Listener {
    pub async fn new(config: ServerConfig) -> Self {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        Self { tcp, tls }
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.port())
    }

    pub fn port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    pub async fn accept(&self) -> TlsStream<TcpStream> {
        let (tcp, _) = self.tcp.accept().await.unwrap();
        self.tls.accept(tcp).await.unwrap()
    }

    /// Accepts the next connection whose client does not leave in the handshake.
    pub async fn accept_whole(&self) -> TlsStream<TcpStream> {
        loop {
            let (tcp, _) = self.tcp.accept().await.unwrap();
            if let Ok(stream) = self.tls.accept(tcp).await {
                return stream;
            }
        }
    }
}
