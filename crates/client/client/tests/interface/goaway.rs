//! Servers that take no more requests on a connection, by GOAWAY.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::by_hand::{Listener, self_signed};
use crate::quic::quic;
use bytes::Bytes;
use client::Policy;
use http::{Method, Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// RFC 9113 section 6.
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM_AND_HEADERS: u8 = 5;
/// `:status: 200` by its index in HPACK's static table (RFC 7541 appendix A).
const STATUS_200: &[u8] = &[0x88];

/// HTTP/2, frame by frame.
struct H2(TlsStream<TcpStream>);

impl H2 {
    async fn accept(listener: &Listener) -> Self {
        let mut h2 = Self(listener.accept().await);
        let mut preface = [0; 24];
        h2.0.read_exact(&mut preface).await.unwrap();
        h2.write(SETTINGS, 0, 0, &[]).await;
        h2.write(SETTINGS, ACK, 0, &[]).await;
        h2
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.0.write_all(&[&head, payload].concat()).await.unwrap();
        self.0.flush().await.unwrap();
    }

    /// Returns the stream of the next request; nothing at the end.
    async fn request(&mut self) -> Option<u32> {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            self.0.read_exact(&mut payload).await.ok()?;
            if head[3] == HEADERS {
                return Some(u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
            }
        }
    }

    async fn answer(&mut self, stream: u32) {
        self.write(HEADERS, END_STREAM_AND_HEADERS, stream, STATUS_200)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_http_2_did_not_take_is_sent_on_another_connection() {
    let (config, engine) = self_signed(&[b"h2"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    let (said, came) = tokio::sync::oneshot::channel();
    let (go_on, gone_on) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut first = H2::accept(&listener).await;
        let taken = first.request().await.unwrap();
        said.send(()).unwrap();
        first.request().await.unwrap();
        // The last stream that was taken, and no error.
        let payload = [taken.to_be_bytes(), [0; 4]].concat();
        first.write(GOAWAY, 0, 0, &payload).await;
        let mut second = H2::accept(&listener).await;
        for _ in 0..2 {
            let stream = second.request().await.unwrap();
            second.answer(stream).await;
        }
        gone_on.await.unwrap();
        first.answer(taken).await;
        // Nothing else comes on the first connection.
        assert_eq!(first.request().await, None);
        second.request().await;
    });
    let engine = engine.policy(Policy::H2).build().unwrap();
    let post = || engine.request(Method::POST, &url).body("once");
    let taken = tokio::spawn(post().send());
    came.await.unwrap();
    let (refused, next) = (post().send().await.unwrap(), post().send().await.unwrap());
    go_on.send(()).unwrap();
    let taken = taken.await.unwrap().unwrap();
    let reports = [&taken, &refused, &next].map(|response| response.report().clone());
    for response in [taken, refused, next] {
        assert_eq!(response.status(), StatusCode::OK);
    }
    assert_eq!(reports.clone().map(|report| report.attempts), [1, 2, 1]);
    assert_ne!(reports[0].connection, reports[1].connection);
    assert_eq!(reports[1].connection, reports[2].connection);
}

/// Serves one connection after another; returns how many there were.
fn count_connections<F>(listener: Listener, serve: fn(H2) -> F) -> Arc<AtomicUsize>
where
    F: Future<Output = ()> + Send + 'static,
{
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let h2 = H2::accept(&listener).await;
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(h2));
        }
    });
    connections
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_after_each_request_answers_all() {
    let (config, engine) = self_signed(&[b"h2"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    let connections = count_connections(listener, |mut h2: H2| async move {
        let stream = h2.request().await.unwrap();
        h2.answer(stream).await;
        let payload = [stream.to_be_bytes(), [0; 4]].concat();
        h2.write(GOAWAY, 0, 0, &payload).await;
        assert_eq!(h2.request().await, None, "it takes no more");
    });
    let engine = engine.policy(Policy::H2).build().unwrap();
    for _ in 0..50 {
        let post = engine.request(Method::POST, &url).body("once");
        assert_eq!(post.send().await.unwrap().status(), StatusCode::OK);
    }
    assert!(connections.load(Ordering::Relaxed) >= 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_always_goes_away_is_asked_four_times() {
    let (config, engine) = self_signed(&[b"h2"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    let connections = count_connections(listener, |mut h2: H2| async move {
        h2.request().await;
        h2.write(GOAWAY, 0, 0, &[0; 8]).await;
        assert_eq!(h2.request().await, None, "it takes no more");
    });
    let engine = engine.policy(Policy::H2).build().unwrap();
    let post = engine.request(Method::POST, &url).body("once");
    let expected = client::Error::Failed {
        fault: client::Fault::Reset,
        may_have_acted: false,
    };
    assert_eq!(post.send().await.unwrap_err(), expected);
    assert_eq!(connections.load(Ordering::Relaxed), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_http_3_did_not_take_is_sent_on_another_connection() {
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let (said, goes_away) = tokio::sync::oneshot::channel();
    let (go_on, gone_on) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let accept = async || {
            let quic = endpoint.accept().await.unwrap().await.unwrap();
            let connection = h3_quic::Connection::new(quic);
            let server = h3::server::Connection::<_, Bytes>::new(connection);
            server.await.unwrap()
        };
        let mut first = accept().await;
        let (_, mut taken) = first
            .accept()
            .await
            .unwrap()
            .unwrap()
            .resolve_request()
            .await
            .unwrap();
        first.shutdown(0).await.unwrap();
        said.send(()).unwrap();
        let refuses = tokio::spawn(async move {
            let more = first.accept().await;
            assert!(
                matches!(more, Ok(None) | Err(_)),
                "the first takes another request"
            );
        });
        let mut second = accept().await;
        for _ in 0..2 {
            let request = second.accept().await.unwrap().unwrap();
            let (_, mut stream) = request.resolve_request().await.unwrap();
            stream.send_response(Response::new(())).await.unwrap();
            stream.finish().await.unwrap();
        }
        gone_on.await.unwrap();
        taken.send_response(Response::new(())).await.unwrap();
        taken.finish().await.unwrap();
        drop(taken);
        refuses.await.unwrap();
        second.accept().await.ok();
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    let post = || engine.request(Method::POST, &url).body("once");
    let taken = tokio::spawn(post().send());
    goes_away.await.unwrap();
    let (refused, next) = (post().send().await.unwrap(), post().send().await.unwrap());
    go_on.send(()).unwrap();
    let taken = taken.await.unwrap().unwrap();
    let reports = [&taken, &refused, &next].map(|response| response.report().clone());
    assert_ne!(reports[0].connection, reports[1].connection);
    assert_eq!(reports[1].connection, reports[2].connection);
    assert_eq!((reports[0].attempts, reports[2].attempts), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_streamed_body_that_was_not_taken_it_is_said_that_nothing_was_done() {
    let (config, engine) = self_signed(&[b"h2"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    let connections = count_connections(listener, |mut h2: H2| async move {
        h2.request().await;
        let mut data = [0; 9 + 5];
        h2.0.read_exact(&mut data).await.unwrap();
        h2.write(GOAWAY, 0, 0, &[0; 8]).await;
        assert_eq!(h2.request().await, None, "it takes no more");
    });
    let engine = engine.policy(Policy::H2).build().unwrap();
    let (put, mut writer) = engine.request(Method::PUT, &url).streamed(None);
    let sent = tokio::spawn(put.send());
    writer.write("hello".into()).await.unwrap();
    let expected = client::Error::Failed {
        fault: client::Fault::Reset,
        may_have_acted: false,
    };
    assert_eq!(sent.await.unwrap().unwrap_err(), expected);
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}
