//! Bodies of requests and responses: whole, streamed, and broken off.

use bytes::Bytes;
use client::{Error, Policy, Protocol, Switches};
use http::{Method, Response};
use server::Config;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::common::by_hand::{Listener, self_signed};
use crate::common::{connect_by_h3, start};
use crate::quic::quic;

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
