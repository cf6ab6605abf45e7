//! Malformed messages: each is refused by itself, as documented, and logged with the rule that it breaks.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::time::Duration;

use crate::common::client;
use quinn::{ReadError, ReadToEndError};
use server::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Bounds a wait that would never end if the server did not answer; far above what any takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// RFC 9114 section 8.1.
const H3_MESSAGE_ERROR: u64 = 0x10e;
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
/// Field lines of `https://localhost` with names and values of QPACK's static table (RFC 9204 appendix A).
const GET: &[u8] = b"\xd1\xd7\x50\x09localhost";
const POST: &[u8] = b"\xd4\xd7\x50\x09localhost";
const HEALTH: &[u8] = b"\x51\x07/health";
const ECHO: &[u8] = b"\x51\x05/echo";
const MESSAGE: &[u8] = br#"{"start_ts":1}"#;

/// Returns a frame of HTTP/3.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    // The form in four bytes.
    let length = (payload.len() as u32 | 0x8000_0000).to_be_bytes();
    [&[kind], &length[..], payload].concat()
}

/// Returns a HEADERS frame of these field lines.
pub(crate) fn headers(lines: &[&[u8]]) -> Vec<u8> {
    frame(HEADERS, &[b"\0\0", &lines.concat()[..]].concat())
}

