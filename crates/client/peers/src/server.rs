//! A server over one version of HTTP.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use quinn::crypto::rustls::QuicServerConfig;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::credentials::Credentials;
use crate::script::Script;
use crate::shared::{Options, Request, Shared};
use crate::{Protocol, h1, h2, h3};

/// A server on loopback, which ends when it is dropped.
pub struct Server {
    /// The port.
    pub port: u16,
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Server {
    /// Starts a server that answers each request with the script that `choose` returns for it. Its second argument
    /// counts the requests with the same path from 0.
    ///
    /// # Panics
    ///
    /// Panics if loopback has no free port.
    pub async fn start(
        protocol: Protocol,
        credentials: &Credentials,
        options: Options,
        choose: impl Fn(&Request, usize) -> Script + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            choose: Box::new(choose),
            options,
            arrivals: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let mut tls = credentials.tls(protocol.alpn());
        if options.offers_h1 {
            tls.alpn_protocols.push(Protocol::H1.alpn().into());
        }
        let (port, task) = match protocol {
            Protocol::H3 => serve_quic(tls, Arc::clone(&shared)),
            _ => serve_tcp(tls, Arc::clone(&shared)).await,
        };
        Self { port, shared, task }
    }

    /// Returns the URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// Returns the requests with this path, in the order in which they came.
    pub fn requests(&self, path: &str) -> Vec<Request> {
        self.shared
            .arrivals()
            .get(path)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns how many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve_tcp(tls: rustls::ServerConfig, shared: Arc<Shared>) -> (u16, AbortHandle) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("loopback has a free port");
    let port = listener.local_addr().map_or(0, |address| address.port());
    let tls = TlsAcceptor::from(Arc::new(tls));
    let task = tokio::spawn(async move {
        // Aborted with this task.
        let mut connections = JoinSet::new();
        while let Ok((tcp, _)) = listener.accept().await {
            let (tls, shared) = (tls.clone(), Arc::clone(&shared));
            tcp.set_nodelay(true).ok();
            // A second descriptor, by which TCP ends beneath TLS.
            let beneath = socket2::SockRef::from(&tcp).try_clone();
            connections.spawn(async move {
                let (Ok(beneath), Ok(stream)) = (beneath, tls.accept(tcp).await) else {
                    return;
                };
                match stream.get_ref().1.alpn_protocol() {
                    Some(b"h2") => h2::serve(stream, beneath, &shared).await,
                    _ => h1::serve(stream, beneath, &shared).await,
                }
            });
        }
    });
    (port, task.abort_handle())
}

fn serve_quic(tls: rustls::ServerConfig, shared: Arc<Shared>) -> (u16, AbortHandle) {
    let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3 is there");
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = quinn::TransportConfig::default();
    if let Some(streams) = shared.options.max_streams {
        transport.max_concurrent_bidi_streams(streams.into());
    }
    config.migration(!shared.options.forbids_migration);
    config.transport_config(Arc::new(transport));
    let endpoint = quinn::Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into());
    let endpoint = endpoint.expect("loopback has a free port");
    let port = endpoint.local_addr().map_or(0, |address| address.port());
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Some(incoming) = endpoint.accept().await {
            let shared = Arc::clone(&shared);
            connections.spawn(async move {
                if let Ok(connection) = incoming.await {
                    h3::serve(connection, &shared).await;
                }
            });
        }
    });
    (port, task.abort_handle())
}
