//! The log: its format, request ids, and its completeness at shutdown.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;

use crate::common::client::{self, PROTOCOLS, request};
use server::{Config, Congestion, Limits};
use server_log::{
    ClosedEvent, ConnectionEvent, RefusedEvent, RequestEvent, Sender, ServerEvent, Transport,
    WindowSample,
};
use testing::golden;

/// The lab reads these lines: changing them changes the contract in docs/reference/server-log.md.
#[test]
fn log_format_is_stable() {
    let connection = ServerEvent::Connection(ConnectionEvent {
        connection: 1,
        at_ns: 2_220_165_031_515,
        transport: Transport::Quic,
        peer_port: 60094,
        ip_version: 6,
        alpn: "h3".into(),
        tls_version: "TLSv1_3".into(),
        cipher: "TLS13_AES_256_GCM_SHA384".into(),
        group: "X25519".into(),
        resumed: false,
        hello_retry: false,
        chain_bytes: 796,
        client_cert: Some("commute client".into()),
        congestion: None,
    });
    let request = ServerEvent::Request(RequestEvent {
        id: Some(7),
        connection: 1,
        protocol: "h3".into(),
        method: "POST".into(),
        path: "/echo".into(),
        authority: Some("origin.test:8443".into()),
        start_ns: 2_220_165_157_161,
        received_ns: Some(2_220_165_157_161),
        responded_ns: Some(2_220_165_190_000),
        end_ns: 2_220_165_198_773,
        early_data: false,
        request_bytes: 26,
        request_digest: "aa".into(),
        response_bytes: 0,
        response_digest: "bb".into(),
        status: 200,
        broken: true,
        codec: None,
        decode_ns: None,
        encode_ns: None,
        fields_digest: Some("ab".into()),
        auth: Some("hmac".into()),
        verify_ns: Some(5_432),
    });
    let exchange = ServerEvent::Request(RequestEvent {
        id: Some(8),
        connection: 1,
        protocol: "h3".into(),
        method: "POST".into(),
        path: "/exchange/Big".into(),
        authority: None,
        start_ns: 2_220_165_257_161,
        received_ns: None,
        responded_ns: None,
        end_ns: 2_220_165_298_773,
        early_data: false,
        request_bytes: 1187,
        request_digest: "cc".into(),
        response_bytes: 1187,
        response_digest: "cc".into(),
        status: 200,
        broken: false,
        codec: Some("json+gzip-6".into()),
        decode_ns: Some(12_001),
        encode_ns: Some(23_456),
        fields_digest: None,
        auth: None,
        verify_ns: None,
    });
    let refused = ServerEvent::Refused(RefusedEvent {
        connection: 1,
        stream: Some(8),
        at_ns: 2_220_165_300_000,
        code: "H3_MESSAGE_ERROR".into(),
        reason: "the body is longer than its content-length".into(),
    });
    let closed = ServerEvent::Closed(ClosedEvent {
        connection: 1,
        at_ns: 2_220_165_398_773,
        sender: Sender {
            sent_packets: Some(9),
            lost_packets: Some(2),
            lost_bytes: Some(2400),
            spurious_packets: Some(1),
            reorderings: Some(3),
            timeouts: Some(0),
            congestion_events: Some(1),
            blocked_frames: Some(4),
            smoothed_rtt_ns: Some(20_123_456),
            min_rtt_ns: Some(20_012_345),
            window_bytes: Some(8400),
            initial_window_bytes: Some(12_000),
            segment_bytes: Some(1452),
            pacing_bps: Some(10_000_000),
            delivery_bps: Some(9_000_000),
        },
        windows: vec![WindowSample {
            at_ns: 2_220_165_398_000,
            window_bytes: 8400,
            in_flight_bytes: 1200,
            app_limited: true,
        }],
    });
    let events = [connection, request, exchange, refused, closed];
    let lines: Vec<_> = events
        .iter()
        .map(|event| serde_json::to_string(event).unwrap())
        .collect();
    let text = lines.join("\n") + "\n";
    golden(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/log.ndjson"),
        &text,
    );
    let read: Vec<ServerEvent> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(read, events);
}

#[tokio::test]
async fn end_of_every_connection_is_logged_with_what_its_transport_tells() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    let mut open = Vec::new();
    for protocol in PROTOCOLS {
        for stays_open in [false, true] {
            let connected = client::connect(protocol, server.address, &tls).await;
            let mut http = connected.unwrap();
            let path = "/bytes/100000";
            http.call(request("GET", path, 1, "")).await.unwrap();
            if stays_open {
                open.push(http);
            }
        }
    }
    let log = server.stop().await;
    assert_eq!(log.connections().len(), 2 * PROTOCOLS.len());
    assert_eq!(log.closed().len(), 2 * PROTOCOLS.len());
    for connection in log.connections() {
        let number = connection.connection;
        let closed = log.closed().into_iter().find(|c| c.connection == number);
        let closed = closed.unwrap();
        let sender = &closed.sender;
        assert_eq!(sender.check(connection.transport), Ok(()), "{sender:?}");
        // Loopback has an MTU of 64 KiB, so a response takes few segments.
        assert!(sender.sent_packets > Some(2), "{sender:?}");
        let tells = |fact: Option<u64>| fact.is_some();
        let quic = connection.transport == Transport::Quic;
        for (fact, told) in [
            (sender.lost_packets, true),
            (sender.smoothed_rtt_ns, true),
            (sender.window_bytes, true),
            (sender.initial_window_bytes, true),
            (sender.segment_bytes, true),
            (sender.spurious_packets, !quic),
            (sender.congestion_events, quic),
            (sender.blocked_frames, quic),
        ] {
            assert_eq!(tells(fact), told, "{sender:?}");
        }
        assert_eq!(closed.windows.is_empty(), !quic, "{closed:?}");
        for sample in &closed.windows {
            let since_ns = connection.at_ns.saturating_sub(60_000_000_000)..closed.at_ns;
            assert!(since_ns.contains(&sample.at_ns), "{closed:?}");
            assert!(sample.window_bytes > 0, "{closed:?}");
        }
    }
}

