//! Servers that send what no server should.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::by_hand::{Listener, self_signed};
use client::{Engine, Error, Fault, Protocol};
use http::Response;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Answers every request over HTTP/1.1 with these bytes; returns the requests so far, too.
async fn answering(answer: Vec<u8>) -> (String, Engine, Arc<AtomicUsize>) {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let (url, requests) = (listener.url(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            let mut stream = listener.accept().await;
            let (answer, count) = (answer.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                while stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
                    count.fetch_add(1, Ordering::Relaxed);
                    // Of what is too long the client does not read the end.
                    if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, engine.build().unwrap(), requests)
}

fn broken_protocol() -> Error {
    Error::Failed {
        fault: Fault::Malformed,
        may_have_acted: true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_end_is_refused_at_once() {
    let many = (0..100_000)
        .map(|i| format!("x-{i}: y\r\n"))
        .collect::<String>();
    let long = format!("x: {}\r\n", "y".repeat(1 << 20));
    for fields in [many, long] {
        let answer = format!("HTTP/1.1 200 OK\r\n{fields}content-length: 0\r\n\r\n");
        let (url, engine, requests) = answering(answer.into_bytes()).await;
        let error = engine.get(&url).send().await.unwrap_err();
        assert_eq!(error, broken_protocol());
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_response_is_refused_at_once() {
    for answer in [
        "HTTP/9.9 200 OK\r\n\r\n",
        "220 mail.example ready\r\n\r\n",
        "\0\0\0\r\n\r\n",
    ] {
        let (url, engine, requests) = answering(answer.as_bytes().to_vec()).await;
        let error = engine.get(&url).send().await.unwrap_err();
        assert_eq!(error, broken_protocol(), "{answer:?}");
        assert_eq!(requests.load(Ordering::Relaxed), 1, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_fields_are_no_bomb() {
    let fields = (0..200)
        .map(|i| format!("x-{i}: y\r\n"))
        .collect::<String>();
    let answer = format!("HTTP/1.1 200 OK\r\n{fields}content-length: 0\r\n\r\n");
    let (url, engine, _) = answering(answer.into_bytes()).await;
    let response = engine.get(&url).send().await.unwrap();
    assert_eq!(response.headers().len(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_end_over_http_2_is_refused() {
    let (config, engine) = self_signed(&[b"h2"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    tokio::spawn(async move {
        loop {
            let io = TokioIo::new(listener.accept().await);
            let answer = service_fn(|_| async {
                let long = "y".repeat(1 << 20);
                Response::builder()
                    .header("x", long)
                    .body(Empty::<Bytes>::new())
            });
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                server.serve_connection(io, answer).await.ok();
            });
        }
    });
    let engine = engine.build().unwrap();
    let refused = engine.get(&url).send().await;
    assert!(matches!(refused, Err(Error::Failed { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn alt_svc_of_sixty_kilobytes_is_read_no_further_than_it_counts() {
    let entries = "h2=\":1\"; ma=1, ".repeat(4_000);
    let answer =
        format!("HTTP/1.1 200 OK\r\nalt-svc: {entries}h3=\":1\"\r\ncontent-length: 0\r\n\r\n");
    let (url, engine, _) = answering(answer.into_bytes()).await;
    let response = engine.get(&url).send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H1);
    let explained = engine.explain(&url).await;
    assert!(explained.contains("HTTP/3 here: unknown"), "{explained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn alt_svc_on_two_lines_is_one_list() {
    let answer = "HTTP/1.1 200 OK\r\nalt-svc: h2=\":443\"\r\nalt-svc: h3=\":4433\"\r\n\
                  content-length: 0\r\n\r\n";
    let (url, engine, _) = answering(answer.as_bytes().to_vec()).await;
    engine
        .get(&url)
        .send()
        .await
        .unwrap()
        .bytes(0)
        .await
        .unwrap();
    let explained = engine.explain(&url).await;
    assert!(explained.contains("HTTP/3 here: untried"), "{explained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_early_for_ever_is_an_answer() {
    let answer = "HTTP/1.1 425 Too Early\r\ncontent-length: 0\r\n\r\n";
    let (url, engine, requests) = answering(answer.as_bytes().to_vec()).await;
    let response = engine.get(&url).send().await.unwrap();
    assert_eq!(response.status(), 425);
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}
