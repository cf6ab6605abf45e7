//! Requests that are sent before a handshake is done.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use common::{End, PathBehavior, Server, World, origin, traits};
use route::{Event, Fault, Network, NetworkId, NetworkKind, Policy, RequestTraits, Transport};

const RTT: Duration = Duration::from_millis(100);

fn early() -> RequestTraits {
    RequestTraits {
        early: true,
        ..traits()
    }
}

/// Creates a world in which HTTP/3 has worked, and the connection is gone.
fn after_a_while(quic: PathBehavior) -> World {
    let server = |path| Server {
        spread: 0.0,
        ..Server::of(path, 100.0)
    };
    let mut world = World::new(
        1,
        100,
        server(PathBehavior::Free),
        server(PathBehavior::Free),
    );
    world.hint();
    world.request_and_wait(traits());
    while !world.conns.is_empty() {
        world.close_first();
    }
    world.quic = server(quic);
    world
}

fn ms(time: Duration) -> u128 {
    time.as_millis()
}

#[test]
fn a_request_that_may_be_early_saves_the_round_trip_of_the_handshake() {
    let mut world = after_a_while(PathBehavior::Free);
    let (time, end) = world.request_and_wait(early());
    assert_eq!((ms(time), end), (101, End::Done(Transport::Quic)));
    let mut world = after_a_while(PathBehavior::Free);
    let (time, end) = world.request_and_wait(traits());
    assert_eq!((ms(time), end), (201, End::Done(Transport::Quic)));
}

#[test]
fn beside_it_others_wait_for_the_handshake() {
    let mut world = after_a_while(PathBehavior::Free);
    let (at_once, later) = (world.request(early()), world.request(traits()));
    let too = world.request(early());
    let asked = world.now;
    world.pass_time(Duration::from_secs(1));
    let took = |id| {
        let (at, end) = world.calls[&id].ended.expect("it ended");
        assert_eq!(end, End::Done(Transport::Quic));
        ms(at.since(asked))
    };
    assert_eq!([at_once, later, too].map(took), [101, 201, 101]);
    assert_eq!(world.opened[&Transport::Quic], 2);
}

#[test]
fn what_the_server_does_not_take_early_is_sent_again_on_the_same_connection() {
    let mut world = after_a_while(PathBehavior::Free);
    world.early_refused = 1.0;
    let id = world.request(early());
    let (time, end) = world.wait(id);
    assert_eq!((ms(time), end), (201, End::Done(Transport::Quic)));
    let sends = &world.calls[&id].sends;
    assert_eq!(sends.len(), 2);
    assert_eq!(sends[0].1, sends[1].1);
}

#[test]
fn a_handshake_without_answer_loses_the_request_to_tcp() {
    for path in [
        PathBehavior::Blocked,
        PathBehavior::Refused,
        PathBehavior::BadHandshake,
    ] {
        let mut world = after_a_while(path);
        let (time, end) = world.request_and_wait(early());
        assert_eq!(end, End::Done(Transport::Tcp), "{path:?}");
        // The name, one and a half round trips, and what a request over TCP takes.
        assert!(
            time <= Duration::from_millis(2) + RTT.mul_f64(4.5),
            "{path:?} {time:?}"
        );
    }
}

#[test]
fn where_http_3_failed_nothing_is_early() {
    let mut world = after_a_while(PathBehavior::BadHandshake);
    world.request_and_wait(early());
    world.pass_time(Duration::from_secs(5));
    while !world.conns.is_empty() {
        world.close_first();
    }
    world.quic.path = PathBehavior::Free;
    assert!(world.router.explain(&origin()).contains("on probation"));
    // QUIC begins 10 ms after TCP, and its handshake is waited for.
    let (time, end) = world.request_and_wait(early());
    assert_eq!((ms(time), end), (211, End::Done(Transport::Quic)));
}

#[test]
fn one_that_is_pinned_to_http_3_stays_where_it_was_sent_when_tcp_is_ready_first() {
    let mut world = after_a_while(PathBehavior::Blocked);
    let pinned = |policy| RequestTraits { policy, ..early() };
    let (h3, h2) = (
        world.request(pinned(Policy::H3)),
        world.request(pinned(Policy::H2)),
    );
    assert_eq!(world.wait(h2).1, End::Done(Transport::Tcp));
    assert_eq!(world.calls[&h3].sends.len(), 1);
}

#[test]
fn another_network_in_the_handshake_says_nothing_against_http_3() {
    let mut world = after_a_while(PathBehavior::Free);
    let id = world.request(early());
    world.pass_time(Duration::from_millis(50));
    assert_eq!(world.calls[&id].sends.len(), 1);
    world.handle(Event::Network(Some(Network {
        id: NetworkId([1; 16]),
        kind: NetworkKind::Wifi,
        metered: false,
    })));
    assert_eq!(world.wait(id).1, End::Done(Transport::Quic));
    let known = world.router.explain(&origin());
    assert!(!known.contains("failed"), "{known}");
}

#[test]
fn what_an_attempt_took_that_another_address_beat_is_sent_there() {
    for policy in [Policy::Adaptive, Policy::H3] {
        let mut world = after_a_while(PathBehavior::Free);
        (world.addresses, world.tcp.path) = (2, PathBehavior::Blocked);
        world.lost_first_flights = 1.0;
        let asked = world.now;
        let id = world.request(RequestTraits { policy, ..early() });
        world.pass_time(Duration::from_millis(10));
        world.lost_first_flights = 0.0;
        let (_, end) = world.wait(id);
        assert_eq!(end, End::Done(Transport::Quic), "{policy:?}");
        // The name, the delay between attempts, a handshake and a round trip.
        let (at, _) = world.calls[&id].ended.expect("it ended");
        assert_eq!(ms(at.since(asked)), 1 + 250 + 100 + 100);
        let sends = &world.calls[&id].sends;
        assert_eq!(sends.len(), 2);
        assert_ne!(sends[0].1, sends[1].1);
        let known = world.router.explain(&origin());
        assert!(known.contains("HTTP/3 here: works"), "{known}");
    }
}

#[test]
fn a_refused_certificate_ends_what_was_sent_early_and_nothing_is_opened_for_it() {
    let mut world = after_a_while(PathBehavior::Free);
    world.tcp.path = PathBehavior::BadCertificate;
    world.lost_first_flights = 1.0;
    let id = world.request(early());
    world.pass_time(Duration::from_millis(10));
    world.lost_first_flights = 0.0;
    let opened = world.opened[&Transport::Quic];
    assert_eq!(world.wait(id).1, End::Failed(Fault::Certificate));
    world.pass_time(Duration::from_secs(5));
    assert_eq!(world.opened[&Transport::Quic], opened);
}
