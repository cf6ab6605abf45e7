//! Races over a network that loses packets, in virtual time: the router against quinn's own handshakes.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod common;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use common::by_hand::server_config;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event,
    ServerConfig,
};
use route::{
    CallId, Command, Config, ConnId, DnsAnswer, MonotonicTime, Origin, PathSample, Policy,
    Protocol, RequestTraits, Router, Transport,
};
use rustls::RootCertStore;

const RTT: Duration = Duration::from_millis(100);
/// Share of packets towards the client that are lost.
const LOSS: f64 = 0.1;

struct Rng(u64);

impl Rng {
    fn loses(&mut self) -> bool {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 11) as f64 / (1_u64 << 53) as f64) < LOSS
    }
}

/// The configuration of both ends, which all races share.
struct Ends {
    server: Arc<ServerConfig>,
    client: ClientConfig,
}

impl Ends {
    fn new() -> Self {
        let (config, certificate) = server_config(&[b"h3"]);
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut client = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h3".to_vec()];
        // Every handshake is a full one.
        client.resumption = rustls::client::Resumption::disabled();
        let crypto = QuicServerConfig::try_from(config).unwrap();
        let server = Arc::new(ServerConfig::with_crypto(Arc::new(crypto)));
        let crypto = QuicClientConfig::try_from(client).unwrap();
        let client = ClientConfig::new(Arc::new(crypto));
        Self { server, client }
    }
}

/// One end of a handshake.
struct Side {
    endpoint: Endpoint,
    conn: Option<(ConnectionHandle, Connection)>,
}

/// Returns when, after its beginning, a handshake got its first packet from the server and when it was done. Either is
/// nothing if it has not happened after 12 s.
fn handshake(ends: &Ends, rng: &mut Rng) -> (Option<Duration>, Option<Duration>) {
    let [server_at, client_at]: [SocketAddr; 2] =
        [([10, 0, 0, 1], 443).into(), ([10, 0, 0, 2], 9).into()];
    let began = Instant::now();
    let endpoint = |server| {
        let config = Arc::new(EndpointConfig::default());
        Endpoint::new(config, server, false, Some([rng.0 as u8; 32]))
    };
    let mut sides =
        [endpoint(None), endpoint(Some(Arc::clone(&ends.server)))].map(|endpoint| Side {
            endpoint,
            conn: None,
        });
    let connected = sides[0]
        .endpoint
        .connect(began, ends.client.clone(), server_at, "localhost");
    sides[0].conn = Some(connected.unwrap());
    let (mut wire, mut count) = (BinaryHeap::new(), 0_u64);
    let (mut now, mut heard, mut buffer) = (began, None, Vec::new());
    while now < began + Duration::from_secs(12) {
        for (from, side) in sides.iter_mut().enumerate() {
            let Some((handle, conn)) = &mut side.conn else {
                continue;
            };
            while let Some(event) = conn.poll_endpoint_events() {
                if let Some(event) = side.endpoint.handle_event(*handle, event) {
                    conn.handle_event(event);
                }
            }
            while let Some(event) = conn.poll() {
                match event {
                    Event::Connected if from == 0 => return (heard, Some(now - began)),
                    Event::ConnectionLost { reason } => panic!("{reason}"),
                    _ => {}
                }
            }
            buffer.clear();
            while let Some(transmit) = conn.poll_transmit(now, 1, &mut buffer) {
                assert!(transmit.segment_size.is_none());
                let lost = from == 1 && rng.loses();
                if !lost {
                    count += 1;
                    wire.push(Reverse((now + RTT / 2, count, 1 - from, buffer.clone())));
                }
                buffer.clear();
            }
        }
        let packet = wire.peek().map(|Reverse((at, ..))| *at);
        let timers = sides
            .iter_mut()
            .filter_map(|side| side.conn.as_mut()?.1.poll_timeout());
        let Some(next) = packet.into_iter().chain(timers).min() else {
            break;
        };
        now = now.max(next);
        for side in &mut sides {
            if let Some((_, conn)) = &mut side.conn {
                conn.handle_timeout(now);
            }
        }
        while wire.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Reverse((_, _, to, bytes)) = wire.pop().unwrap();
            let remote = [server_at, client_at][to];
            heard = heard.or((to == 0).then(|| now - began));
            let data = BytesMut::from(&bytes[..]);
            let side = &mut sides[to];
            match side
                .endpoint
                .handle(now, remote, None, None, data, &mut buffer)
            {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = side.endpoint.accept(incoming, now, &mut buffer, None);
                    side.conn = accepted.ok();
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    if let Some((_, conn)) = &mut side.conn {
                        conn.handle_event(event);
                    }
                }
                _ => {}
            }
        }
    }
    (heard, None)
}

/// What happens to a router, by the ns at which it does.
enum SimEvent {
    Resolved(route::QueryId),
    FirstPacket(ConnId, Duration),
    Ready(ConnId, Transport),
    Head(CallId, ConnId),
    Done(CallId, ConnId),
}

