//! Responses that look odd and break no rule.

use http::Method;
use http_rules::MAX_INTERIM_RESPONSES;
use peers::{Data, Head, Protocol, Script, Split, Step, fields};

use crate::{answering, whole};

/// A response that is whole, with its body.
struct Row {
    what: &'static str,
    protocols: &'static [Protocol],
    method: Method,
    steps: Vec<Step>,
    body: &'static [u8],
}

const ALL: &[Protocol] = &Protocol::ALL;
const TEXT: &[Protocol] = &[Protocol::H1];
const H2: &[Protocol] = &[Protocol::H2];
const FRAMED: &[Protocol] = &[Protocol::H2, Protocol::H3];
const H3: &[Protocol] = &[Protocol::H3];

fn rows() -> Vec<Row> {
    let row = |what, protocols, steps: Vec<Step>| Row {
        what,
        protocols,
        method: Method::GET,
        steps,
        body: b"hello",
    };
    let hello = || Step::data(*b"hello");
    let length = |value| ("content-length", value);
    let head = |of: &[(&str, &str)]| Step::head(200, of);
    let text = |bytes: &str| vec![Step::Raw(bytes.as_bytes().to_vec())];
    let mut interim = vec![Step::head(103, &[]); MAX_INTERIM_RESPONSES as usize];
    interim.extend([head(&[length("5")]), hello(), Step::End]);
    let padded = || {
        Step::Data(Data {
            bytes: b"hello".to_vec(),
            padding: Some(255),
            ends: false,
        })
    };
    let in_frames = Step::Head(Head {
        status: 200,
        fields: fields(&[length("5"), ("x", "y")]),
        padding: Some(7),
        frames: 4,
        ends: false,
    });
    let ping = Step::Frame {
        kind: 6,
        flags: 0,
        on_stream: false,
        payload: vec![0; 8],
    };
    // A field that HTTP/1.1 needs, and the others ignore.
    let empty = |status, of: &[(&str, &str)]| vec![Step::head(status, of), Step::End];
    let bodiless = |what, method, steps| Row {
        method,
        body: b"",
        ..row(what, ALL, steps)
    };
    let mut many_empty = vec![head(&[length("5")])];
    many_empty.extend(vec![Step::data([]); 3_000]);
    many_empty.extend([hello(), Step::End]);
    vec![
        row(
            "equal lengths",
            ALL,
            vec![head(&[length("5"), length("5")]), hello(), Step::End],
        ),
        row(
            // HTTP/2's library rejects it, as RFC 9110 section 8.6 allows.
            "a list of equal lengths",
            &[Protocol::H1, Protocol::H3],
            vec![head(&[length("5, 5")]), hello(), Step::End],
        ),
        row("as many interim responses as are allowed", ALL, interim),
        bodiless(
            "HEAD with a length",
            Method::HEAD,
            empty(200, &[length("5")]),
        ),
        bodiless("304 with a length", Method::GET, empty(304, &[length("5")])),
        bodiless("204", Method::GET, empty(204, &[])),
        bodiless("no length and no body", Method::HEAD, empty(200, &[])),
        row(
            "empty DATA frames",
            FRAMED,
            vec![
                head(&[length("5")]),
                Step::data([]),
                hello(),
                Step::data([]),
                Step::End,
            ],
        ),
        row("thousands of empty DATA frames", FRAMED, many_empty),
        row("padding", H2, vec![in_frames, padded(), Step::End]),
        row(
            "unknown frames",
            H2,
            vec![
                Step::frame(0x42, b"unknown"),
                head(&[]),
                ping,
                Step::frame(0x43, &[]),
                hello(),
                Step::End,
            ],
        ),
        row(
            "unknown frames",
            H3,
            vec![
                Step::frame(0x21, b"reserved"),
                head(&[]),
                Step::frame(0x40 + 0x1f * 9, &[]),
                hello(),
                Step::frame(0xf0700, b"unknown"),
                Step::End,
            ],
        ),
        row(
            "trailers of framing fields, which are dropped",
            &[Protocol::H2, Protocol::H3],
            vec![head(&[]), hello(), Step::Trailers(fields(&[length("9")]))],
        ),
        row(
            "HTTP/1.0 with a length",
            TEXT,
            text("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 5\r\n\r\nhello"),
        ),
        row(
            "HTTP/1.0 until the end",
            TEXT,
            [
                text("HTTP/1.0 200 OK\r\n\r\nhello"),
                vec![Step::Close(peers::Close::Notify)],
            ]
            .concat(),
        ),
        row(
            "a coding that is none",
            TEXT,
            text(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 5\r\n\r\nhello",
            ),
        ),
        row(
            "a coding that overrides the length",
            TEXT,
            text(
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            ),
        ),
        row(
            "chunks with extensions and leading zeros",
            TEXT,
            text(
                "HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n0002;a=b\r\nhe\r\n3;c=\"d\"\r\nllo\r\n000\r\n\r\n",
            ),
        ),
        row(
            "fields with odd spaces",
            TEXT,
            text("HTTP/1.1 200 OK\r\nContent-Length:\t5 \r\nempty:\r\n\r\nhello"),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_breaks_no_rule_is_whole_however_it_is_cut() {
    let mut wrong = Vec::new();
    for row in rows() {
        for protocol in row.protocols {
            if KNOWN.contains(&(*protocol, row.what)) {
                continue;
            }
            for split in [Split::Whole, Split::Steps, Split::Bytes(7)] {
                let steps = row.steps.clone();
                let (server, engine) = answering(*protocol, Script { steps, split }).await;
                // The second one shows whether the connection is still in order.
                for _ in 0..2 {
                    let outcome = whole(&engine, row.method.clone(), &server.url("/")).await;
                    let outcome = outcome.map(|(_, body)| body);
                    if outcome.as_deref() != Ok(row.body) {
                        let what = row.what;
                        wrong.push(format!("{protocol:?}, {split:?}: {what}: {outcome:?}"));
                    }
                }
                let count = server.requests("/").len();
                if count != 2 {
                    wrong.push(format!("{protocol:?}: {}: asked {count} times", row.what));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows that do not hold yet, with the reason.
const KNOWN: &[(Protocol, &str)] = &[
    // h2 expects a body unless the head has END_STREAM.
    (Protocol::H2, "304 with a length"),
];

/// h2 counts empty DATA frames over the life of a connection.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_data_frame_in_every_response_ends_no_connection() {
    for protocol in FRAMED {
        let steps = vec![
            Step::head(200, &[("content-length", "5")]),
            Step::data([]),
            Step::data(*b"hello"),
            Step::End,
        ];
        let (server, engine) = answering(*protocol, Script::new(steps)).await;
        let mut connections = std::collections::BTreeSet::new();
        for _ in 0..300 {
            let (response, body) = whole(&engine, Method::GET, &server.url("/")).await.unwrap();
            assert_eq!(body, b"hello", "{protocol:?}");
            connections.insert(response.report().connection);
        }
        assert_eq!(connections.len(), 1, "{protocol:?}");
    }
}
