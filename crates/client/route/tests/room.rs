//! Connections without room for a request are no way to send it.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use Transport::{Quic, Tcp};
use common::{End, PathBehavior, Server, World, traits};
use route::{
    CallId, Event, MAX_H1_CONNS, MAX_LONG_H1_CONNS, MAX_SHARED_CONNS, Policy, Protocol,
    RequestTraits, Transport,
};

const S: Duration = Duration::from_secs(1);

/// Creates a world whose servers take `streams` requests at a time on a connection.
fn taking(streams: usize, protocol: Protocol) -> World {
    let server = Server::of(PathBehavior::Free, 60.0);
    let mut world = World::new(1, 50, server, server);
    (world.streams, world.protocol) = (streams, protocol);
    world
}

fn pinned(policy: Policy) -> RequestTraits {
    RequestTraits { policy, ..traits() }
}

/// Asks for responses that do not end. Each of them has begun when this returns.
fn endless(world: &mut World, count: usize, policy: Policy) -> Vec<CallId> {
    world.body_time = Duration::from_secs(100_000);
    let calls: Vec<_> = (0..count).map(|_| world.request(pinned(policy))).collect();
    world.pass_time(5 * S);
    world.body_time = Duration::ZERO;
    calls
}

#[test]
fn another_connection_is_opened_beside_one_that_is_full() {
    for policy in [Policy::H2, Policy::H3, Policy::Race, Policy::Adaptive] {
        let mut world = taking(1, Protocol::H2);
        world.hint();
        endless(&mut world, 1, policy);
        let (time, end) = world.request_and_wait(pinned(policy));
        assert!(matches!(end, End::Done(_)), "{policy:?}");
        assert!(time < S, "{policy:?} {time:?}");
    }
}

#[test]
fn there_are_six_shared_connections_at_most_and_the_rest_waits_for_room() {
    for (policy, over) in [(Policy::H2, Tcp), (Policy::H3, Quic)] {
        let mut world = taking(2, Protocol::H2);
        let calls = endless(&mut world, 2 * MAX_SHARED_CONNS, policy);
        assert_eq!(world.opened[&over] as usize, MAX_SHARED_CONNS);
        let waiting = world.request(pinned(policy));
        world.pass_time(10 * S);
        assert_eq!(world.end_of(waiting), None);
        world.cancel(calls[3]);
        world.pass_time(S);
        assert_eq!(world.end_of(waiting), Some(End::Done(over)));
        assert_eq!(world.opened[&over] as usize, MAX_SHARED_CONNS);
    }
}

#[test]
fn the_other_transport_is_used_where_one_is_full() {
    let mut world = taking(1, Protocol::H2);
    endless(&mut world, MAX_SHARED_CONNS, Policy::H2);
    world.hint();
    assert_eq!(world.request_and_wait(traits()).1, End::Done(Quic));
}

#[test]
fn room_that_comes_without_an_end_is_used() {
    let mut world = taking(0, Protocol::H2);
    let call = world.request(pinned(Policy::H2));
    world.pass_time(10 * S);
    assert_eq!(world.end_of(call), None);
    assert!(world.calls[&call].sends.is_empty());
    world.streams = 1;
    let conn = *world.conns.keys().next().expect("it is open");
    world.handle(Event::Room(conn));
    world.pass_time(S);
    assert_eq!(world.end_of(call), Some(End::Done(Tcp)));
    assert_eq!(world.calls[&call].sends.len(), 1);
}

#[test]
fn long_responses_over_http_1_do_not_hold_up_others() {
    let mut world = taking(1, Protocol::H1);
    endless(&mut world, MAX_H1_CONNS, Policy::H2);
    assert_eq!(world.opened[&Tcp] as usize, MAX_H1_CONNS);
    let (time, end) = world.request_and_wait(pinned(Policy::H2));
    assert_eq!(end, End::Done(Tcp));
    assert!(time < S, "{time:?}");
}

#[test]
fn a_request_waits_a_second_for_responses_over_http_1_that_have_begun() {
    let mut world = taking(1, Protocol::H1);
    world.body_time = 100 * S;
    for _ in 0..MAX_H1_CONNS {
        world.request(pinned(Policy::H2));
    }
    world.pass_time(Duration::from_millis(400));
    world.body_time = Duration::ZERO;
    let (time, end) = world.request_and_wait(pinned(Policy::H2));
    assert_eq!(end, End::Done(Tcp));
    assert!((S / 2..S + S / 2).contains(&time), "{time:?}");
}

#[test]
fn connections_over_http_1_are_bounded() {
    let mut world = taking(1, Protocol::H1);
    let calls = endless(&mut world, 100, Policy::H2);
    world.body_time = Duration::from_secs(100_000);
    world.pass_time(60 * S);
    assert_eq!(world.opened[&Tcp] as usize, MAX_LONG_H1_CONNS);
    let sent = |world: &World| {
        let sends = calls.iter().map(|call| world.calls[call].sends.len());
        sends.sum::<usize>()
    };
    assert_eq!(sent(&world), MAX_LONG_H1_CONNS);
    let begun = calls
        .iter()
        .find(|call| world.calls[call].delivered.is_some());
    world.cancel(*begun.expect("some have begun"));
    world.pass_time(S);
    assert_eq!(sent(&world), MAX_LONG_H1_CONNS + 1);
}

#[test]
fn short_responses_over_http_1_share_six_connections() {
    let mut world = taking(1, Protocol::H1);
    let calls: Vec<_> = (0..100)
        .map(|_| world.request(pinned(Policy::H2)))
        .collect();
    world.pass_time(10 * S);
    for call in calls {
        assert_eq!(world.end_of(call), Some(End::Done(Tcp)));
    }
    assert_eq!(world.opened[&Tcp] as usize, MAX_H1_CONNS);
}
