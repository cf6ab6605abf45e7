//! Invariants under random events: a request ends exactly once, and what must not be repeated is not. The world checks
//! the rest on the way (`common/mod.rs`).

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use common::{End, PathBehavior, Server, World, origin, traits};
use proptest::prelude::*;
use route::{
    CallId, ConnId, Event, MonotonicTime, Network, NetworkId, NetworkKind, Policy, Protocol,
    RequestTraits, Switches, Transport,
};

#[derive(Clone, Debug)]
enum Act {
    Request(RequestTraits),
    Connect(Policy),
    Cancel(usize),
    TimeOut(usize),
    Wait(u64),
    Network(Option<u8>),
    Switch(u8, bool),
    GoAway,
    Disconnect,
    CloseIdle,
    Hint,
    /// The peer closes the connection that was opened first.
    Close,
    Compared(bool, f64),
    FallbackSucceeded,
    /// The clock goes back.
    Before(u64),
}

fn path() -> impl Strategy<Value = PathBehavior> {
    prop_oneof![
        3 => Just(PathBehavior::Free),
        1 => Just(PathBehavior::Blocked),
        1 => Just(PathBehavior::Refused),
        1 => Just(PathBehavior::Stalls),
        1 => Just(PathBehavior::BadHandshake),
        1 => Just(PathBehavior::BadCertificate),
        2 => (0..60_000_u64).prop_map(|ms| PathBehavior::DiesAt(MonotonicTime::from_ns(ms * 1_000_000))),
    ]
}

fn server() -> impl Strategy<Value = Server> {
    let resets = prop_oneof![3 => 0.0..0.3_f64, 1 => Just(1.0)];
    (path(), 1.0..500.0_f64, 0.0..0.1_f64, resets).prop_map(|(path, median_ms, stalls, resets)| {
        Server {
            stalls,
            resets,
            ..Server::of(path, median_ms)
        }
    })
}

