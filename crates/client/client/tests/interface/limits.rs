//! Requests that take longer than they may, and in which phase.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use crate::common::start;
use client::{Error, Phase, Policy};
use server::{Config, Fault};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const SHORT: Duration = Duration::from_millis(200);
/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_without_end_is_no_connection() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/", silent.local_addr().unwrap().port());
    let (_, engine) = self_signed(&[]);
    let engine = engine.build().unwrap();
    let get = engine.get(&url).connect_limit(SHORT).time_limit(LONG);
    let error = get.send().await.unwrap_err();
    assert_eq!(error, Error::TimedOut(Phase::Connect));
    assert_eq!(error.to_string(), "no connection within the time limit");
}

/// A server ends a connection just as it is used again, and is silent on the next.
#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_without_end_after_a_dead_connection_is_none() {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    let first = async {
        let mut stream = listener.accept().await;
        assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(head).await.unwrap();
        assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
    };
    let engine = engine.build().unwrap();
    let get = || engine.get(&url).connect_limit(SHORT).time_limit(LONG);
    let gets = async {
        get().send().await.unwrap().bytes(0).await.unwrap();
        get().send().await.unwrap_err()
    };
    let ((), error) = tokio::join!(first, gets);
    // The server has read the request.
    assert_eq!(error, Error::TimedOut(Phase::FirstByte));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_thinks_longer_gives_no_first_byte() {
    let server = start(Config {
        faults: [(1, Fault::Stall)].into(),
        ..Config::default()
    })
    .await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    for policy in [Policy::H2, Policy::H3] {
        let get = engine.get(&server.url("/health")).policy(policy);
        let get = get.header("x-commute-id", "1").first_byte_limit(SHORT);
        // The limit on the connection is kept.
        let error = get.connect_limit(LONG).send().await.unwrap_err();
        assert_eq!(error, Error::TimedOut(Phase::FirstByte), "{policy:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_was_kept_does_not_count_later() {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    tokio::spawn(async move {
        let mut stream = listener.accept().await;
        assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n";
        stream.write_all(head).await.unwrap();
        for _ in 0..30 {
            stream.write_all(b".").await.unwrap();
            stream.flush().await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let engine = engine.build().unwrap();
    // Half as long as the whole takes, so that both limits pass amid the body.
    let limit = Duration::from_millis(1_500);
    let get = engine
        .get(&url)
        .connect_limit(limit)
        .first_byte_limit(limit);
    let response = get.idle_limit(LONG).send().await.unwrap();
    assert_eq!(response.bytes(30).await.unwrap().len(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stops_is_idle() {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    tokio::spawn(async move {
        let mut stream = listener.accept().await;
        assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
        let half = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234";
        stream.write_all(half).await.unwrap();
        stream.flush().await.unwrap();
        // Until the client gives up.
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    });
    let engine = engine.build().unwrap();
    let get = engine.get(&url).idle_limit(SHORT).time_limit(LONG);
    let mut response = get.send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "01234");
    let error = response.chunk().await.unwrap_err();
    assert_eq!(error, Error::TimedOut(Phase::Idle));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_reads_slowly_is_not_idle() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    for policy in [Policy::H2, Policy::H3] {
        let get = engine.get(&server.url("/bytes/4000000")).policy(policy);
        let mut response = get.idle_limit(SHORT).send().await.unwrap();
        response.chunk().await.unwrap();
        tokio::time::sleep(3 * SHORT).await;
        response.bytes(4_000_000).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_limits_are_none() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    for policy in [Policy::H2, Policy::H3] {
        let get = engine.get(&server.url("/bytes/100000")).policy(policy);
        let get = get
            .connect_limit(Duration::MAX)
            .first_byte_limit(Duration::MAX);
        let get = get.idle_limit(Duration::MAX).time_limit(Duration::MAX);
        let body = get.send().await.unwrap().bytes(100_000).await.unwrap();
        assert_eq!(body.len(), 100_000, "{policy:?}");
    }
}
