//! Faults on demand: each fails as promised, over each protocol, and harms nothing else.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::client::{self, PROTOCOLS, request};
use server::Config;

#[tokio::test]
async fn a_reset_breaks_one_response_and_is_logged_as_broken() {
    let server = common::start(Config {
        faults: true,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        for bytes in [0, 10, 200_000] {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let path = format!("/fault/reset/{bytes}");
            let outcome = http.call(request("GET", &path, 1, "")).await;
            assert!(outcome.is_err(), "{protocol} {bytes}: {outcome:?}");
            if protocol != "http/1.1" {
                // Only the stream broke.
                assert!(
                    http.call(request("GET", "/health", 2, "")).await.is_ok(),
                    "{protocol}"
                );
            }
        }
    }
    let log = server.stop().await;
    for request in log.requests() {
        assert_eq!(request.broken, request.id == Some(1), "{request:?}");
    }
    assert_eq!(
        log.requests()
            .iter()
            .filter(|request| request.broken)
            .count(),
        9
    );
}

#[tokio::test]
async fn a_truncated_response_is_shorter_than_its_promise() {
    let server = common::start(Config {
        faults: true,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        match http.call(request("GET", "/fault/truncate", 1, "")).await {
            // hyper notices; h3 leaves it to its caller.
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
async fn garbage_is_as_long_as_the_file_and_is_not_the_file() {
    let server = common::start(Config {
        faults: true,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let garbage = http
            .call(request("GET", "/fault/garbage", 1, ""))
            .await
            .unwrap();
        let file = http
            .call(request("GET", "/bytes/1000", 2, ""))
            .await
            .unwrap();
        assert_eq!(garbage.body().len(), file.body().len());
        assert!(
            garbage
                .body()
                .iter()
                .zip(file.body())
                .all(|(wrong, right)| wrong != right)
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn there_are_none_unless_asked_for() {
    let server = common::start(Config::default()).await;
    let mut http = client::connect("h2", server.address, &client::tls(&server))
        .await
        .unwrap();
    for path in [
        "/fault/stall/1",
        "/fault/reset/1",
        "/fault/truncate",
        "/fault/garbage",
    ] {
        assert_eq!(
            http.call(request("GET", path, 1, ""))
                .await
                .unwrap()
                .status(),
            404
        );
    }
    server.stop().await;
}
