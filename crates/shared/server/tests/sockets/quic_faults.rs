//! QUIC that is absent, stalls or answers garbage, beside TCP that works.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use crate::common::TestServer;
use crate::common::client::{self, H3, request};
use server::{Config, Limits, QuicFault};
use server_log::RequestEvent;

/// Enough for any number of round trips on loopback; a server that answers does so in milliseconds.
const LONG: Duration = Duration::from_millis(500);
const BODY: &str = r#"{"start_ts":1}"#;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

async fn start(fault: QuicFault) -> TestServer {
    crate::common::start(Config {
        quic_fault: Some(fault),
        alt_svc: true,
        limits: Limits {
            // Longer than `TestServer::stop` waits: no fault may hold up a shutdown.
            drain_time: Duration::from_secs(60),
            ..Limits::default()
        },
        ..Config::default()
    })
    .await
}

/// Checks that TCP answers, and that HTTP/3 is offered there.
async fn tcp_is_answered(server: &TestServer) {
    let tls = client::tls(server);
    let offer = format!("h3=\":{}\"; ma=86400", server.address.port());
    for protocol in ["http/1.1", "h2"] {
        let http = client::connect(protocol, server.address, &tls).await;
        let response = http.unwrap().call(request("GET", "/health", 9, "")).await;
        let response = response.unwrap();
        assert_eq!(response.status(), 200, "{protocol}");
        assert_eq!(response.headers()["alt-svc"], offer, "{protocol}");
    }
}

#[tokio::test]
async fn absent_quic_leaves_the_udp_port_free_and_is_still_offered() {
    let server = start(QuicFault::Absent).await;
    UdpSocket::bind(server.address).unwrap();
    assert_eq!(server.settings.udp_buffers, None);
    tcp_is_answered(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn garbage_answers_each_datagram_with_as_many_other_bytes() {
    let server = start(QuicFault::Garbage).await;
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let asked = client::first_packet(&client::tls(&server));
    for datagram in [&asked[..], &asked[..100]] {
        socket.send_to(datagram, server.address).await.unwrap();
        let mut answer = vec![0; 2048];
        let receiving = tokio::time::timeout(ANSWER_LIMIT, socket.recv_from(&mut answer));
        let (length, from) = receiving.await.unwrap().unwrap();
        assert_eq!((length, from), (datagram.len(), server.address));
        assert_ne!(answer[..length], *datagram);
    }
    tcp_is_answered(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn stalled_quic_accepts_requests_and_sends_nothing_any_more() {
    let server = start(QuicFault::Stall).await;
    let tls = client::tls(&server);
    let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    // The second connection has the address of the first, which is silent by then.
    let mut connections = Vec::new();
    for id in [1, 2] {
        let connecting = client::quic_from(&endpoint, server.address, &tls).unwrap();
        let mut http = client::h3(connecting.await.unwrap()).await.unwrap();
        is_not_answered(&mut http, id).await;
        connections.push(http);
    }
    let heard = |http: &H3| http.quic.stats().udp_rx.datagrams;
    let before: Vec<_> = connections.iter().map(heard).collect();
    assert!(before.iter().all(|datagrams| *datagrams > 0));
    for (http, id) in connections.iter_mut().zip(3..) {
        is_not_answered(http, id).await;
    }
    let moved = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    endpoint.rebind(moved).unwrap();
    is_not_answered(&mut connections[0], 5).await;
    // Not even an acknowledgement.
    let after: Vec<_> = connections.iter().map(heard).collect();
    assert_eq!(after, before);

    tcp_is_answered(&server).await;
    let log = server.stop().await;
    let over_quic = |request: &&&RequestEvent| request.protocol == "h3";
    let mut ids = Vec::new();
    for request in log.requests().iter().filter(over_quic) {
        assert!(request.status == 0 && request.broken, "{request:?}");
        assert_eq!(request.request_bytes, BODY.len() as u64);
        ids.extend(request.id);
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn resetting_quic_accepts_requests_and_resets_each() {
    let server = start(QuicFault::Reset).await;
    let tls = client::tls(&server);
    let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    let connecting = client::quic_from(&endpoint, server.address, &tls).unwrap();
    let mut http = client::h3(connecting.await.unwrap()).await.unwrap();
    for id in [1, 2] {
        let response = http.send(request("POST", "/echo", id, BODY));
        let outcome = tokio::time::timeout(ANSWER_LIMIT, response).await.unwrap();
        assert!(outcome.is_err(), "request {id} has an answer");
    }
    tcp_is_answered(&server).await;
    let log = server.stop().await;
    let requests = log.requests();
    let over_quic = requests.iter().filter(|request| request.protocol == "h3");
    let seen: Vec<_> = over_quic
        .map(|request| (request.id, request.status))
        .collect();
    assert_eq!(seen, [(Some(1), 0), (Some(2), 0)]);
}

async fn is_not_answered(http: &mut H3, id: u32) {
    let response = http.send(request("POST", "/echo", id, BODY));
    let outcome = tokio::time::timeout(LONG, response).await;
    assert!(outcome.is_err(), "request {id} has an answer");
}
