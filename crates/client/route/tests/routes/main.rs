//! Requests on blocked, refused and dying paths, each with the time that it may cost.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod moves;
mod silence;

use std::time::Duration;

use common::{End, PathBehavior, Server, World, origin, traits};
use route::{Event, Fault, Policy, Protocol, Reason, RequestTraits, Transport};

const RTT_MS: u64 = 100;
const MS: u128 = 1_000_000;

fn world(quic: PathBehavior, tcp: PathBehavior) -> World {
    let mut world = World::new(1, RTT_MS, Server::of(quic, 100.0), Server::of(tcp, 100.0));
    world.quic.spread = 0.0;
    world.tcp.spread = 0.0;
    world
}

/// Makes one request. Returns its time in ms, and how it ended.
fn one(world: &mut World) -> (u128, End) {
    let (time, end) = world.request_and_wait(traits());
    (time.as_nanos() / MS, end)
}

#[test]
fn without_an_offer_only_tcp_is_tried() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    // 1 ms for the name, two round trips to connect, one for the request.
    assert_eq!(one(&mut world), (301, End::Done(Transport::Tcp)));
    assert_eq!(world.opened.get(&Transport::Quic), None);
    assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
}

#[test]
fn an_offer_is_taken_and_tcp_begins_beside_it() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    assert_eq!(one(&mut world), (201, End::Done(Transport::Quic)));
    assert_eq!(world.opened[&Transport::Tcp], 1);
    assert_eq!(
        world.conns.len(),
        1,
        "the TCP attempt that lost is given up"
    );
}

#[test]
fn a_connection_that_was_wanted_is_there_for_the_request() {
    for (quic, over, ms) in [
        (PathBehavior::Free, Transport::Quic, 101),
        (PathBehavior::Blocked, Transport::Tcp, 211),
    ] {
        let mut world = world(quic, PathBehavior::Free);
        world.hint();
        // Who asks meanwhile takes the same one.
        let (wanted, asked) = (world.connect(Policy::Adaptive), world.request(traits()));
        let (time, end) = world.wait(wanted);
        assert_eq!((time.as_nanos() / MS, end), (ms, End::Connected(over)));
        assert_eq!(world.wait(asked).1, End::Done(over));
        assert_eq!(one(&mut world), (100, End::Done(over)));
        let again = world.connect(Policy::Adaptive);
        assert_eq!(world.wait(again), (Duration::ZERO, End::Connected(over)));
        assert_eq!(world.opened[&Transport::Tcp], 1);
    }
}

#[test]
fn where_there_is_no_way_none_is_wanted_any_more() {
    for (path, fault) in [
        (PathBehavior::Refused, Fault::Connect),
        (PathBehavior::BadCertificate, Fault::Certificate),
    ] {
        let mut world = world(path, path);
        let wanted = world.connect(Policy::Adaptive);
        assert_eq!(world.wait(wanted).1, End::Failed(fault));
    }
}

#[test]
fn blocked_udp_costs_ten_ms_once() {
    let mut world = world(PathBehavior::Blocked, PathBehavior::Free);
    world.hint();
    assert_eq!(one(&mut world), (311, End::Done(Transport::Tcp)));
    for _ in 0..50 {
        assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
    }
    world.pass_time(Duration::from_secs(15));
    let broken = world.router.explain(&origin());
    assert!(
        broken.contains("HTTP/3 failed here where HTTP/2 worked"),
        "{broken}"
    );
}

#[test]
fn blocked_udp_is_tried_ever_more_rarely_and_no_request_waits_for_it() {
    let mut world = world(PathBehavior::Blocked, PathBehavior::Free);
    world.hint();
    one(&mut world);
    for _ in 0..24 {
        world.pass_time(Duration::from_secs(300));
        // The connection is lost, so that each request needs a race.
        for conn in world.conns.keys().copied().collect::<Vec<_>>() {
            world.conns.remove(&conn);
            world.handle(Event::Closed {
                conn,
                fault: Fault::Reset,
            });
        }
        let (ms, end) = one(&mut world);
        assert!(ms <= 301, "{ms}");
        assert_eq!(end, End::Done(Transport::Tcp));
    }
    let tries = world.opened[&Transport::Quic];
    assert!(
        (4..=12).contains(&tries),
        "{tries} attempts over QUIC in two hours"
    );
}

#[test]
fn udp_that_is_blocked_where_it_worked_costs_one_and_a_half_round_trips_once() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    one(&mut world);
    world.close_first();
    world.quic.path = PathBehavior::Blocked;
    // The name, one and a half round trips, and three over TCP.
    assert_eq!(one(&mut world), (451, End::Done(Transport::Tcp)));
    assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
}

#[test]
fn a_refused_handshake_falls_back_at_once() {
    for path in [PathBehavior::Refused, PathBehavior::BadHandshake] {
        let mut world = world(path, PathBehavior::Free);
        world.hint();
        assert_eq!(
            one(&mut world),
            (311, End::Done(Transport::Tcp)),
            "{path:?}"
        );
    }
}

