//! Hostile HTTP/2 and gRPC clients: each flood ends with GOAWAY or is tolerated, and others are
//! answered. The frames are written by hand, because no client library sends them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::time::Duration;

use crate::common::{TestServer, client, polite_client_is_answered};
use http::HeaderValue;
use server::Config;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Bounds a wait that would never end if the server did not answer; far above what any takes.
const PATIENCE: Duration = Duration::from_secs(60);

// Frame types and flags, RFC 9113 section 6.
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const PRIORITY: u8 = 0x2;
const RST_STREAM: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PING: u8 = 0x6;
const GOAWAY: u8 = 0x7;
const WINDOW_UPDATE: u8 = 0x8;
const CONTINUATION: u8 = 0x9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

// Error codes, RFC 9113 section 7.
const PROTOCOL_ERROR: u32 = 0x1;
const CANCEL: u32 = 0x8;
const ENHANCE_YOUR_CALM: u32 = 0xb;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `GET https://localhost/health`: entries 2, 7 and the names of 1 and 4 of HPACK's static table
/// (RFC 7541 appendix A), without indexing.
const GET_HEALTH: &[u8] = b"\x82\x87\x01\x09localhost\x04\x07/health";
/// `PUT https://localhost/upload`, with the name of entry 2.
const PUT_UPLOAD: &[u8] = b"\x02\x03PUT\x87\x01\x09localhost\x04\x07/upload";
/// Frames of one flood: more than any limit of h2, and few enough for a second.
const FLOOD: u32 = 100_000;

/// What the server does about a flood.
#[derive(Clone, Copy)]
enum Outcome {
    /// It ends the connection with this code.
    GoAway(u32),
    /// It answers the next request on the same connection.
    Tolerated,
}

/// A flood: the frames before it, those of each of its rounds by number, and its outcome.
struct Flood {
    name: &'static str,
    opening: Vec<u8>,
    round: fn(u32) -> Vec<u8>,
    outcome: Outcome,
}

fn floods() -> Vec<Flood> {
    let calm = Outcome::GoAway(ENHANCE_YOUR_CALM);
    let flood = |name, opening, round, outcome| Flood {
        name,
        opening,
        round,
        outcome,
    };
    vec![
        // CVE-2023-44487.
        flood("rapid reset", vec![], |n| [get(n), reset(n)].concat(), calm),
        // CVE-2025-8671: the server is made to reset the stream itself.
        flood(
            "made you reset: window update of 0",
            vec![],
            |n| [get(n), frame(WINDOW_UPDATE, 0, stream(n), &[0; 4])].concat(),
            Outcome::GoAway(PROTOCOL_ERROR),
        ),
        flood(
            "made you reset: window overflow",
            vec![],
            |n| {
                [
                    get(n),
                    frame(WINDOW_UPDATE, 0, stream(n), &[0x7f, 0xff, 0xff, 0xff]),
                ]
                .concat()
            },
            calm,
        ),
        // CVE-2024-27316 and its kin.
        flood(
            "full continuations",
            frame(HEADERS, 0, 1, GET_HEALTH),
            |_| frame(CONTINUATION, 0, 1, &literal(b"x", &[b'a'; 16_000])),
            calm,
        ),
        flood(
            "empty continuations",
            frame(HEADERS, 0, 1, GET_HEALTH),
            |_| frame(CONTINUATION, 0, 1, b""),
            calm,
        ),
        // CVE-2019-9518.
        flood(
            "empty data",
            frame(HEADERS, END_HEADERS, 1, PUT_UPLOAD),
            |_| frame(DATA, 0, 1, b""),
            calm,
        ),
        // CVE-2019-9515, -9512, and RFC 9113 section 5.3.2.
        flood(
            "settings",
            vec![],
            |_| frame(SETTINGS, 0, 0, b""),
            Outcome::Tolerated,
        ),
        flood(
            "pings",
            vec![],
            |_| frame(PING, 0, 0, &[0; 8]),
            Outcome::Tolerated,
        ),
        flood(
            "priorities",
            vec![],
            |n| frame(PRIORITY, 0, stream(n), &[0, 0, 0, 0, 1]),
            Outcome::Tolerated,
        ),
        flood(
            "frames of unknown types",
            vec![],
            |_| frame(0xfa, 0, 0, b"x"),
            Outcome::Tolerated,
        ),
        // A header block that cannot be decoded ends the connection, because the tables of both
        // sides may differ afterwards.
        flood(
            "endless hpack integer",
            vec![],
            |n| frame(HEADERS, 5, stream(n), &[0xff; 20]),
            Outcome::GoAway(PROTOCOL_ERROR),
        ),
        flood(
            "request on stream 0",
            vec![],
            |_| frame(HEADERS, 5, 0, GET_HEALTH),
            Outcome::GoAway(PROTOCOL_ERROR),
        ),
    ]
}

#[tokio::test]
async fn floods_end_the_connection_or_are_tolerated() {
    let server = crate::common::start(Config::default()).await;
    for flood in floods() {
        let last = match flood.outcome {
            Outcome::GoAway(_) => None,
            Outcome::Tolerated => Some(stream(FLOOD)),
        };
        let seen = send(&server, &flood, last).await;
        match flood.outcome {
            Outcome::GoAway(code) => assert_eq!(seen.go_away, Some(code), "{}", flood.name),
            Outcome::Tolerated => assert!(seen.answered, "{}", flood.name),
        }
        polite_client_is_answered(&server).await;
    }
    server.stop().await;
}

