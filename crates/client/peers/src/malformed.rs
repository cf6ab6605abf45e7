//! Responses that break a rule.

use crate::Protocol;
use crate::message::Message;
use crate::rng::Rng;
use crate::script::{Data, Step, fields};

/// A response that breaks a rule.
pub(crate) struct Malformed {
    /// What is wrong.
    pub(crate) what: String,
    pub(crate) steps: Vec<Step>,
    /// The bytes of the body that may reach the app.
    pub(crate) body: Vec<u8>,
    /// Whether the connection ends with it.
    pub(crate) is_alone: bool,
}

/// Makes a response to a request with this method.
pub(crate) fn malformed(protocol: Protocol, method: &str, rng: &mut Rng) -> Malformed {
    match protocol {
        Protocol::H1 => text(method, rng),
        _ => framed(protocol, method, rng),
    }
}

/// Picks a malformed response over HTTP/1.1. Each has the text after `HTTP/1.1 `, or all of it if it begins otherwise,
/// and the body that may arrive.
fn text(method: &str, rng: &mut Rng) -> Malformed {
    const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n";
    let heads = [
        "200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        "200 OK\r\ncontent-length: 5, 6\r\n\r\nhello!",
        "200 OK\r\ncontent-length: five\r\n\r\nhello",
        "200 OK\r\ncontent-length: +5\r\n\r\nhello",
        "200 OK\r\ncontent-length: -5\r\n\r\nhello",
        "200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nhello",
        "200 OK\r\ncontent-length : 5\r\n\r\nhello",
        "200 OK\r\nna me: x\r\ncontent-length: 5\r\n\r\nhello",
        "200 OK\r\nname\r\ncontent-length: 5\r\n\r\nhello",
        "200 OK\r\nname: a\0b\r\ncontent-length: 5\r\n\r\nhello",
        "200 OK\r\n: x\r\ncontent-length: 5\r\n\r\nhello",
        "20 OK\r\ncontent-length: 5\r\n\r\nhello",
        "2000 OK\r\ncontent-length: 5\r\n\r\nhello",
        "abc OK\r\ncontent-length: 5\r\n\r\nhello",
        "101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    ];
    let bodies = [
        "x\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "5hello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello, too long\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    ];
    let whole = [
        "HTTP/9.9 200 OK\r\n\r\n",
        "220 mail ready\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
    ];
    // A response to HEAD has no chunks.
    let kinds = if method == "HEAD" { 2 } else { 4 };
    let (what, bytes) = match rng.below(kinds) {
        0 if rng.chance(20) => {
            let interim = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(101);
            let what = "101 interim responses".to_owned();
            (
                what,
                format!("{interim}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
            )
        }
        0 => {
            let whole = rng.pick(&whole);
            (whole.to_owned(), whole.to_owned())
        }
        1 => {
            let head = rng.pick(&heads);
            (head.to_owned(), format!("HTTP/1.1 {head}"))
        }
        _ => {
            let body = rng.pick(&bodies);
            (
                body.to_owned(),
                format!("HTTP/1.1 200 OK\r\n{CHUNKED}{body}"),
            )
        }
    };
    Malformed {
        what,
        steps: vec![Step::Raw(bytes.into_bytes())],
        body: b"hello".to_vec(),
        is_alone: true,
    }
}

/// Picks a malformed response over HTTP/2 or HTTP/3.
fn framed(protocol: Protocol, method: &str, rng: &mut Rng) -> Malformed {
    let message = |what: &str, steps: Vec<Step>, body: &[u8]| Malformed {
        what: what.to_owned(),
        steps,
        body: body.to_vec(),
        is_alone: false,
    };
    let has_body = method != "HEAD";
    match rng.below(if has_body { 5 } else { 3 }) {
        0 => {
            let is_alone = rng.chance(30);
            let (what, of) = if is_alone {
                field_syntax(rng)
            } else {
                head(rng)
            };
            let steps = vec![Step::block(&of), Step::End];
            let head = message(what, steps, b"");
            Malformed { is_alone, ..head }
        }
        1 => {
            let (status, count) = rng.pick(&[(101, 1), (103, 101)]);
            let mut steps = vec![Step::head(status, &[]); count];
            steps.extend([Step::head(200, &[]), Step::End]);
            message("interim responses", steps, b"")
        }
        2 if !has_body || rng.chance(30) => {
            let body = Step::data(*b"a body");
            match has_body {
                true => message(
                    "a body with 204",
                    vec![Step::head(204, &[]), body, Step::End],
                    b"",
                ),
                false => message(
                    "a body after HEAD",
                    vec![Step::head(200, &[]), body, Step::End],
                    b"",
                ),
            }
        }
        2 | 3 => length(rng),
        _ => {
            let (what, of) = rng.pick(&[
                ("a status in trailers", (":status", "200")),
                ("a path in trailers", (":path", "/")),
                ("connection in trailers", ("connection", "close")),
                (
                    "transfer-encoding in trailers",
                    ("transfer-encoding", "chunked"),
                ),
            ]);
            let body = Message::new(protocol, "GET", rng).body;
            let steps = vec![
                Step::head(200, &[]),
                Step::data(body.clone()),
                Step::Trailers(fields(&[of])),
            ];
            message(what, steps, &body)
        }
    }
}

/// Creates a body that is not as long as its head says.
fn length(rng: &mut Rng) -> Malformed {
    let count = rng.below(20_000);
    let body = rng.bytes(count);
    let (what, says) = match rng.below(2) {
        0 => ("a body that is too short", body.len() + 1 + rng.below(10)),
        _ => (
            "a body that is too long",
            body.len().saturating_sub(1 + rng.below(10)),
        ),
    };
    let (what, says) = match says == body.len() {
        true => ("a body that is too short", says + 1),
        false => (what, says),
    };
    let head = Step::head(200, &[("content-length", &says.to_string())]);
    let ends = rng.chance(50);
    let data = Step::Data(Data {
        bytes: body.clone(),
        ends,
        padding: None,
    });
    let mut steps = vec![head, data];
    if !ends {
        steps.push(Step::End);
    }
    Malformed {
        what: what.to_owned(),
        steps,
        body,
        is_alone: false,
    }
}

type Fields = Vec<(&'static str, &'static str)>;

/// Picks the fields of a head that breaks a rule of messages.
fn head(rng: &mut Rng) -> (&'static str, Fields) {
    let ok = (":status", "200");
    rng.pick(&[
        ("no status", vec![("x", "y")]),
        ("two statuses", vec![ok, (":status", "404")]),
        ("the same status twice", vec![ok, ok]),
        ("a late status", vec![("x", "y"), ok]),
        ("a path", vec![ok, (":path", "/")]),
        ("connection", vec![ok, ("connection", "close")]),
        ("keep-alive", vec![ok, ("keep-alive", "timeout=5")]),
        ("proxy-connection", vec![ok, ("proxy-connection", "close")]),
        (
            "transfer-encoding",
            vec![ok, ("transfer-encoding", "chunked")],
        ),
        ("upgrade", vec![ok, ("upgrade", "h2c")]),
        (
            "two lengths",
            vec![ok, ("content-length", "5"), ("content-length", "6")],
        ),
        ("a list of lengths", vec![ok, ("content-length", "5, 6")]),
        ("a length of letters", vec![ok, ("content-length", "five")]),
        ("a length with a sign", vec![ok, ("content-length", "+5")]),
        ("an empty length", vec![ok, ("content-length", "")]),
    ])
}

/// Picks the fields of a head that breaks the syntax of fields. A client may close the connection for it (RFC 9113
/// section 5.4.1), as h2 does.
fn field_syntax(rng: &mut Rng) -> (&'static str, Fields) {
    let ok = (":status", "200");
    rng.pick(&[
        ("an unknown pseudo-field", vec![ok, (":unknown", "x")]),
        ("a status of letters", vec![(":status", "abc")]),
        ("a status of two digits", vec![(":status", "20")]),
        ("an empty status", vec![(":status", "")]),
        ("an upper-case name", vec![ok, ("X-Name", "x")]),
        ("a name with a space", vec![ok, ("na me", "x")]),
        ("an empty name", vec![ok, ("", "x")]),
        ("a line break in a value", vec![ok, ("x", "a\r\nb: c")]),
    ])
}