#[tokio::test]
async fn malformed_requests_over_http3_are_refused_alone_and_logged() {
    let data = || frame(DATA, MESSAGE);
    let post = |lines: &[&[u8]]| headers(&[&[POST, ECHO], lines].concat());
    let get = |lines: &[&[u8]]| headers(&[&[GET, HEALTH], lines].concat());
    let cases = [
        ("body too long", [post(&[b"\x54\x011"]), data()].concat()),
        ("body too short", [post(&[b"\x54\x0299"]), data()].concat()),
        (
            "two lengths",
            [post(&[b"\x54\x0214", b"\x54\x0215"]), data()].concat(),
        ),
        ("no number", get(&[b"\x54\x02+0"])),
        ("connection", get(&[b"\x27\x03connection\x05close"])),
        ("te", get(&[b"\x22te\x04gzip"])),
        ("two paths", get(&[HEALTH])),
        ("no path", headers(&[GET])),
        ("status", get(&[b"\xd9"])),
        ("upper case", get(&[b"\x21A\x01b"])),
        (
            "pseudo-field in trailers",
            [post(&[]), data(), headers(&[ECHO])].concat(),
        ),
        (
            "connection field in trailers",
            [post(&[]), data(), headers(&[b"\x22te\x04gzip"])].concat(),
        ),
    ];
    let server = crate::common::start(Config::default()).await;
    let quic = client::quic(server.address, &client::tls(&server)).unwrap();
    let quic = quic.await.unwrap();
    for (name, request) in &cases {
        let (mut send, mut recv) = quic.open_bi().await.unwrap();
        send.write_all(request).await.unwrap();
        send.finish().unwrap();
        let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
        let Err(ReadToEndError::Read(ReadError::Reset(code))) = answer else {
            panic!("{name}: {answer:?}");
        };
        assert_eq!(code.into_inner(), H3_MESSAGE_ERROR, "{name}");
    }
    // The connection still serves; empty DATA is legal (RFC 9114 section 7.2.1).
    let empty = frame(DATA, b"");
    let request = [post(&[]), empty.clone(), data(), empty].concat();
    let (mut send, mut recv) = quic.open_bi().await.unwrap();
    send.write_all(&request).await.unwrap();
    send.finish().unwrap();
    let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
    assert!(answer.unwrap().ends_with(MESSAGE));
    let log = server.stop().await;
    let refused = log.refused();
    assert_eq!(refused.len(), cases.len(), "{refused:#?}");
    for (event, (name, _)) in refused.iter().zip(&cases) {
        assert_eq!(event.code, "H3_MESSAGE_ERROR", "{name}");
        assert!(event.stream.is_some() && !event.reason.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn a_wrong_length_of_a_body_that_nobody_reads_is_logged() {
    let server = crate::common::start(Config::default()).await;
    let quic = client::quic(server.address, &client::tls(&server)).unwrap();
    let quic = quic.await.unwrap();
    let (mut send, mut recv) = quic.open_bi().await.unwrap();
    let request = headers(&[GET, HEALTH, b"\x54\x015"]);
    send.write_all(&request).await.unwrap();
    // The response does not wait for the end of the request.
    let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
    // A reserved frame may follow.
    let answer = answer.unwrap();
    assert!(answer.windows(3).any(|bytes| bytes == b"ok\n"));
    send.write_all(&frame(DATA, b"123456")).await.unwrap();
    let stopped = timeout(PATIENCE, send.stopped()).await.unwrap().unwrap();
    assert_eq!(
        stopped.map(quinn::VarInt::into_inner),
        Some(H3_MESSAGE_ERROR)
    );
    let log = server.stop().await;
    let reasons: Vec<&str> = log.refused().iter().map(|e| e.reason.as_str()).collect();
    assert_eq!(reasons, ["the body is longer than its content-length"]);
}

#[tokio::test]
async fn a_head_that_is_too_long_is_answered_with_431_over_http3() {
    let server = crate::common::start(Config::default()).await;
    let quic = client::quic(server.address, &client::tls(&server)).unwrap();
    let quic = quic.await.unwrap();
    let (mut send, mut recv) = quic.open_bi().await.unwrap();
    // A value of 20,000 bytes: 127, and 19,873 as an integer with seven bits in each byte.
    let long = [&b"\x21x\x7f\xa1\x9b\x01"[..], &[b'y'; 20_000]].concat();
    send.write_all(&headers(&[GET, HEALTH, &long]))
        .await
        .unwrap();
    send.finish().unwrap();
    let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
    // A response that is complete.
    assert_eq!(answer.unwrap().first(), Some(&HEADERS));
    let log = server.stop().await;
    let codes: Vec<&str> = log.refused().iter().map(|e| e.code.as_str()).collect();
    assert_eq!(codes, ["431"]);
}

/// Catches why h2 refuses something, as the binary does.
pub(crate) fn catch_reasons() {
    let layers = tracing_subscriber::registry().with(server::refusal_reasons());
    // Another test may have.
    layers.try_init().ok();
}

/// What a client of HTTP/2 sends first: its preface, and empty SETTINGS.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Field lines of `POST https://localhost`, without indexing (RFC 7541 appendix A).
pub(crate) const POST2: &[u8] = b"\x83\x87\x01\x09localhost";

/// Returns a frame of HTTP/2 on a stream.
pub(crate) fn frame2(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let header = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&header, payload].concat()
}

/// Reads frames until one has this type and stream. Returns its flags and its payload.
pub(crate) async fn read_until(
    tls: &mut (impl AsyncReadExt + Unpin),
    kind: &[u8],
    stream: u32,
) -> (u8, u8, Vec<u8>) {
    loop {
        let mut header = [0; 9];
        let read = timeout(PATIENCE, tls.read_exact(&mut header)).await;
        read.unwrap().unwrap();
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; length as usize];
        tls.read_exact(&mut payload).await.unwrap();
        let of = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        if of == stream && kind.contains(&header[3]) {
            return (header[3], header[4], payload);
        }
    }
}

#[tokio::test]
async fn malformed_requests_over_http2_are_refused_alone_and_logged() {
    const RST_STREAM: u8 = 3;
    const GOAWAY: u8 = 7;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    let post = |path: &[u8], length: &[u8]| {
        let path = [&[4, path.len() as u8], path].concat();
        let length = [&[0x0f, 0x0d, length.len() as u8], length].concat();
        [POST2, &path, &length].concat()
    };
    let get = |field: &[u8]| [&b"\x82\x87\x01\x09localhost\x04\x07/health"[..], field].concat();
    catch_reasons();
    let server = crate::common::start(Config::default()).await;
    let mut tls = client::tls_stream("h2", server.address, &client::tls(&server))
        .await
        .unwrap();
    tls.write_all(PREFACE).await.unwrap();

    // A body that a route reads, and bodies that none reads: their responses have been sent before.
    let lengths: [(&[u8], &[u8], bool); 4] = [
        (b"/echo", b"99", false),
        (b"/nowhere", b"99", true),
        (b"/nowhere", b"1", true),
        (b"/health", b"99", true),
    ];
    let mut stream = 1;
    for (path, length, is_answered) in lengths {
        let head = frame2(1, END_HEADERS, stream, &post(path, length));
        tls.write_all(&head).await.unwrap();
        tls.flush().await.unwrap();
        let mut is_expected = is_answered;
        while is_expected {
            let (_, flags, _) = read_until(&mut tls, &[0, 1], stream).await;
            is_expected = flags & END_STREAM == 0;
        }
        let data = frame2(0, END_STREAM, stream, MESSAGE);
        tls.write_all(&data).await.unwrap();
        let (_, _, code) = read_until(&mut tls, &[RST_STREAM], stream).await;
        assert_eq!(code, [0, 0, 0, 1], "{path:?} {length:?}");
        stream += 2;
    }
    let block = |fields: &[&[u8]]| fields.concat();
    let (method, scheme, authority) = (b"\x82", b"\x87", b"\x01\x09localhost");
    let path = b"\x04\x07/health";
    for fields in [
        get(b"\x00\x0aconnection\x05close"),
        get(b"\x00\x02te\x04gzip"),
        get(b"\x04\x01/"),
        get(b"\x00\x01a\x01b\x82"),
        block(&[scheme, authority, path]),
        block(&[method, authority, path]),
        block(&[method, scheme, authority]),
        get(b"\x88"),
        get(b"\x0f\x0d\x02+0"),
        get(b"\x0f\x0d\x010\x0f\x0d\x011"),
        get(b"\x0f\x0d\x011"),
    ] {
        let head = frame2(1, END_HEADERS | END_STREAM, stream, &fields);
        tls.write_all(&head).await.unwrap();
        let (_, _, code) = read_until(&mut tls, &[RST_STREAM], stream).await;
        assert_eq!(code, [0, 0, 0, 1], "{fields:?}");
        stream += 2;
    }
    // The connection still serves.
    let head = frame2(1, END_HEADERS | END_STREAM, stream, &get(b""));
    tls.write_all(&head).await.unwrap();
    read_until(&mut tls, &[HEADERS], stream).await;
    // h2 ends it for a name in upper case.
    let head = get(b"\x00\x01A\x01b");
    let head = frame2(1, END_HEADERS | END_STREAM, stream + 2, &head);
    tls.write_all(&head).await.unwrap();
    let (_, _, payload) = read_until(&mut tls, &[GOAWAY], 0).await;
    assert_eq!(payload[4..8], [0, 0, 0, 1]);
    let log = server.stop().await;
    let streams: Vec<_> = log.refused().iter().map(|e| e.stream).collect();
    let refused: Vec<_> = (1..stream).step_by(2).map(|n| Some(u64::from(n))).collect();
    assert_eq!(streams, [&refused[..], &[None]].concat());
    assert!(log.refused().iter().all(|e| e.code == "PROTOCOL_ERROR"));
    let reasons: Vec<&str> = log.refused().iter().map(|e| e.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "the body is shorter than its content-length",
            "the body is shorter than its content-length",
            "the body is longer than its content-length",
            "the body is shorter than its content-length",
            "a field concerns one connection, which is not the message's matter",
            "the field \"te\" may have the value \"trailers\" only",
            "a pseudo-field is repeated",
            "a pseudo-field comes after other fields",
            "the pseudo-field \":method\" is missing",
            "the pseudo-field \":scheme\" is missing",
            "the pseudo-field \":path\" is missing",
            "a request has a \":status\"",
            "the field \"content-length\" is not a number",
            "there are several content-lengths, and they differ",
            "the body is shorter than its content-length",
            "a name has upper case, or a name or value has forbidden characters",
        ]
    );
}