fn act() -> impl Strategy<Value = Act> {
    let policy = prop_oneof![
        4 => Just(Policy::Adaptive),
        1 => Just(Policy::Race),
        1 => Just(Policy::H2),
        1 => Just(Policy::H3),
        1 => Just(Policy::H1),
    ];
    let asked = (
        any::<bool>(),
        policy.clone(),
        0..4_u64,
        any::<bool>(),
        any::<bool>(),
    );
    prop_oneof![
        8 => asked.prop_map(|(replayable, policy, kind, urgent, early)| {
            Act::Request(RequestTraits { replayable, policy, kind, urgent, early: early && replayable, ..traits() })
        }),
        1 => policy.prop_map(Act::Connect),
        1 => any::<usize>().prop_map(Act::Cancel),
        1 => any::<usize>().prop_map(Act::TimeOut),
        6 => (0..5_000_u64).prop_map(Act::Wait),
        1 => proptest::option::of(0..3_u8).prop_map(Act::Network),
        1 => (0..=100_u8, any::<bool>()).prop_map(|(percent, engine)| Act::Switch(percent, engine)),
        1 => Just(Act::GoAway),
        1 => Just(Act::Disconnect),
        1 => Just(Act::CloseIdle),
        1 => Just(Act::Hint),
        1 => Just(Act::Close),
        1 => (any::<bool>(), 0.0..1e9_f64).prop_map(|(quic, ratio)| Act::Compared(quic, ratio)),
        1 => Just(Act::FallbackSucceeded),
        1 => (0..10_000_u64).prop_map(Act::Before),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_ends_exactly_once(
        seed in any::<u64>(),
        rtt_ms in 1..400_u64,
        quic in server(),
        tcp in server(),
        one_at_a_time in any::<bool>(),
        tcp_limit in prop_oneof![Just(usize::MAX), 1..4_usize],
        tcp_closes in any::<bool>(),
        resumable in any::<bool>(),
        early_refused in prop_oneof![Just(0.0), 0.0..1.0_f64],
        addresses in 1..4_u8,
        lost_first_flights in prop_oneof![Just(0.0), 0.0..1.0_f64],
        streams in prop_oneof![2 => Just(usize::MAX), 1 => 1..4_usize],
        misdirects in prop_oneof![2 => Just(0.0), 1 => 0.0..1.0_f64],
        demands_http1 in prop_oneof![2 => Just(0.0), 1 => 0.0..1.0_f64],
        migrates in any::<bool>(),
        body_ms in prop_oneof![Just(0), 0..10_000_u64],
        acts in proptest::collection::vec(act(), 1..80),
    ) {
        let mut world = World::new(seed, rtt_ms, quic, tcp);
        world.protocol = if one_at_a_time { Protocol::H1 } else { Protocol::H2 };
        world.early_refused = early_refused;
        (world.addresses, world.lost_first_flights) = (addresses, lost_first_flights);
        (world.streams, world.migrates) = (streams, migrates);
        (world.misdirects, world.demands_http1) = (misdirects, demands_http1);
        (world.tcp_limit, world.tcp_closes) = (tcp_limit, tcp_closes && one_at_a_time);
        (world.resumable, world.body_time) = (resumable, Duration::from_millis(body_ms));
        for act in acts {
            match act {
                Act::Request(traits) => {
                    world.request(traits);
                }
                Act::Connect(policy) => {
                    world.connect(policy);
                }
                Act::Cancel(n) if !world.calls.is_empty() => {
                    world.cancel(CallId((n % world.calls.len()) as u64 + 1));
                }
                Act::TimeOut(n) if !world.calls.is_empty() => {
                    world.time_out(CallId((n % world.calls.len()) as u64 + 1));
                }
                Act::Cancel(_) | Act::TimeOut(_) => {}
                Act::Wait(ms) => world.pass_time(Duration::from_millis(ms)),
                Act::Network(id) => {
                    let network = id.map(|id| Network { id: NetworkId([id; 16]), kind: NetworkKind::Wifi, metered: id == 0 });
                    world.handle(Event::Network(network));
                }
                Act::Switch(h3_percent, engine) => {
                    let switches = Switches { engine, h3_percent, ..Switches::default() };
                    world.handle(Event::Switches(switches));
                }
                Act::GoAway => {
                    if let Some(conn) = world.conns.keys().next().copied() {
                        world.handle(Event::GoAway(conn));
                    }
                }
                Act::Disconnect => world.handle(Event::Disconnect),
                Act::CloseIdle => {
                    world.handle(Event::CloseIdle);
                    // Any that is left carries a request, or is on its way.
                    let busy = |conn: &ConnId| world.calls.values().any(|log| log.live.contains(conn));
                    prop_assert!(world.conns.iter().all(|(conn, socket)| busy(conn) || !socket.ready));
                }
                Act::Hint => world.hint(),
                Act::Close => world.close_first(),
                Act::Compared(quic, ratio) => {
                    let faster = if quic { Transport::Quic } else { Transport::Tcp };
                    world.handle(Event::Compared { origin: &origin(), faster, ratio });
                }
                Act::FallbackSucceeded => world.handle(Event::FallbackSucceeded),
                Act::Before(ms) => world.handle_before(Duration::from_millis(ms)),
            }
        }
        // Long enough for every race to end, and for every path that stopped working to be given up as often as it is tried.
        world.pass_time(Duration::from_secs(300));
        for (id, log) in &world.calls {
            prop_assert!(log.ended.is_some(), "{id:?} waits for nothing: {:?}", world.router);
        }
        // Three sends that may do harm, and three in vain for each time that the origin answered something.
        let most = 3 + 3 * (1 + world.answers);
        for log in world.calls.values() {
            prop_assert!(log.sends.len() <= most, "{} answers, {log:?}", world.answers);
        }
        // Without requests nothing is watched, so the router does not wake the device.
        world.pass_time(Duration::from_secs(600));
        prop_assert_eq!(world.router.deadline(), None);
        prop_assert!(world.conns.len() <= route::MAX_CONNS);
    }

    #[test]
    fn a_healthy_network_loses_no_request(
        seed in any::<u64>(),
        rtt_ms in 1..400_u64,
        quic_ms in 1.0..500.0_f64,
        tcp_ms in 1.0..500.0_f64,
        asks in proptest::collection::vec(0..2_000_u64, 1..60),
    ) {
        let (quic, tcp) = (Server::of(PathBehavior::Free, quic_ms), Server::of(PathBehavior::Free, tcp_ms));
        let mut world = World::new(seed, rtt_ms, quic, tcp);
        world.hint();
        for wait_ms in asks {
            world.request(traits());
            world.pass_time(Duration::from_millis(wait_ms));
        }
        world.pass_time(Duration::from_secs(60));
        for log in world.calls.values() {
            prop_assert!(matches!(log.ended, Some((_, End::Done(_)))), "{:?}", log);
        }
        // Only a request that was sent to learn is sent over the other transport, too, if that is much faster.
        let copies: Vec<usize> = world.calls.values().map(|log| log.sends.len()).collect();
        let twice = copies.iter().filter(|copies| **copies == 2).count();
        prop_assert!(copies.iter().all(|copies| *copies <= 2), "{:?}", copies);
        prop_assert!(twice <= 5 + copies.len().isqrt() / 2, "{:?}", copies);
    }

    #[test]
    fn any_bytes_may_be_recalled(file in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut router = route::Router::new(route::Config::default());
        router.recall(&file, route::WallSeconds(1_800_000_000));
    }

    #[test]
    fn any_bytes_may_be_an_alt_svc_field(field in proptest::collection::vec(any::<u8>(), 0..600), port in any::<u16>()) {
        route::alt_svc::parse(&field, port);
    }
}

#[test]
fn a_thousand_races_over_a_lossy_network_break_nothing() {
    // 10 % of first flights are lost. They are repeated after a second, so the handshake is late
    // but not silent.
    let broken = (0..1_000).filter(|seed| {
        let server = Server::of(PathBehavior::Free, 100.0);
        let mut world = World::new(*seed, 100, server, server);
        world.lost_first_flights = 0.1;
        world.hint();
        world.request_and_wait(traits());
        world.pass_time(Duration::from_secs(30));
        world
            .router
            .explain(&common::origin())
            .contains("failed here")
    });
    assert_eq!(broken.count(), 0);
}
