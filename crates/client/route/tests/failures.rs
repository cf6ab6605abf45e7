//! Failures after a handshake that succeeded: resets, and paths that fall silent under many requests.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use common::{End, PathBehavior, Server, World, origin, traits};
use route::{CallId, Event, Fault, MonotonicTime, Policy, Reason, RequestTraits, Transport};

const RTT: Duration = Duration::from_millis(100);

/// Creates a world where requests over HTTP/3 are reset with this probability, while TCP works.
fn resetting(seed: u64, share: f64) -> World {
    let mut world = World::new(
        seed,
        100,
        Server::of(PathBehavior::Free, 100.0),
        Server::of(PathBehavior::Free, 100.0),
    );
    (world.quic.spread, world.tcp.spread) = (0.0, 0.0);
    world.quic.resets = share;
    world.hint();
    world
}

fn explained(world: &mut World) -> String {
    world.handle(Event::Time);
    world.router.explain(&origin())
}

#[test]
fn http_3_that_resets_every_request_costs_the_first_one_some_round_trips() {
    for seed in 0..50 {
        let mut world = resetting(seed, 1.0);
        let (time, end) = world.request_and_wait(traits());
        assert_eq!(end, End::Done(Transport::Tcp));
        let log = &world.calls[&CallId(1)];
        assert_eq!(log.reason, Some(Reason::SecondTry(Transport::Tcp)));
        // The name twice, QUIC's handshake, one reset or two, then TCP's three round trips.
        let at_most = Duration::from_millis(2) + 6 * RTT;
        assert!(time <= at_most, "{time:?}");
        for _ in 0..20 {
            assert_eq!(
                world.request_and_wait(traits()),
                (RTT, End::Done(Transport::Tcp))
            );
        }
        assert!(explained(&mut world).contains("HTTP/3 here: broken"));
    }
}

#[test]
fn http_3_that_resets_every_request_is_tried_ever_more_rarely() {
    let mut world = resetting(1, 1.0);
    let mut tries = 0;
    for _ in 0..3_600 {
        let (_, end) = world.request_and_wait(traits());
        assert_eq!(end, End::Done(Transport::Tcp));
        let log = world.calls.values().next_back().expect("it was asked");
        tries += log.sends.len() - 1;
        world.pass_time(Duration::from_secs(1));
    }
    assert!((3..=30).contains(&tries), "{tries} in an hour");
}

#[test]
fn requests_that_must_not_be_repeated_fail_twice_before_they_take_another_way() {
    let mut world = resetting(1, 1.0);
    world.quic.safe_resets = 0.0;
    let post = RequestTraits {
        replayable: false,
        ..traits()
    };
    let ends = [(); 5].map(|()| world.request_and_wait(post).1);
    let (failed, done) = (End::Failed(Fault::Reset), End::Done(Transport::Tcp));
    assert_eq!(ends, [failed, failed, done, done, done]);
}

#[test]
fn a_request_that_fails_alone_says_nothing_against_http_3() {
    let mut world = resetting(1, 0.0);
    world.quic.safe_resets = 0.0;
    world.request_and_wait(traits());
    let post = RequestTraits {
        replayable: false,
        ..traits()
    };
    for _ in 0..10 {
        world.quic.resets = 1.0;
        world.request_and_wait(post);
        world.quic.resets = 0.0;
        let again = RequestTraits {
            urgent: true,
            policy: Policy::H3,
            ..traits()
        };
        assert_eq!(
            world.request_and_wait(again),
            (RTT, End::Done(Transport::Quic))
        );
        assert!(explained(&mut world).contains("HTTP/3 here: works"));
    }
}

#[test]
fn all_requests_on_a_path_that_dies_are_answered_over_tcp() {
    for calls in [2, 20, 200] {
        let mut world = World::new(
            1,
            100,
            Server::of(
                PathBehavior::DiesAt(MonotonicTime::from_ns(1_000_000_000)),
                100.0,
            ),
            Server::of(PathBehavior::Free, 100.0),
        );
        (world.quic.spread, world.tcp.spread) = (0.0, 0.0);
        world.hint();
        world.request_and_wait(traits());
        world.pass_time(Duration::from_secs(2));
        let asked = world.now;
        let calls: Vec<CallId> = (0..calls).map(|_| world.request(traits())).collect();
        world.pass_time(Duration::from_secs(60));
        for call in calls {
            let log = &world.calls[&call];
            let (at, end) = log.ended.expect("it ended");
            assert_eq!(end, End::Done(Transport::Tcp));
            // Silence, the probe's time, a TCP connection, the hedges' round trip and one more.
            let limit = Duration::from_secs(1) + 4 * RTT + Duration::from_millis(100);
            assert!(at.since(asked) <= limit, "{:?}", at.since(asked));
            assert_eq!(log.sends.len(), 2);
        }
    }
}

#[test]
fn few_requests_are_sent_twice_where_nothing_answers() {
    let mut world = World::new(
        1,
        100,
        Server::of(PathBehavior::Stalls, 100.0),
        Server::of(PathBehavior::Stalls, 100.0),
    );
    world.hint();
    for _ in 0..200 {
        world.request(traits());
    }
    // Until the paths are given up.
    world.pass_time(Duration::from_secs(30));
    let twice = world.calls.values().filter(|log| log.sends.len() > 1);
    assert_eq!(twice.count(), 1 + 200 / 20);
}

#[test]
fn a_request_on_a_silent_path_is_sent_three_times_at_most() {
    let mut world = resetting(1, 0.0);
    // As many requests allow as many hedges.
    for _ in 0..400 {
        world.request_and_wait(traits());
    }
    world.quic.path = PathBehavior::DiesAt(world.now);
    (world.tcp.resets, world.tcp.safe_resets) = (1.0, 0.0);
    let id = world.request(traits());
    world.pass_time(Duration::from_secs(100));
    let sends = &world.calls[&id].sends;
    assert!((2..=3).contains(&sends.len()), "{sends:?}");
}

#[test]
fn connections_that_the_app_closes_say_nothing_against_http_3() {
    let mut world = resetting(1, 0.0);
    world.request_and_wait(traits());
    let post = RequestTraits {
        replayable: false,
        ..traits()
    };
    let (repeated, never) = (world.request(traits()), world.request(post));
    world.pass_time(RTT / 2);
    world.handle(Event::Disconnect);
    assert_eq!(world.wait(repeated).1, End::Done(Transport::Quic));
    assert_eq!(world.wait(never).1, End::Failed(Fault::Reset));
    assert_eq!(world.calls[&repeated].sends.len(), 2);
    assert!(!explained(&mut world).contains("failed"));
}
