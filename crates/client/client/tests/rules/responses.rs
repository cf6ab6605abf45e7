//! Rules of responses.

use client::{Error, Fault};
use http::Method;
use http_rules::{MAX_INTERIM_RESPONSES, Violation};
use peers::{Head, Protocol, Script, Step, fields};

use crate::{answering, whole};

/// A response that breaks a rule.
pub(crate) struct Row {
    pub(crate) violation: Violation,
    pub(crate) protocols: &'static [Protocol],
    what: &'static str,
    method: Method,
    steps: Vec<Step>,
}

const ALL: &[Protocol] = &Protocol::ALL;
/// HTTP/1.1 cannot express it: its fields may concern the connection, it has no pseudo-fields, and what follows a body
/// is the next message.
const FRAMED: &[Protocol] = &[Protocol::H2, Protocol::H3];
const TEXT: &[Protocol] = &[Protocol::H1];

const H2: &[Protocol] = &[Protocol::H2];
/// docs/reference/client-limits.md.
const MAX_HEAD_BYTES: usize = 256 << 10;

/// Creates a block with values of these lengths.
fn long(of: Vec<(&str, usize)>) -> Head {
    let field = |(name, bytes): (&str, usize)| (name.to_owned(), "v".repeat(bytes));
    Head {
        status: 200,
        fields: of.into_iter().map(field).collect(),
        ends: true,
        frames: 38,
        ..Head::default()
    }
}

