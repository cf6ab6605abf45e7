//! Requests and clients within and beyond each limit.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::time::Duration;

use crate::common::client::{self, PROTOCOLS, request};
use bytes::Bytes;
use http::StatusCode;
use server::{Config, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Far longer than a handshake or a request on loopback, which take a few ms. So only the clients
/// that are deliberately slow exceed it.
const SHORT: Duration = Duration::from_millis(300);
/// Bounds a wait that would never end if the server did not close; far above what closing takes.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn messages_bodies_and_files_are_limited() {
    let limits = Limits {
        message_bytes: 1000,
        body_bytes: 200_000,
        file_bytes: 5000,
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    let message = |len: usize| {
        let empty = r#"{"start_ts":1,"padding":""}"#.len();
        format!(
            r#"{{"start_ts":1,"padding":"{}"}}"#,
            "x".repeat(len - empty)
        )
    };
    let cases: [(&str, &str, Bytes, StatusCode); 8] = [
        ("POST", "/echo", message(1000).into(), StatusCode::OK),
        (
            "POST",
            "/echo",
            message(1001).into(),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        ("POST", "/echo", "{}".into(), StatusCode::BAD_REQUEST),
        ("POST", "/echo", "".into(), StatusCode::BAD_REQUEST),
        ("PUT", "/upload", vec![1; 200_000].into(), StatusCode::OK),
        (
            "PUT",
            "/upload",
            vec![1; 200_001].into(),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
        ("GET", "/bytes/5000", "".into(), StatusCode::OK),
        ("GET", "/bytes/5001", "".into(), StatusCode::NOT_FOUND),
    ];
    for protocol in PROTOCOLS {
        for (method, path, body, status) in &cases {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let response = http.call(request(method, path, 1, body.clone())).await;
            let response = response.unwrap_or_else(|error| {
                panic!("{protocol} {method} {path} {}: {error:?}", body.len())
            });
            assert_eq!(response.status(), *status, "{protocol} {method} {path}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn request_head_is_limited() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    let limit = Limits::default().header_bytes as usize;
    for protocol in PROTOCOLS {
        for (len, fits) in [(limit / 2, true), (limit * 2, false)] {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let mut request = request("GET", "/health", 1, "");
            request
                .headers_mut()
                .insert("x-long", "x".repeat(len).parse().unwrap());
            let answer = http.call(request).await.map(|response| response.status());
            let accepted = matches!(answer, Ok(StatusCode::OK));
            assert_eq!(accepted, fits, "{protocol} {len}: {answer:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn slow_clients_are_cut_off_and_others_served() {
    let limits = Limits {
        handshake_time: SHORT,
        header_time: SHORT,
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);

    // A client that sends no ClientHello.
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    // A client that sends half a request head.
    let mut half = client::tls_stream("http/1.1", server.address, &tls)
        .await
        .unwrap();
    half.write_all(b"GET /health HTTP/1.1\r\nhost: local")
        .await
        .unwrap();
    // The same over HTTP/3: a stream with one byte of a HEADERS frame.
    let quic = client::quic(server.address, &tls).unwrap().await.unwrap();
    let (mut send, mut recv) = quic.open_bi().await.unwrap();
    send.write_all(&[1]).await.unwrap();

    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        assert!(
            http.call(request("GET", "/health", 1, "")).await.is_ok(),
            "{protocol}"
        );
    }
    let mut received = Vec::new();
    assert_eq!(silent.read_to_end(&mut received).await.unwrap(), 0);
    // The connection ends, with or without TLS close_notify.
    half.read_to_end(&mut received).await.ok();
    assert!(
        received.is_empty() || received.starts_with(b"HTTP/1.1 408"),
        "{received:?}"
    );
    assert!(recv.read_to_end(100).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn idle_connection_is_closed() {
    let limits = Limits {
        idle_time: SHORT,
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    let mut tcp = client::tls_stream("h2", server.address, &tls)
        .await
        .unwrap();
    let mut frames = Vec::new();
    // SETTINGS, GOAWAY and the end, with or without TLS close_notify.
    tcp.read_to_end(&mut frames).await.ok();
    let quic = client::quic(server.address, &tls).unwrap().await.unwrap();
    let closed = quic.closed().await;
    assert!(
        matches!(closed, quinn::ConnectionError::ApplicationClosed(_)),
        "{closed:?}"
    );
    server.stop().await;
}

#[tokio::test]
async fn connections_are_limited_and_closed_ones_replaced() {
    // Each of the three ports holds a permit while it waits for a TCP connection; one is left.
    let limits = Limits {
        connections: 4,
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    let first = client::quic(server.address, &tls).unwrap().await.unwrap();
    let refused = client::quic(server.address, &tls).unwrap().await;
    assert!(
        matches!(refused, Err(quinn::ConnectionError::ConnectionClosed(_))),
        "{refused:?}"
    );
    first.close(0u32.into(), b"");
    // Succeeds as soon as the server has read the close.
    while client::quic(server.address, &tls).unwrap().await.is_err() {
        tokio::task::yield_now().await;
    }
    server.stop().await;
}

#[tokio::test]
async fn idle_connections_of_one_address_lock_nobody_out() {
    // Each of the three ports holds a place while it waits for a TCP connection.
    let limits = Limits {
        connections: 12,
        connections_of_one_address: 3,
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let idle_from = |address: [u8; 4]| {
        let to = server.address;
        async move {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind((address, 0).into()).unwrap();
            socket.connect(to).await.unwrap()
        }
    };
    let greedy = [127, 0, 0, 2];
    let mut idle = Vec::new();
    for _ in 0..3 {
        idle.push(idle_from(greedy).await);
    }
    for _ in 0..20 {
        let mut refused = idle_from(greedy).await;
        let read = tokio::time::timeout(PATIENCE, refused.read(&mut [0])).await;
        assert_eq!(read.expect("it is closed at once").unwrap(), 0);
    }
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let health = http.call(request("GET", "/health", 1, "")).await;
        assert!(health.is_ok(), "{protocol}");
    }
    drop(idle);
    server.stop().await;
}

#[tokio::test]
async fn too_many_unfinished_handshakes_cause_a_retry() {
    let limits = Limits {
        half_open: 1,
        // Otherwise the shutdown waits three probe timeouts for each unfinished handshake.
        drain_time: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    let mut first_answers = Vec::new();
    // Both handshakes stay unfinished: the sockets are kept open and send nothing more.
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket
            .send_to(&client::first_packet(&tls), server.address)
            .await
            .unwrap();
        let mut answer = [0; 1500];
        socket.recv(&mut answer).await.unwrap();
        // Long packet type (RFC 9000 section 17.2): 0 is Initial, 3 is Retry.
        first_answers.push(answer[0] >> 4 & 0b11);
        sockets.push(socket);
    }
    assert_eq!(first_answers, [0, 3]);
    // A client that answers the Retry is served.
    let mut http = client::connect("h3", server.address, &tls).await.unwrap();
    assert!(http.call(request("GET", "/health", 1, "")).await.is_ok());
    drop(http);
    server.stop().await;
}
