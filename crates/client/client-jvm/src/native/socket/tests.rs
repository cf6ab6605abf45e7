use client::Policy;
use tokio::runtime::Runtime;

use super::*;
use crate::close_reason::CloseKind;
use crate::connection::tests::Running;

/// Sockets without a connection of their own, of engines that have one each.
struct Sockets {
    server: Running,
    runtime: Runtime,
}

impl Sockets {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Self {
            server: Running::start(),
            runtime: runtime.unwrap(),
        }
    }

    fn engine(&self) -> Arc<Engine> {
        let engine = self.server.engine(Policy::H2);
        let opened = engine.connect(&self.server.origin());
        self.runtime.block_on(opened).unwrap();
        engine
    }

    fn has_connection(&self, engine: &Engine) -> bool {
        let explained = self.runtime.block_on(engine.explain(&self.server.origin()));
        !explained.contains("open: 0 by HTTP/3, 0 by TCP")
    }

    fn loses_connection(&self, engine: &Engine) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !self.has_connection(engine)
        })
    }
}

fn socket(engine: &Arc<Engine>, state: SocketState) -> Socket {
    Socket {
        engine: Arc::downgrade(engine),
        pipe: pipe::pipe().0,
        state: Arc::new(Mutex::new(state)),
        end_message: Mutex::default(),
    }
}

fn idle_in(pool: jint) -> SocketState {
    SocketState {
        options: CallOptions {
            pool,
            ..CallOptions::default()
        },
        idle: true,
        ..SocketState::default()
    }
}

#[test]
fn numbers_are_those_of_the_java_half() {
    let java = include_str!(
        "../../../../../../bindings/okhttp/library/src/main/java/commute/client/Native.java"
    );
    for (name, number) in [
        ("END_OF_STREAM", CloseKind::EndOfStream as jint),
        ("TIMED_OUT", TIMED_OUT),
        ("CLOSED", CLOSED),
        ("REFUSED", REFUSED),
        ("UNAVAILABLE", CloseKind::Unavailable as jint),
        ("NOT_SENT", CloseKind::NotSent as jint),
        ("CERTIFICATE", CloseKind::Certificate as jint),
        ("CONNECT_TIMED_OUT", CloseKind::ConnectTimedOut as jint),
        ("BROKEN", CloseKind::Broken as jint),
        ("PROTOCOL", CloseKind::Protocol as jint),
        ("MALFORMED_HEAD", CloseKind::MalformedHead as jint),
    ] {
        let line = format!(" static final int {name} = {number};\n");
        assert!(java.contains(&line), "Native.java lacks `{}`", line.trim());
    }
}

#[test]
fn origins_leave_out_the_default_port_and_bracket_addresses() {
    assert_eq!(origin("a.example", 443), "https://a.example");
    assert_eq!(origin("a.example", 8443), "https://a.example:8443");
    for host in ["::1", "[::1]"] {
        assert_eq!(origin(host, 443), "https://[::1]");
        assert_eq!(origin(host, 80), "https://[::1]:80");
    }
}

#[test]
fn a_limit_of_0_or_less_is_none() {
    for limit_ms in [jint::MIN, -1, 0] {
        assert_eq!(milliseconds(limit_ms), None);
    }
    assert_eq!(milliseconds(1), Some(Duration::from_millis(1)));
    assert_eq!(milliseconds(1_500), Some(Duration::from_millis(1_500)));
}

#[test]
fn bytes_keep_their_bits_on_the_way_to_the_jvm_and_back() {
    let bytes: Vec<u8> = (0..=255).collect();
    let signed = as_signed(&bytes);
    assert_eq!(signed[127..129], [127, -128]);
    assert_eq!(as_unsigned(signed), bytes);
}

#[test]
fn reads_and_writes_that_stop_return_the_reason_and_keep_its_message() {
    let engine = Arc::new(Engine::builder().build().unwrap());
    let socket = socket(&engine, SocketState::default());
    assert_eq!(socket.stopped(Stopped::TimedOut), TIMED_OUT);
    assert_eq!(socket.stopped(Stopped::Closed), CLOSED);
    assert_eq!(socket.stopped(Stopped::Refused), REFUSED);
    let refused = CloseReason::new(CloseKind::Certificate, "expired");
    let stopped = socket.stopped(Stopped::Ended(refused));
    assert_eq!(stopped, CloseKind::Certificate as jint);
    assert_eq!(*lock(&socket.end_message), "expired");
}

#[test]
fn connections_close_with_the_last_idle_socket_of_an_engine_and_pool() {
    let sockets = Sockets::new();
    let (engine, other_engine) = (sockets.engine(), sockets.engine());
    let add = |engine, pool| SOCKETS.add(socket(engine, idle_in(pool)));
    let first = add(&engine, 1);
    let last = add(&engine, 1);
    let elsewhere = [add(&engine, 2), add(&other_engine, 1)];
    let close = |handle| SOCKETS.remove(handle).unwrap().close_last_idle();

    close(first);
    assert!(sockets.has_connection(&engine), "another socket is idle");
    close(last);
    assert!(sockets.loses_connection(&engine));
    assert!(sockets.has_connection(&other_engine));
    for handle in elsewhere {
        SOCKETS.remove(handle);
    }
}

#[test]
fn a_socket_with_a_request_closes_no_idle_connections() {
    let sockets = Sockets::new();
    let engine = sockets.engine();
    let busy = SocketState::default();
    socket(&engine, busy).close_last_idle();
    assert!(sockets.has_connection(&engine));
}

#[test]
fn facts_are_those_of_the_last_response() {
    let server = Running::start();
    let engine = server.engine(Policy::H2);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let opened = engine.connect(&server.origin());
    let report = runtime.unwrap().block_on(opened).unwrap().report;
    let of_response = ResponseFacts {
        report,
        asked: None,
        chunked_here: true,
    };
    let answered = SocketState {
        facts: Some(of_response.clone()),
        ..SocketState::default()
    };
    let handle = SOCKETS.add(socket(&engine, answered));
    let found = facts(handle).unwrap();
    assert_eq!(found.report.connection, of_response.report.connection);
    assert!(found.chunked_here);
    SOCKETS.remove(handle);
    assert!(facts(handle).is_none());
}
