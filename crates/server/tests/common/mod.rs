//! A server on loopback, and clients that were written by others.
#![allow(dead_code, unreachable_pub, reason = "each scenario uses its part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot begin has failed")]

pub mod client;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent};
use server::{Config, Facts, Server};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server under test; [`Running::stop`] ends it and returns its log.
pub struct Running {
    pub address: SocketAddr,
    pub mtls_address: SocketAddr,
    pub facts: Facts,
    folder: TempDir,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Result<(), server::ServerError>>,
}

/// The log of a server that has ended.
#[derive(Debug)]
pub struct Log(pub Vec<ServerEvent>);

/// Starts a server with one ordinary and one mTLS port.
pub async fn start(config: Config) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = Config {
        listen: vec![loopback],
        mtls_listen: vec![loopback],
        credentials_dir: Some(folder.path().to_owned()),
        log: Some(File::create(folder.path().join("log")).unwrap()),
        ..config
    };
    let server = Server::bind(config).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    Running {
        address: server.addresses()[0],
        mtls_address: server.mtls_addresses()[0],
        facts: server.facts().clone(),
        folder,
        stop,
        ended: tokio::spawn(server.run(async {
            stopped.await.ok();
        })),
    }
}

impl Running {
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Stops it, and fails if it does not end or the log is incomplete.
    pub async fn stop(self) -> Log {
        self.stop.send(()).unwrap();
        let patience = Duration::from_secs(30);
        tokio::time::timeout(patience, self.ended)
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
                ServerEvent::Request(_) => None,
            })
            .collect()
    }

    pub fn requests(&self) -> Vec<&RequestEvent> {
        self.0
            .iter()
            .filter_map(|line| match line {
                ServerEvent::Request(request) => Some(request),
                ServerEvent::Connection(_) => None,
            })
            .collect()
    }
}
