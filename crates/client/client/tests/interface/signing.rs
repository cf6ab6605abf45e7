//! Requests that the engine signs, against a server that refuses all others.
#![cfg(feature = "sign")]
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Path, TestServer, connect_by_h3, start};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::{Error, Key, Policy, Protocol};
use http::Method;
use server::{AuthScheme, Config};

const MIB: usize = 1 << 20;
const ECHO: &str = r#"{"start_ts":1}"#;

async fn guarded() -> (TestServer, Arc<Key>) {
    let auth = Some(AuthScheme::Hmac);
    let server = start(Config {
        auth,
        ..Config::default()
    })
    .await;
    let secret = std::fs::read_to_string(server.folder.path().join("hmac.key")).unwrap();
    let secret = STANDARD.decode(secret.trim_end()).unwrap();
    let key = Key::new(server::KEY_ID, &secret).unwrap();
    (server, Arc::new(key))
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_requests_pass_over_both_transports_and_others_do_not() {
    let (server, key) = guarded().await;
    let url = server.url("/echo");
    let engine = server.trusting().hint_h3(&url).build().unwrap();
    for policy in [Policy::H2, Policy::H3] {
        let post = || {
            let post = engine.request(Method::POST, &url).policy(policy);
            post.header("content-type", "application/json").body(ECHO)
        };
        assert_eq!(post().send().await.unwrap().status(), 401);
        for _ in 0..3 {
            let signed = post().sign(&key).send().await.unwrap();
            assert_eq!(signed.status(), 200);
        }
    }
    let (streamed, _writer) = engine.request(Method::PUT, &url).sign(&key).streamed(None);
    let refused = streamed.send().await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_copy_and_every_part_has_a_signature_of_its_own() {
    let (server, key) = guarded().await;
    let path = Path::to(server.address).await;
    let url = server.url("/bytes/4000000");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    connect_by_h3(&engine, &server.url("/bytes/1")).await;
    // A policed body: three requests of parts, none of which the server has seen before.
    path.police();
    let limit = Duration::from_secs(60);
    let response = engine.get(&url).sign(&key).time_limit(limit).send();
    let mut response = response.await.unwrap();
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await.unwrap() {
        bytes += chunk.len();
    }
    let report = response.report();
    assert_eq!((report.protocol, bytes), (Protocol::H2, 4_000_000));
    assert_eq!(report.resumed_bodies, 1);
    // And a copy over TCP, because the path is silent.
    path.die();
    let post = engine.request(Method::POST, &url.replace("bytes/4000000", "echo"));
    let post = post.idempotent(true).policy(Policy::Race).body(ECHO);
    let response = post.sign(&key).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.bytes(MIB).await.unwrap();
}
