//! A server on loopback, and clients built on independent libraries.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

pub mod client;
pub mod signing;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use server::{Config, Server, Settings};
use server_log::{ClosedEvent, ConnectionEvent, RefusedEvent, RequestEvent, ServerEvent};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Three times the default drain time (10 s), the longest that a shutdown may wait for requests.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(30);
/// Only a server that no longer answers needs longer than this for a request on loopback.
const POLITE_LIMIT: Duration = Duration::from_secs(30);

/// A running server; [`TestServer::stop`] shuts it down and returns its log.
pub struct TestServer {
    pub address: SocketAddr,
    pub mtls_address: SocketAddr,
    pub plaintext_address: SocketAddr,
    pub settings: Settings,
    folder: TempDir,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), server::ServerError>>,
}

/// The log of a server that has shut down.
#[derive(Debug)]
pub struct Log(pub Vec<ServerEvent>);

/// Starts a server with one port without and one with mTLS, and one without TLS.
pub async fn start(config: Config) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = Config {
        listen: vec![loopback],
        mtls_listen: vec![loopback],
        plaintext_listen: vec![loopback],
        credentials_dir: Some(folder.path().to_owned()),
        log: Some(File::create(folder.path().join("log")).unwrap()),
        ..config
    };
    let server = Server::bind(config).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    TestServer {
        address: server.addresses()[0],
        mtls_address: server.mtls_addresses()[0],
        plaintext_address: server.plaintext_addresses()[0],
        settings: server.settings().clone(),
        folder,
        stop,
        task: tokio::spawn(server.run(async {
            stopped.await.ok();
        })),
    }
}

/// Checks that a well-behaved client is answered over every protocol.
pub async fn polite_client_is_answered(server: &TestServer) {
    let tls = client::tls(server);
    for protocol in client::PROTOCOLS {
        let polite = async {
            let mut http = client::connect(protocol, server.address, &tls).await?;
            http.call(client::request("GET", "/health", 1, "")).await
        };
        let response = tokio::time::timeout(POLITE_LIMIT, polite).await;
        assert_eq!(response.unwrap().unwrap().status(), 200, "{protocol}");
    }
}

impl TestServer {
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Shuts the server down; panics if that takes too long or the log is incomplete.
    pub async fn stop(self) -> Log {
        self.stop.send(()).unwrap();
        tokio::time::timeout(SHUTDOWN_LIMIT, self.task)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        let text = fs::read_to_string(self.folder.path().join("log")).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        Log(text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect())
    }
}

impl Log {
    pub fn connections(&self) -> Vec<&ConnectionEvent> {
        self.0
            .iter()
            .filter_map(|line| match line {
                ServerEvent::Connection(connection) => Some(connection),
                _ => None,
            })
            .collect()
    }

    pub fn requests(&self) -> Vec<&RequestEvent> {
        self.0
            .iter()
            .filter_map(|line| match line {
                ServerEvent::Request(request) => Some(request),
                _ => None,
            })
            .collect()
    }

    pub fn refused(&self) -> Vec<&RefusedEvent> {
        self.0
            .iter()
            .filter_map(|line| match line {
                ServerEvent::Refused(refused) => Some(refused),
                _ => None,
            })
            .collect()
    }

    pub fn closed(&self) -> Vec<&ClosedEvent> {
        self.0
            .iter()
            .filter_map(|line| match line {
                ServerEvent::Closed(closed) => Some(closed),
                _ => None,
            })
            .collect()
    }
}
