//! Connections that break or stall during a call.

use std::net::SocketAddr;

use crate::common::proxy::{self, Failure};
use crate::common::test_server::TestServer;
use crate::common::{call, sequential};
use driver::protocol::{Action, ErrorKind, Protocol, Reconnect, Row, Setup};

const OVER_TCP: [Protocol; 3] = [Protocol::H1, Protocol::H2, Protocol::Grpc];
/// For calls on loopback, which take milliseconds, and for those that are to time out.
const TIMEOUT_NS: u64 = 1_500_000_000;
const FILE_BYTES: u64 = 4 << 20;
const FILE: Action = Action::Get { bytes: FILE_BYTES };
/// Enough for the handshake and part of the file.
const PARTIAL_BYTES: u64 = 1 << 20;

fn through(server: &TestServer, proxy: SocketAddr, protocol: Protocol) -> Setup {
    let url = format!("https://localhost:{}", proxy.port());
    Setup {
        url,
        timeout_ns: TIMEOUT_NS,
        ..server.setup(protocol)
    }
}

fn error(row: &Row) -> Option<ErrorKind> {
    row.error.as_ref().map(|error| error.kind)
}

#[test]
fn broken_connection_fails_its_call_and_is_replaced() {
    for protocol in OVER_TCP {
        let server = TestServer::start();
        let proxy = proxy::tcp(server.address(), PARTIAL_BYTES, Failure::Close);
        let rows = server.run(
            &through(&server, proxy, protocol),
            &sequential([FILE, call()]),
        );
        assert_eq!(
            error(&rows[0]),
            Some(ErrorKind::Reset),
            "{protocol:?} {rows:?}"
        );
        assert!(
            rows[0].first_byte_ns.is_some() && rows[0].digest.is_some(),
            "{rows:?}"
        );
        assert!(
            (1..FILE_BYTES).contains(&rows[0].response_bytes),
            "{rows:?}"
        );
        assert_eq!(rows[1].error, None, "{protocol:?}");
        assert_eq!(
            (rows[1].connection, rows[1].reused),
            (2, false),
            "{protocol:?}"
        );
    }
}

#[test]
fn stalled_connection_is_kept_only_if_shared() {
    for protocol in OVER_TCP {
        let server = TestServer::start();
        let proxy = proxy::tcp(server.address(), PARTIAL_BYTES, Failure::Stall);
        let reconnect = Action::Reconnect {
            mode: Reconnect::Cold,
        };
        let steps = sequential([FILE, call(), reconnect, call()]);
        let rows = server.run(&through(&server, proxy, protocol), &steps);
        assert_eq!(
            error(&rows[0]),
            Some(ErrorKind::Timeout),
            "{protocol:?} {rows:?}"
        );
        let (shared, after) = (protocol != Protocol::H1, error(&rows[1]));
        assert_eq!(
            after,
            shared.then_some(ErrorKind::Timeout),
            "{protocol:?} {rows:?}"
        );
        assert_eq!(
            rows[1].connection,
            if shared { 1 } else { 2 },
            "{protocol:?}"
        );
        assert_eq!(error(&rows[2]), None, "{protocol:?} {rows:?}");
    }
}

#[test]
fn http_3_times_out_on_a_silent_path_until_it_reconnects() {
    let server = TestServer::start();
    let proxy = proxy::udp(server.address(), 40);
    let reconnect = Action::Reconnect {
        mode: Reconnect::Cold,
    };
    let steps = sequential([FILE, reconnect, call()]);
    let rows = server.run(&through(&server, proxy, Protocol::H3), &steps);
    assert_eq!(error(&rows[0]), Some(ErrorKind::Timeout), "{rows:?}");
    assert!(
        rows[0].tls_ns.is_some() && rows[0].first_byte_ns.is_some(),
        "{rows:?}"
    );
    assert_eq!(rows[1].error, None, "{rows:?}");
    assert_eq!((rows[1].connection, rows[1].reused), (2, false));
}

#[test]
fn quic_handshake_without_a_response_times_out() {
    let server = TestServer::start();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let setup = through(&server, silent.local_addr().unwrap(), Protocol::H3);
    let rows = server.run(&setup, &sequential([call()]));
    assert_eq!(error(&rows[0]), Some(ErrorKind::Timeout), "{rows:?}");
    assert_eq!((rows[0].connection, rows[0].attempts), (0, 0));
    assert!(rows[0].dns_ns.is_some() && rows[0].tls_ns.is_none());
}

#[test]
fn untrusted_authority_is_a_tls_error() {
    for protocol in [Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Grpc] {
        let (trusted, untrusted) = (TestServer::start(), TestServer::start());
        let setup = Setup {
            url: untrusted.setup(protocol).url,
            ..trusted.setup(protocol)
        };
        let rows = trusted.run(&setup, &sequential([call()]));
        assert_eq!(
            error(&rows[0]),
            Some(ErrorKind::Tls),
            "{protocol:?} {rows:?}"
        );
    }
}