/// Malformed requests of HTTP/1.1, and the code and rule that each is refused with.
const HTTP_1: [(&str, &str, &str); 11] = [
    (
        "GET /health HTTP/1.1\r\n\r\n",
        "400",
        "a request needs one Host header",
    ),
    (
        "GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        "400",
        "a request needs one Host header",
    ),
    (
        "GET /health HTTP/1.1\r\nhost: a b/c@d\r\n\r\n",
        "400",
        "the field \"host\" must be one host with an optional port",
    ),
    (
        "GET /health HTTP/1.1\r\nhost: u@a\r\n\r\n",
        "400",
        "the field \"host\" must be one host with an optional port",
    ),
    (
        "GET /health HTTP/1.0\r\nhost: a\r\nhost: a\r\n\r\n",
        "400",
        "a request needs one Host header",
    ),
    (
        "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\nx",
        "400",
        "invalid content-length parsed",
    ),
    (
        "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy",
        "400",
        "invalid content-length parsed",
    ),
    (
        "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        "400",
        "invalid transfer-encoding parsed",
    ),
    (
        "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n",
        "400",
        "Invalid chunk size line: missing size digit",
    ),
    (
        "GET /health HTTP/1.1\r\nhost: a\r\na b: c\r\n\r\n",
        "400",
        "invalid HTTP header parsed",
    ),
    ("a b c d\r\n\r\n", "400", "invalid HTTP version parsed"),
];

#[tokio::test]
async fn malformed_requests_over_http1_are_refused_and_logged() {
    let long = format!(
        "GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n",
        "y".repeat(20_000)
    );
    let too_long = (long.as_str(), "431", "message head is too large");
    let server = crate::common::start(Config::default()).await;
    for (request, code, _) in HTTP_1.iter().chain([&too_long]) {
        let mut tls = client::tls_stream("http/1.1", server.address, &client::tls(&server))
            .await
            .unwrap();
        tls.write_all(request.as_bytes()).await.unwrap();
        tls.flush().await.unwrap();
        let mut answer = [0; 12];
        let read = timeout(PATIENCE, tls.read_exact(&mut answer)).await;
        read.unwrap().unwrap();
        assert_eq!(answer[9..], *code.as_bytes(), "{request}");
    }
    // A client that goes away in the middle of a body breaks no rule.
    let mut tls = client::tls_stream("http/1.1", server.address, &client::tls(&server))
        .await
        .unwrap();
    let part = b"PUT /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\npart";
    tls.write_all(part).await.unwrap();
    tls.shutdown().await.unwrap();
    drop(tls);
    let log = server.stop().await;
    let refused = log.refused().into_iter();
    let mut refused: Vec<_> = refused
        .map(|e| (e.connection, &e.code[..], &e.reason[..]))
        .collect();
    refused.sort_unstable();
    let expected: Vec<_> = (1..)
        .zip(HTTP_1.iter().chain([&too_long]))
        .map(|(connection, (_, code, rule))| (connection, *code, *rule))
        .collect();
    assert_eq!(refused, expected);
}
