//! No request waits for nothing: each of these the model of `model.rs` found once, by chance.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use common::{End, PathBehavior, Server, World, origin, traits};
use route::{ConnId, Event, Fault, MonotonicTime, Policy, Protocol, RequestTraits, Transport};

fn world(quic: PathBehavior, tcp: PathBehavior) -> World {
    World::new(1, 50, Server::of(quic, 60.0), Server::of(tcp, 60.0))
}

fn pinned(policy: Policy) -> RequestTraits {
    RequestTraits { policy, ..traits() }
}

#[test]
fn a_network_that_goes_during_the_lookup_ends_it() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    let id = world.request(traits());
    world.handle(Event::Network(None));
    let end = world.calls[&id].ended.map(|(_, end)| end);
    assert_eq!(end, Some(End::Failed(Fault::Offline)));
    world.pass_time(Duration::from_secs(1));
    assert_eq!(world.router.deadline(), None);
}

#[test]
fn a_connection_that_goes_away_while_it_opens_is_closed_once() {
    let mut world = world(PathBehavior::Free, PathBehavior::Blocked);
    let id = world.request(traits());
    world.pass_time(Duration::from_millis(5));
    let conn = *world.conns.keys().next().expect("it opens");
    world.handle(Event::GoAway(conn));
    // The world fails the test if an attempt that took too long is closed again.
    world.pass_time(Duration::from_secs(30));
    let end = world.calls[&id].ended.map(|(_, end)| end);
    assert_eq!(end, Some(End::Failed(Fault::Connect)));
}

#[test]
fn a_request_that_waits_for_a_rescue_has_a_race_of_its_own_when_that_fails() {
    let mut world = world(
        PathBehavior::Refused,
        PathBehavior::DiesAt(MonotonicTime::from_ns(2_000_000_000)),
    );
    world.request_and_wait(traits());
    world.pass_time(Duration::from_secs(3));
    let never_repeated = RequestTraits {
        replayable: false,
        ..traits()
    };
    world.request(never_repeated);
    world.pass_time(Duration::from_millis(1_500));
    let id = world.request(never_repeated);
    world.pass_time(Duration::from_secs(60));
    let end = world.calls[&id].ended.map(|(_, end)| end);
    assert_eq!(end, Some(End::Failed(Fault::Connect)));
}

#[test]
fn a_pinned_request_outlives_the_race_that_the_other_transport_won() {
    let mut world = world(PathBehavior::Blocked, PathBehavior::Free);
    world.hint();
    let free = world.request(traits());
    world.pass_time(Duration::from_millis(5));
    let h3 = world.request(pinned(Policy::H3));
    world.pass_time(Duration::from_secs(60));
    let end = |id| world.calls[&id].ended.map(|(_, end)| end);
    assert_eq!(end(free), Some(End::Done(Transport::Tcp)));
    assert_eq!(end(h3), Some(End::Failed(Fault::Connect)));
}

#[test]
fn a_pinned_request_keeps_no_other_from_its_race() {
    let mut world = world(PathBehavior::Blocked, PathBehavior::Free);
    world.hint();
    let (free, _) = (world.request(traits()), world.request(pinned(Policy::H3)));
    world.pass_time(Duration::from_secs(1));
    let end = world.calls[&free].ended.map(|(_, end)| end);
    assert_eq!(end, Some(End::Done(Transport::Tcp)));
}

#[test]
fn silent_connections_do_not_count_as_those_to_wait_for() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Free);
    world.protocol = Protocol::H1;
    let never_repeated = RequestTraits {
        replayable: false,
        ..traits()
    };
    for _ in 0..6 {
        world.request(never_repeated);
    }
    world.pass_time(Duration::from_secs(5));
    world.tcp.path = PathBehavior::DiesAt(world.now);
    for _ in 0..6 {
        world.request(never_repeated);
    }
    world.pass_time(Duration::from_secs(2));
    // It tries to open one, which is an answer, instead of waiting for six that never end.
    let (_, end) = world.request_and_wait(traits());
    assert_eq!(end, End::Failed(Fault::Connect));
}

#[test]
fn a_full_pool_of_http_1_does_not_keep_http_3_waiting() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.protocol = Protocol::H1;
    for _ in 0..12 {
        world.request(pinned(Policy::H2));
    }
    world.pass_time(Duration::from_secs(5));
    assert_eq!(world.opened[&Transport::Tcp], 6);
    let (_, end) = world.request_and_wait(pinned(Policy::H3));
    assert_eq!(end, End::Done(Transport::Quic));
}