/// Makes a first request in a fresh router. Returns the transport of the response, and what is known of the origin half
/// a minute later.
fn race(ends: &Ends, seed: u64) -> (Transport, String) {
    let (mut rng, origin) = (Rng(seed), Origin::new("localhost", 443));
    let mut router = Router::new(Config::default());
    router.handle(
        route::Event::Hint {
            origin: &origin,
            port: 443,
        },
        MonotonicTime::from_ns(0),
    );
    let traits = RequestTraits {
        replayable: true,
        resends: true,
        bytes: None,
        kind: 1,
        urgent: false,
        early: false,
        policy: Policy::Adaptive,
    };
    let id = CallId(1);
    let mut events = BTreeMap::new();
    let mut conns = BTreeMap::new();
    let mut delivered = None;
    let (mut now, mut count) = (0, 0_u64);
    router.handle(
        route::Event::Call {
            id,
            origin: &origin,
            traits,
        },
        MonotonicTime::from_ns(now),
    );
    loop {
        while let Some(command) = router.poll() {
            let mut later = |wait: Duration, event| {
                count += 1;
                events.insert((now + wait.as_nanos() as u64, count), event);
            };
            // TCP repeats a SYN after a second, and other segments after 300 ms.
            let mut round_trip = |repeat: u64| {
                let mut took = RTT;
                while rng.loses() {
                    took += Duration::from_millis(repeat);
                }
                took
            };
            match command {
                Command::Resolve { query, .. } => {
                    later(Duration::from_millis(1), SimEvent::Resolved(query));
                }
                Command::Open {
                    conn,
                    over: Transport::Tcp,
                    ..
                } => {
                    let heard = round_trip(1_000);
                    conns.insert(conn, Transport::Tcp);
                    later(heard, SimEvent::FirstPacket(conn, heard));
                    later(
                        heard + round_trip(300),
                        SimEvent::Ready(conn, Transport::Tcp),
                    );
                }
                Command::Open {
                    conn,
                    over: Transport::Quic,
                    ..
                } => {
                    conns.insert(conn, Transport::Quic);
                    let (heard, ready) = handshake(ends, &mut rng);
                    if let Some(heard) = heard {
                        later(heard, SimEvent::FirstPacket(conn, heard));
                    }
                    if let Some(ready) = ready {
                        later(ready, SimEvent::Ready(conn, Transport::Quic));
                    }
                }
                Command::Close(conn) => {
                    conns.remove(&conn);
                }
                Command::Send { call, conn } => {
                    let took = round_trip(300);
                    later(took, SimEvent::Head(call, conn));
                    later(took, SimEvent::Done(call, conn));
                }
                Command::Deliver { conn, .. } => delivered = conns.get(&conn).copied(),
                Command::Sample(conn) => {
                    let sample = PathSample {
                        received: count,
                        owed: true,
                        srtt: RTT,
                        rttvar: RTT / 4,
                    };
                    router.handle(
                        route::Event::Path { conn, sample },
                        MonotonicTime::from_ns(now),
                    );
                }
                Command::Probe(_) | Command::Nudge(_) | Command::Withdraw { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        let event = events.keys().next().map(|(at, _)| *at);
        let next = event
            .into_iter()
            .chain(router.deadline().map(MonotonicTime::ns))
            .min();
        let Some(next) = next.filter(|next| *next < 30_000_000_000) else {
            let over = delivered.expect("it was answered");
            return (over, router.explain(&origin));
        };
        now = now.max(next);
        let at = MonotonicTime::from_ns(now);
        let event = event
            .filter(|event| *event <= now)
            .and_then(|_| events.pop_first());
        match event.map(|(_, event)| event) {
            None => router.handle(route::Event::Time, at),
            Some(SimEvent::Resolved(query)) => {
                let answer = Some(DnsAnswer::Addresses(vec![[10, 0, 0, 1].into()]));
                router.handle(route::Event::Resolved { query, answer }, at);
            }
            Some(SimEvent::FirstPacket(conn, rtt)) if conns.contains_key(&conn) => {
                router.handle(route::Event::FirstPacket { conn, rtt }, at);
            }
            Some(SimEvent::Ready(conn, over)) if conns.contains_key(&conn) => {
                let protocol = match over {
                    Transport::Quic => Protocol::H3,
                    Transport::Tcp => Protocol::H2,
                };
                router.handle(
                    route::Event::Ready {
                        conn,
                        protocol,
                        migrates: protocol == Protocol::H3,
                    },
                    at,
                );
            }
            Some(SimEvent::Head(call, conn)) => {
                let (alt_svc, resumable) = (&b""[..], false);
                router.handle(
                    route::Event::Head {
                        call,
                        conn,
                        misdirected: false,
                        kept: true,
                        alt_svc,
                        resumable,
                    },
                    at,
                );
            }
            Some(SimEvent::Done(call, conn)) => {
                router.handle(
                    route::Event::Done {
                        call,
                        conn,
                        bytes: 100,
                    },
                    at,
                );
            }
            Some(_) => {}
        }
    }
}

#[test]
fn a_thousand_races_where_one_packet_in_ten_is_lost_break_nothing() {
    let ends = Ends::new();
    let (mut over_quic, mut broken) = (0, Vec::new());
    for seed in 0..1_000 {
        let (over, known) = race(&ends, seed);
        over_quic += u32::from(over == Transport::Quic);
        if !known.contains("HTTP/3 here: works") {
            broken.push((seed, known));
        }
    }
    assert!(
        broken.is_empty(),
        "{} of 1,000: {:?}",
        broken.len(),
        broken[0]
    );
    // The first flight comes whole in most of them.
    assert!(over_quic > 600, "{over_quic}");
}
