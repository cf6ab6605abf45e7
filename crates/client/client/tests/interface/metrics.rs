//! The metrics that the engine keeps of its requests.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::time::Duration;

use crate::common::{Path, connect_by_h3, start};
use client::{Engine, Outcome, Phases, Policy, Protocol, RequestMeasurement, Switches};
use http::header::RANGE;
use server::{Config, Fault};

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn metrics_have_every_request_once_and_stay_bounded() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let url = server.url("/bytes/1000");
    for _ in 0..1_030 {
        engine
            .get(&url)
            .kind("small")
            .policy(Policy::H3)
            .send()
            .await
            .unwrap()
            .bytes(MIB)
            .await
            .unwrap();
    }
    let nowhere = engine.get("https://localhost:1/").send().await;
    assert!(nowhere.is_err());
    let metrics = engine.metrics();
    assert_eq!((metrics.requests.len(), metrics.dropped), (1_024, 7));
    let last = metrics.requests.back().unwrap();
    assert!(matches!(last.outcome, Outcome::Failed(_)), "{last:?}");
    assert!(last.origin == "localhost:1" && last.protocol.is_none());
    let before = &metrics.requests[1_000];
    assert_eq!(
        (before.response_bytes, before.attempts, before.first),
        (1_000, 1, false)
    );
    assert_eq!(before.label.as_deref(), Some("small"));
    assert!(before.end_ns >= before.phases.first_byte_ns.unwrap());
    let csv = metrics.csv(client::Arms::Protocols);
    // The one that failed was never sent over any.
    assert_eq!(csv.lines().count(), 1_024);
    assert!(metrics.summary().contains("by H3"), "{}", metrics.summary());
}

