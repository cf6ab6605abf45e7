//! Paths that fall silent, with requests under way or none.

use std::time::Duration;

use route::{CallId, ConnId, Event, Fault, MonotonicTime, RequestTraits, Transport};

use crate::common::{self, End, PathBehavior, World, traits};
use crate::{one, world};

#[test]
fn a_path_that_dies_is_left_within_a_second_and_the_request_is_not_lost() {
    let mut world = world(
        PathBehavior::DiesAt(MonotonicTime::from_ns(5_000_000_000)),
        PathBehavior::Free,
    );
    world.hint();
    one(&mut world);
    world.pass_time(Duration::from_secs(5));
    let (ms, end) = one(&mut world);
    assert_eq!(end, End::Done(Transport::Tcp));
    // Silence until the probe and again until its answer is late: max(1 s, 4 PTO) with
    // PTO = 100 + 4 x 12.5 + 25 = 175 ms; then two round trips to connect, one for the request.
    assert!((1_300..=1_000 + 3 * 100 + 100).contains(&ms), "{ms}");
    assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
    assert!(world.nudges >= 1);
}

#[test]
fn a_request_that_must_not_be_repeated_waits_on_a_dead_path_until_it_is_cancelled() {
    let mut world = world(
        PathBehavior::DiesAt(MonotonicTime::from_ns(5_000_000_000)),
        PathBehavior::Free,
    );
    world.hint();
    one(&mut world);
    world.pass_time(Duration::from_secs(5));
    let id = world.request(RequestTraits {
        replayable: false,
        ..traits()
    });
    world.pass_time(Duration::from_secs(30));
    assert_eq!(
        (world.calls[&id].sends.len(), world.calls[&id].ended),
        (1, None)
    );
    world.cancel(id);
    assert_eq!(one(&mut world).1, End::Done(Transport::Tcp));
}

#[test]
fn a_slow_server_is_not_hedged() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.quic.median_ms = 20_000.0;
    world.hint();
    let (ms, end) = one(&mut world);
    assert_eq!((ms, end), (20_101, End::Done(Transport::Quic)));
    assert_eq!(
        world
            .calls
            .values()
            .map(|call| call.sends.len())
            .sum::<usize>(),
        1
    );
}

#[test]
fn a_body_is_cut_off_where_its_path_is_silent_and_another_one_is_not() {
    for resumable in [true, false] {
        // The head came at 300 ms.
        let dies = MonotonicTime::from_ns(310_000_000);
        let mut world = world(PathBehavior::DiesAt(dies), PathBehavior::Free);
        (world.resumable, world.body_time) = (resumable, Duration::from_secs(30));
        world.hint();
        let id = world.request(traits());
        world.pass_time(Duration::from_secs(5));
        let ended = world.calls[&id].ended;
        if resumable {
            let (at, end) = ended.unwrap();
            assert_eq!(end, End::Failed(Fault::Reset));
            // A second of silence, three round trips to open TCP, and how closely it is looked.
            let gap = at.since(dies);
            assert!(gap <= Duration::from_millis(1_000 + 300 + 63), "{gap:?}");
            assert_eq!(
                one(&mut world).1,
                End::Done(Transport::Tcp),
                "broken for now"
            );
        } else {
            assert_eq!(ended, None, "it may come back");
        }
    }
}

#[test]
fn a_gap_in_both_ways_is_no_fault_of_http_3() {
    for cancels in [true, false] {
        let mut world = with_both_open(true);
        (world.resumable, world.body_time) = (!cancels, Duration::from_secs(30));
        let id = world.request(traits());
        world.pass_time(Duration::from_secs(1));
        assert_eq!(world.ways(id), [Transport::Quic]);
        let is_tcp = |socket: &common::Socket| socket.over == Transport::Tcp;
        assert!(world.conns.values().any(is_tcp));
        (world.quic.path, world.tcp.path) = (PathBehavior::Blocked, PathBehavior::Blocked);
        world.pass_time(Duration::from_millis(1_500));
        if cancels {
            world.cancel(id);
        }
        (world.quic.path, world.tcp.path) = (PathBehavior::Free, PathBehavior::Free);
        world.pass_time(Duration::from_secs(3));
        let state = world.router.explain(&common::origin());
        assert!(!state.contains("broken"), "{state}");
    }
}

