//! HTTPS records, from a name server on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use client::Protocol;
use common::start;
use server::Config;
use simple_dns::rdata::{HTTPS, RData, SVCB};
use simple_dns::{CLASS, CharacterString, Name, Packet, ResourceRecord};
use tokio::net::UdpSocket;

/// Starts a name server that says after a while that an origin supports HTTP/3. Returns its address and the names that
/// it was asked for.
async fn name_server(
    after: Duration,
) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let (asked, names) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut packet = vec![0; 1_500];
        loop {
            let (length, from) = socket.recv_from(&mut packet).await.unwrap();
            let query = Packet::parse(&packet[..length]).unwrap();
            let name = query.questions[0].qname.clone();
            asked.send(name.to_string()).unwrap();
            let mut record = SVCB::new(1, Name::new(".").unwrap());
            record.set_alpn(&[CharacterString::new(b"h3").unwrap()]);
            let rdata = RData::HTTPS(HTTPS(record));
            let mut reply = query.clone().into_reply();
            reply
                .answers
                .push(ResourceRecord::new(name, CLASS::IN, 60, rdata));
            let right = reply.build_bytes_vec().unwrap();
            // One with another number was not asked for.
            reply.set_id(query.id() ^ 1);
            reply.answers.clear();
            let forged = reply.build_bytes_vec().unwrap();
            tokio::time::sleep(after).await;
            for bytes in [forged, right] {
                socket.send_to(&bytes, from).await.unwrap();
            }
        }
    });
    (address, names)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_leads_to_http_3_at_once() {
    let server = start(Config::default()).await;
    let (address, mut names) = name_server(Duration::ZERO).await;
    let engine = server
        .trusting()
        .https_records(vec![address])
        .build()
        .unwrap();
    let health = server.url("/health");
    engine.get(&health).send().await.unwrap();
    let asked = names.recv().await.unwrap();
    assert_eq!(
        asked,
        format!("_{}._https.localhost", server.address.port())
    );
    // TCP may win the race on a busy machine; QUIC goes on then.
    for _ in 0..500 {
        let explained = engine.explain(&health).await;
        if explained.contains("open: 1 by HTTP/3") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{}", engine.explain(&health).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_server_that_is_late_or_silent_holds_nothing_up_for_long() {
    let server = start(Config::default()).await;
    let (late, _names) = name_server(Duration::from_secs(30)).await;
    let engine = server.trusting().https_records(vec![late]).build().unwrap();
    let response = engine.get(&server.url("/health")).send().await.unwrap();
    let report = response.report();
    assert_eq!(report.protocol, Protocol::H2, "{}", report.reason);
    assert!(report.phases.connect_ns > Some(50_000_000));
}