pub(crate) fn rows() -> Vec<Row> {
    use Violation::{
        BodyTooLong, BodyTooShort, ConflictingLengths, ConnectionField, HeadTooLong, InvalidLength,
        PseudoField, SwitchingProtocols, Te, TooManyInterim, UnexpectedBody,
    };
    let row = |violation, protocols, what, steps: Vec<Step>| Row {
        violation,
        protocols,
        what,
        method: Method::GET,
        steps,
    };
    let head = |violation, protocols, what, of: &[(&str, &str)]| {
        let steps = vec![Step::head(200, of), Step::data(*b"hello"), Step::End];
        row(violation, protocols, what, steps)
    };
    let block = |what, of: &[(&str, &str)]| {
        row(PseudoField, FRAMED, what, vec![Step::block(of), Step::End])
    };
    let trailers = |violation, what, field| {
        let steps = vec![
            Step::head(200, &[]),
            Step::data(*b"hello"),
            Step::Trailers(fields(&[field])),
        ];
        row(violation, FRAMED, what, steps)
    };
    let length = |value| ("content-length", value);
    let ok = (":status", "200");
    let mut interim = vec![Step::head(103, &[]); MAX_INTERIM_RESPONSES as usize + 1];
    interim.extend([Step::head(200, &[length("0")]), Step::End]);
    let switching = vec![
        Step::head(101, &[]),
        Step::head(200, &[length("0")]),
        Step::End,
    ];
    let mut rows = vec![
        head(
            ConflictingLengths,
            ALL,
            "two lengths",
            &[length("5"), length("6")],
        ),
        head(
            ConflictingLengths,
            ALL,
            "a list of lengths",
            &[length("5, 6")],
        ),
        head(InvalidLength, ALL, "letters", &[length("five")]),
        head(InvalidLength, ALL, "a sign", &[length("+5")]),
        head(InvalidLength, ALL, "no digits", &[length("")]),
        head(
            InvalidLength,
            ALL,
            "too many digits",
            &[length("99999999999999999999")],
        ),
        row(SwitchingProtocols, ALL, "101", switching),
        row(
            TooManyInterim(MAX_INTERIM_RESPONSES),
            ALL,
            "103 for ever",
            interim,
        ),
        head(BodyTooShort, FRAMED, "an end too early", &[length("6")]),
        row(
            BodyTooShort,
            FRAMED,
            "the end in the head",
            vec![Step::head(200, &[length("6")]), Step::End],
        ),
        row(
            BodyTooShort,
            TEXT,
            "the connection's end",
            vec![
                Step::head(200, &[length("6")]),
                Step::data(*b"hello"),
                Step::Close(peers::Close::Notify),
            ],
        ),
        head(BodyTooLong, FRAMED, "a byte too many", &[length("4")]),
        head(BodyTooLong, FRAMED, "bytes instead of none", &[length("0")]),
        row(
            UnexpectedBody,
            FRAMED,
            "a body with 204",
            vec![Step::head(204, &[]), Step::data(*b"hello"), Step::End],
        ),
        row(
            UnexpectedBody,
            FRAMED,
            "a body with 304",
            vec![
                Step::head(304, &[length("5")]),
                Step::data(*b"hello"),
                Step::End,
            ],
        ),
        Row {
            method: Method::HEAD,
            ..head(UnexpectedBody, FRAMED, "a body after HEAD", &[length("5")])
        },
        block("no status", &[("x", "y")]),
        block("two statuses", &[ok, (":status", "404")]),
        block("a status after a field", &[("x", "y"), ok]),
        block("a pseudo-field of requests", &[ok, (":path", "/")]),
        block("an unknown pseudo-field", &[ok, (":unknown", "x")]),
        trailers(PseudoField, "a status in trailers", ok),
        trailers(PseudoField, "a path in trailers", (":path", "/")),
        row(
            PseudoField,
            H2,
            "a status in trailers, in another frame",
            vec![
                Step::head(200, &[]),
                Step::data(*b"hello"),
                Step::Frame {
                    kind: 1,
                    flags: 1,
                    on_stream: true,
                    payload: Vec::new(),
                },
                Step::Frame {
                    kind: 9,
                    flags: 4,
                    on_stream: true,
                    payload: vec![0x88],
                },
            ],
        ),
        head(Te, FRAMED, "another te than trailers", &[("te", "gzip")]),
        row(
            HeadTooLong(MAX_HEAD_BYTES),
            H2,
            "a long head",
            vec![Step::Head(long(vec![("x", 100); 2_000])), Step::End],
        ),
        row(
            HeadTooLong(MAX_HEAD_BYTES),
            H2,
            "long trailers",
            vec![
                Step::head(200, &[]),
                Step::Block(long(vec![("x", 100); 2_000])),
            ],
        ),
        row(
            HeadTooLong(MAX_HEAD_BYTES),
            H2,
            "trailers of which the library takes the short ones",
            vec![
                Step::head(200, &[]),
                Step::Block(long(vec![("x", 540_000), ("y", 1)])),
            ],
        ),
    ];
    let interim = Step::head(103, &[("connection", "close")]);
    let violation = ConnectionField("connection");
    let steps = vec![interim, Step::head(200, &[length("0")]), Step::End];
    rows.push(row(violation, FRAMED, "in an interim response", steps));
    for (name, value) in [
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
    ] {
        let violation = ConnectionField(name);
        rows.push(head(violation, FRAMED, "in the head", &[(name, value)]));
        rows.push(trailers(violation, "in trailers", (name, value)));
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_breaks_a_rule_is_an_error_and_asked_for_once() {
    let mut wrong = Vec::new();
    for row in rows() {
        for protocol in row.protocols {
            let name = format!("{protocol:?}: {} ({})", row.violation, row.what);
            if KNOWN.contains(&(*protocol, row.what)) {
                continue;
            }
            let (server, engine) = answering(*protocol, Script::new(row.steps.clone())).await;
            let outcome = whole(&engine, row.method.clone(), &server.url("/")).await;
            // A body that ends with its connection is cut off, and breaks nothing else.
            let cut_off = *protocol == Protocol::H1 && row.violation == Violation::BodyTooShort;
            // What h2 does not parse ends the connection, as RFC 9113 section 5.4.1 allows.
            let closes = *protocol == Protocol::H2 && row.what == "an unknown pseudo-field";
            let fits = match &outcome {
                Err(Error::Failed {
                    fault: Fault::Malformed,
                    may_have_acted: true,
                }) => true,
                Err(Error::Failed { fault, .. }) => {
                    cut_off && *fault == Fault::Reset || closes && *fault == Fault::Protocol
                }
                _ => false,
            };
            let count = server.requests("/").len();
            if !fits || count != 1 {
                let outcome = outcome.map(|(response, body)| (response.status(), body));
                wrong.push(format!("{name}: {outcome:?}, asked {count} times"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows that do not hold yet, with the reason.
const KNOWN: &[(Protocol, &str)] = &[
    // h2 ignores it.
    (Protocol::H2, "a pseudo-field of requests"),
];
