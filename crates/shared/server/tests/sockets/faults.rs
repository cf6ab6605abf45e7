//! Injected faults: each fails as documented over each protocol, and no other request is affected.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::time::{Duration, Instant};

use crate::common::TestServer;
use crate::common::client::{self, PROTOCOLS, request};
use messages::v1::bench_client::BenchClient;
use messages::v1::{DownloadRequest, EchoRequest};
use server::{Config, Fault};
use tonic::Code;

/// The id that gets the fault.
const FAULTY: u32 = 1;
const OTHER: u32 = 2;

async fn start(fault: Fault) -> TestServer {
    crate::common::start(Config {
        faults: [(FAULTY, fault)].into(),
        ..Config::default()
    })
    .await
}

#[tokio::test]
async fn reset_breaks_one_response_and_is_logged_as_broken() {
    let server = start(Fault::Reset).await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        for bytes in [1, 20, 400_000] {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let path = format!("/bytes/{bytes}");
            let outcome = http.call(request("GET", &path, FAULTY, "")).await;
            assert!(outcome.is_err(), "{protocol} {bytes}: {outcome:?}");
            if protocol != "http/1.1" {
                // Only the stream was reset, not the connection.
                let next = http.call(request("GET", "/health", OTHER, "")).await;
                assert!(next.is_ok(), "{protocol}: {next:?}");
            }
        }
    }
    let log = server.stop().await;
    for request in log.requests() {
        assert_eq!(request.broken, request.id == Some(FAULTY), "{request:?}");
    }
    let broken = log
        .requests()
        .iter()
        .filter(|request| request.broken)
        .count();
    assert_eq!(broken, 9);
}

#[tokio::test]
async fn truncated_response_is_shorter_than_its_content_length() {
    let server = start(Fault::Truncate).await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        match http.call(request("GET", "/bytes/1000", FAULTY, "")).await {
            // hyper compares the length with the header; h3 leaves that to its caller.
            Err(_) => assert_ne!(protocol, "h3"),
            Ok(response) => {
                assert_eq!(protocol, "h3");
                assert_eq!(response.headers()["content-length"], "1000");
                assert_eq!(response.body().len(), 500);
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn garbage_flips_every_bit_and_keeps_the_length() {
    let server = start(Fault::Garbage).await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let mut bodies = Vec::new();
        for id in [FAULTY, OTHER] {
            let response = http.call(request("GET", "/bytes/1000", id, "")).await;
            bodies.push(response.unwrap().into_body());
        }
        let flipped: Vec<u8> = bodies[1].iter().map(|byte| !byte).collect();
        assert_eq!(bodies[0], flipped, "{protocol}");
    }
    server.stop().await;
}

#[tokio::test]
async fn slow_response_arrives_whole_after_its_pauses() {
    let server = start(Fault::Slow).await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let start = Instant::now();
        let response = http.call(request("GET", "/bytes/1000", FAULTY, "")).await;
        assert_eq!(response.unwrap().body().len(), 1000, "{protocol}");
        // Ten pauses of 50 ms. tokio never ends a sleep early, so the bound needs no margin.
        assert!(start.elapsed() >= Duration::from_millis(500), "{protocol}");
    }
    server.stop().await;
}

#[tokio::test]
async fn unavailable_and_redirect_replace_the_answer() {
    for (fault, status, location) in [
        (Fault::Unavailable, 503, None),
        (Fault::Redirect, 302, Some("/health")),
    ] {
        let server = start(fault).await;
        let tls = client::tls(&server);
        for protocol in PROTOCOLS {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let response = http.call(request("GET", "/bytes/1000", FAULTY, "")).await;
            let response = response.unwrap();
            assert_eq!(response.status(), status, "{protocol}");
            let actual = response.headers().get("location");
            assert_eq!(actual.map(|value| value.to_str().unwrap()), location);
            let other = http.call(request("GET", "/bytes/1000", OTHER, "")).await;
            assert_eq!(other.unwrap().status(), 200, "{protocol}");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn grpc_calls_fail_too() {
    for fault in [
        Fault::Reset,
        Fault::Truncate,
        Fault::Garbage,
        Fault::Unavailable,
    ] {
        let server = start(fault).await;
        let channel = client::grpc(server.address, &client::tls(&server)).await;
        let mut bench = BenchClient::new(channel.unwrap());
        let mut call = tonic::Request::new(DownloadRequest { bytes: 100_000 });
        let id = FAULTY.to_string().parse().unwrap();
        call.metadata_mut().insert("x-commute-id", id);
        let outcome = match bench.download(call).await {
            Err(status) => Err(status),
            Ok(response) => drain(response.into_inner()).await,
        };
        let code = outcome.map_err(|status| status.code());
        assert!(code.is_err(), "{fault}");
        if fault == Fault::Unavailable {
            assert_eq!(code, Err(Code::Unavailable));
        }
        bench.echo(EchoRequest::default()).await.unwrap();
        drop(bench);
        server.stop().await;
    }
}

async fn drain(mut chunks: tonic::Streaming<messages::v1::Chunk>) -> Result<(), tonic::Status> {
    while chunks.message().await?.is_some() {}
    Ok(())
}