const POST: RequestTraits = RequestTraits {
    replayable: false,
    resends: true,
    bytes: None,
    kind: 2,
    urgent: false,
    early: false,
    policy: Policy::Adaptive,
};

#[test]
fn a_server_that_accepts_and_stalls_costs_one_request_a_second_and_later_ones_nothing() {
    let mut world = world(PathBehavior::Stalls, PathBehavior::Free);
    world.hint();
    let (first, end) = world.request_and_wait(traits());
    assert_eq!(end, End::Done(Transport::Tcp));
    // QUIC's handshake, a second of silence, three round trips of TCP, and the server's time.
    assert!(
        first <= Duration::from_millis(100 + 1_000 + 150 + 60 + 63),
        "{first:?}"
    );
    for _ in 0..20 {
        let (time, end) = world.request_and_wait(traits());
        assert_eq!(end, End::Done(Transport::Tcp));
        assert!(time <= Duration::from_millis(70), "{time:?}");
        world.pass_time(Duration::from_millis(500));
    }
}

#[test]
fn a_post_never_tries_whether_http_3_works_again() {
    let mut world = world(PathBehavior::Stalls, PathBehavior::Free);
    world.hint();
    world.request_and_wait(traits());
    // The backoff is over, so QUIC's handshake succeeds once more.
    for _ in 0..10 {
        world.pass_time(Duration::from_secs(20));
        let (time, end) = world.request_and_wait(POST);
        assert_eq!(end, End::Done(Transport::Tcp));
        assert!(time <= Duration::from_millis(300), "{time:?}");
    }
}

#[test]
fn a_silent_connection_takes_no_request_after_the_one_that_was_cancelled() {
    let mut world = world(PathBehavior::Stalls, PathBehavior::Free);
    world.hint();
    let first = world.request(POST);
    world.pass_time(Duration::from_secs(10));
    assert_eq!(world.calls[&first].ended, None, "it may have acted");
    world.cancel(first);
    for _ in 0..3 {
        assert_eq!(world.request_and_wait(POST).1, End::Done(Transport::Tcp));
    }
}

#[test]
fn a_post_waits_for_tcp_where_http_3_is_on_probation_and_takes_it_where_tcp_is_gone() {
    let mut world = world(PathBehavior::Stalls, PathBehavior::Free);
    world.hint();
    world.request_and_wait(traits());
    world.pass_time(Duration::from_secs(20));
    for conn in world.conns.keys().copied().collect::<Vec<_>>() {
        world.conns.remove(&conn);
        world.handle(Event::Closed {
            conn,
            fault: Fault::Reset,
        });
    }
    world.tcp.median_ms = 200.0;
    assert_eq!(world.request_and_wait(POST).1, End::Done(Transport::Tcp));
    // TCP is dead, and found to be.
    (world.tcp.path, world.quic.path) = (PathBehavior::Blocked, PathBehavior::Free);
    let first = world.request(POST);
    world.pass_time(Duration::from_millis(1_500));
    world.cancel(first);
    world.pass_time(Duration::from_secs(20));
    assert_eq!(world.request_and_wait(POST).1, End::Done(Transport::Quic));
}

#[test]
fn a_request_does_not_wait_for_a_connection_that_opens_only_to_learn() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    for _ in 0..3 {
        assert_eq!(
            world.request_and_wait(traits()).1,
            End::Done(Transport::Quic)
        );
    }
    // TCP opens, and what was open closes, e.g. because the app was away.
    world.pass_time(Duration::from_millis(10));
    world.close_first();
    assert_eq!(
        world.request_and_wait(traits()).1,
        End::Done(Transport::Quic)
    );
}

#[test]
fn connections_of_http_1_that_all_end_keep_no_request_waiting() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Free);
    (world.protocol, world.tcp_closes) = (Protocol::H1, true);
    // Longer than it takes to open all six.
    world.tcp.median_ms = 600.0;
    let calls: Vec<_> = (0..10).map(|_| world.request(traits())).collect();
    world.pass_time(Duration::from_secs(10));
    for id in calls {
        let end = world.calls[&id].ended.map(|(_, end)| end);
        assert_eq!(end, Some(End::Done(Transport::Tcp)));
    }
}

#[test]
fn where_a_server_takes_one_connection_of_http_1_the_others_wait_for_it() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Free);
    (world.protocol, world.tcp_limit) = (Protocol::H1, 1);
    let calls: Vec<_> = (0..10).map(|_| world.request(traits())).collect();
    world.pass_time(Duration::from_secs(10));
    for id in calls {
        let end = world.calls[&id].ended.map(|(_, end)| end);
        assert_eq!(end, Some(End::Done(Transport::Tcp)));
    }
    // At most one more attempt for each response.
    let opened = world.opened[&Transport::Tcp];
    assert!(opened <= 16, "{opened} attempts");
}

