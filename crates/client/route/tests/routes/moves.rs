//! Networks that change or are lost under connections and requests.

use std::time::Duration;

use route::{Event, Fault, Network, NetworkId, NetworkKind, Policy, RequestTraits, Transport};

use crate::common::{End, PathBehavior, Server, origin, traits};
use crate::{one, world};

#[test]
fn a_pause_of_another_network_ends_with_it() {
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    one(&mut world);
    world.close_first();
    (world.quic.path, world.tcp.path) = (PathBehavior::Refused, PathBehavior::Refused);
    let id = world.request(traits());
    world.pass_time(Duration::from_secs(4));
    assert_eq!(world.end_of(id), None, "the server may come back");
    (world.quic.path, world.tcp.path) = (PathBehavior::Free, PathBehavior::Free);
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
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
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
    let id = world.request(traits());
    let asked = world.now;
    world.handle(network(2));
    world.pass_time(Duration::from_micros(500));
    world.handle(network(3));
    world.pass_time(Duration::from_secs(1));
    let log = &world.calls[&id];
    let (at, end) = log.ended.unwrap();
    assert_eq!(
        (at.since(asked).as_millis(), end),
        (100, End::Done(Transport::Quic))
    );
    assert_eq!(log.sends.len(), 1);
    let pinned = RequestTraits {
        policy: Policy::H2,
        ..traits()
    };
    world.request_and_wait(pinned);
    let opened = world.opened[&Transport::Tcp];
    world.handle(network(4));
    world.request_and_wait(pinned);
    assert_eq!(world.opened[&Transport::Tcp], opened + 1);
}

#[test]
fn a_network_that_is_lost_in_a_handshake_says_nothing_against_http_3() {
    for (change, ended) in [(Event::Network(None), true), (network(1), false)] {
        let mut world = world(PathBehavior::Free, PathBehavior::Free);
        world.hint();
        let id = world.request(traits());
        world.pass_time(Duration::from_millis(50));
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
    let mut world = world(PathBehavior::Free, PathBehavior::Free);
    world.hint();
    one(&mut world);
    world.quic = Server::of(PathBehavior::Blocked, 100.0);
    world.handle(network(1));
    world.pass_time(Duration::from_secs(5));
    assert!(world.conns.is_empty());
    assert_eq!(one(&mut world).1, End::Done(Transport::Tcp));
}
