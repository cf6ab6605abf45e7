//! Unidirectional streams of HTTP/3 that break a rule: the connection ends, and the log says why.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client;
use crate::messages::{PATIENCE, headers};
use quinn::ConnectionError;
use server::Config;
use tokio::time::timeout;

/// What a client sends on its control stream after SETTINGS, other unidirectional streams, and how the connection ends.
type Streams = (
    &'static str,
    &'static [u8],
    &'static [&'static [u8]],
    Option<(u64, &'static str)>,
);

const STREAMS: [Streams; 13] = [
    (
        "push stream",
        b"",
        &[b"\x01\x00"],
        Some((0x103, "H3_STREAM_CREATION_ERROR")),
    ),
    (
        "push id down",
        b"\x0d\x01\x05\x0d\x01\x04",
        &[],
        Some((0x108, "H3_ID_ERROR")),
    ),
    (
        "push id up",
        b"\x0d\x01\x04\x0d\x01\x04\x0d\x02\x41\x00",
        &[],
        None,
    ),
    (
        "cancelled push",
        b"\x03\x01\x00",
        &[],
        Some((0x108, "H3_ID_ERROR")),
    ),
    ("capacity 0", b"", &[b"\x02\x20"], None),
    (
        "capacity",
        b"",
        &[b"\x02\x21"],
        Some((0x201, "QPACK_ENCODER_STREAM_ERROR")),
    ),
    (
        "insertion",
        b"",
        &[b"\x02\xff"],
        Some((0x201, "QPACK_ENCODER_STREAM_ERROR")),
    ),
    (
        "acknowledgement",
        b"",
        &[b"\x03\x80"],
        Some((0x202, "QPACK_DECODER_STREAM_ERROR")),
    ),
    (
        "increment",
        b"",
        &[b"\x03\x01"],
        Some((0x202, "QPACK_DECODER_STREAM_ERROR")),
    ),
    (
        "cancelled stream",
        b"",
        &[b"\x03\x44\x7f\x85\x01\x48"],
        None,
    ),
    (
        "two encoders",
        b"",
        &[b"\x02", b"\x02"],
        Some((0x103, "H3_STREAM_CREATION_ERROR")),
    ),
    (
        "two decoders",
        b"",
        &[b"\x03", b"\x03"],
        Some((0x103, "H3_STREAM_CREATION_ERROR")),
    ),
    ("unknown streams", b"", &[b"\x21abc", b"\x21\xff"], None),
];

#[tokio::test]
async fn streams_of_http3_are_checked() {
    for (name, control, others, expected) in STREAMS {
        let server = crate::common::start(Config::default()).await;
        let quic = client::quic(server.address, &client::tls(&server)).unwrap();
        let quic = quic.await.unwrap();
        let control = [b"\x00\x04\x00", control].concat();
        let mut streams = Vec::new();
        for bytes in [&control[..]].iter().chain(others) {
            let mut stream = quic.open_uni().await.unwrap();
            stream.write_all(bytes).await.unwrap();
            streams.push(stream);
        }
        match expected {
            Some((code, _)) => {
                let reason = timeout(PATIENCE, quic.closed()).await.unwrap();
                let ConnectionError::ApplicationClosed(close) = reason else {
                    panic!("{name}: {reason:?}");
                };
                assert_eq!(close.error_code.into_inner(), code, "{name}");
            }
            None => {
                // Acknowledged, so that the server has them.
                for mut stream in streams.drain(1..) {
                    stream.finish().unwrap();
                    stream.stopped().await.ok();
                }
                let (mut send, mut recv) = quic.open_bi().await.unwrap();
                let head = headers(&[b"\xd1\xd7\x50\x09localhost\x51\x07/health"]);
                send.write_all(&head).await.unwrap();
                send.finish().unwrap();
                let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
                assert!(answer.is_ok(), "{name}: {answer:?}");
            }
        }
        let log = server.stop().await;
        let codes: Vec<_> = log.refused().iter().map(|e| e.code.clone()).collect();
        let expected: Vec<_> = expected.iter().map(|(_, code)| *code).collect();
        assert_eq!(codes, expected, "{name}");
        assert!(log.refused().iter().all(|e| !e.reason.is_empty()), "{name}");
    }
}
