//! Hostile HTTP/1.1 clients: requests that proxies and servers might read differently, and heads
//! that are too long.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::{client, polite_client_is_answered};
use server::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A request that is hidden in another's body.
const HIDDEN: &str = "GET /bytes/7 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Returns requests, and the statuses of all answers to them.
fn cases() -> Vec<(&'static str, String, &'static [&'static str])> {
    let put = |head: &str, body: &str| {
        format!("PUT /upload HTTP/1.1\r\nhost: localhost\r\n{head}\r\n\r\n{body}")
    };
    let long = "x".repeat(17 << 10);
    let many = "x-a: b\r\n".repeat(2_500);
    vec![
        // Two ways to say how long the body is. RFC 9112 section 6.3 lets Transfer-Encoding win
        // and demands that the connection is closed.
        (
            "content-length and transfer-encoding",
            put(
                "content-length: 5\r\ntransfer-encoding: chunked",
                &format!("0\r\n\r\n{HIDDEN}"),
            ),
            &["200"],
        ),
        (
            "two content-lengths",
            put("content-length: 0\r\ncontent-length: 63", HIDDEN),
            &["400"],
        ),
        (
            "space before the colon",
            put("transfer-encoding : chunked", &format!("0\r\n\r\n{HIDDEN}")),
            &["400"],
        ),
        (
            "folded header",
            put(
                "transfer-encoding:\r\n chunked\r\ncontent-length: 0",
                HIDDEN,
            ),
            &["400"],
        ),
        (
            "chunked is not last",
            put(
                "transfer-encoding: chunked, identity",
                &format!("0\r\n\r\n{HIDDEN}"),
            ),
            &["400"],
        ),
        (
            "chunk length with a sign",
            put("transfer-encoding: chunked", &format!("+0\r\n\r\n{HIDDEN}")),
            &["400"],
        ),
        (
            "no host",
            "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(),
            &["400"],
        ),
        (
            "two hosts",
            "GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n".to_owned(),
            &["400"],
        ),
        // HTTP/1.0 needs no Host.
        (
            "http/1.0",
            "GET /health HTTP/1.0\r\n\r\n".to_owned(),
            &["200"],
        ),
        (
            "header of 17 kB",
            format!("GET /health HTTP/1.1\r\nx: {long}\r\n\r\n"),
            &["431"],
        ),
        (
            "path of 17 kB",
            format!("GET /{long} HTTP/1.1\r\nhost: a\r\n\r\n"),
            &["431"],
        ),
        (
            "20 kB of headers",
            format!("GET /health HTTP/1.1\r\n{many}\r\n"),
            &["431"],
        ),
        ("endless line", long, &["431"]),
        ("binary", "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), &["400"]),
    ]
}

#[tokio::test]
async fn ambiguous_and_long_requests_get_one_answer() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    for (what, request, expected) in cases() {
        let stream = client::tls_stream("http/1.1", server.address, &tls);
        let mut stream = stream.await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // With or without TLS close_notify, the connection ends.
        stream.read_to_end(&mut answer).await.ok();
        let answer = String::from_utf8_lossy(&answer);
        let statuses: Vec<_> = answer
            .split("HTTP/1.")
            .skip(1)
            .map(|answer| &answer[2..5])
            .collect();
        assert_eq!(statuses, expected, "{what}: {answer}");
    }
    polite_client_is_answered(&server).await;
    let log = server.stop().await;
    let hidden = log
        .requests()
        .iter()
        .any(|request| request.path == "/bytes/7");
    assert!(!hidden, "a hidden request was served");
}
