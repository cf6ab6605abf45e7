//! Requests under way when the app closes all connections.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use bytes::Bytes;
use client::{Error, Fault};
use http::{Method, Response};
use http_body_util::Empty;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::sync::Notify;

#[tokio::test(flavor = "multi_thread")]
async fn requests_over_tcp_end_with_their_connection() {
    for alpn in [&b"h2"[..], b"http/1.1"] {
        let (config, engine) = self_signed(&[alpn]);
        let listener = Listener::new(config).await;
        let (url, arrived) = (listener.url(), Arc::new(Notify::new()));
        let arrives = Arc::clone(&arrived);
        tokio::spawn(async move {
            let io = TokioIo::new(listener.accept().await);
            let never = service_fn(|_| {
                arrives.notify_one();
                pending::<Result<Response<Empty<Bytes>>, Infallible>>()
            });
            let server = auto::Builder::new(TokioExecutor::new());
            server.serve_connection(io, never).await.ok();
        });
        let engine = engine.build().unwrap();
        let post = tokio::spawn(engine.request(Method::POST, &url).send());
        arrived.notified().await;
        engine.disconnect().await;
        let ended = tokio::time::timeout(Duration::from_secs(10), post).await;
        let expected = Error::Failed {
            fault: Fault::Reset,
            may_have_acted: true,
        };
        assert_eq!(ended.unwrap().unwrap().unwrap_err(), expected, "{alpn:?}");
    }
}
