//! HTTPS records that the app reports.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::time::Duration;

use client::{Engine, Error, Protocol};
use server::Config;
use simple_dns::rdata::{HTTPS, RData, SVCB};
use simple_dns::{CLASS, CharacterString, Name, Packet, ResourceRecord};

use crate::common::{TestServer, start};

/// Returns a resolver's answer that offers HTTP/3 on the port of the server.
fn answer(server: &TestServer) -> Vec<u8> {
    let mut record = SVCB::new(1, Name::new(".").unwrap());
    record.set_alpn(&[CharacterString::new(b"h3").unwrap()]);
    let rdata = RData::HTTPS(HTTPS(record));
    let mut packet = Packet::new_reply(1);
    let name = format!("_{}._https.localhost", server.address.port());
    let name = Name::new(&name).unwrap();
    packet
        .answers
        .push(ResourceRecord::new(name, CLASS::IN, 60, rdata));
    packet.build_bytes_vec().unwrap()
}

/// Waits until a connection over HTTP/3 is open: TCP may win the race on a busy machine, and QUIC goes on then.
async fn opens_h3(engine: &Engine, url: &str) {
    for _ in 0..500 {
        if engine.explain(url).await.contains("open: 1 by HTTP/3") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{}", engine.explain(url).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_before_the_first_request_leads_to_http_3_at_once() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    let url = server.url("/health");
    assert_eq!(engine.https_record(&url, &answer(&server)), Ok(true));
    engine.get(&url).send().await.unwrap();
    opens_h3(&engine, &url).await;
}

/// Addresses are known at once here, so without the wait the race would begin without the record.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_for_an_answer_that_was_asked_for() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    let url = server.url("/health");
    assert_eq!(engine.expect_https_record(&url), Ok(()));
    let later = engine.clone();
    let (of, record) = (url.clone(), answer(&server));
    let answered = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        later.https_record(&of, &record)
    });
    let response = engine.get(&url).send().await.unwrap();
    assert_eq!(answered.await.unwrap(), Ok(true));
    let at = response.report().phases.tls_ns;
    assert!(at >= Some(10_000_000), "{at:?}");
    opens_h3(&engine, &url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_never_comes_holds_a_request_up_for_50_ms_and_counts_later() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    let url = server.url("/health");
    engine.expect_https_record(&url).unwrap();
    let response = engine.get(&url).send().await.unwrap();
    let report = response.report();
    assert_eq!(report.protocol, Protocol::H2, "{}", report.reason);
    let connected = report.phases.connect_ns.unwrap();
    assert!(connected >= 50_000_000, "{connected}");
    assert!(engine.explain(&url).await.contains("HTTP/3 here: unknown"));
    assert_eq!(engine.https_record(&url, &answer(&server)), Ok(true));
    assert!(engine.explain(&url).await.contains("HTTP/3 here: untried"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_an_offer_ends_the_wait() {
    let server = start(Config::default()).await;
    let url = server.url("/health");
    // On a busy machine a handshake may take as long as the wait.
    for _ in 0..100 {
        let engine = server.trusting().build().unwrap();
        engine.expect_https_record(&url).unwrap();
        assert_eq!(engine.https_record(&url, b"no message"), Ok(false));
        let response = engine.get(&url).send().await.unwrap();
        if response.report().phases.connect_ns < Some(50_000_000) {
            return;
        }
    }
    panic!("each of 100 requests waited for 50 ms");
}

#[test]
fn plain_http_has_no_record() {
    let engine = Engine::builder().build().unwrap();
    let answered = engine.https_record("http://a.example", b"");
    assert!(matches!(answered, Err(Error::Invalid(_))));
}
