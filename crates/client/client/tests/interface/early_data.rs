//! Requests that are sent before the handshake is done (0-RTT).

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::by_hand::self_signed;
use crate::common::{TestServer, connect_by_h3, start};
use bytes::Bytes;
use client::{Engine, Policy, Protocol, Report};
use http::{Method, Response, StatusCode};
use server::Config;

const MIB: usize = 1 << 20;

fn early() -> Config {
    Config {
        early_data: true,
        ..Config::default()
    }
}

/// Creates an engine that has a session with the server, and no connection.
async fn with_session(server: &TestServer, policy: Policy) -> Engine {
    let engine = server.trusting().hint_h3(&server.url("/")).policy(policy);
    let engine = engine.early_data(true).build().unwrap();
    for _ in 0..2 {
        connect_by_h3(&engine, &server.url("/health")).await;
        // Its tickets come after the handshake.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    engine.disconnect().await;
    engine
}

async fn get(engine: &Engine, url: &str) -> Report {
    let response = engine.get(url).send().await.unwrap();
    let report = response.report().clone();
    response.bytes(MIB).await.unwrap();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_after_a_pause_is_sent_before_the_handshake_is_done() {
    let server = start(early()).await;
    let engine = with_session(&server, Policy::H3).await;
    let report = get(&engine, &server.url("/health")).await;
    assert_eq!(report.protocol, Protocol::H3, "{}", report.reason);
    assert!(
        report.early_data && report.resumed && !report.reused,
        "{report:?}"
    );
    assert_eq!(report.attempts, 1);
    let next = get(&engine, &server.url("/health")).await;
    assert!(!next.early_data && next.reused, "{next:?}");
    assert_eq!(next.connection, report.connection);
    let log = server.stop().await;
    let early: Vec<bool> = log.iter().map(|request| request.early_data).collect();
    assert_eq!(early, [false, false, true, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_may_go_either_way_is_sent_early_unless_tcp_is_ready_before() {
    let server = start(early()).await;
    let engine = with_session(&server, Policy::Adaptive).await;
    // TCP is 100 ms behind, which a busy machine may need.
    for _ in 0..5 {
        let report = get(&engine, &server.url("/health")).await;
        if report.protocol == Protocol::H3 {
            assert!(report.early_data && report.attempts == 1, "{report:?}");
            return;
        }
        engine.disconnect().await;
    }
    panic!("TCP was always ready before");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_repeated_waits_for_the_handshake() {
    let server = start(early()).await;
    let (health, echo) = (server.url("/health"), server.url("/echo"));
    let engine = with_session(&server, Policy::H3).await;
    let post = engine
        .request(Method::POST, &echo)
        .body(r#"{"start_ts":1}"#);
    let refused = engine.get(&health).early_data(false);
    // A GET that may do harm, says the app.
    let harmful = engine.get(&health).idempotent(false);
    let once = engine.get(&health).resends(false);
    let (post, refused, harmful, once) =
        tokio::join!(post.send(), refused.send(), harmful.send(), once.send());
    for response in [post, refused, harmful, once] {
        assert!(!response.unwrap().report().early_data);
    }
    drop(engine);
    assert!(
        server
            .stop()
            .await
            .iter()
            .all(|request| !request.early_data)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_answered_whether_the_server_takes_early_data_or_not() {
    for reject_tickets in [false, true] {
        let server = start(Config {
            reject_tickets,
            ..early()
        })
        .await;
        let engine = with_session(&server, Policy::H3).await;
        let url = server.url("/bytes/20000");
        let all = (0..50).map(|i| {
            let get = engine.get(&url).early_data(i % 2 == 0);
            async { get.send().await?.bytes(MIB).await }
        });
        let all = futures_util::future::join_all(all).await;
        assert!(
            all.iter()
                .all(|body| body.as_ref().is_ok_and(|body| body.len() == 20_000))
        );
        drop(engine);
        let log = server.stop().await;
        let early = log.iter().filter(|request| request.early_data).count();
        // Those that were asked for after the handshake are not early.
        let expected = if reject_tickets { 0..=0 } else { 1..=25 };
        assert!(expected.contains(&early), "{early}");
        assert_eq!(
            log.len(),
            52,
            "what was refused early never reached the server"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_does_not_take_is_sent_once_more_after_the_handshake() {
    let server = start(Config {
        reject_tickets: true,
        ..early()
    })
    .await;
    let engine = with_session(&server, Policy::H3).await;
    let report = get(&engine, &server.url("/health")).await;
    assert!(
        !report.early_data && !report.resumed && !report.reused,
        "{report:?}"
    );
    assert_eq!(report.attempts, 2);
}

/// Answers requests in early data with 425, and all others with this status.
async fn too_early(later: StatusCode) -> (String, client::Builder, Arc<AtomicUsize>) {
    let (mut config, engine) = self_signed(&[b"h3"]);
    config.max_early_data_size = u32::MAX;
    let crypto = quinn::crypto::rustls::QuicServerConfig::try_from(config).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = quinn::Endpoint::server(config, loopback).unwrap();
    let port = endpoint.local_addr().unwrap().port();
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                let quic = incoming.accept().unwrap().into_0rtt();
                let Ok((quic, _)) = quic else { return };
                let connection = h3_quic::Connection::new(quic);
                let server = h3::server::Connection::<_, Bytes>::new(connection).await;
                let mut server = server.unwrap();
                let mut is_first = true;
                while let Ok(Some(request)) = server.accept().await {
                    let (request, mut stream) = request.resolve_request().await.unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                    // The test asks for this where it sends early data.
                    let early = request.uri().path() == "/early" && is_first;
                    is_first = false;
                    let status = if early { StatusCode::TOO_EARLY } else { later };
                    let head = Response::builder().status(status).body(()).unwrap();
                    stream.send_response(head).await.unwrap();
                    stream.finish().await.unwrap();
                }
            });
        }
    });
    (format!("https://localhost:{port}"), engine, requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn too_early_is_asked_once_more_and_no_more() {
    for later in [StatusCode::OK, StatusCode::TOO_EARLY] {
        let (url, engine, requests) = too_early(later).await;
        let engine = engine.policy(Policy::H3).early_data(true).build().unwrap();
        get(&engine, &format!("{url}/first")).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        engine.disconnect().await;
        let response = engine.get(&format!("{url}/early")).send().await.unwrap();
        assert_eq!(response.status(), later);
        assert_eq!(response.report().attempts, 2);
        assert!(!response.report().early_data);
        assert_eq!(requests.load(Ordering::Relaxed), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_is_never_done_loses_its_request_to_tcp() {
    let server = start(early()).await;
    let path = crate::common::Path::to(server.address).await;
    let health = server.url("/health");
    let engine = server.trusting().hint_h3_on(&health, path.port);
    let engine = engine.early_data(true).build().unwrap();
    for _ in 0..2 {
        connect_by_h3(&engine, &health).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    engine.disconnect().await;
    path.die();
    let limited = engine.get(&health).time_limit(Duration::from_secs(5));
    let response = limited.send().await.unwrap();
    let report = response.report();
    assert_eq!(
        (report.protocol, report.attempts),
        (Protocol::H2, 2),
        "{}",
        report.reason
    );
    assert!(!report.early_data);
}
