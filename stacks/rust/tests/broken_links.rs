//! Connections that break or fall silent under a call.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::net::SocketAddr;

use common::bench::Bench;
use common::proxy::{self, Fate};
use common::{call, in_order};
use driver::protocol::{Action, ErrorKind, Protocol, Reconnect, Row, Setup};

const OVER_TCP: [Protocol; 3] = [Protocol::H1, Protocol::H2, Protocol::Grpc];
const FILE: Action = Action::Get { bytes: 4 << 20 };
/// Enough for the handshake and the beginning of the file.
const SOME_BYTES: u64 = 1 << 20;

fn through(bench: &Bench, proxy: SocketAddr, protocol: Protocol) -> Setup {
    let url = format!("https://localhost:{}", proxy.port());
    Setup {
        url,
        timeout_ns: 1_500_000_000,
        ..bench.setup(protocol)
    }
}

fn error(row: &Row) -> Option<ErrorKind> {
    row.error.as_ref().map(|error| error.kind)
}

#[test]
fn a_connection_that_breaks_fails_its_call_and_the_next_opens_another() {
    for protocol in OVER_TCP {
        let bench = Bench::start();
        let proxy = proxy::tcp(bench.address(), SOME_BYTES, Fate::Closes);
        let rows = bench.run(&through(&bench, proxy, protocol), &in_order([FILE, call()]));
        assert_eq!(
            error(&rows[0]),
            Some(ErrorKind::Reset),
            "{protocol:?} {rows:?}"
        );
        assert!(
            rows[0].first_byte_ns.is_some() && rows[0].digest.is_some(),
            "{rows:?}"
        );
        assert!((1..4 << 20).contains(&rows[0].response_bytes), "{rows:?}");
        assert_eq!(rows[1].error, None, "{protocol:?}");
        assert_eq!(
            (rows[1].connection, rows[1].reused),
            (2, false),
            "{protocol:?}"
        );
    }
}

#[test]
fn a_stalled_connection_times_its_call_out_and_is_kept_only_if_shared() {
    for protocol in OVER_TCP {
        let bench = Bench::start();
        let proxy = proxy::tcp(bench.address(), SOME_BYTES, Fate::Stalls);
        let reconnect = Action::Reconnect {
            mode: Reconnect::Cold,
        };
        let steps = in_order([FILE, call(), reconnect, call()]);
        let rows = bench.run(&through(&bench, proxy, protocol), &steps);
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
fn a_silent_path_times_http_3_out_until_it_reconnects() {
    let bench = Bench::start();
    let proxy = proxy::udp(bench.address(), 40);
    let reconnect = Action::Reconnect {
        mode: Reconnect::Cold,
    };
    let steps = in_order([FILE, reconnect, call()]);
    let rows = bench.run(&through(&bench, proxy, Protocol::H3), &steps);
    assert_eq!(error(&rows[0]), Some(ErrorKind::Timeout), "{rows:?}");
    assert!(
        rows[0].tls_ns.is_some() && rows[0].first_byte_ns.is_some(),
        "{rows:?}"
    );
    assert_eq!(rows[1].error, None, "{rows:?}");
    assert_eq!((rows[1].connection, rows[1].reused), (2, false));
}

#[test]
fn a_quic_handshake_without_an_answer_times_out() {
    let bench = Bench::start();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let setup = through(&bench, silent.local_addr().unwrap(), Protocol::H3);
    let rows = bench.run(&setup, &in_order([call()]));
    assert_eq!(error(&rows[0]), Some(ErrorKind::Timeout), "{rows:?}");
    assert_eq!((rows[0].connection, rows[0].attempts), (0, 0));
    assert!(rows[0].dns_ns.is_some() && rows[0].tls_ns.is_none());
}

#[test]
fn a_server_of_another_authority_is_a_tls_error() {
    for protocol in [Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Grpc] {
        let (bench, stranger) = (Bench::start(), Bench::start());
        let setup = Setup {
            url: stranger.setup(protocol).url,
            ..bench.setup(protocol)
        };
        let rows = bench.run(&setup, &in_order([call()]));
        assert_eq!(
            error(&rows[0]),
            Some(ErrorKind::Tls),
            "{protocol:?} {rows:?}"
        );
    }
}
