#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#[path = "../../../client/tests/common/by_hand.rs"]
mod by_hand;
mod by_streams;
mod by_text;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use client::{Policy, Protocol, Trust};
use server::{Config, Server};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::upload::{HELD_BODY, HELD_WAIT};
use super::*;
use crate::pipe::{self, AppEnd, Stopped};

/// Bytes written to a socket that leads to a server on loopback, and what comes back.
struct Socket {
    pipe: AppEnd<CloseReason>,
    state: Arc<Mutex<SocketState>>,
}

/// Runs `test` with a socket to a server.
fn with_server(test: impl FnOnce(&Socket)) {
    with_engine(|engine, origin| test(&open(&engine, origin)));
}

/// Runs `test` with an engine that trusts a server, and the server's origin.
fn with_engine(test: impl FnOnce(Arc<Engine>, &str)) {
    let server = Running::start();
    test(server.engine(Policy::H3), &server.origin());
}

/// A server on loopback.
pub(crate) struct Running {
    runtime: Option<Runtime>,
    address: SocketAddr,
    folder: TempDir,
}

impl Running {
    pub(crate) fn start() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))],
            credentials_dir: Some(folder.path().to_owned()),
            ..Config::default()
        };
        let server = runtime.block_on(Server::bind(config)).unwrap();
        let address = server.addresses()[0];
        runtime.spawn(server.run(std::future::pending()));
        Self {
            runtime: Some(runtime),
            address,
            folder,
        }
    }

    pub(crate) fn origin(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    pub(crate) fn engine(&self, policy: Policy) -> Arc<Engine> {
        let roots = fs::read(self.folder.path().join("ca.pem")).unwrap();
        let engine = Engine::builder()
            .trust(Trust::Roots(roots))
            .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()])
            .policy(policy);
        Arc::new(engine.build().unwrap())
    }

    /// Closes its connections and its port.
    fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

fn open(engine: &Arc<Engine>, origin: &str) -> Socket {
    open_within(engine, origin, Duration::from_secs(20))
}

fn open_within(engine: &Arc<Engine>, origin: &str, connect_limit: Duration) -> Socket {
    let (app, theirs) = pipe::pipe();
    let state = Arc::new(Mutex::new(SocketState::default()));
    lock(&state).options.connect_limit = Some(connect_limit);
    let context = ConnectionContext {
        engine: Arc::downgrade(engine),
        origin: origin.to_owned(),
        state: Arc::clone(&state),
    };
    engine.spawn(serve(context, theirs));
    Socket { pipe: app, state }
}

impl Socket {
    fn write(&self, text: &str) {
        self.pipe.write(text.as_bytes()).unwrap();
    }

