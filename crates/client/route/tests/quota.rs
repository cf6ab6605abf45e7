//! Servers that close a connection over HTTP/3 after a number of requests, without GOAWAY.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use Transport::Quic;
use common::{End, PathBehavior, Server, World, origin, traits};
use route::{CallId, ConnId, Event, MAX_SHARED_CONNS, Policy, RequestTraits, Transport};

const S: Duration = Duration::from_secs(1);

fn world() -> World {
    let server = Server::of(PathBehavior::Free, 60.0);
    let mut world = World::new(1, 50, server, server);
    world.hint();
    world
}

fn pinned(policy: Policy) -> RequestTraits {
    RequestTraits { policy, ..traits() }
}

#[test]
fn a_thousand_gets_outlive_connections_that_are_closed_after_a_hundred_each() {
    for policy in [Policy::H3, Policy::Adaptive] {
        let mut world = world();
        (world.quic.conn_requests, world.streams, world.finishes) = (100, 128, true);
        // The router takes 512 at a time.
        let calls: Vec<_> = (0..500).map(|_| world.request(pinned(policy))).collect();
        world.pass_time(10 * S);
        let more: Vec<_> = (0..500).map(|_| world.request(pinned(policy))).collect();
        world.pass_time(60 * S);
        for call in calls.into_iter().chain(more) {
            let end = world.end_of(call);
            assert!(matches!(end, Some(End::Done(_))), "{call:?} {end:?}");
            assert!(world.calls[&call].sends.len() <= 3, "{call:?}");
        }
    }
}

#[test]
fn a_limit_counts_requests_that_are_sent_before_the_handshake_is_done() {
    let mut world = world();
    (world.quic.conn_requests, world.finishes) = (100, true);
    let early = RequestTraits {
        early: true,
        ..pinned(Policy::H3)
    };
    for _ in 0..4 {
        let calls: Vec<_> = (0..450).map(|_| world.request(early)).collect();
        world.pass_time(5 * S);
        for call in calls {
            assert_eq!(world.end_of(call), Some(End::Done(Quic)), "{call:?}");
            assert!(world.calls[&call].sends.len() <= 2, "{call:?}");
        }
    }
    assert_eq!(world.early_refused, 0.0);
}

#[test]
fn a_connection_that_is_closed_early_says_nothing_of_a_limit() {
    let mut world = world();
    (world.quic.conn_requests, world.finishes) = (5, true);
    for _ in 0..10 {
        world.request(pinned(Policy::H3));
    }
    world.pass_time(S);
    world.finishes = false;
    world.quic.conn_requests = usize::MAX;
    let before = world.opened[&Quic];
    for _ in 0..20 {
        world.request_and_wait(pinned(Policy::H3));
    }
    assert!(world.opened[&Quic] <= before + 1);
}

#[test]
fn an_idle_connection_that_is_closed_says_nothing_of_a_limit() {
    let mut world = world();
    for _ in 0..20 {
        world.request_and_wait(pinned(Policy::H3));
    }
    let conn = *world.conns.keys().next().expect("it is open");
    world.finish(conn);
    let before = world.opened[&Quic];
    for _ in 0..30 {
        world.request_and_wait(pinned(Policy::H3));
    }
    assert_eq!(world.opened[&Quic], before + 1);
}

#[test]
fn a_few_requests_that_are_cut_off_say_nothing_of_a_limit() {
    let mut world = world();
    (world.quic.conn_requests, world.finishes) = (20, true);
    for _ in 0..23 {
        world.request(pinned(Policy::H3));
    }
    world.pass_time(S);
    (world.quic.conn_requests, world.finishes) = (usize::MAX, false);
    let before = world.opened[&Quic];
    for _ in 0..30 {
        world.request_and_wait(pinned(Policy::H3));
    }
    assert_eq!(world.opened[&Quic], before);
}

/// The limit of a connection's requests is larger than that of those at a time.
#[test]
fn connections_stay_few_where_a_limit_is_known() {
    let mut world = world();
    (world.quic.conn_requests, world.finishes) = (20, true);
    for _ in 0..30 {
        world.request(pinned(Policy::H3));
    }
    world.pass_time(S);
    (world.quic.conn_requests, world.finishes) = (usize::MAX, false);
    world.streams = 4;
    world.body_time = Duration::from_secs(100_000);
    for _ in 0..400 {
        world.request(pinned(Policy::H3));
    }
    world.pass_time(20 * S);
    assert_eq!(world.conns.len(), MAX_SHARED_CONNS);
    // Each takes its twenty; one had ten that were cut off.
    world.streams = usize::MAX;
    for conn in world.conns.keys().copied().collect::<Vec<_>>() {
        world.handle(Event::Room(conn));
    }
    world.pass_time(20 * S);
    assert_eq!(world.conns.len(), MAX_SHARED_CONNS);
    let sent = world.calls.values().filter(|log| !log.sends.is_empty());
    assert_eq!(sent.count(), 30 + 20 * MAX_SHARED_CONNS - 10);
}