/// Returns the requests so far, once there are this many.
async fn measured(engine: &Engine, count: usize) -> Vec<RequestMeasurement> {
    loop {
        let requests = engine.metrics().requests;
        if requests.len() >= count {
            return requests.into();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_came_over_two_connections_is_one_request_that_is_done() {
    let server = start(Config::default()).await;
    let path = Path::to(server.address).await;
    // Longer than all that the client holds unread, or it could have come whole over one connection.
    let url = server.url("/bytes/8000000");
    let engine = server.trusting().hint_h3_on(&url, path.port).build();
    let engine = engine.unwrap();
    // Otherwise it might be compared with TCP before the path is known to be dead.
    engine.switches(Switches {
        generation: 1,
        explore: false,
        ..Switches::default()
    });
    connect_by_h3(&engine, &server.url("/bytes/1")).await;
    let mut response = engine.get(&url).kind("file").send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H3);
    response.chunk().await.unwrap().unwrap();
    path.die();
    while response.chunk().await.unwrap().is_some() {}
    drop(response);
    let all = measured(&engine, 2).await;
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(
        (&all[1].outcome, all[1].response_bytes, all[1].protocol),
        (&Outcome::Done, 8_000_000, Some(Protocol::H2))
    );
    assert_eq!(
        (all[1].attempts, all[1].label.as_deref()),
        (2, Some("file"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_let_go_of_and_those_out_of_time_are_counted_as_that() {
    let server = start(Config {
        faults: [(1, Fault::Stall)].into(),
        ..Config::default()
    })
    .await;
    let engine = server.trusting().build().unwrap();
    let (health, file) = (server.url("/health"), server.url("/bytes/64000000"));
    let get = || {
        let get = engine.get(&health).header("x-commute-id", "1");
        get.time_limit(Duration::from_millis(300)).send()
    };
    assert!(get().await.is_err());
    let cancelled = tokio::time::timeout(Duration::from_millis(50), get()).await;
    assert!(cancelled.is_err());
    // Both a body that could be resumed and one that could not, and both longer than all that the client holds unread,
    // or they could be done before they are let go of.
    drop(engine.get(&file).send().await.unwrap());
    let parts = engine.get(&file).header(RANGE, "bytes=0-63000000");
    drop(parts.send().await.unwrap());
    let of_the_app = engine.get(&file).header(RANGE, "bytes=0-9").send().await;
    assert_eq!(of_the_app.unwrap().bytes(MIB).await.unwrap().len(), 10);
    let all = measured(&engine, 5).await;
    let outcomes: Vec<_> = all.iter().map(|request| &request.outcome).collect();
    let (timed_out, cancelled, done) = (&Outcome::TimedOut, &Outcome::Cancelled, &Outcome::Done);
    assert_eq!(outcomes, [timed_out, cancelled, cancelled, cancelled, done]);
    let csv = engine.metrics().csv(client::Arms::Protocols);
    assert_eq!(csv.matches(",timed_out,").count(), 4, "{csv}");
    let summary = engine.metrics().summary();
    let expected =
        "5 requests, 0 sent again, 0 hedged, 0 fell back, 1 timed out, 3 cancelled, 0 failed";
    assert!(summary.contains(expected), "{summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_counts_once_also_if_it_fails() {
    let server = start(Config::default()).await;
    let url = server.url("/bytes/4000000");
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("file");
    let engine = server.trusting().policy(Policy::H2).build().unwrap();
    engine.get(&url).download(&to).await.unwrap();
    let all = measured(&engine, 1).await;
    assert_eq!((all.len(), all[0].response_bytes), (1, 4_000_000));
    let (part, meta) = (
        folder.path().join("file.part"),
        folder.path().join("file.meta"),
    );
    std::fs::write(part, [0; 1_000]).unwrap();
    let nowhere = "https://localhost:1/bytes/4000000";
    let digest = crate::common::url_digest(nowhere);
    std::fs::write(meta, format!("{digest}\n4000000\n\"1\"\n")).unwrap();
    assert!(engine.get(nowhere).download(&to).await.is_err());
    let all = measured(&engine, 2).await;
    assert!(matches!(all[1].outcome, Outcome::Failed(_)), "{all:?}");
    assert_eq!(all.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_quoted_where_csv_demands_it() {
    let server = start(Config::default()).await;
    let engine = server.trusting().policy(Policy::H2).build().unwrap();
    for label in ["plain", "the \"first\", of two"] {
        let get = engine.get(&server.url("/bytes/1")).kind(label);
        get.send().await.unwrap().bytes(MIB).await.unwrap();
    }
    measured(&engine, 2).await;
    let csv = engine.metrics().csv(client::Arms::Protocols);
    for field in [",plain,", ",\"the \"\"first\"\", of two\","] {
        assert!(csv.contains(field), "{csv}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_phases_of_a_first_request_are_in_order() {
    let server = start(Config::default()).await;
    let url = server.url("/bytes/1");
    for policy in [Policy::H1, Policy::H2, Policy::H3] {
        let engine = server.trusting().hint_h3(&url).policy(policy);
        let engine = engine.build().unwrap();
        engine
            .get(&url)
            .send()
            .await
            .unwrap()
            .bytes(MIB)
            .await
            .unwrap();
        let first = measured(&engine, 1).await.remove(0);
        let Phases {
            dns_ns,
            connect_ns,
            tls_ns,
            request_sent_ns,
            first_byte_ns,
        } = first.phases;
        assert_eq!(connect_ns.is_some(), policy != Policy::H3, "{first:?}");
        let connected = connect_ns.or(dns_ns);
        let phases = [dns_ns, connected, tls_ns, request_sent_ns, first_byte_ns];
        assert!(phases.iter().all(Option::is_some), "{first:?}");
        assert!(
            phases.is_sorted() && first_byte_ns <= Some(first.end_ns),
            "{first:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arms_of_a_roll_out_are_installations_with_and_without_http_3() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    for (generation, h3_percent, arm) in [(1, 100, "HTTP/3 allowed"), (2, 0, "TCP only")] {
        engine.switches(Switches {
            generation,
            h3_percent,
            ..Switches::default()
        });
        let get = engine.get(&server.url("/bytes/1"));
        get.send().await.unwrap().bytes(MIB).await.unwrap();
        measured(&engine, generation as usize).await;
        let csv = engine.metrics().csv(client::Arms::Rollout);
        let last = csv.lines().last().unwrap();
        assert!(last.contains(&format!(",{arm},auto,")), "{last}");
    }
}
