//! Servers that think for longer than a path may be silent.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use crate::common::{connect_by_h3, start};
use client::{Policy, Protocol};
use http::Response;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use server::{Config, Fault};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Past the first probe, its answer, and the second one.
const THINKS: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_over_tcp_is_not_taken_for_dead() {
    for (alpn, protocol) in [("http/1.1", Protocol::H1), ("h2", Protocol::H2)] {
        let (config, engine) = self_signed(&[alpn.as_bytes()]);
        let listener = Listener::new(config).await;
        let url = listener.url();
        let (connections, requests) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&connections), Arc::clone(&requests));
        tokio::spawn(async move {
            loop {
                let io = TokioIo::new(listener.accept().await);
                counts.0.fetch_add(1, Ordering::Relaxed);
                let requests = Arc::clone(&counts.1);
                let think = service_fn(move |_| {
                    requests.fetch_add(1, Ordering::Relaxed);
                    async {
                        tokio::time::sleep(THINKS).await;
                        Response::builder().body(Empty::<Bytes>::new())
                    }
                });
                tokio::spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    server.serve_connection(io, think).await.ok();
                });
            }
        });
        let engine = engine.build().unwrap();
        let answer = engine.get(&url).send().await.unwrap();
        let report = answer.report();
        assert_eq!((report.protocol, report.attempts), (protocol, 1));
        answer.bytes(0).await.unwrap();
        let counts = [connections, requests].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [1, 1], "connections and requests over {alpn}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_request_does_not_wait_for_the_rest_of_an_upload_that_is_answered() {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let (url, pieces) = (listener.url(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&pieces);
    tokio::spawn(async move {
        loop {
            let (mut stream, count) = (listener.accept().await, Arc::clone(&count));
            tokio::spawn(async move {
                let mut head = [0; 4_096];
                if stream.read(&mut head).await.unwrap_or(0) == 0 {
                    return;
                }
                let is_post = head.starts_with(b"POST");
                let pieces = if is_post {
                    count.load(Ordering::Relaxed)
                } else {
                    0
                };
                let status = if is_post { "401 No" } else { "200 OK" };
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {pieces}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                for _ in 0..pieces {
                    stream.flush().await.unwrap();
                    stream.write_all(b"x").await.unwrap();
                }
                stream.flush().await.unwrap();
                if is_post {
                    // It reads no more of what comes, and does not close.
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    let engine = engine.build().unwrap();
    for count in 0..12 {
        pieces.store(count, Ordering::Relaxed);
        let post = engine.request(http::Method::POST, &url);
        let answer = post.body(vec![0; 8 << 20]).send().await.unwrap();
        assert_eq!(answer.status(), 401);
        // The app reads none of it, or all of it.
        if count % 2 == 0 {
            answer.bytes(count).await.unwrap();
        } else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(answer);
        }
        let get = tokio::time::timeout(Duration::from_secs(10), engine.get(&url).send());
        let answer = get.await.expect("the request hangs").unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes(0).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_over_quic_is_not_taken_for_dead() {
    let server = start(Config {
        faults: [(1, Fault::Stall)].into(),
        ..Config::default()
    })
    .await;
    let url = server.url("/health");
    let engine = server.trusting().hint_h3(&url).build().unwrap();
    connect_by_h3(&engine, &url).await;
    let stalled = engine.get(&url).header("x-commute-id", "1");
    let stalled = stalled.time_limit(THINKS).send().await;
    assert_eq!(
        stalled.unwrap_err(),
        client::Error::TimedOut(client::Phase::Whole)
    );
    let next = engine.get(&url).policy(Policy::Race).send().await.unwrap();
    let report = next.report();
    assert_eq!((report.protocol, report.reused), (Protocol::H3, true));
    drop(engine);
    assert_eq!(server.stop().await.len(), 3);
}