    /// Reads a whole response: its head, its body, and its trailers.
    fn response(&self) -> Received {
        let head = self.read_to("\r\n\r\n");
        let mut received = Received {
            head,
            ..Received::default()
        };
        if !received.head.contains("\r\ntransfer-encoding: chunked\r\n") {
            let length = received.head.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next());
            let length = length.map_or(0, |digits| digits.parse().unwrap());
            received.body = self.read_exact(length);
            return received;
        }
        loop {
            let line = self.read_to("\r\n");
            let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
            if size == 0 {
                break;
            }
            received.body += &self.read_exact(size);
            assert_eq!(self.read_exact(2), "\r\n");
        }
        loop {
            let line = self.read_to("\r\n");
            if line == "\r\n" {
                return received;
            }
            received.trailers += &line;
        }
    }

    fn read_exact(&self, length: usize) -> String {
        let mut text = Vec::new();
        while text.len() < length {
            let bytes = self.pipe.read(length - text.len(), Some(PATIENCE)).unwrap();
            text.extend_from_slice(&bytes);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Reads to the end of the socket, and returns how it ended.
    fn read_to_end(&self) -> (String, Stopped<CloseReason>) {
        let mut text = Vec::new();
        loop {
            match self.pipe.read(1 << 20, Some(PATIENCE)) {
                Ok(bytes) => text.extend_from_slice(&bytes),
                Err(end) => return (String::from_utf8_lossy(&text).into_owned(), end),
            }
        }
    }

    /// Reads until the bytes end like this.
    fn read_to(&self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.extend_from_slice(&self.pipe.read(1, Some(PATIENCE)).unwrap());
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response as OkHttp would read it.
#[derive(Debug, Default)]
struct Received {
    head: String,
    body: String,
    trailers: String,
}

#[test]
fn requests_follow_each_other_on_one_socket_and_arrive_over_http_3() {
    with_server(|socket| {
        socket.pipe.connect().unwrap();
        for reused in [false, true, true] {
            socket
                .write("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n");
            let response = socket.response();
            assert!(
                response.head.starts_with("HTTP/1.1 200 \r\n"),
                "{response:?}"
            );
            assert!(
                response.head.contains("content-length: 3\r\n"),
                "{response:?}"
            );
            assert_eq!(response.body, "ok\n");
            let facts = socket.state.lock().unwrap().facts.clone().unwrap();
            assert_eq!(facts.report.protocol, Protocol::H3);
            assert!(facts.report.reused == reused && facts.chunked_here);
            // The first request is said to have opened the connection that OkHttp waited for.
            let phases = facts.report.phases;
            assert_eq!(phases.tls_ns.is_some(), !reused);
            assert!(phases.tls_ns < phases.first_byte_ns);
        }
    });
}

#[test]
fn an_idle_socket_does_not_keep_the_engine() {
    with_engine(|engine, origin| {
        let socket = open(&engine, origin);
        socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
        socket.response();
        assert_eq!(Arc::strong_count(&engine), 1);
        assert!(lock(&socket.state).idle);
        // Else a request that follows would count as sent.
        let progress = socket.state.lock().unwrap().progress.clone();
        assert!(progress.report().is_none());
        // Waits for the engine's thread.
        drop(engine);
        let ended = socket.pipe.read(1, Some(Duration::from_secs(20)));
        assert_eq!(ended, Err(Stopped::Ended(CloseReason::default())));
    });
}

#[test]
fn a_request_under_way_keeps_the_engine() {
    with_engine(|engine, origin| {
        let socket = open(&engine, origin);
        socket.write("GET /bytes/10000000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut bytes = socket.pipe.read(1 << 20, None).unwrap().len();
        drop(engine);
        while bytes < 10_000_000 {
            bytes += socket.pipe.read(1 << 20, None).unwrap().len();
        }
    });
}

#[test]
fn bodies_are_sent_whole_whether_held_or_streamed_and_whatever_their_framing() {
    with_server(|socket| {
        for length in [0, 1, HELD_BODY, HELD_BODY + 1, 5 << 20] {
            let body = "x".repeat(usize::try_from(length).unwrap());
            let head = "PUT /upload HTTP/1.1\r\nHost: a\r\n";
            socket.write(&format!("{head}Content-Length: {length}\r\n\r\n"));
            socket.write(&body);
            let expected = format!("\"bytes\":{length}");
            assert!(
                socket.response().body.contains(&expected),
                "{length} with its length"
            );
            socket.write(&format!("{head}Transfer-Encoding: chunked\r\n\r\n"));
            for piece in body.as_bytes().chunks(8_192) {
                socket.write(&format!("{:x}\r\n", piece.len()));
                socket.pipe.write(piece).unwrap();
                socket.write("\r\n");
            }
            socket.write("0\r\n\r\n");
            assert!(
                socket.response().body.contains(&expected),
                "{length} in chunks"
            );
        }
    });
}

#[test]
fn a_held_body_arrives_whole_when_the_app_writes_it_in_pieces() {
    with_server(|socket| {
        socket.pipe.connect().unwrap();
        socket.write("PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
        for piece in ["a", "b", "c", "d"] {
            socket.write(piece);
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(socket.response().body.contains("\"bytes\":4"));
    });
}

#[test]
fn a_small_body_that_the_app_writes_slowly_arrives_whole() {
    with_server(|socket| {
        socket.pipe.connect().unwrap();
        socket.write("PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
        std::thread::sleep(2 * HELD_WAIT);
        socket.write("cd");
        assert!(socket.response().body.contains("\"bytes\":4"));
    });
}

#[test]
fn an_app_that_waits_for_continue_is_told_to() {
    with_server(|socket| {
        let head = "PUT /upload HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n";
        socket.write(&format!("{head}Content-Length: 2\r\n\r\n"));
        assert_eq!(socket.read_to("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
        socket.write("ab");
        assert!(socket.response().body.contains("\"bytes\":2"));
    });
}

#[test]
fn what_is_no_request_ends_the_socket_with_the_reason() {
    with_server(|socket| {
        socket.write("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
        let end = CloseReason::new(CloseKind::Unavailable, "the target is not a path");
        assert_eq!(socket.pipe.read(1, None), Err(Stopped::Ended(end)));
    });
}

#[test]
fn a_server_that_is_not_there_cannot_have_acted() {
    let engine = Arc::new(Engine::builder().build().unwrap());
    // Port 1 is tcpmux, which nobody serves.
    let socket = open(&engine, "https://127.0.0.1:1");
    let read = || socket.pipe.read(1, None).map(drop);
    for stopped in [socket.pipe.connect(), read()] {
        match stopped {
            Err(Stopped::Ended(end)) => assert_eq!(end.kind, CloseKind::NotSent, "{}", end.message),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_connection_is_waited_for_no_longer_than_the_app_allows() {
    let mut server = Running::start();
    let engine = server.engine(Policy::H2);
    let limit = Duration::from_secs(1);
    let socket = open(&engine, &server.origin());
    socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    socket.response();
    server.stop();
    // The kernel takes connections, and nobody answers on them.
    let silent = TcpListener::bind(server.address).unwrap();
    let app = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let none = "open: 0 by HTTP/3, 0 by TCP";
    while !app
        .block_on(engine.explain(&server.origin()))
        .contains(none)
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    // A request on an open socket, by a call with another limit, and a socket that is opened.
    lock(&socket.state).options.connect_limit = Some(limit);
    socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let opening = open_within(&engine, &server.origin(), limit);
    let connect = opening.pipe.connect();
    let read = socket.pipe.read(1, Some(Duration::from_secs(10)));
    for stopped in [connect, read.map(drop)] {
        match stopped {
            Err(Stopped::Ended(end)) => {
                assert_eq!(end.kind, CloseKind::ConnectTimedOut, "{}", end.message);
            }
            other => panic!("{other:?}"),
        }
    }
    drop(silent);
}
