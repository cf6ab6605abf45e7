//! Servers that send interim responses over HTTP/3 before the final one (RFC 9110 section 15.2).

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::time::Duration;

use crate::common::by_hand::self_signed;
use crate::quic::quic;
use bytes::Bytes;
use client::{Engine, Error, Fault, Policy};
use h3::error::StreamError;
use h3::server::RequestStream;
use http::Response;

type Stream = RequestStream<h3_quic::BidiStream<Bytes>, Bytes>;

/// Answers by path; returns the URL without one.
fn server() -> (String, Engine) {
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let connection = h3_quic::Connection::new(incoming.await.unwrap());
            let server = h3::server::Connection::<_, Bytes>::new(connection);
            let mut server = server.await.unwrap();
            tokio::spawn(async move {
                while let Ok(Some(request)) = server.accept().await {
                    let (request, stream) = request.resolve_request().await.unwrap();
                    let path = request.uri().path().to_owned();
                    tokio::spawn(async move { answer(&path, stream).await });
                }
            });
        }
    });
    (url, engine.policy(Policy::H3).build().unwrap())
}

async fn answer(path: &str, mut stream: Stream) -> Result<(), StreamError> {
    let head = |status: u16| Response::builder().status(status).body(()).unwrap();
    match path {
        "/hinted" => {
            stream.send_response(head(100)).await?;
            stream.send_response(head(103)).await?;
        }
        "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
        _ => loop {
            stream.send_response(head(103)).await?;
        },
    }
    stream.send_response(head(200)).await?;
    stream.send_data(Bytes::from_static(b"the body")).await?;
    stream.finish().await
}

#[tokio::test(flavor = "multi_thread")]
async fn interim_responses_are_passed_over() {
    let (url, engine) = server();
    let get = async |path: &str| {
        let response = engine.get(&format!("{url}{path}")).send().await.unwrap();
        let connection = response.report().connection;
        assert_eq!(response.status(), 200, "{path}");
        let body = response.bytes(100).await.unwrap();
        assert_eq!(body, "the body", "{path}");
        connection
    };
    let (slow, hinted) = tokio::join!(get("slow"), get("hinted"));
    assert_eq!(slow, hinted, "the connection was shared");
}

#[tokio::test(flavor = "multi_thread")]
async fn interim_responses_without_end_are_refused() {
    let (url, engine) = server();
    let get = engine.get(&format!("{url}endless"));
    let error = get.idempotent(false).send().await.unwrap_err();
    let expected = Error::Failed {
        fault: Fault::Malformed,
        may_have_acted: true,
    };
    assert_eq!(error, expected);
}