/// A header of 4 kB that is put into the dynamic table once and then named 15,000 times, one byte
/// each: 60 MB of headers per request.
#[tokio::test]
async fn hpack_bomb_is_refused() {
    let server = crate::common::start(Config::default()).await;
    let fill = [GET_HEALTH, b"\x40", &string(b"x"), &string(&[b'a'; 4000])].concat();
    let flood = Flood {
        name: "hpack bomb",
        opening: frame(HEADERS, END_HEADERS | END_STREAM, stream(FLOOD), &fill),
        round: |n| {
            // 62 is the newest entry of the dynamic table.
            let block = [GET_HEALTH, &[0x80 | 62; 15_000]].concat();
            frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                stream(FLOOD + 1 + n),
                &block,
            )
        },
        outcome: Outcome::GoAway(ENHANCE_YOUR_CALM),
    };
    let seen = send(&server, &flood, None).await;
    assert!(seen.go_away.is_some() || seen.statuses_431 > 0, "{seen:?}");
    polite_client_is_answered(&server).await;
    let log = server.stop().await;
    // Only the one that fills the table, and those of the polite client, were served.
    assert!(log.requests().len() <= 1 + client::PROTOCOLS.len());
}

/// gRPC messages whose five-byte prefix lies, and the gRPC status of the answer.
#[tokio::test]
async fn grpc_messages_with_false_prefixes_are_refused() {
    let server = crate::common::start(Config::default()).await;
    let cases: [(&str, &[u8], &str); 5] = [
        ("length of 4 GiB", b"\0\xff\xff\xff\xff", "11"),
        ("shorter than declared", b"\0\0\0\0\x05\x08", "13"),
        ("prefix cut short", b"\0\0\0", "13"),
        ("unknown flag", b"\x07\0\0\0\x02\x08\x01", "13"),
        (
            "compressed, not negotiated",
            b"\x01\0\0\0\x02\x08\x01",
            "13",
        ),
    ];
    let tls = client::tls(&server);
    for path in ["/commute.v1.Bench/Echo", "/commute.bench.v1.Exchange/Echo"] {
        for (what, body, status) in cases {
            let mut http = client::connect("h2", server.address, &tls).await.unwrap();
            let mut request = client::request("POST", path, 1, body);
            let headers = request.headers_mut();
            headers.insert("content-type", HeaderValue::from_static("application/grpc"));
            headers.insert("te", HeaderValue::from_static("trailers"));
            let answer = timeout(PATIENCE, http.call(request))
                .await
                .unwrap()
                .unwrap();
            assert_eq!(answer.headers()["grpc-status"], status, "{path} {what}");
        }
    }
    polite_client_is_answered(&server).await;
    server.stop().await;
}

/// What the server sent during a flood.
#[derive(Debug, Default)]
struct Seen {
    go_away: Option<u32>,
    /// The stream that was asked for last was answered.
    answered: bool,
    statuses_431: u32,
}

/// Sends a flood and reads what comes meanwhile, until the connection ends. With `last`, ends the
/// flood with a request on that stream and stops at its answer.
async fn send(server: &TestServer, flood: &Flood, last: Option<u32>) -> Seen {
    let tls = client::tls(server);
    let stream = client::tls_stream("h2", server.address, &tls)
        .await
        .unwrap();
    let (mut read, mut write) = tokio::io::split(stream);
    let writing = async {
        let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, b""), &flood.opening].concat();
        for n in 0..FLOOD {
            bytes.extend((flood.round)(n));
            if bytes.len() > 64 << 10 {
                // An error means that the server has closed the connection.
                if write.write_all(&bytes).await.is_err() {
                    return;
                }
                bytes.clear();
            }
        }
        if let Some(last) = last {
            let end = END_HEADERS | END_STREAM;
            bytes.extend(frame(HEADERS, end, last, GET_HEALTH));
        }
        write.write_all(&bytes).await.ok();
        write.flush().await.ok();
        std::future::pending::<()>().await;
    };
    let reading = async {
        let mut seen = Seen::default();
        while let Some((kind, stream, payload)) = next_frame(&mut read).await {
            match kind {
                GOAWAY => {
                    let code = payload[4..8].try_into().unwrap();
                    seen.go_away = Some(u32::from_be_bytes(code));
                }
                HEADERS if Some(stream) == last => {
                    seen.answered = true;
                    break;
                }
                HEADERS if payload.windows(3).any(|window| window == b"431") => {
                    seen.statuses_431 += 1;
                }
                _ => {}
            }
        }
        seen
    };
    let both = async {
        tokio::pin!(reading);
        tokio::select! {
            seen = &mut reading => seen,
            // The server has closed: what it sent before is still to be read.
            () = writing => reading.await,
        }
    };
    let seen = timeout(PATIENCE, both).await;
    seen.unwrap_or_else(|_| panic!("{}: neither an end nor an answer", flood.name))
}

/// Reads a frame: type, stream and payload; `None` at the end.
async fn next_frame(from: &mut (impl AsyncRead + Unpin)) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    from.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; length as usize];
    from.read_exact(&mut payload).await.ok()?;
    let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
    Some((head[3], stream, payload))
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Returns the id of the client's stream in a round.
fn stream(round: u32) -> u32 {
    1 + 2 * round
}

fn get(round: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream(round), GET_HEALTH)
}

fn reset(round: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream(round), &CANCEL.to_be_bytes())
}

/// Encodes a header without indexing.
fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[0][..], &string(name), &string(value)].concat()
}

/// Encodes a string of HPACK without Huffman coding: its length is an integer with a prefix of 7
/// bits.
fn string(text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![text.len().min(127) as u8];
    if let Some(mut rest) = text.len().checked_sub(127) {
        while rest >= 128 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    bytes.extend(text);
    bytes
}
