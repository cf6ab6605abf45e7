//! Requests over every protocol, against the server on loopback.

use std::task::Poll;
use std::time::Duration;

use client::{Error, Fault, Phase, Policy, Protocol, Reason, Transport};
use futures_util::future::{join_all, maybe_done};
use server::Config;

use crate::common::start;

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_leads_to_http_3_at_once_and_alt_svc_later() {
    let server = start(Config {
        alt_svc: true,
        ..Config::default()
    })
    .await;
    let health = server.url("/health");
    // TCP is 10 ms behind, which a busy machine may need.
    let mut reasons = Vec::new();
    let is_h3 = loop {
        let hinted = server.trusting().hint_h3(&health).build().unwrap();
        let first = hinted.get(&health).send().await.unwrap();
        reasons.push(first.report().reason.to_string());
        if first.report().protocol == Protocol::H3 || reasons.len() == 10 {
            break first.report().protocol == Protocol::H3;
        }
    };
    assert!(is_h3, "{reasons:?}");
    let advertised = server.trusting().build().unwrap();
    let mut protocols = Vec::new();
    for _ in 0..12 {
        let response = advertised.get(&health).send().await.unwrap();
        protocols.push(response.report().protocol);
        response.bytes(MIB).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(protocols[0], Protocol::H2);
    assert!(protocols.contains(&Protocol::H3), "{protocols:?}");
    let explained = advertised.explain(&health).await;
    assert!(
        explained.contains("open: 1 by HTTP/3, 1 by TCP"),
        "{explained}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_at_once_all_end() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let mut tasks = Vec::new();
    for _ in 0..64 {
        let (engine, url) = (engine.clone(), server.url("/bytes/20000"));
        tasks.push(tokio::spawn(async move {
            let mut bytes = 0;
            for _ in 0..16 {
                bytes += engine
                    .get(&url)
                    .send()
                    .await
                    .unwrap()
                    .bytes(MIB)
                    .await
                    .unwrap()
                    .len();
            }
            bytes
        }));
    }
    let mut bytes = 0;
    for task in tasks {
        bytes += task.await.unwrap();
    }
    assert_eq!(bytes, 1_024 * 20_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_requests_at_once_than_are_routed_wait_for_their_turn() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let url = server.url("/bytes/1000");
    let get = async || engine.get(&url).send().await?.bytes(MIB).await;
    let all = join_all((0..1_500).map(|_| get())).await;
    assert!(
        all.iter()
            .all(|body| body.as_ref().is_ok_and(|body| body.len() == 1_000))
    );
    // Some give up while they wait, and those behind them take their places.
    let one = |_| Box::pin(maybe_done(get()));
    let mut waiting: Vec<_> = (0..1_500).map(one).collect();
    for one in &mut waiting {
        // It may be answered at once.
        let (Poll::Pending | Poll::Ready(())) = futures_util::poll!(one);
    }
    waiting.drain(500..1_400);
    join_all(&mut waiting).await;
    let bodies = waiting.iter_mut();
    let bodies = bodies.filter_map(|one| one.as_mut().take_output());
    assert_eq!(bodies.filter(Result::is_ok).count(), 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_requests_leave_nothing_behind() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let large = server.url("/bytes/3000000");
    let mut random = 1_u64;
    for i in 0..1_000 {
        let policy = [Policy::H2, Policy::H3, Policy::Adaptive][i % 3];
        // At random moments of the whole exchange, which takes some ms.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let patience = Duration::from_micros((random >> 33) % 8_000);
        let get = async {
            let response = engine.get(&large).policy(policy).send().await?;
            response.bytes(4 * MIB).await
        };
        tokio::time::timeout(patience, get).await.ok();
    }
    // Both connections still work, and no request counts as one of the 512 at a time.
    for policy in [Policy::H2, Policy::H3] {
        let response = engine.get(&large).policy(policy).send().await.unwrap();
        assert_eq!(response.bytes(4 * MIB).await.unwrap().len(), 3_000_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_server_are_errors() {
    use server::Fault::{Reset, Stall, Truncate};
    let faults = [(1, Reset), (2, Truncate), (3, Stall)].into();
    let server = start(Config {
        faults,
        ..Config::default()
    })
    .await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let url = server.url("/bytes/100000");
    for policy in [Policy::H2, Policy::H3] {
        let get = async |id: u32, limit: Duration| {
            let request = engine
                .get(&url)
                .policy(policy)
                .header("x-commute-id", id.to_string());
            request
                .time_limit(limit)
                .send()
                .await?
                .bytes(MIB)
                .await
                .map(|body| body.len())
        };
        let long = Duration::from_secs(20);
        let reset = get(1, long).await.expect_err("it is reset");
        assert!(
            matches!(
                reset,
                Error::Failed {
                    may_have_acted: true,
                    ..
                }
            ),
            "{policy:?} {reset}"
        );
        let truncated = get(2, long).await.expect_err("it is cut off");
        assert!(
            matches!(truncated, Error::Failed { .. }),
            "{policy:?} {truncated}"
        );
        let stalled = get(3, Duration::from_millis(300)).await;
        assert_eq!(stalled, Err(Error::TimedOut(Phase::Whole)), "{policy:?}");
        assert_eq!(get(4, long).await.unwrap(), 100_000, "{policy:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_3_that_resets_every_request_is_left_for_tcp() {
    let server = start(Config {
        quic_fault: Some(server::QuicFault::Reset),
        ..Config::default()
    })
    .await;
    let engine = server.trusting().hint_h3(&server.url("/"));
    let engine = engine.policy(Policy::H3).build().unwrap();
    let url = server.url("/health");
    // On a busy machine TCP might win the race. No request could open HTTP/3 without a reset.
    engine.connect(&url).await.unwrap();
    let mut reports = Vec::new();
    for _ in 0..5 {
        let get = engine.get(&url).policy(Policy::Adaptive);
        let response = get.send().await.unwrap();
        reports.push(response.report().clone());
        response.bytes(MIB).await.unwrap();
    }
    assert_eq!(reports[0].reason, Reason::SecondTry(Transport::Tcp));
    let ways: Vec<_> = reports.iter().map(|r| (r.protocol, r.attempts)).collect();
    let h2 = Protocol::H2;
    assert_eq!(ways, [(h2, 2), (h2, 1), (h2, 1), (h2, 1), (h2, 1)]);
    let explained = engine.explain(&url).await;
    assert!(explained.contains("HTTP/3 here: broken"), "{explained}");
    drop(engine);
    assert_eq!(server.stop().await.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_a_reason() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    for url in ["", "http://localhost/", "https://", "ftp://a.example"] {
        let refused = engine.get(url).send().await.unwrap_err();
        assert!(matches!(refused, Error::Invalid(_)), "{url}: {refused}");
    }
    let refused = engine
        .get(&server.url("/"))
        .header("a b", "c")
        .send()
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::Invalid(_)), "{refused}");
    let unknown = engine
        .get("https://name.invalid/")
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        unknown,
        Error::Failed {
            fault: Fault::Name,
            may_have_acted: false
        }
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_engine_may_be_dropped_on_its_own_thread() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    let health = server.url("/health");
    engine.get(&health).send().await.unwrap();
    let (alone, is_alone) = tokio::sync::oneshot::channel::<()>();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let last = engine.clone();
    engine.spawn(async move {
        is_alone.await.unwrap();
        drop(last);
        sender.send(()).unwrap();
    });
    let late = engine.get(&health);
    drop(engine);
    alone.send(()).unwrap();
    receiver.await.unwrap();
    assert_eq!(late.send().await.unwrap_err(), Error::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_future_runs_on_the_engines_thread() {
    let server = start(Config::default()).await;
    let engine = server.trusting().build().unwrap();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    engine.spawn(async {
        let name = std::thread::current().name().map(str::to_owned);
        sender.send(name).unwrap();
    });
    assert_eq!(receiver.await.unwrap().as_deref(), Some("commute"));
}
