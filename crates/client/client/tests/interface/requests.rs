//! Requests over every protocol, against the server on loopback.

use std::task::Poll;
use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use crate::common::{connect_by_h3, start};
use crate::quic::quic;
use bytes::Bytes;
use client::{Error, Fault, Phase, Policy, Protocol, Reason, Switches, Transport};
use futures_util::future::{join_all, maybe_done};
use http::{Method, Response};
use server::Config;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn bodies_arrive_whole_in_both_directions_over_both_transports() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let upload: Vec<u8> = (0..3 * MIB).map(|i| (i * 31) as u8).collect();
    for (policy, protocol) in [(Policy::H2, Protocol::H2), (Policy::H3, Protocol::H3)] {
        let request = engine
            .request(Method::PUT, &server.url("/upload"))
            .policy(policy);
        let response = request.body(upload.clone()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.report().protocol, protocol);
        response.bytes(MIB).await.unwrap();
        let request = engine.get(&server.url("/bytes/3000000")).policy(policy);
        let response = request.send().await.unwrap();
        let report = response.report().clone();
        assert!(
            report.reused
                && report.phases.tls_ns.is_none()
                && report.phases.first_byte_ns.is_some()
        );
        let limited = engine
            .get(&server.url("/bytes/3000000"))
            .policy(policy)
            .send()
            .await
            .unwrap();
        assert!(limited.bytes(2_999_999).await.is_err());
        assert_eq!(response.bytes(3_000_000).await.unwrap().len(), 3_000_000);
    }
    drop(engine);
    let log = server.stop().await;
    let digest: String = Sha256::digest(&upload)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let uploads: Vec<_> = log
        .iter()
        .filter(|request| request.path == "/upload")
        .collect();
    assert_eq!(uploads.len(), 2);
    for request in uploads {
        let seen = serde_json::to_string(request).unwrap();
        assert!(seen.contains(&digest), "{seen}");
    }
}

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
async fn a_body_that_breaks_off_over_http_3_goes_on_over_tcp() {
    let server = start(Config {
        faults: [(1, server::Fault::Reset)].into(),
        ..Config::default()
    })
    .await;
    // Half of it is longer than the stream's window: the server resets the stream only after the client has read some.
    let url = server.url("/bytes/8000000");
    let engine = server.trusting().hint_h3(&url).build().unwrap();
    // A busy machine is slow enough for a comparison with TCP, which might break off first.
    engine.switches(Switches {
        generation: 1,
        explore: false,
        ..Switches::default()
    });
    connect_by_h3(&engine, &server.url("/bytes/1")).await;
    let get = engine.get(&url).header("x-commute-id", "1");
    let mut response = get.send().await.unwrap();
    assert_eq!(response.report().protocol, Protocol::H3);
    // The server resets whatever has this id, the rest as well: each time after half of it. A reset may overtake that.
    let mut bytes = 0;
    let error = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes += chunk.len(),
            Ok(None) => panic!("it was to be reset"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(bytes < 8_000_000, "{bytes}");
    drop((response, engine));
    let log = server.stop().await;
    let asked = log.iter().filter(|request| request.id == Some(1));
    let over: Vec<&str> = asked.map(|request| request.protocol.as_str()).collect();
    assert_eq!(&over[..2], ["h3", "h2"], "{over:?}");
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
async fn a_body_is_streamed_while_it_is_written() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    let piece = Bytes::from(vec![7; MIB]);
    for policy in [Policy::H2, Policy::H3] {
        for length in [None, Some(8 * MIB as u64)] {
            let upload = engine.request(Method::PUT, &server.url("/upload"));
            let (request, mut writer) = upload.policy(policy).streamed(length);
            let response = tokio::spawn(request.send());
            for _ in 0..8 {
                writer.write(piece.clone()).await.unwrap();
            }
            writer.finish().await.unwrap();
            assert_eq!(response.await.unwrap().unwrap().status(), 200);
        }
    }
    let sent = Sha256::digest(piece.repeat(8));
    let sent: String = sent.iter().map(|byte| format!("{byte:02x}")).collect();
    drop(engine);
    let log = server.stop().await;
    assert_eq!(log.len(), 4);
    for request in &log {
        let seen = serde_json::to_string(request).unwrap();
        assert!(seen.contains(&sent), "{seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_may_come_before_the_bodys_end() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    for policy in [Policy::H2, Policy::H3] {
        let refused = engine.request(Method::POST, &server.url("/upload"));
        let (request, mut writer) = refused.policy(policy).streamed(None);
        let response = tokio::spawn(request.send());
        let written = async {
            loop {
                writer.write(Bytes::from(vec![7; MIB])).await?;
            }
        };
        let stopped: Result<(), Error> = written.await;
        assert_eq!(stopped, Err(Error::BodyNotTaken));
        assert_eq!(response.await.unwrap().unwrap().status(), 405);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_finished_ends_its_request_and_no_other() {
    let server = start(Config::default()).await;
    let engine = server.trusting().hint_h3(&server.url("/")).build().unwrap();
    for policy in [Policy::H2, Policy::H3] {
        let upload = || {
            let upload = engine.request(Method::PUT, &server.url("/upload"));
            upload.policy(policy).streamed(Some(10))
        };
        let (request, mut writer) = upload();
        let response = tokio::spawn(request.send());
        writer.write(Bytes::from_static(b"half")).await.unwrap();
        drop(writer);
        let error = response.await.unwrap().unwrap_err();
        assert_eq!(error, Error::Unfinished);
        let (request, mut writer) = upload();
        let response = tokio::spawn(request.send());
        assert!(
            writer
                .write(Bytes::from_static(b"01234567890"))
                .await
                .is_err()
        );
        assert!(writer.finish().await.is_err());
        assert_eq!(response.await.unwrap().unwrap_err(), Error::Unfinished);
        let health = engine.get(&server.url("/health")).policy(policy);
        assert_eq!(health.send().await.unwrap().status(), 200);
    }
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

/// Each piece wakes the app, so they must not be as short as packets.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_come_over_http_3_is_passed_on_in_pieces_of_many_packets() {
    const BYTES: usize = 1_000_000;
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let (sender, has_come) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let quic = endpoint.accept().await.unwrap().await.unwrap();
        let (connection, accepted) = h3_quic::Connection::with_accepted_requests(quic);
        let server = h3::server::Connection::<_, Bytes>::new(connection).await;
        let mut server = server.unwrap();
        let request = server.accept().await.unwrap().unwrap();
        let (_, mut stream) = request.resolve_request().await.unwrap();
        let delivery = accepted.take(stream.id()).unwrap().delivery;
        // All of it fits the window of the stream.
        let body = Bytes::from(vec![7; BYTES]);
        stream.send_response(Response::new(())).await.unwrap();
        stream.send_data(body).await.unwrap();
        stream.finish().await.unwrap();
        sender.send(delivery.wait().await).unwrap();
        server.accept().await.ok();
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    let mut response = engine.get(&url).send().await.unwrap();
    assert!(has_come.await.unwrap());
    let (mut bytes, mut pieces) = (0, 0);
    while let Some(piece) = response.chunk().await.unwrap() {
        bytes += piece.len();
        pieces += 1;
    }
    assert_eq!(bytes, BYTES);
    assert!(pieces <= BYTES / (16 << 10) + 16, "{pieces} pieces");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_body_is_said_where_one_is_expected() {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let (url, engine) = (listener.url(), engine.build().unwrap());
    let (heads, mut came) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut stream = BufReader::new(listener.accept().await);
        let mut head = String::new();
        while stream.read_line(&mut head).await.unwrap() > 0 {
            if head.ends_with("\r\n\r\n") {
                heads.send(std::mem::take(&mut head)).unwrap();
                let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                stream.write_all(answer).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    });
    for (method, said) in [
        (Method::POST, true),
        (Method::PUT, true),
        (Method::PATCH, true),
        (Method::GET, false),
    ] {
        engine.request(method, &url).send().await.unwrap();
        let head = came.recv().await.unwrap();
        assert_eq!(head.contains("content-length: 0\r\n"), said, "{head}");
    }
}