#[test]
fn wanted_connections_take_no_room_from_requests() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Blocked);
    world.connect(Policy::Adaptive);
    let ended = |world: &World, id| world.calls[&id].ended.map(|(_, end)| end);
    for _ in 0..route::MAX_CALLS {
        let id = world.request(traits());
        assert_eq!(ended(&world, id), None);
    }
    let wanted = world.connect(Policy::Adaptive);
    assert_eq!(ended(&world, wanted), None);
    let id = world.request(traits());
    assert_eq!(ended(&world, id), Some(End::Failed(Fault::TooMany)));
}

#[test]
fn connections_of_http_1_that_break_under_others_keep_no_request_waiting() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Free);
    world.protocol = Protocol::H1;
    // Longer than it takes to open all six.
    (world.tcp.median_ms, world.tcp.resets, world.tcp.safe_resets) = (600.0, 1.0, 0.0);
    for _ in 0..6 {
        world.request(POST);
    }
    let id = world.request(traits());
    world.pass_time(Duration::from_millis(400));
    world.tcp.resets = 0.0;
    assert_eq!(world.wait(id).1, End::Done(Transport::Tcp));
}

#[test]
fn a_server_that_takes_no_more_connections_is_asked_ever_more_rarely() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Free);
    (world.protocol, world.tcp_limit) = (Protocol::H1, 1);
    world.body_time = Duration::from_secs(20);
    world.request(traits());
    world.pass_time(Duration::from_secs(1));
    let next = world.request(traits());
    world.pass_time(Duration::from_secs(10));
    let opened = world.opened[&Transport::Tcp];
    assert!(opened <= 12, "{opened} attempts");
    assert_eq!(world.wait(next).1, End::Done(Transport::Tcp));
}

#[test]
fn a_connection_that_is_heard_again_takes_what_waits_for_another_one() {
    let mut world = world(PathBehavior::Free, PathBehavior::Refused);
    world.hint();
    world.body_time = Duration::from_secs(60);
    world.request(pinned(Policy::H3));
    world.pass_time(Duration::from_secs(1));
    world.quic.path = PathBehavior::Blocked;
    world.pass_time(Duration::from_secs(4));
    let id = world.request(pinned(Policy::H3));
    world.pass_time(Duration::from_millis(200));
    assert!(world.calls[&id].sends.is_empty(), "it waits");
    world.quic.path = PathBehavior::Free;
    world.pass_time(Duration::from_secs(2));
    assert_eq!(world.ways(id), [Transport::Quic]);
}

#[test]
fn a_request_pinned_to_http_3_does_not_wait_with_those_for_tcp() {
    let mut world = world(PathBehavior::Blocked, PathBehavior::Free);
    (world.protocol, world.tcp_limit) = (Protocol::H1, 1);
    world.body_time = Duration::from_secs(60);
    world.hint();
    world.request(pinned(Policy::H2));
    world.pass_time(Duration::from_secs(1));
    world.request(pinned(Policy::H2));
    let h3 = world.request(pinned(Policy::H3));
    world.pass_time(Duration::from_secs(25));
    assert_eq!(world.end_of(h3), Some(End::Failed(Fault::Connect)));
}

#[test]
fn a_request_that_is_on_no_connection_is_not_placed_twice() {
    let mut world = world(PathBehavior::Refused, PathBehavior::Free);
    let call = world.request(traits());
    world.handle(Event::Full {
        call,
        conn: ConnId(999),
    });
    assert_eq!(world.wait(call).1, End::Done(Transport::Tcp));
    assert_eq!(world.ways(call), [Transport::Tcp]);
}

#[test]
fn the_round_trip_of_the_last_answer_is_kept() {
    for (hinted, slower_ms) in [(false, 90), (true, 300)] {
        let mut world = world(PathBehavior::Free, PathBehavior::Free);
        if hinted {
            world.hint();
        }
        world.request_and_wait(traits());
        world.rtt = Duration::from_millis(slower_ms);
        world.request_and_wait(traits());
        world.pass_time(Duration::from_secs(10));
        let known = world.router.explain(&origin());
        let round_trip = format!("round trip: {slower_ms}.0 ms");
        assert!(known.contains(&round_trip), "{known}");
    }
}