/// Opens HTTP/3 and TCP; HTTP/3 is the faster one.
fn with_both_open(migrates: bool) -> World {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    (world.tcp.median_ms, world.migrates) = (200.0, migrates);
    world.hint();
    for _ in 0..8 {
        one(&mut world);
        world.pass_time(Duration::from_secs(1));
    }
    world
}

/// Opens both, and asks over HTTP/3 for a body that takes long and cannot be resumed.
fn with_a_long_response(migrates: bool) -> (World, CallId) {
    let mut world = with_both_open(migrates);
    world.body_time = Duration::from_secs(60);
    let id = world.request(traits());
    world.pass_time(Duration::from_secs(1));
    assert_eq!(world.ways(id), [Transport::Quic]);
    (world, id)
}

#[test]
fn a_request_that_is_given_up_after_a_gap_says_nothing_against_http_3() {
    for ms in (0..2_000).step_by(50) {
        let (mut world, id) = with_a_long_response(false);
        (world.quic.path, world.tcp.path) = (PathBehavior::Blocked, PathBehavior::Blocked);
        world.pass_time(Duration::from_millis(4_500));
        (world.quic.path, world.tcp.path) = (PathBehavior::Free, PathBehavior::Free);
        world.body_time = Duration::ZERO;
        let other = world.request(traits());
        world.pass_time(Duration::from_millis(ms));
        world.cancel(id);
        world.pass_time(Duration::from_secs(4));
        assert!(world.end_of(other).is_some());
        let state = world.router.explain(&common::origin());
        assert!(!state.contains("broken"), "given up after {ms} ms: {state}");
    }
}

#[test]
fn idle_tcp_that_is_asked_and_never_answers_is_closed() {
    let (mut world, _) = with_a_long_response(true);
    (world.quic.path, world.tcp.path) = (PathBehavior::Blocked, PathBehavior::Blocked);
    world.pass_time(Duration::from_secs(40));
    assert!(world.conns.is_empty(), "{:?}", world.conns);
}

#[test]
fn http_3_that_falls_silent_is_left_where_tcp_lives() {
    for resumable in [true, false] {
        let mut world = with_both_open(true);
        (world.resumable, world.body_time) = (resumable, Duration::from_secs(30));
        let id = world.request(traits());
        world.pass_time(Duration::from_secs(1));
        assert_eq!(world.ways(id), [Transport::Quic]);
        world.quic.path = PathBehavior::Blocked;
        world.pass_time(Duration::from_secs(5));
        if resumable {
            assert_eq!(world.end_of(id), Some(End::Failed(Fault::Reset)));
        } else {
            world.cancel(id);
        }
        world.pass_time(Duration::from_secs(5));
        let state = world.router.explain(&common::origin());
        assert!(state.contains("broken"), "{state}");
    }
}

#[test]
fn http_3_that_was_of_use_is_opened_again_beside_tcp() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    for _ in 0..8 {
        one(&mut world);
        world.pass_time(Duration::from_secs(1));
    }
    for opened in [2, 2] {
        // Its peer closes it, e.g. because it was idle for too long.
        let quic = |(_, socket): &(&ConnId, &common::Socket)| socket.over == Transport::Quic;
        let conn = world.conns.iter().find(quic).map(|(conn, _)| *conn);
        let conn = conn.expect("it is open");
        world.conns.remove(&conn);
        let fault = Fault::Reset;
        world.handle(Event::Closed { conn, fault });
        assert_eq!(one(&mut world).1, End::Done(Transport::Tcp));
        world.pass_time(Duration::from_secs(1));
        // The second one has answered nothing.
        assert_eq!(world.opened[&Transport::Quic], opened);
    }
}
