//! The server on loopback, and a UDP path in front of it that can fail.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

pub mod by_hand;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use client::{Builder, Engine, Policy, Trust};
use server::{Config, Server};
use server_log::{RequestEvent, ServerEvent};
use tempfile::TempDir;
use tokio::net::UdpSocket;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub struct TestServer {
    pub address: SocketAddr,
    /// Where certificates are demanded, if anywhere.
    pub mtls_address: Option<SocketAddr>,
    pub folder: TempDir,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), server::ServerError>>,
}

pub async fn start(config: Config) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let config = Config {
        listen: vec![loopback],
        credentials_dir: Some(folder.path().to_owned()),
        log: Some(File::create(folder.path().join("log")).unwrap()),
        ..config
    };
    let server = Server::bind(config).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    let address = server.addresses()[0];
    let mtls_address = server.addresses().get(1).copied();
    let task = tokio::spawn(server.run(async {
        stopped.await.ok();
    }));
    TestServer {
        address,
        mtls_address,
        folder,
        stop,
        task,
    }
}

impl TestServer {
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    /// Returns an engine's builder that trusts this server.
    pub fn trusting(&self) -> Builder {
        trusting(self.folder.path(), self.address)
    }

    /// Shuts the server down; returns the requests that it logged.
    pub async fn stop(self) -> Vec<RequestEvent> {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
        requests(self.folder.path())
    }
}

/// Forwards UDP to a server, as a router with a NAT does.
pub struct Path {
    pub port: u16,
    state: Arc<AtomicU8>,
}

const OPEN: u8 = 0;
const DEAD: u8 = 1;
const FORGETFUL: u8 = 2;
const POLICED: u8 = 3;
/// What a policed path lets through from the server: 200 kbit/s, in bursts of 16 KiB.
const POLICED_BYTES_PER_S: f64 = 25_000.0;
const POLICED_BURST_BYTES: f64 = 16_384.0;

impl Path {
    pub async fn to(server: SocketAddr) -> Self {
        let outside = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = outside.local_addr().unwrap().port();
        let state = Arc::new(AtomicU8::new(OPEN));
        tokio::spawn(forward(outside, server, Arc::clone(&state)));
        Self { port, state }
    }

    /// Lets nothing through any more.
    pub fn die(&self) {
        self.state.store(DEAD, Ordering::Relaxed);
    }

    /// Drops what the server sends beyond 200 kbit/s.
    pub fn police(&self) {
        self.state.store(POLICED, Ordering::Relaxed);
    }

    /// Drops packets of ports that were in use so far, in both directions; new ports pass.
    pub fn forget(&self) {
        self.state.store(FORGETFUL, Ordering::Relaxed);
    }
}

async fn forward(outside: UdpSocket, server: SocketAddr, state: Arc<AtomicU8>) {
    let outside = Arc::new(outside);
    let mut inside: Vec<(SocketAddr, Arc<UdpSocket>)> = Vec::new();
    let mut forgotten = 0;
    let mut was = OPEN;
    let mut packet = vec![0; 2_048];
    loop {
        let (length, from) = outside.recv_from(&mut packet).await.unwrap();
        let now = state.load(Ordering::Relaxed);
        if now == FORGETFUL && was != FORGETFUL {
            forgotten = inside.len();
        }
        was = now;
        let known = inside.iter().position(|(client, _)| *client == from);
        if now == DEAD || known.is_some_and(|index| index < forgotten) {
            continue;
        }
        let socket = match known {
            Some(index) => Arc::clone(&inside[index].1),
            None => {
                let socket = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap());
                inside.push((from, Arc::clone(&socket)));
                let (back, state) = (Arc::clone(&socket), Arc::clone(&state));
                let (outside, is_old) = (Arc::clone(&outside), now == OPEN);
                tokio::spawn(async move {
                    let mut packet = vec![0; 2_048];
                    let (mut tokens, mut filled) = (POLICED_BURST_BYTES, Instant::now());
                    loop {
                        let (length, _) = back.recv_from(&mut packet).await.unwrap();
                        let refill = filled.elapsed().as_secs_f64() * POLICED_BYTES_PER_S;
                        (tokens, filled) =
                            ((tokens + refill).min(POLICED_BURST_BYTES), Instant::now());
                        let dead = match state.load(Ordering::Relaxed) {
                            OPEN => false,
                            POLICED if tokens >= length as f64 => {
                                tokens -= length as f64;
                                false
                            }
                            FORGETFUL => is_old,
                            _ => true,
                        };
                        if !dead {
                            outside.send_to(&packet[..length], from).await.unwrap();
                        }
                    }
                });
                socket
            }
        };
        socket.send_to(&packet[..length], server).await.unwrap();
    }
}

/// The server in Go, whose QUIC is quic-go's; ended when dropped.
pub struct GoServer {
    pub address: SocketAddr,
    folder: TempDir,
    process: Child,
}

impl GoServer {
    /// Returns nothing if `stacks/go/install` has not run.
    pub fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let program = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../stacks/go/build/server"
        );
        if !std::path::Path::new(program).exists() {
            return None;
        }
        let mut process = Command::new(program)
            .args([
                "-listen",
                "127.0.0.1:0",
                "-name",
                "localhost",
                "-credentials",
            ])
            .arg(folder.path())
            .arg("-log")
            .arg(folder.path().join("log"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = process.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        let address = told["listening"][0].as_str().unwrap().parse().unwrap();
        Some(Self {
            address,
            folder,
            process,
        })
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    pub fn trusting(&self) -> Builder {
        trusting(self.folder.path(), self.address)
    }

    /// Returns the requests that the server has logged.
    pub fn log(&self) -> Vec<RequestEvent> {
        requests(self.folder.path())
    }
}

impl Drop for GoServer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Returns the digest by which a download knows its URL.
pub fn url_digest(url: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(url.as_bytes());
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Connects an engine over HTTP/3: on a busy machine its race might be TCP's.
pub async fn connect_by_h3(engine: &Engine, url: &str) {
    let response = engine.get(url).policy(Policy::H3).send().await.unwrap();
    response.bytes(1 << 20).await.unwrap();
}

/// Waits until the engine has no open connection to the origin of this URL.
pub async fn await_closed(engine: &Engine, url: &str) {
    let none = "open: 0 by HTTP/3, 0 by TCP";
    while !engine.explain(url).await.contains(none) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn trusting(folder: &std::path::Path, address: SocketAddr) -> Builder {
    let roots = fs::read(folder.join("ca.pem")).unwrap();
    Engine::builder()
        .trust(Trust::Roots(roots))
        .resolve("localhost", vec![address.ip()])
}

fn requests(folder: &std::path::Path) -> Vec<RequestEvent> {
    let log = fs::read_to_string(folder.join("log")).unwrap();
    let events = log.lines().map(|line| serde_json::from_str(line).unwrap());
    events
        .filter_map(|event| match event {
            ServerEvent::Request(request) => Some(request),
            _ => None,
        })
        .collect()
}
