//! Requests on blocked, refused and dying paths, each with the time that it may cost.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use common::{End, Server, Way, World, ask, origin};
use route::{
    Ask, CallId, ConnId, Event, Fault, Moment, Network, NetworkId, NetworkKind, Policy, Protocol,
    Transport, Why,
};

const RTT_MS: u64 = 100;
const MS: u128 = 1_000_000;

fn world(quic: Way, tcp: Way) -> World {
    let mut world = World::new(1, RTT_MS, Server::of(quic, 100.0), Server::of(tcp, 100.0));
    world.quic.spread = 0.0;
    world.tcp.spread = 0.0;
    world
}

/// Makes one request. Returns its time in ms, and how it ended.
fn one(world: &mut World) -> (u128, End) {
    let (time, end) = world.ask_and_wait(ask());
    (time.as_nanos() / MS, end)
}

#[test]
fn without_an_offer_only_tcp_is_tried() {
    let mut world = world(Way::Free, Way::Free);
    // 1 ms for the name, two round trips to connect, one for the request.
    assert_eq!(one(&mut world), (301, End::Done(Transport::Tcp)));
    assert_eq!(world.opened.get(&Transport::Quic), None);
    assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
}

#[test]
fn an_offer_is_taken_and_tcp_begins_beside_it() {
    let mut world = world(Way::Free, Way::Free);
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
        (Way::Free, Transport::Quic, 101),
        (Way::Blocked, Transport::Tcp, 211),
    ] {
        let mut world = world(quic, Way::Free);
        world.hint();
        // Who asks meanwhile takes the same one.
        let (wanted, asked) = (world.connect(Policy::Adaptive), world.ask(ask()));
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
    for (way, fault) in [
        (Way::Refused, Fault::Connect),
        (Way::BadCertificate, Fault::Certificate),
    ] {
        let mut world = world(way, way);
        let wanted = world.connect(Policy::Adaptive);
        assert_eq!(world.wait(wanted).1, End::Failed(fault));
    }
}

#[test]
fn blocked_udp_costs_ten_ms_once() {
    let mut world = world(Way::Blocked, Way::Free);
    world.hint();
    assert_eq!(one(&mut world), (311, End::Done(Transport::Tcp)));
    for _ in 0..50 {
        assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
    }
    world.rest(Duration::from_secs(15));
    let broken = world.router.explain(&origin());
    assert!(
        broken.contains("HTTP/3 failed here where HTTP/2 worked"),
        "{broken}"
    );
}