#[test]
fn idle_connections_that_had_as_many_requests_are_closed() {
    let mut world = world();
    world.streams = 10;
    for _ in 0..40 {
        world.request(pinned(Policy::H3));
    }
    world.pass_time(S);
    let before = world.conns.len();
    world.body_time = Duration::from_secs(100_000);
    let calls: Vec<_> = (0..4).map(|_| world.request(pinned(Policy::H3))).collect();
    world.pass_time(S);
    let (_, conn) = world.calls[&calls[0]].sends[0];
    world.handle(Event::Finished(conn));
    assert!(world.conns.len() < before, "{before} are open");
}

#[test]
fn a_limit_of_requests_is_forgotten() {
    let mut world = world();
    (world.quic.conn_requests, world.finishes) = (10, true);
    for _ in 0..14 {
        world.request(pinned(Policy::H3));
    }
    world.pass_time(S);
    (world.quic.conn_requests, world.finishes) = (usize::MAX, false);
    let opened = |world: &mut World| {
        let before = world.opened[&Quic];
        for _ in 0..30 {
            world.request_and_wait(pinned(Policy::H3));
        }
        world.opened[&Quic] - before
    };
    let limit = "a connection over HTTP/3 takes 10 requests";
    assert_eq!(opened(&mut world), 3);
    assert!(world.router.explain(&origin()).contains(limit));
    assert!(world.conns.len() <= 1, "spent ones are closed");
    world.pass_time(60 * S);
    assert!(opened(&mut world) <= 1);
    assert!(!world.router.explain(&origin()).contains(limit));
}

/// Returns the connection over HTTP/3 of the last send, once the request has been sent `sends`
/// times.
fn sent_by_quic(world: &mut World, call: CallId, sends: usize) -> ConnId {
    while world.calls[&call].sends.len() < sends {
        assert!(world.step(world.now + S), "it is never sent");
    }
    assert_eq!(world.ways(call)[sends - 1], Quic);
    world.calls[&call].sends[sends - 1].1
}

#[test]
fn connections_that_end_in_good_order_say_nothing_against_http_3() {
    let mut world = world();
    world.request_and_wait(traits());
    let cut_off = [world.request(traits()), world.request(traits())];
    let conn = cut_off.map(|call| sent_by_quic(&mut world, call, 1))[0];
    world.finish(conn);
    for call in cut_off {
        assert_eq!(world.wait(call).1, End::Done(Quic));
        assert_eq!(world.calls[&call].sends.len(), 2);
    }
    let known = world.router.explain(&origin());
    assert!(known.contains("HTTP/3 here: works"), "{known}");
}

#[test]
fn a_request_that_is_cut_off_twice_goes_over_tcp() {
    let mut world = world();
    world.request_and_wait(traits());
    world.quic.mute = true;
    let call = world.request(traits());
    for sends in 1..=2 {
        let conn = sent_by_quic(&mut world, call, sends);
        world.quic.mute = false;
        world.request_and_wait(pinned(Policy::H3));
        world.quic.mute = true;
        world.finish(conn);
    }
    assert_eq!(world.wait(call).1, End::Done(Transport::Tcp));
    let known = world.router.explain(&origin());
    assert!(known.contains("HTTP/3 here: works"), "{known}");
}

#[test]
fn connections_that_end_before_they_answer_say_that_http_3_is_broken() {
    let mut world = world();
    world.quic.mute = true;
    let call = world.request(traits());
    let conn = sent_by_quic(&mut world, call, 1);
    world.finish(conn);
    assert_eq!(world.wait(call).1, End::Done(Transport::Tcp));
    let known = world.router.explain(&origin());
    assert!(known.contains("HTTP/3 here: broken"), "{known}");
}

#[test]
fn connections_that_cut_every_body_off_say_that_http_3_is_broken() {
    let mut world = world();
    for _ in 0..2 {
        world.body_time = 10 * S;
        let call = world.request(traits());
        while world.calls[&call].delivered.is_none() {
            assert!(world.step(world.now + 10 * S), "it is never answered");
        }
        assert_eq!(world.ways(call), [Quic]);
        let (_, conn) = world.calls[&call].sends[0];
        world.finish(conn);
        assert!(matches!(world.end_of(call), Some(End::Failed(_))));
    }
    let known = world.router.explain(&origin());
    assert!(known.contains("HTTP/3 here: broken"), "{known}");
}

#[test]
fn a_request_that_is_cut_off_by_a_server_that_stops_says_nothing_against_http_3() {
    let mut world = world();
    world.streams = 1;
    let before = [pinned(Policy::H3); 2].map(|traits| world.request(traits));
    for call in before {
        assert_eq!(world.wait(call).1, End::Done(Quic));
    }
    world.quic.mute = true;
    let call = world.request(traits());
    for sends in 1..=2 {
        let conn = sent_by_quic(&mut world, call, sends);
        world.finish(conn);
    }
    assert_eq!(world.wait(call).1, End::Done(Transport::Tcp));
    let known = world.router.explain(&origin());
    assert!(known.contains("HTTP/3 here: works"), "{known}");
}
