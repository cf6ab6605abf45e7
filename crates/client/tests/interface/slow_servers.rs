//! Servers that think for longer than a path may be silent.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use crate::common::start;
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
    let url = listener.url();
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            let mut stream = listener.accept().await;
            let mut head = [0; 4_096];
            assert!(stream.read(&mut head).await.unwrap() > 0);
            let status = if head.starts_with(b"POST") { 401 } else { 200 };
            let answer = format!("HTTP/1.1 {status} \r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            // It reads no more of what comes, and does not close.
            held.push(stream);
        }
    });
    let engine = engine.build().unwrap();
    let post = engine
        .request(http::Method::POST, &url)
        .body(vec![0; 8 << 20]);
    let answer = post.send().await.unwrap();
    assert_eq!(answer.status(), 401);
    answer.bytes(0).await.unwrap();
    let get = tokio::time::timeout(Duration::from_secs(10), engine.get(&url).send());
    let answer = get.await.expect("the request hangs").unwrap();
    assert_eq!(answer.status(), 200);
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
    assert_eq!(server.stop().await.len(), 2);
}