#[test]
fn blocked_udp_is_tried_ever_more_rarely_and_no_request_waits_for_it() {
    let mut world = world(Way::Blocked, Way::Free);
    world.hint();
    one(&mut world);
    for _ in 0..24 {
        world.rest(Duration::from_secs(300));
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
    let mut world = world(Way::Free, Way::Free);
    world.hint();
    one(&mut world);
    world.close_first();
    world.quic.way = Way::Blocked;
    // The name, one and a half round trips, and three over TCP.
    assert_eq!(one(&mut world), (451, End::Done(Transport::Tcp)));
    assert_eq!(one(&mut world), (100, End::Done(Transport::Tcp)));
}

#[test]
fn a_refused_handshake_falls_back_at_once() {
    for way in [Way::Refused, Way::BadHandshake] {
        let mut world = world(way, Way::Free);
        world.hint();
        assert_eq!(one(&mut world), (311, End::Done(Transport::Tcp)), "{way:?}");
    }
}

#[test]
fn a_refused_certificate_is_the_end_even_where_tcp_would_accept() {
    let mut world = world(Way::BadCertificate, Way::Free);
    world.hint();
    assert_eq!(one(&mut world), (101, End::Failed(Fault::Certificate)));
    assert!(world.conns.is_empty());
}

#[test]
fn if_nothing_answers_the_network_is_at_fault() {
    let mut world = world(Way::Blocked, Way::Blocked);
    world.hint();
    let (ms, end) = one(&mut world);
    assert_eq!(end, End::Failed(Fault::Connect));
    assert!((10_000..11_000).contains(&ms), "{ms}");
    let state = world.router.explain(&origin());
    assert!(state.contains("HTTP/3 here: untried"), "{state}");
}

#[test]
fn quic_works_when_tcp_is_blocked() {
    let mut world = world(Way::Free, Way::Blocked);
    world.hint();
    assert_eq!(one(&mut world), (201, End::Done(Transport::Quic)));
}

#[test]
fn a_path_that_dies_is_left_within_a_second_and_the_request_is_not_lost() {
    let mut world = world(Way::DiesAt(Moment::from_ns(5_000_000_000)), Way::Free);
    world.hint();
    one(&mut world);
    world.rest(Duration::from_secs(5));
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
    let mut world = world(Way::DiesAt(Moment::from_ns(5_000_000_000)), Way::Free);
    world.hint();
    one(&mut world);
    world.rest(Duration::from_secs(5));
    let id = world.ask(Ask {
        replayable: false,
        ..ask()
    });
    world.rest(Duration::from_secs(30));
    assert_eq!(
        (world.calls[&id].sends.len(), world.calls[&id].ended),
        (1, None)
    );
    world.cancel(id);
    assert_eq!(one(&mut world).1, End::Done(Transport::Tcp));
}

#[test]
fn a_slow_server_is_not_hedged() {
    let mut world = world(Way::Free, Way::Free);
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
fn pinned_policies_use_one_transport_only() {
    for (policy, over) in [(Policy::H2, Transport::Tcp), (Policy::H3, Transport::Quic)] {
        let mut world = world(Way::Free, Way::Free);
        world.hint();
        for _ in 0..10 {
            let (_, end) = world.ask_and_wait(Ask { policy, ..ask() });
            assert_eq!(end, End::Done(over));
        }
        assert_eq!(world.opened.len(), 1);
    }
}

#[test]
fn http_1_opens_as_many_as_six_connections_and_loses_no_request() {
    let mut world = world(Way::Free, Way::Free);
    world.protocol = Protocol::H1;
    let ids: Vec<_> = (0..20).map(|_| world.ask(ask())).collect();
    world.rest(Duration::from_secs(10));
    for id in ids {
        assert_eq!(
            world.calls[&id].ended.map(|(_, end)| end),
            Some(End::Done(Transport::Tcp))
        );
    }
    assert_eq!(world.opened[&Transport::Tcp], 6);
}

#[test]
fn a_pause_of_another_network_ends_with_it() {
    let mut world = world(Way::Free, Way::Free);
    one(&mut world);
    world.close_first();
    (world.quic.way, world.tcp.way) = (Way::Refused, Way::Refused);
    let id = world.ask(ask());
    world.rest(Duration::from_secs(4));
    assert_eq!(world.end_of(id), None, "the server may come back");
    (world.quic.way, world.tcp.way) = (Way::Free, Way::Free);
    world.handle(network(1));
    let (time, end) = world.wait(id);
    assert_eq!(end, End::Done(Transport::Tcp));
    // Three round trips to open it, one for the request.
    assert!(time < Duration::from_millis(450), "{time:?}");
}

fn network(n: u8) -> Event<'static> {
    Event::Network(Some(Network {
        id: NetworkId([n; 16]),
        kind: NetworkKind::Wifi,
        metered: false,
    }))
}

#[test]
fn a_quic_connection_moves_to_another_network_and_tcp_is_opened_anew() {
    let mut world = world(Way::Free, Way::Free);
    world.hint();
    one(&mut world);
    world.handle(network(1));
    assert_eq!(world.nudges, 1);
    // One round trip and the server's time: nothing was opened.
    assert_eq!(one(&mut world), (100, End::Done(Transport::Quic)));
    assert_eq!(world.opened[&Transport::Quic], 1);
    // A tunnel: requests fail at once in it, and the connection is there behind it.
    world.handle(Event::Network(None));
    assert_eq!(one(&mut world).1, End::Failed(Fault::Offline));
    world.handle(network(1));
    assert_eq!(one(&mut world), (100, End::Done(Transport::Quic)));
    // Two changes within a millisecond, with a request under way.
    let id = world.ask(ask());
    let asked = world.now;
    world.handle(network(2));
    world.rest(Duration::from_micros(500));
    world.handle(network(3));
    world.rest(Duration::from_secs(1));
    let log = &world.calls[&id];
    let (at, end) = log.ended.unwrap();
    assert_eq!(
        (at.since(asked).as_millis(), end),
        (100, End::Done(Transport::Quic))
    );
    assert_eq!(log.sends.len(), 1);
    let pinned = Ask {
        policy: Policy::H2,
        ..ask()
    };
    world.ask_and_wait(pinned);
    let opened = world.opened[&Transport::Tcp];
    world.handle(network(4));
    world.ask_and_wait(pinned);
    assert_eq!(world.opened[&Transport::Tcp], opened + 1);
}

#[test]
fn a_network_that_is_lost_in_a_handshake_says_nothing_against_http_3() {
    for (change, ended) in [(Event::Network(None), true), (network(1), false)] {
        let mut world = world(Way::Free, Way::Free);
        world.hint();
        let id = world.ask(ask());
        world.rest(Duration::from_millis(50));
        let opening = world.conns.len();
        world.handle(change);
        let offline = world.calls[&id].ended.map(|(_, end)| end);
        assert_eq!(offline, ended.then_some(End::Failed(Fault::Offline)));
        assert!(opening == 2 && world.conns.is_empty());
        if !ended {
            let (time, end) = world.wait(id);
            assert_eq!((time.as_millis(), end), (201, End::Done(Transport::Quic)));
        }
        world.handle(network(2));
        let explained = world.router.explain(&origin());
        assert!(explained.contains("HTTP/3 here: untried"), "{explained}");
    }
}

#[test]
fn a_connection_that_cannot_move_is_closed() {
    let mut world = world(Way::Free, Way::Free);
    world.hint();
    one(&mut world);
    world.quic = Server::of(Way::Blocked, 100.0);
    world.handle(network(1));
    world.rest(Duration::from_secs(5));
    assert!(world.conns.is_empty());
    assert_eq!(one(&mut world).1, End::Done(Transport::Tcp));
}

#[test]
fn a_body_is_cut_off_where_its_path_is_silent_and_another_one_is_not() {
    for resumable in [true, false] {
        // The head came at 300 ms.
        let dies = Moment::from_ns(310_000_000);
        let mut world = world(Way::DiesAt(dies), Way::Free);
        (world.resumable, world.body_time) = (resumable, Duration::from_secs(30));
        world.hint();
        let id = world.ask(ask());
        world.rest(Duration::from_secs(5));
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
        let id = world.ask(ask());
        world.rest(Duration::from_secs(1));
        assert_eq!(world.ways(id), [Transport::Quic]);
        let is_tcp = |socket: &common::Socket| socket.over == Transport::Tcp;
        assert!(world.conns.values().any(is_tcp));
        (world.quic.way, world.tcp.way) = (Way::Blocked, Way::Blocked);
        world.rest(Duration::from_millis(1_500));
        if cancels {
            world.cancel(id);
        }
        (world.quic.way, world.tcp.way) = (Way::Free, Way::Free);
        world.rest(Duration::from_secs(3));
        let state = world.router.explain(&common::origin());
        assert!(!state.contains("broken"), "{state}");
    }
}

/// Opens HTTP/3 and TCP; HTTP/3 is the faster one.
fn with_both_open(migrates: bool) -> World {
    let mut world = world(Way::Free, Way::Free);
    (world.tcp.median_ms, world.migrates) = (200.0, migrates);
    world.hint();
    for _ in 0..8 {
        one(&mut world);
        world.rest(Duration::from_secs(1));
    }
    world
}

/// Opens both, and asks over HTTP/3 for a body that takes long and cannot be resumed.
fn with_a_long_response(migrates: bool) -> (World, CallId) {
    let mut world = with_both_open(migrates);
    world.body_time = Duration::from_secs(60);
    let id = world.ask(ask());
    world.rest(Duration::from_secs(1));
    assert_eq!(world.ways(id), [Transport::Quic]);
    (world, id)
}

#[test]
fn a_request_that_is_given_up_after_a_gap_says_nothing_against_http_3() {
    for ms in (0..2_000).step_by(50) {
        let (mut world, id) = with_a_long_response(false);
        (world.quic.way, world.tcp.way) = (Way::Blocked, Way::Blocked);
        world.rest(Duration::from_millis(4_500));
        (world.quic.way, world.tcp.way) = (Way::Free, Way::Free);
        world.body_time = Duration::ZERO;
        let other = world.ask(ask());
        world.rest(Duration::from_millis(ms));
        world.cancel(id);
        world.rest(Duration::from_secs(4));
        assert!(world.end_of(other).is_some());
        let state = world.router.explain(&common::origin());
        assert!(!state.contains("broken"), "given up after {ms} ms: {state}");
    }
}

#[test]
fn idle_tcp_that_is_asked_and_never_answers_is_closed() {
    let (mut world, _) = with_a_long_response(true);
    (world.quic.way, world.tcp.way) = (Way::Blocked, Way::Blocked);
    world.rest(Duration::from_secs(40));
    assert!(world.conns.is_empty(), "{:?}", world.conns);
}

#[test]
fn http_3_that_falls_silent_is_left_where_tcp_lives() {
    for resumable in [true, false] {
        let mut world = with_both_open(true);
        (world.resumable, world.body_time) = (resumable, Duration::from_secs(30));
        let id = world.ask(ask());
        world.rest(Duration::from_secs(1));
        assert_eq!(world.ways(id), [Transport::Quic]);
        world.quic.way = Way::Blocked;
        world.rest(Duration::from_secs(5));
        if resumable {
            assert_eq!(world.end_of(id), Some(End::Failed(Fault::Reset)));
        } else {
            world.cancel(id);
        }
        world.rest(Duration::from_secs(5));
        let state = world.router.explain(&common::origin());
        assert!(state.contains("broken"), "{state}");
    }
}

#[test]
fn http_3_that_was_of_use_is_opened_again_beside_tcp() {
    let mut world = world(Way::Free, Way::Free);
    world.hint();
    for _ in 0..8 {
        one(&mut world);
        world.rest(Duration::from_secs(1));
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
        world.rest(Duration::from_secs(1));
        // The second one has answered nothing.
        assert_eq!(world.opened[&Transport::Quic], opened);
    }
}

#[test]
fn a_comparison_within_a_body_decides_for_large_bodies() {
    let mut world = world(Way::Free, Way::Free);
    world.hint();
    one(&mut world);
    world.rest(Duration::from_secs(3));
    let origin = common::origin();
    assert!(world.router.may_compare(&origin, Transport::Quic));
    let large = Ask {
        bytes: Some(10_000_000),
        kind: 2,
        ..ask()
    };
    world.ask_and_wait(Ask {
        policy: Policy::H2,
        ..large
    });
    world.handle(Event::Compared {
        origin: &origin,
        faster: Transport::Tcp,
        ratio: 30.0,
    });
    assert_eq!(world.ask_and_wait(large).1, End::Done(Transport::Tcp));
    assert!(!world.router.may_compare(&origin, Transport::Tcp));
    let small = world.ask_and_wait(Ask {
        urgent: true,
        ..ask()
    });
    assert_eq!(small.1, End::Done(Transport::Quic), "small ones stay");
}

#[test]
fn switches_stop_the_engine_or_http_3() {
    let mut world = world(Way::Free, Way::Free);
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
    assert_eq!(one(&mut world).1, End::Plain);
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
            Server::of(Way::Free, quic_ms),
            Server::of(Way::Free, tcp_ms),
        );
        world.hint();
        for _ in 0..40 {
            one(&mut world);
        }
        let id = world.ask(ask());
        world.rest(Duration::from_secs(1));
        let why = world.calls[&id].why.expect("it was delivered");
        assert!(
            matches!(why, Why::Faster { over, .. } if over == faster),
            "{why}"
        );
    }
}

#[test]
fn the_first_request_of_a_kind_is_not_sent_to_learn() {
    let mut world = world(Way::Free, Way::Free);
    world.hint();
    let mut kind = 1;
    let mut explored = [0, 0];
    for i in 0..60 {
        let is_first = i % 3 == 0;
        kind += u64::from(is_first);
        let id = world.ask(Ask { kind, ..ask() });
        world.rest(Duration::from_secs(1));
        let why = world.calls[&id].why.expect("it was delivered");
        explored[usize::from(is_first)] += u32::from(matches!(why, Why::Exploring(_)));
    }
    assert!(explored[0] > 0, "nothing was explored");
    assert_eq!(explored[1], 0);
}
