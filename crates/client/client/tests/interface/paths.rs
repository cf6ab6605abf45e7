//! UDP that is blocked, dies, or forgets a port, with real packets.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::time::{Duration, Instant};

use crate::common::{GoServer, Path, TestServer, connect_by_h3, start};
use bytes::Bytes;
use client::{Engine, Error, Network, NetworkId, NetworkKind, Phase, Policy, Protocol, Switches};
use http::Method;
use server::Config;
use tokio::net::UdpSocket;

const MIB: usize = 1 << 20;
const ECHO: &str = r#"{"start_ts":1}"#;

fn another_network() -> Network {
    Network {
        id: NetworkId([7; 16]),
        kind: NetworkKind::Cellular,
        metered: false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn udp_without_answers_does_not_keep_a_request_from_tcp() {
    let server = start(Config::default()).await;
    let sink = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = sink.local_addr().unwrap().port();
    let health = server.url("/health");
    let engine = server.trusting().hint_h3_on(&health, port).build().unwrap();
    for _ in 0..5 {
        let response = engine.get(&health).send().await.unwrap();
        assert_eq!(
            response.report().protocol,
            Protocol::H2,
            "{}",
            response.report().reason
        );
    }
    // The attempt ends after ten seconds; from then on HTTP/3 counts as broken here.
    tokio::time::sleep(Duration::from_millis(10_500)).await;
    let explained = engine.explain(&health).await;
    assert!(
        explained.contains("HTTP/3 failed here where HTTP/2 worked"),
        "{explained}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_on_a_path_that_dies_is_sent_again_over_tcp() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let health = server.url("/health");
    let engine = server
        .trusting()
        .hint_h3_on(&health, path.port)
        .build()
        .unwrap();
    connect_by_h3(&engine, &health).await;
    path.die();
    let asked = Instant::now();
    let rescued = engine.get(&health).send().await.unwrap();
    let report = rescued.report().clone();
    assert_eq!(
        (report.protocol, report.attempts),
        (Protocol::H2, 2),
        "{}",
        report.reason
    );
    // Half a second of silence and half a second for the probe's answer must pass.
    assert!(
        asked.elapsed() >= Duration::from_millis(900),
        "{:?}",
        asked.elapsed()
    );
    rescued.bytes(MIB).await.unwrap();
    let next = engine.get(&health).send().await.unwrap();
    assert_eq!(next.report().attempts, 1);
    drop(engine);
    let log = server.stop().await;
    assert_eq!(log.len(), 3, "the second request arrived once: by TCP");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_requests_on_a_path_that_dies_are_sent_again_over_tcp() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let health = server.url("/health");
    let engine = server.trusting().hint_h3_on(&health, path.port).build();
    let engine = engine.unwrap();
    connect_by_h3(&engine, &health).await;
    path.die();
    // Long before the connection's idle time is over, which would end them, too.
    let limit = Duration::from_secs(15);
    let get = || engine.get(&health).time_limit(limit).send();
    let requests = futures_util::future::join_all((0..20).map(|_| get())).await;
    for rescued in requests {
        let report = rescued.unwrap().report().clone();
        assert_eq!((report.protocol, report.attempts), (Protocol::H2, 2));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_must_not_be_repeated_is_not() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let url = server.url("/echo");
    let engine = server
        .trusting()
        .hint_h3_on(&url, path.port)
        .build()
        .unwrap();
    let post = || engine.request(Method::POST, &url).body(ECHO);
    connect_by_h3(&engine, &server.url("/bytes/1")).await;
    path.die();
    let lost = post()
        .time_limit(Duration::from_secs(4))
        .send()
        .await
        .unwrap_err();
    assert_eq!(lost, Error::TimedOut(Phase::Whole));
    drop(engine);
    assert_eq!(server.stop().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_saves_a_connection_whose_port_was_forgotten() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let url = server.url("/echo");
    let engine = server
        .trusting()
        .hint_h3_on(&url, path.port)
        .build()
        .unwrap();
    let post = || {
        engine
            .request(Method::POST, &url)
            .policy(Policy::H3)
            .body(ECHO)
    };
    let before = post().send().await.unwrap();
    before.bytes(MIB).await.unwrap();
    path.forget();
    let after = post()
        .time_limit(Duration::from_secs(10))
        .send()
        .await
        .unwrap();
    assert_eq!((after.report().attempts, after.report().reused), (1, true));
    assert_eq!(after.status(), 200);
    drop(engine);
    let log = server.stop().await;
    assert_eq!(log.len(), 2);
    assert_eq!(
        log[0].connection, log[1].connection,
        "the connection moved, it was not opened anew"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_saves_a_connection_to_quic_go_too() {
    let Some(server) = GoServer::start() else {
        return testing::skip("stacks/go is not installed");
    };
    let path = Path::to(server.address).await;
    let url = server.url("/echo");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    let post = || {
        let post = engine.request(Method::POST, &url).policy(Policy::H3);
        let limit = Duration::from_secs(10);
        post.time_limit(limit).body(ECHO).send()
    };
    post().await.unwrap().bytes(MIB).await.unwrap();
    path.forget();
    let after = post().await.unwrap();
    assert_eq!((after.report().attempts, after.report().reused), (1, true));
    after.bytes(MIB).await.unwrap();
    let log = server.log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[0].connection, log[1].connection);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_moves_to_another_network_with_the_request_under_way() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let url = server.url("/echo");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    let post = || engine.request(Method::POST, &url).body(ECHO);
    let first = post().policy(Policy::H3).send();
    first.await.unwrap().bytes(MIB).await.unwrap();
    let (upload, mut writer) = engine
        .request(Method::PUT, &server.url("/upload"))
        .streamed(None);
    let upload = tokio::spawn(upload.send());
    writer.write(Bytes::from(vec![1; MIB])).await.unwrap();
    // Nothing comes from or to the old port any more.
    path.forget();
    engine.network(Some(another_network()));
    writer.write(Bytes::from(vec![2; MIB])).await.unwrap();
    writer.finish().await.unwrap();
    let uploaded = upload.await.unwrap().unwrap();
    assert_eq!(uploaded.report().attempts, 1);
    uploaded.bytes(MIB).await.unwrap();
    assert_eq!(post().send().await.unwrap().report().protocol, Protocol::H3);
    drop(engine);
    let log = server.stop().await;
    assert_eq!(log.len(), 3);
    assert!(
        log.iter()
            .all(|request| request.connection == log[0].connection)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_to_quic_go_moves_with_the_request_under_way_too() {
    let Some(server) = GoServer::start() else {
        return testing::skip("stacks/go is not installed");
    };
    let path = Path::to(server.address).await;
    let url = server.url("/upload");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    let health = engine.get(&server.url("/health")).policy(Policy::H3);
    health.send().await.unwrap().bytes(MIB).await.unwrap();
    let upload = engine.request(Method::PUT, &url).policy(Policy::H3);
    let limit = Duration::from_secs(15);
    let (upload, mut writer) = upload.time_limit(limit).streamed(None);
    let upload = tokio::spawn(upload.send());
    writer.write(Bytes::from(vec![1; MIB])).await.unwrap();
    path.forget();
    engine.network(Some(another_network()));
    writer.write(Bytes::from(vec![2; MIB])).await.unwrap();
    writer.finish().await.unwrap();
    let uploaded = upload.await.unwrap().unwrap();
    assert_eq!(
        (uploaded.status().as_u16(), uploaded.report().attempts),
        (200, 1)
    );
    uploaded.bytes(MIB).await.unwrap();
    drop(engine);
    let log = server.log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[0].connection, log[1].connection);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_whose_path_dies_comes_whole_over_tcp() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let url = server.url("/bytes/8000000");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    // Otherwise it might be compared with TCP before it is known to be dead.
    engine.switches(Switches {
        generation: 1,
        explore: false,
        ..Switches::default()
    });
    connect_by_h3(&engine, &server.url("/bytes/1")).await;
    let mut response = engine.get(&url).send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H3);
    let mut body = response.chunk().await.unwrap().unwrap().to_vec();
    path.die();
    while let Some(chunk) = response.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    let report = response.report();
    assert_eq!((report.protocol, report.resumed_bodies), (Protocol::H2, 1));
    assert!(body == file(8_000_000), "{} bytes", body.len());
    let next = engine.get(&server.url("/health")).send().await.unwrap();
    assert_eq!(next.report().protocol, Protocol::H2);
    drop(engine);
    let log = server.stop().await;
    assert_eq!(log.len(), 4);
}

/// Starts a server with a policed UDP path. Returns both, the URL of a file, and an engine that knows of HTTP/3 there.
async fn policed() -> (TestServer, Path, String, Engine) {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    let url = server.url("/bytes/4000000");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    connect_by_h3(&engine, &server.url("/bytes/1")).await;
    path.police();
    (server, path, url, engine)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policed_body_is_taken_from_tcp_and_so_are_later_ones() {
    let (_server, _path, url, engine) = policed().await;
    let began = Instant::now();
    let mut response = engine.get(&url).kind("file").send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H3);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    let report = response.report().clone();
    assert_eq!((report.protocol, report.resumed_bodies), (Protocol::H2, 1));
    assert!(body == file(4_000_000), "{} bytes", body.len());
    // 160 seconds at 200 kbit/s.
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    let next = engine.get(&url).kind("file").send().await.unwrap();
    let reason = next.report().reason;
    assert_eq!(next.report().protocol, Protocol::H2, "{reason}");
    let explained = engine.explain(&url).await;
    assert!(explained.contains("large bodies"), "{explained}");
}

/// Reads a body in waits that last a moment each, as an app does that has other things to do, too. Without `wait` it
/// does not wait at all, and does those things for a millisecond.
async fn read_impatiently(
    mut response: client::Response,
    wait: Option<Duration>,
) -> (Vec<u8>, client::Report) {
    let mut body = Vec::new();
    loop {
        tokio::select! {
            biased;
            came = response.chunk() => match came {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return (body, response.report().clone()),
                Err(error) => panic!("{error} after {} bytes", body.len()),
            },
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
            () = std::future::ready(()), if wait.is_none() => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_waiting_gets_the_rest_of_a_body_whose_path_dies() {
    let (_server, path, url, engine) = policed().await;
    let response = engine.get(&url).send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H3);
    path.die();
    let (body, report) = read_impatiently(response, None).await;
    assert_eq!((report.protocol, report.resumed_bodies), (Protocol::H2, 1));
    assert!(body == file(4_000_000), "{} bytes", body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_waits_of_a_reader_that_stops_waiting_show_that_a_body_is_policed() {
    let (_server, _path, url, engine) = policed().await;
    let response = engine.get(&url).send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H3);
    let began = Instant::now();
    let (body, report) = read_impatiently(response, Some(Duration::from_millis(2))).await;
    assert_eq!((report.protocol, report.resumed_bodies), (Protocol::H2, 1));
    assert!(body == file(4_000_000), "{} bytes", body.len());
    // 160 seconds at 200 kbit/s.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(40), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_pinned_to_http_3_is_not_asked_for_over_tcp() {
    let (server, _path, url, engine) = policed().await;
    let get = engine.get(&url).policy(Policy::H3);
    let mut response = get.time_limit(Duration::from_secs(3)).send().await.unwrap();
    let error = loop {
        if let Err(error) = response.chunk().await {
            break error;
        }
    };
    assert_eq!(error, Error::TimedOut(Phase::Whole));
    assert_eq!(response.report().resumed_bodies, 0);
    drop(engine);
    // With the one that connected.
    assert_eq!(server.stop().await.len(), 2);
}

fn file(bytes: usize) -> Vec<u8> {
    let mut file = vec![0; bytes];
    messages::fill(0, &mut file);
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn an_urgent_body_is_not_asked_for_over_the_other_transport_to_compare() {
    let (server, _path, url, engine) = policed().await;
    let mut response = engine.get(&url).urgent().send().await.unwrap();
    // Longer than it takes to find that a body is policed.
    let until = tokio::time::Instant::now() + Duration::from_secs(4);
    while let Ok(chunk) = tokio::time::timeout_at(until, response.chunk()).await {
        assert!(chunk.unwrap().is_some());
    }
    drop(response);
    // With the one that connected.
    assert_eq!(server.stop().await.len(), 2);
}