#[test]
fn a_refused_certificate_is_the_end_even_where_tcp_would_accept() {
    let mut world = world(PathBehavior::BadCertificate, PathBehavior::Free);
    world.hint();
    assert_eq!(one(&mut world), (101, End::Failed(Fault::Certificate)));
    assert!(world.conns.is_empty());
}

#[test]
fn if_nothing_answers_the_network_is_at_fault() {
    let mut world = world(PathBehavior::Blocked, PathBehavior::Blocked);
    world.hint();
    let (ms, end) = one(&mut world);
    assert_eq!(end, End::Failed(Fault::Connect));
    assert!((10_000..11_000).contains(&ms), "{ms}");
    let state = world.router.explain(&origin());
    assert!(state.contains("HTTP/3 here: untried"), "{state}");
}

#[test]
fn quic_works_when_tcp_is_blocked() {
    let mut world = world(PathBehavior::Free, PathBehavior::Blocked);
    world.hint();
    assert_eq!(one(&mut world), (201, End::Done(Transport::Quic)));
}

#[test]
fn pinned_policies_use_one_transport_only() {
    for (policy, over) in [(Policy::H2, Transport::Tcp), (Policy::H3, Transport::Quic)] {
        let mut world = world(PathBehavior::Free, PathBehavior::Free);
        world.hint();
        for _ in 0..10 {
            let (_, end) = world.request_and_wait(RequestTraits { policy, ..traits() });
            assert_eq!(end, End::Done(over));
        }
        assert_eq!(world.opened.len(), 1);
    }
}

#[test]
fn http_1_opens_as_many_as_six_connections_and_loses_no_request() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.protocol = Protocol::H1;
    let ids: Vec<_> = (0..20).map(|_| world.request(traits())).collect();
    world.pass_time(Duration::from_secs(10));
    for id in ids {
        assert_eq!(
            world.calls[&id].ended.map(|(_, end)| end),
            Some(End::Done(Transport::Tcp))
        );
    }
    assert_eq!(world.opened[&Transport::Tcp], 6);
}

#[test]
fn a_comparison_within_a_body_decides_for_large_bodies() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    one(&mut world);
    world.pass_time(Duration::from_secs(3));
    let origin = common::origin();
    assert!(world.router.may_compare(&origin, Transport::Quic));
    let large = RequestTraits {
        bytes: Some(10_000_000),
        kind: 2,
        ..traits()
    };
    world.request_and_wait(RequestTraits {
        policy: Policy::H2,
        ..large
    });
    world.handle(Event::Compared {
        origin: &origin,
        faster: Transport::Tcp,
        ratio: 30.0,
    });
    assert_eq!(world.request_and_wait(large).1, End::Done(Transport::Tcp));
    assert!(!world.router.may_compare(&origin, Transport::Tcp));
    let small = world.request_and_wait(RequestTraits {
        urgent: true,
        ..traits()
    });
    assert_eq!(small.1, End::Done(Transport::Quic), "small ones stay");
}

#[test]
fn switches_stop_the_engine_or_http_3() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    let switches = |generation, engine, h3_percent| {
        Event::Switches(route::Switches {
            generation,
            engine,
            h3_percent,
            explore: true,
        })
    };
    world.handle(switches(2, true, 0));
    assert_eq!(one(&mut world), (301, End::Done(Transport::Tcp)));
    world.handle(switches(1, false, 100));
    assert_eq!(
        one(&mut world).1,
        End::Done(Transport::Tcp),
        "older switches are ignored"
    );
    world.handle(switches(3, false, 100));
    assert_eq!(one(&mut world).1, End::FellBack);
}

#[test]
fn the_faster_transport_is_found_and_named() {
    for (quic_ms, tcp_ms, faster) in [
        (100.0, 160.0, Transport::Quic),
        (160.0, 100.0, Transport::Tcp),
    ] {
        let mut world = World::new(
            7,
            RTT_MS,
            Server::of(PathBehavior::Free, quic_ms),
            Server::of(PathBehavior::Free, tcp_ms),
        );
        world.hint();
        for _ in 0..40 {
            one(&mut world);
        }
        let id = world.request(traits());
        world.pass_time(Duration::from_secs(1));
        let reason = world.calls[&id].reason.expect("it was delivered");
        assert!(
            matches!(reason, Reason::Faster { over, .. } if over == faster),
            "{reason}"
        );
    }
}

#[test]
fn the_first_request_of_a_kind_is_not_sent_to_learn() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    let mut kind = 1;
    let mut explored = [0, 0];
    for i in 0..60 {
        let is_first = i % 3 == 0;
        kind += u64::from(is_first);
        let id = world.request(RequestTraits { kind, ..traits() });
        world.pass_time(Duration::from_secs(1));
        let reason = world.calls[&id].reason.expect("it was delivered");
        explored[usize::from(is_first)] += u32::from(matches!(reason, Reason::Exploring(_)));
    }
    assert!(explored[0] > 0, "nothing was explored");
    assert_eq!(explored[1], 0);
}
