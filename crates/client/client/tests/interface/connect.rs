//! Connections that are opened before there is a request.

use std::time::Duration;

use crate::common::start;
use client::{Error, Fault, Policy, Protocol};
use server::Config;
use tokio::net::TcpListener;

#[tokio::test(flavor = "multi_thread")]
async fn the_next_request_takes_the_connection() {
    let server = start(Config::default()).await;
    let health = server.url("/health");
    for (policy, protocol) in [(Policy::H2, Protocol::H2), (Policy::H3, Protocol::H3)] {
        let engine = server.trusting().hint_h3(&health).policy(policy);
        let engine = engine.build().unwrap();
        let connected = engine.connect(&health).await.unwrap();
        let report = connected.report;
        assert_eq!(report.protocol, protocol);
        assert!(connected.is_tls13 && report.local_port > 0 && report.phases.tls_ns.is_some());
        assert!(!report.reused && report.attempts == 0);
        let response = engine.get(&health).send().await.unwrap();
        let used = response.report();
        assert_eq!(used.connection, report.connection);
        assert!(used.reused && used.phases.tls_ns.is_none());
        let again = engine.connect(&health).await.unwrap();
        assert_eq!(again.report.connection, report.connection);
        assert!(again.report.reused && again.chain == connected.chain);
        // DER begins with a sequence.
        assert_eq!(connected.chain[0][0], 0x30);
    }
    assert_eq!(server.stop().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_is_the_error_that_a_request_would_get() {
    let (server, other) = (
        start(Config::default()).await,
        start(Config::default()).await,
    );
    let engine = other.trusting().build().unwrap();
    for (url, fault) in [
        (server.url("/"), Fault::Certificate),
        ("https://localhost:1".to_owned(), Fault::Connect),
        ("https://name.invalid".to_owned(), Fault::Name),
    ] {
        let refused = engine.connect(&url).await.unwrap_err();
        let may_have_acted = false;
        let expected = Error::Failed {
            fault,
            may_have_acted,
        };
        assert_eq!(refused, expected, "{url}");
    }
    let refused = engine.connect("http://localhost").await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_that_is_dropped_is_forgotten() {
    let server = start(Config::default()).await;
    // It accepts and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    let engine = server.trusting().build().unwrap();
    for _ in 0..600 {
        let connecting = engine.connect(&silent);
        tokio::time::timeout(Duration::from_micros(10), connecting)
            .await
            .unwrap_err();
    }
    // More at a time than may be would be refused.
    engine.connect(&server.url("/")).await.unwrap();
}
