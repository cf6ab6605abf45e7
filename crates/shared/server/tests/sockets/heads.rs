//! Heads whose fields or authority break a rule, over HTTP/2 and HTTP/3: each is refused by itself and logged with the
//! rule. Pseudo-fields that the libraries decide about behave as documented.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client;
use crate::messages::{
    DATA, HEADERS, PATIENCE, POST2, PREFACE, catch_reasons, frame, frame2, headers, read_until,
};
use quinn::{ReadError, ReadToEndError};
use server::Config;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;

/// The head of `GET https://{authority}/health`.
struct Case {
    name: &'static str,
    authority: Option<&'static str>,
    fields: &'static [(&'static str, &'static str)],
    /// What is logged over HTTP/2 and over HTTP/3; nothing if the request gets status 200.
    refused: [Option<&'static str>; 2],
}

const LOCALHOST: Option<&str> = Some("localhost");
const SEVERAL_LENGTHS: Option<&str> = Some("there are several content-lengths");
const WHITE_SPACE: Option<&str> = Some("a value begins or ends with white space");
const AUTHORITY: Option<&str> =
    Some("the pseudo-field \":authority\" must be one host with an optional port");
const HOST: Option<&str> = Some("the field \"host\" must be one host with an optional port");
const HOST_DIFFERS: Option<&str> =
    Some("the field \"host\" differs from the pseudo-field \":authority\"");
const CONTRADICTION: Option<&str> = Some("uri and authority field are in contradiction");

const fn case(
    name: &'static str,
    authority: Option<&'static str>,
    fields: &'static [(&'static str, &'static str)],
    refused: [Option<&'static str>; 2],
) -> Case {
    Case {
        name,
        authority,
        fields,
        refused,
    }
}

const CASES: [Case; 17] = [
    case(
        "equal lengths",
        LOCALHOST,
        &[("content-length", "0"), ("content-length", "0")],
        [SEVERAL_LENGTHS; 2],
    ),
    case(
        "list of lengths",
        LOCALHOST,
        &[("content-length", "0, 0")],
        [
            Some("the field \"content-length\" is not a number"),
            SEVERAL_LENGTHS,
        ],
    ),
    case("leading space", LOCALHOST, &[("a", " b")], [WHITE_SPACE; 2]),
    case("leading tab", LOCALHOST, &[("a", "\tb")], [WHITE_SPACE; 2]),
    case(
        "trailing space",
        LOCALHOST,
        &[("a", "b ")],
        [WHITE_SPACE; 2],
    ),
    case("trailing tab", LOCALHOST, &[("a", "b\t")], [WHITE_SPACE; 2]),
    case("space only", LOCALHOST, &[("a", " ")], [WHITE_SPACE; 2]),
    case("userinfo", Some("u@localhost"), &[], [AUTHORITY; 2]),
    case(
        "userinfo in host",
        None,
        &[("host", "u@localhost")],
        [HOST, AUTHORITY],
    ),
    case(
        "other host",
        LOCALHOST,
        &[("host", "evil")],
        [HOST_DIFFERS, CONTRADICTION],
    ),
    case(
        "other port",
        LOCALHOST,
        &[("host", "localhost:1")],
        [HOST_DIFFERS, CONTRADICTION],
    ),
    // HTTP/2 compares what the values mean, HTTP/3 the values (RFC 9113 section 8.3.1, RFC 9114 section 4.3.1).
    case(
        "same host in other words",
        LOCALHOST,
        &[("host", "LocalHost:443")],
        [None, CONTRADICTION],
    ),
    case(
        "two hosts",
        LOCALHOST,
        &[("host", "localhost"), ("host", "localhost")],
        [HOST; 2],
    ),
    case("same host", LOCALHOST, &[("host", "localhost")], [None; 2]),
    case("only a host", None, &[("host", "localhost")], [None; 2]),
    case(
        "inner white space",
        LOCALHOST,
        &[("a", "b \t c")],
        [None; 2],
    ),
    case("empty value", LOCALHOST, &[("a", "")], [None; 2]),
];

/// Returns a field line of HPACK (RFC 7541 section 6.2.2).
fn line2(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    let lengths = (name.len() as u8, value.len() as u8);
    [&[0, lengths.0], name, &[lengths.1], value].concat()
}

/// Returns a field line of QPACK (RFC 9204 section 4.5.6).
fn line3(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (name.as_bytes(), value.as_bytes());
    let length = name.len() as u8;
    let name_length = match length {
        ..7 => vec![0x20 | length],
        _ => vec![0x27, length - 7],
    };
    [&name_length, name, &[value.len() as u8], value].concat()
}

impl Case {
    fn lines(&self, line: fn(&str, &str) -> Vec<u8>) -> Vec<u8> {
        let authority = self.authority.map(|authority| (":authority", authority));
        let fields = authority.iter().chain(self.fields);
        fields.flat_map(|(name, value)| line(name, value)).collect()
    }
}

#[tokio::test]
async fn heads_are_checked_over_http2() {
    catch_reasons();
    let server = crate::common::start(Config::default()).await;
    let mut tls = client::tls_stream("h2", server.address, &client::tls(&server))
        .await
        .unwrap();
    tls.write_all(PREFACE).await.unwrap();
    for (stream, case) in (1..).step_by(2).zip(&CASES) {
        let lines = [b"\x82\x87\x04\x07/health", &case.lines(line2)[..]].concat();
        let head = frame2(1, END_HEADERS | END_STREAM, stream, &lines);
        tls.write_all(&head).await.unwrap();
        let (kind, _, payload) = read_until(&mut tls, &[HEADERS, RST_STREAM], stream).await;
        let name = case.name;
        match case.refused[0] {
            Some(_) => assert_eq!(
                (kind, &payload[..]),
                (RST_STREAM, &[0, 0, 0, 1][..]),
                "{name}"
            ),
            // `:status: 200` (RFC 7541 appendix A).
            None => assert_eq!((kind, payload[0]), (HEADERS, 0x88), "{name}"),
        }
    }
    assert_refused(server, 0, "PROTOCOL_ERROR").await;
}

#[tokio::test]
async fn heads_are_checked_over_http3() {
    let server = crate::common::start(Config::default()).await;
    let quic = client::quic(server.address, &client::tls(&server)).unwrap();
    let quic = quic.await.unwrap();
    for case in &CASES {
        let (mut send, mut recv) = quic.open_bi().await.unwrap();
        let lines = [b"\xd1\xd7\x51\x07/health", &case.lines(line3)[..]];
        send.write_all(&headers(&lines)).await.unwrap();
        send.finish().unwrap();
        let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
        let name = case.name;
        match (case.refused[1], answer) {
            (Some(_), Err(ReadToEndError::Read(ReadError::Reset(code)))) => {
                assert_eq!(code.into_inner(), 0x10e, "{name}");
            }
            (None, Ok(answer)) => assert!(answer.windows(3).any(|bytes| bytes == b"ok\n")),
            (_, answer) => panic!("{name}: {answer:?}"),
        }
    }
    assert_refused(server, 1, "H3_MESSAGE_ERROR").await;
}

/// Checks that the log has every refusal of one protocol with its rule.
async fn assert_refused(server: crate::common::TestServer, protocol: usize, code: &str) {
    let log = server.stop().await;
    let refused = log.refused();
    assert!(refused.iter().all(|e| e.code == code && e.stream.is_some()));
    let reasons = refused.iter().map(|e| e.reason.as_str());
    let expected = CASES.iter().filter_map(|case| case.refused[protocol]);
    for (reason, expected) in reasons.clone().zip(expected.clone()) {
        assert!(reason.contains(expected), "{reason}, not {expected}");
    }
    assert_eq!(reasons.count(), expected.count());
}

/// Trailers that break a rule, and whether HTTP/2 and HTTP/3 refuse them. h2 drops pseudo-fields of trailers.
const TRAILERS: [(&str, &str, [bool; 2]); 6] = [
    ("te", "gzip", [true, true]),
    ("a", " b", [true, true]),
    ("a", "b\t", [true, true]),
    (":path", "/x", [false, true]),
    (":status", "200", [false, true]),
    ("a", "b", [false, false]),
];

#[tokio::test]
async fn trailers_are_checked_over_http2() {
    catch_reasons();
    let server = crate::common::start(Config::default()).await;
    let mut tls = client::tls_stream("h2", server.address, &client::tls(&server))
        .await
        .unwrap();
    tls.write_all(PREFACE).await.unwrap();
    let mut refused = Vec::new();
    for (stream, (name, value, [is_refused, _])) in (1..).step_by(2).zip(TRAILERS) {
        let request = [
            frame2(1, END_HEADERS, stream, &[POST2, b"\x04\x05/echo"].concat()),
            frame2(0, 0, stream, br#"{"start_ts":1}"#),
        ];
        tls.write_all(&request.concat()).await.unwrap();
        let trailers = frame2(1, END_HEADERS | END_STREAM, stream, &line2(name, value));
        tls.write_all(&trailers).await.unwrap();
        let (kind, _, payload) = read_until(&mut tls, &[HEADERS, RST_STREAM], stream).await;
        match is_refused {
            true => assert_eq!(
                (kind, &payload[..]),
                (RST_STREAM, &[0, 0, 0, 1][..]),
                "{name}"
            ),
            false => assert_eq!((kind, payload[0]), (HEADERS, 0x88), "{name}"),
        }
        refused.extend(is_refused.then_some(Some(u64::from(stream))));
    }
    let log = server.stop().await;
    let logged: Vec<_> = log.refused().iter().map(|e| e.stream).collect();
    assert_eq!(logged, refused);
    assert!(log.refused().iter().all(|e| e.code == "PROTOCOL_ERROR"));
    let reasons: Vec<_> = log.refused().iter().map(|e| e.reason.clone()).collect();
    assert_eq!(reasons[1..], [WHITE_SPACE.unwrap(); 2]);
}

#[tokio::test]
async fn trailers_are_checked_over_http3() {
    let server = crate::common::start(Config::default()).await;
    let quic = client::quic(server.address, &client::tls(&server)).unwrap();
    let quic = quic.await.unwrap();
    for (name, value, [_, is_refused]) in TRAILERS {
        let (mut send, mut recv) = quic.open_bi().await.unwrap();
        let request = [
            headers(&[b"\xd4\xd7\x50\x09localhost\x51\x05/echo"]),
            frame(DATA, br#"{"start_ts":1}"#),
            headers(&[&line3(name, value)]),
        ];
        send.write_all(&request.concat()).await.unwrap();
        send.finish().unwrap();
        let answer = timeout(PATIENCE, recv.read_to_end(1000)).await.unwrap();
        assert_eq!(answer.is_err(), is_refused, "{name}: {answer:?}");
    }
    let log = server.stop().await;
    let expected = TRAILERS.iter().filter(|(_, _, refused)| refused[1]).count();
    assert_eq!(log.refused().len(), expected);
    assert!(log.refused().iter().all(|e| e.code == "H3_MESSAGE_ERROR"));
}

#[tokio::test]
async fn an_unknown_pseudo_field_ends_the_connection_over_http2() {
    let server = crate::common::start(Config::default()).await;
    let mut tls = client::tls_stream("h2", server.address, &client::tls(&server))
        .await
        .unwrap();
    tls.write_all(PREFACE).await.unwrap();
    let lines = [b"\x82\x87\x04\x07/health", &line2(":foo", "x")[..]].concat();
    let head = frame2(1, END_HEADERS | END_STREAM, 1, &lines);
    tls.write_all(&head).await.unwrap();
    let (_, _, payload) = read_until(&mut tls, &[GOAWAY], 0).await;
    assert_eq!(payload[4..8], [0, 0, 0, 1]);
    server.stop().await;
}