/// Ten packets, whatever the congestion control: quinn's BBR would begin with two hundred.
#[tokio::test]
async fn every_congestion_control_begins_with_ten_packets() {
    for congestion in [Congestion::Cubic, Congestion::NewReno, Congestion::Bbr] {
        let config = Config {
            congestion,
            ..Config::default()
        };
        let server = crate::common::start(config).await;
        let tls = client::tls(&server);
        let connected = client::connect("h3", server.address, &tls).await;
        let get = request("GET", "/bytes/1000", 1, "");
        connected.unwrap().call(get).await.unwrap();
        let log = server.stop().await;
        let window = log.closed()[0].sender.initial_window_bytes;
        assert_eq!(window, Some(12_000), "{congestion:?}");
    }
}

/// A client with little credit makes the server wait for it; one with plenty does not.
#[tokio::test]
async fn waits_for_flow_control_are_logged() {
    for (window_bytes, waits) in [(20_000, true), (1_000_000, false)] {
        let server = crate::common::start(Config::default()).await;
        let mut config = client::quic_config(&client::tls(&server)).unwrap();
        let mut transport = quinn::TransportConfig::default();
        transport.stream_receive_window(quinn::VarInt::from_u32(window_bytes));
        config.transport_config(Arc::new(transport));
        let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
        let quic = endpoint.connect_with(config, server.address, "localhost");
        let mut http = client::h3(quic.unwrap().await.unwrap()).await.unwrap();
        let get = request("GET", "/bytes/200000", 1, "").map(|_| ());
        let mut stream = http.requests.send_request(get).await.unwrap();
        stream.finish().await.unwrap();
        stream.recv_response().await.unwrap();
        let mut received = 0;
        while let Some(data) = stream.recv_data().await.unwrap() {
            received += data.remaining();
        }
        assert_eq!(received, 200_000);
        drop((stream, http));
        let log = server.stop().await;
        let closed = log.closed()[0];
        assert_eq!(closed.sender.blocked_frames > Some(0), waits, "{closed:?}");
        if waits {
            assert!(closed.windows.iter().any(|sample| sample.app_limited));
        }
    }
}

#[tokio::test]
async fn missing_or_invalid_request_id_is_logged_as_none() {
    let server = crate::common::start(Config::default()).await;
    let mut http = client::connect("h2", server.address, &client::tls(&server))
        .await
        .unwrap();
    for id in [None, Some("x"), Some("-1"), Some("4294967296")] {
        let mut request = request("GET", "/nowhere", 1, "");
        request.headers_mut().remove("x-commute-id");
        if let Some(id) = id {
            request
                .headers_mut()
                .insert("x-commute-id", id.parse().unwrap());
        }
        assert_eq!(http.call(request).await.unwrap().status(), 404);
    }
    let log = server.stop().await;
    assert_eq!(log.requests().len(), 4);
    assert!(
        log.requests()
            .iter()
            .all(|request| request.id.is_none() && request.status == 404)
    );
}

#[tokio::test]
async fn shutdown_finishes_and_logs_requests_in_flight() {
    // More than any window, so that the server cannot finish before its client reads.
    const BYTES: u64 = 8 << 20;
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    let path = format!("/bytes/{BYTES}");
    let mut responses = Vec::new();
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let response = http.send(request("GET", &path, 1, "")).await.unwrap();
        responses.push((http, response));
    }
    let address = server.address;
    let stopping = tokio::spawn(server.stop());
    // Once the server drains, TCP connections are refused.
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    for (_http, response) in responses {
        assert_eq!(response.read().await.unwrap().body().len() as u64, BYTES);
    }
    let log = stopping.await.unwrap();
    assert_eq!(log.requests().len(), PROTOCOLS.len());
    for request in log.requests() {
        assert_eq!((request.status, request.broken), (200, false));
        assert_eq!(request.response_bytes, BYTES);
    }
}

#[tokio::test]
async fn shutdown_aborts_and_logs_requests_after_drain_time() {
    let limits = Limits {
        drain_time: Duration::from_millis(200),
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    let mut responses = Vec::new();
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let response = http
            .send(request("GET", "/bytes/100000000", 1, ""))
            .await
            .unwrap();
        responses.push((http, response));
    }
    let log = server.stop().await;
    assert_eq!(log.requests().len(), PROTOCOLS.len());
    assert!(
        log.requests().iter().all(|request| request.broken),
        "{log:?}"
    );
}

#[tokio::test]
async fn shutdown_does_not_wait_for_handshakes() {
    let limits = Limits {
        drain_time: Duration::from_secs(3600),
        ..Limits::default()
    };
    let server = crate::common::start(Config {
        limits,
        ..Config::default()
    })
    .await;
    let tcp = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let udp = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let packet = client::first_packet(&client::tls(&server));
    udp.send_to(&packet, server.address).await.unwrap();
    let mut answer = [0; 1500];
    udp.recv(&mut answer).await.unwrap();
    // `stop` fails long before the hour of drain time is over.
    assert_eq!(server.stop().await.0, []);
    drop(tcp);
}
