//! Rules of requests.

use client::Error;
use http::Method;
use http_rules::{MAX_REQUEST_FIELDS, MAX_REQUEST_HEAD_BYTES, Violation};
use peers::{Protocol, Script, Step};

use crate::{answering, policy};

/// A request that breaks a rule.
pub(crate) struct Row {
    pub(crate) violation: Violation,
    method: Method,
    fields: Vec<(String, String)>,
    /// The body; nothing if it is streamed.
    body: Option<&'static str>,
}

/// What no request of an app can break: the path of a URL begins with a slash, or is empty, and the engine writes the
/// authority, the length and values without white space around them.
pub(crate) const INEXPRESSIBLE: &[Violation] = &[
    Violation::Target,
    Violation::OneHost,
    Violation::Authority,
    Violation::HostDiffers,
    Violation::WhiteSpace,
    Violation::SeveralLengths,
];

pub(crate) fn rows() -> Vec<Row> {
    let row = |violation, method, fields: &[(&str, &str)], body| Row {
        violation,
        method,
        fields: peers::fields(fields),
        body,
    };
    let with = |violation, name, value| row(violation, Method::POST, &[(name, value)], Some("abc"));
    let many = |count: usize, length: usize| -> Vec<(String, String)> {
        (0..count)
            .map(|i| (format!("x-{i}"), "y".repeat(length)))
            .collect()
    };
    let (field, body) = (5, 3);
    vec![
        row(Violation::Connect, Method::CONNECT, &[], Some("")),
        row(Violation::TraceContent, Method::TRACE, &[], Some("abc")),
        with(
            Violation::ConnectionField("connection"),
            "connection",
            "close",
        ),
        with(
            Violation::ConnectionField("keep-alive"),
            "keep-alive",
            "timeout=5",
        ),
        with(
            Violation::ConnectionField("proxy-connection"),
            "proxy-connection",
            "close",
        ),
        with(
            Violation::ConnectionField("transfer-encoding"),
            "transfer-encoding",
            "chunked",
        ),
        with(
            Violation::ConnectionField("upgrade"),
            "upgrade",
            "websocket",
        ),
        with(Violation::Te, "te", "gzip"),
        with(Violation::Host, "host", "a b"),
        row(
            Violation::Host,
            Method::GET,
            &[("host", "a"), ("host", "b")],
            Some(""),
        ),
        with(Violation::InvalidLength, "content-length", "three"),
        with(Violation::ConflictingLengths, "content-length", "3, 4"),
        with(
            Violation::WrongLength { field, body },
            "content-length",
            "5",
        ),
        row(
            Violation::WrongLength { field: 99, body: 0 },
            Method::GET,
            &[("content-length", "99")],
            Some(""),
        ),
        row(
            Violation::LengthOfStream,
            Method::PUT,
            &[("content-length", "3")],
            None,
        ),
        Row {
            fields: many(MAX_REQUEST_FIELDS + 1, 1),
            ..row(
                Violation::TooManyFields(MAX_REQUEST_FIELDS),
                Method::GET,
                &[],
                Some(""),
            )
        },
        // More than a `HeaderMap` takes: it would panic.
        Row {
            fields: many(40_000, 1),
            ..row(
                Violation::TooManyFields(MAX_REQUEST_FIELDS),
                Method::GET,
                &[],
                Some(""),
            )
        },
        Row {
            fields: many(5, MAX_REQUEST_HEAD_BYTES / 5),
            ..row(
                Violation::HeadTooLong(MAX_REQUEST_HEAD_BYTES),
                Method::GET,
                &[],
                Some(""),
            )
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_breaks_a_rule_is_refused_before_it_is_sent() {
    for protocol in Protocol::ALL {
        let script = Script::new([Step::head(200, &[("content-length", "0")]), Step::End]);
        let (server, engine) = answering(protocol, script).await;
        for row in rows() {
            let request = engine.request(row.method, &server.url("/"));
            let mut request = request.policy(policy(protocol));
            for (name, value) in &row.fields {
                request = request.header(name, value);
            }
            let (request, _writer) = match row.body {
                Some(body) => (request.body(body), None),
                None => {
                    let (request, writer) = request.streamed(None);
                    (request, Some(writer))
                }
            };
            let Err(Error::Invalid(text)) = request.send().await else {
                panic!("{}: it was sent over {protocol:?}", row.violation);
            };
            let section = row.violation.section();
            assert_eq!(
                text,
                format!("{} ({section})", row.violation),
                "{protocol:?}"
            );
        }
        assert_eq!(server.connections(), 0, "{protocol:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_the_same_over_every_version() {
    let script = || Script::new([Step::head(200, &[("content-length", "0")]), Step::End]);
    for protocol in Protocol::ALL {
        let (server, engine) = answering(protocol, script()).await;
        let base = server.url("");
        let send = async |target: &str, fields: &[(&str, &str)], body: &str| {
            let request = engine.request(Method::POST, &format!("{base}{target}"));
            let request = fields.iter().fold(request, |request, (name, value)| {
                request.header(*name, *value)
            });
            request.body(body.to_owned()).send().await.unwrap();
        };
        let of = |path: &str, wanted: &[&str]| -> Vec<String> {
            let request = server.requests(path).pop();
            let request = request.unwrap_or_else(|| panic!("{path} is not sent over {protocol:?}"));
            let fields = request.fields.iter();
            let values = fields.filter(|(name, _)| wanted.contains(&name.as_str()));
            values.map(|(_, value)| value.clone()).collect()
        };
        let (host, length) = (["host", ":authority"], ["content-length"]);
        let own = format!("localhost:{}", server.port);
        send("?x=1", &[], "").await;
        assert_eq!(of("/?x=1", &host)[0], own, "{protocol:?}");
        assert_eq!(of("/?x=1", &length), ["0"], "{protocol:?}");
        send("/\u{e9}", &[("content-length", "3")], "abc").await;
        assert_eq!(of("/%C3%A9", &host), [own], "{protocol:?}");
        assert_eq!(of("/%C3%A9", &length), ["3"], "{protocol:?}");
        send("/host", &[("host", "other.example:8443")], "").await;
        assert_eq!(of("/host", &host), ["other.example:8443"], "{protocol:?}");
        send("/blanks", &[("x-a", " a b\t"), ("x-b", "\t ")], "").await;
        assert_eq!(of("/blanks", &["x-a", "x-b"]), ["a b", ""], "{protocol:?}");
    }
}
