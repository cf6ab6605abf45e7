//! HTTP/3 that acknowledges everything and answers nothing, as a proxy does whose back end is gone.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use Transport::{Quic, Tcp};
use common::{End, PathBehavior, Server, World, origin, traits};
use route::{CallId, Event, Policy, Protocol, Reason, RequestTraits, Transport};

const S: Duration = Duration::from_secs(1);

/// Creates a world where HTTP/3 has answered once, or never has, and is mute from now on, and TCP
/// works.
fn mute(answered: bool) -> World {
    let server = Server::of(PathBehavior::Free, 60.0);
    let mut world = World::new(1, 50, server, server);
    world.hint();
    if answered {
        world.request_and_wait(traits());
    }
    world.quic.mute = true;
    world
}

/// Asks and lets the time limit pass.
fn time_out(world: &mut World, limit: Duration) -> CallId {
    let call = world.request(traits());
    world.pass_time(limit);
    world.time_out(call);
    call
}

fn state(world: &mut World) -> String {
    world.handle(Event::Time);
    world.router.explain(&origin())
}

#[test]
fn after_two_limits_requests_go_over_tcp() {
    for answered in [false, true] {
        let mut world = mute(answered);
        for _ in 0..2 {
            let call = time_out(&mut world, 4 * S);
            assert_eq!(world.ways(call), [Quic]);
        }
        let (time, end) = world.request_and_wait(traits());
        assert_eq!(end, End::Done(Tcp));
        assert!(time < S, "{time:?}");
        let log = world.calls.values().next_back().expect("it was asked");
        assert_eq!(log.reason, Some(Reason::SecondTry(Tcp)));
        assert!(state(&mut world).contains("HTTP/3 here: broken"));
    }
}

#[test]
fn a_request_that_must_not_be_repeated_goes_over_tcp_as_well() {
    let mut world = mute(true);
    for _ in 0..2 {
        time_out(&mut world, 4 * S);
    }
    let post = RequestTraits {
        replayable: false,
        ..traits()
    };
    assert_eq!(world.request_and_wait(post).1, End::Done(Tcp));
}

#[test]
fn an_app_that_gives_up_late_counts_and_one_that_gives_up_early_does_not() {
    for (patience, expected) in [(2 * S, Tcp), (S / 2, Quic)] {
        let mut world = mute(true);
        for _ in 0..2 {
            let call = world.request(traits());
            world.pass_time(patience);
            world.cancel(call);
        }
        let call = world.request(traits());
        world.pass_time(S);
        assert_eq!(world.ways(call), [expected], "{patience:?}");
    }
}

#[test]
fn limits_that_leave_no_time_for_an_answer_count_for_nothing() {
    let mut world = mute(true);
    for _ in 0..10 {
        time_out(&mut world, Duration::from_millis(99));
    }
    let call = world.request(traits());
    assert_eq!(world.ways(call), [Quic]);
}

#[test]
fn an_answer_in_between_clears_http_3() {
    let mut world = mute(true);
    // By a policy that does not learn.
    let race = RequestTraits {
        policy: Policy::Race,
        ..traits()
    };
    for _ in 0..5 {
        world.quic.mute = true;
        let call = world.request(race);
        world.pass_time(4 * S);
        world.time_out(call);
        assert_eq!(world.ways(call), [Quic]);
        world.quic.mute = false;
        assert_eq!(world.request_and_wait(race).1, End::Done(Quic));
    }
}

#[test]
fn where_tcp_is_blocked_http_3_is_not_at_fault() {
    let mut world = mute(true);
    world.tcp.path = PathBehavior::Blocked;
    for _ in 0..2 {
        time_out(&mut world, 4 * S);
    }
    world.quic.mute = false;
    let (time, end) = world.request_and_wait(traits());
    assert_eq!(end, End::Done(Quic));
    assert!(time < 11 * S, "{time:?}");
    assert!(state(&mut world).contains("HTTP/3 here: works"));
}

#[test]
fn what_is_pinned_to_http_3_stays_there() {
    let mut world = mute(true);
    let opened = world.opened.get(&Tcp).copied();
    let pinned = RequestTraits {
        policy: Policy::H3,
        ..traits()
    };
    for _ in 0..5 {
        let call = world.request(pinned);
        world.pass_time(4 * S);
        world.time_out(call);
        assert_eq!(world.ways(call), [Quic]);
    }
    assert_eq!(world.opened.get(&Tcp).copied(), opened);
}

#[test]
fn on_probation_a_request_is_hedged_over_tcp() {
    let mut world = mute(true);
    for _ in 0..2 {
        time_out(&mut world, 4 * S);
    }
    world.request_and_wait(traits());
    // Broken for four seconds; HTTP/3's connection is still open.
    world.pass_time(5 * S);
    let call = world.request(traits());
    let (time, end) = world.wait(call);
    assert_eq!(world.ways(call), [Quic, Tcp]);
    assert_eq!(end, End::Done(Tcp));
    assert!(time < S + S / 2, "{time:?}");
    let text = state(&mut world);
    assert!(text.contains("HTTP/3 here: broken"), "{text}");
    // The next one does not wait for it.
    let call = world.request(traits());
    assert_eq!(world.ways(call), [Tcp]);
}

#[test]
fn on_probation_a_whole_response_proves_http_3() {
    let mut world = mute(true);
    for _ in 0..2 {
        time_out(&mut world, 4 * S);
    }
    world.request_and_wait(traits());
    world.quic.mute = false;
    world.pass_time(5 * S);
    assert_eq!(world.request_and_wait(traits()).1, End::Done(Quic));
    assert!(state(&mut world).contains("HTTP/3 here: works"));
}

#[test]
fn where_tcp_answers_nothing_either_no_more_of_it_is_opened_than_may_be() {
    let mut world = mute(true);
    (world.protocol, world.tcp.mute) = (Protocol::H1, true);
    for _ in 0..2 {
        time_out(&mut world, 4 * S);
    }
    for _ in 0..50 {
        world.request(traits());
    }
    world.pass_time(5 * S);
    let open = world.conns.values().filter(|socket| socket.over == Tcp);
    assert_eq!(open.count(), 6);
}
