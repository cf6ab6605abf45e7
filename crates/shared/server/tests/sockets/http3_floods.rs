//! Hostile HTTP/3 clients: each is refused or tolerated as documented, and others are answered.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::time::Duration;

use crate::common::client::{self, request};
use crate::common::{TestServer, polite_client_is_answered};
use quinn::{Connection, ConnectionError, VarInt};
use server::Config;
use tokio::time::timeout;

/// Bounds a wait that would never end if the server did not refuse; far above what any takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// RFC 9114 section 8.1.
const H3_EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);
const H3_REQUEST_CANCELLED: VarInt = VarInt::from_u32(0x10c);

/// 1 GiB as an integer of QUIC.
const GIB: [u8; 8] = [0xc0, 0, 0, 0, 0x40, 0, 0, 0];
/// A HEADERS frame of `GET https://localhost/health`. Names and values are from QPACK's static
/// table (RFC 9204 appendix A): entries 17 and 23 and the names of entries 0 and 1.
const GET_HEALTH: &[u8] = b"\x01\x18\x00\x00\xd1\xd7\x50\x09localhost\x51\x07/health";

/// Frames that declare a gigabyte, on a request stream (first byte missing) or the control stream.
const LONG_FRAMES: [(&str, bool, &[u8]); 4] = [
    ("request: HEADERS", true, &[0x01]),
    ("request: unknown", true, &[0x21]),
    ("control: SETTINGS", false, &[0x00, 0x04]),
    ("control: unknown", false, &[0x00, 0x04, 0x00, 0x21]),
];

async fn connect(server: &TestServer) -> Connection {
    let connecting = client::quic(server.address, &client::tls(server)).unwrap();
    connecting.await.unwrap()
}

async fn open(quic: &Connection, bidirectional: bool) -> quinn::SendStream {
    if bidirectional {
        quic.open_bi().await.unwrap().0
    } else {
        quic.open_uni().await.unwrap()
    }
}

#[tokio::test]
async fn long_frames_are_refused_by_their_headers() {
    // What arrives after the header: nothing, or 64 MiB in pieces that are sent as credit allows.
    for pieces in [0, 64] {
        let server = crate::common::start(Config::default()).await;
        for (what, bidirectional, prefix) in LONG_FRAMES {
            let quic = connect(&server).await;
            let mut stream = open(&quic, bidirectional).await;
            stream.write_all(&[prefix, &GIB].concat()).await.unwrap();
            let mut sent = 0;
            while sent < pieces && stream.write_all(&[7; 1 << 20]).await.is_ok() {
                sent += 1;
            }
            assert!(sent < 64, "{what}: all was accepted");
            let closed = timeout(PATIENCE, quic.closed()).await.expect(what);
            let ConnectionError::ApplicationClosed(close) = closed else {
                panic!("{what}: {closed:?}");
            };
            assert_eq!(close.error_code, H3_EXCESSIVE_LOAD, "{what}");
        }
        polite_client_is_answered(&server).await;
        server.stop().await;
    }
}

#[tokio::test]
async fn head_of_30_kb_is_refused_alone() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    let mut http = client::connect("h3", server.address, &tls).await.unwrap();
    let mut long = request("GET", "/health", 1, "");
    let value = "x".repeat(30_000).parse().unwrap();
    long.headers_mut().insert("x-long", value);
    assert_eq!(http.call(long).await.unwrap().status(), 431);
    // The connection is not affected.
    let next = http.call(request("GET", "/health", 2, "")).await.unwrap();
    assert_eq!(next.status(), 200);
    server.stop().await;
}

#[tokio::test]
async fn head_within_a_limit_of_128_kib_is_answered() {
    let mut config = Config::default();
    config.limits.header_bytes = 128 << 10;
    let server = crate::common::start(config).await;
    let tls = client::tls(&server);
    let mut http = client::connect("h3", server.address, &tls).await.unwrap();
    let mut long = request("GET", "/health", 1, "");
    // More than 64 KiB with the Huffman code, too.
    let value = "x".repeat(100_000).parse().unwrap();
    long.headers_mut().insert("x-long", value);
    assert_eq!(http.call(long).await.unwrap().status(), 200);
    server.stop().await;
}

#[tokio::test]
async fn requests_that_are_reset_at_once_do_no_harm() {
    let server = crate::common::start(Config::default()).await;
    let quic = connect(&server).await;
    for _ in 0..3_400 {
        let (mut send, mut recv) = quic.open_bi().await.unwrap();
        send.write_all(GET_HEALTH).await.unwrap();
        send.reset(H3_REQUEST_CANCELLED).unwrap();
        recv.stop(H3_REQUEST_CANCELLED).unwrap();
    }
    // Still served on the same connection, and on others.
    let (mut send, mut recv) = quic.open_bi().await.unwrap();
    send.write_all(GET_HEALTH).await.unwrap();
    send.finish().unwrap();
    assert!(recv.read_to_end(1000).await.unwrap().ends_with(b"ok\n"));
    polite_client_is_answered(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn unknown_unidirectional_streams_are_ignored() {
    let server = crate::common::start(Config::default()).await;
    let mut http = client::connect("h3", server.address, &client::tls(&server))
        .await
        .unwrap();
    let client::Http::H3(h3) = &http else {
        unreachable!("h3 was asked for");
    };
    for _ in 0..5_000 {
        // A reserved type (RFC 9114 section 6.2.3), so that it can be anything. Opening waits
        // until the server has closed earlier ones.
        let mut stream = h3.quic.open_uni().await.unwrap();
        stream.write_all(&[0x21, 1, 2, 3]).await.unwrap();
        // Stopped by the server or finished: both are fine.
        stream.finish().ok();
    }
    let next = http.call(request("GET", "/health", 1, "")).await.unwrap();
    assert_eq!(next.status(), 200);
    polite_client_is_answered(&server).await;
    server.stop().await;
}
