//! A hundred origins that carry no request: what memory they hold, and how often they wake the engine.
//!
//! The server is another process: this test program again, which `COMMUTE_IDLE_SERVER` makes a server. `COMMUTE_IDLE_S`
//! sets how long the engine is watched, e.g. 60 for docs/reference/client-price.md.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use client::{Builder, Engine, Policy, Trust};
use server::{Config, Server};

const ORIGINS: usize = 100;
/// Memory of an engine with so many origins.
const MOST_BYTES: u64 = 8 << 20;
/// Handshakes and their acknowledgements are over by then. The first probe timeout is 1 s (RFC 9002 section 6.2.2).
const SETTLED: Duration = Duration::from_secs(4);
/// Shorter than the time after which idle connections over QUIC end.
const WATCHED_S: u64 = 6;

const SERVER_FOLDER: &str = "COMMUTE_IDLE_SERVER";

#[tokio::test]
async fn a_hundred_idle_origins_take_little_memory_and_do_not_wake_the_engine() {
    let server = ServerProcess::start();
    let (threads, before) = (switches(), anonymous_bytes());
    let engine = server.trusting().build().unwrap();
    // Ten at a time, or on a busy machine the first would end before the last is open.
    for (first, ports) in (0..).step_by(10).zip(server.ports.chunks(10)) {
        let gets = (first..).zip(ports).map(|(number, port)| {
            let policy = [Policy::H2, Policy::H3][number % 2];
            let request = engine.get(&url(*port)).policy(policy);
            tokio::spawn(async move {
                let response = request.send().await.unwrap();
                assert_eq!(response.bytes(1 << 20).await.unwrap().len(), 1_000);
            })
        });
        for get in gets.collect::<Vec<_>>() {
            get.await.unwrap();
        }
    }
    // The engine keeps no more; it closes those beyond as their requests end.
    let mut open = open_now(&engine, &server.ports).await;
    while open["H2"] + open["H3"] != route::MAX_CONNS {
        tokio::time::sleep(Duration::from_millis(50)).await;
        open = open_now(&engine, &server.ports).await;
    }

    tokio::time::sleep(SETTLED).await;
    let held = anonymous_bytes().saturating_sub(before);
    let watched = std::env::var("COMMUTE_IDLE_S").map_or(WATCHED_S, |s| s.parse().unwrap());
    let at_first = of_engine(&threads);
    let mut woken = 0;
    for second in 1..=watched {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let so_far = of_engine(&threads).saturating_sub(at_first);
        if so_far > woken {
            println!("{} wake-ups in second {second}", so_far - woken);
        }
        woken = so_far;
    }
    println!("{ORIGINS} origins, {open:?} open: {held} bytes; {woken} wake-ups in {watched} s");
    assert!(held <= MOST_BYTES, "{held} bytes");
    if watched == WATCHED_S {
        assert_eq!(woken, 0, "in {watched} s");
    }
}

/// The process of the server; does nothing in a run of the tests.
#[tokio::test(flavor = "multi_thread")]
async fn server_process() {
    let Ok(folder) = std::env::var(SERVER_FOLDER) else {
        return;
    };
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(Config {
        listen: vec![loopback; ORIGINS],
        credentials_dir: Some(folder.clone().into()),
        ..Config::default()
    });
    let server = server.await.unwrap();
    let ports: Vec<String> = server
        .addresses()
        .iter()
        .map(|address| address.port().to_string())
        .collect();
    fs::write(Path::new(&folder).join("ports"), ports.join(" ")).unwrap();
    eprintln!("listening");
    let parent = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0]));
    let ended = async {
        parent.await.unwrap().unwrap();
    };
    server.run(ended).await.unwrap();
}

/// A server on many ports, in a process of its own; ended when dropped.
struct ServerProcess {
    ports: Vec<u16>,
    folder: tempfile::TempDir,
    process: Child,
}

impl ServerProcess {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "server_process", "--nocapture"])
            .env(SERVER_FOLDER, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(process.stderr.take().unwrap());
        let listening = out
            .lines()
            .map(Result::unwrap)
            .any(|line| line == "listening");
        assert!(listening, "the server did not start");
        let ports = fs::read_to_string(folder.path().join("ports")).unwrap();
        let ports = ports.split(' ').map(|port| port.parse().unwrap()).collect();
        Self {
            ports,
            folder,
            process,
        }
    }

    fn trusting(&self) -> Builder {
        let roots = fs::read(self.folder.path().join("ca.pem")).unwrap();
        Engine::builder()
            .trust(Trust::Roots(roots))
            .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()])
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn url(port: u16) -> String {
    format!("https://localhost:{port}/bytes/1000")
}

/// Counts the open connections by protocol.
async fn open_now(engine: &Engine, ports: &[u16]) -> BTreeMap<&'static str, usize> {
    let mut open = BTreeMap::from([("H2", 0), ("H3", 0)]);
    for port in ports {
        let text = engine.explain(&url(*port)).await;
        *open.get_mut("H3").unwrap() += usize::from(text.contains("open: 1 by HTTP/3"));
        *open.get_mut("H2").unwrap() += usize::from(text.contains(", 1 by TCP"));
    }
    open
}

/// Returns the memory of this process that no file has.
fn anonymous_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    field(&status, "RssAnon:").unwrap() << 10
}

/// Returns how often each thread of this process has waited.
fn switches() -> HashMap<String, u64> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let switches = |thread: std::io::Result<fs::DirEntry>| {
        let thread = thread.unwrap();
        // A thread may end meanwhile.
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let switches = field(&status, "voluntary_ctxt_switches:")?;
        Some((thread.file_name().into_string().unwrap(), switches))
    };
    threads.filter_map(switches).collect()
}

/// Returns how often threads that are not among these have waited.
fn of_engine(others: &HashMap<String, u64>) -> u64 {
    let threads = switches();
    let of_engine = threads.iter().filter(|(id, _)| !others.contains_key(*id));
    of_engine.map(|(_, switches)| switches).sum()
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
