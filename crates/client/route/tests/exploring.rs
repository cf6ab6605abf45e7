//! Requests that are sent to learn: none costs much more than the others, and a stall counts against its transport.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use Transport::{Quic, Tcp};
use common::{End, PathBehavior, Server, World, origin, traits};
use route::{CallId, Event, Network, NetworkId, NetworkKind, Reason, RequestTraits, Transport};

/// Creates a world with a connection over either transport, where HTTP/3 takes 100 ms.
fn world(tcp_ms: f64) -> World {
    let server = |median_ms| Server {
        spread: 0.01,
        ..Server::of(PathBehavior::Free, median_ms)
    };
    let mut world = World::new(7, 50, server(100.0), server(tcp_ms));
    world.hint();
    world
}

/// Asks until one is sent over TCP to learn. Returns it before its answer.
fn explore(world: &mut World, traits: RequestTraits) -> CallId {
    for _ in 0..20 {
        let call = world.request(traits);
        if world.ways(call) == [Tcp] {
            return call;
        }
        world.wait(call);
        world.pass_time(Duration::from_millis(500));
    }
    panic!(
        "none was sent to learn: {}",
        world.router.explain(&origin())
    );
}

#[test]
fn a_stall_costs_twice_the_usual_time_and_one_answer() {
    let mut world = world(100.0);
    world.tcp.stalls = 1.0;
    let call = explore(&mut world, traits());
    world.pass_time(Duration::from_millis(190));
    assert_eq!(world.ways(call), [Tcp]);
    let (time, end) = world.wait(call);
    assert_eq!(end, End::Done(Quic));
    assert_eq!(world.ways(call), [Tcp, Quic]);
    let ms = time.as_millis() + 190;
    assert!((300..320).contains(&ms), "{ms} ms");
    assert_eq!(world.calls[&call].reason, Some(Reason::Hedge(Quic)));
}

#[test]
fn an_answer_within_twice_the_usual_time_is_waited_for() {
    let mut world = world(180.0);
    let call = explore(&mut world, traits());
    assert_eq!(world.wait(call).1, End::Done(Tcp));
    assert_eq!(world.ways(call), [Tcp]);
}

#[test]
fn what_is_not_to_be_sent_twice_is_not() {
    let mut world = world(100.0);
    world.tcp.stalls = 1.0;
    let once = RequestTraits {
        resends: false,
        ..traits()
    };
    let call = explore(&mut world, once);
    assert_eq!(world.wait(call).1, End::Done(Tcp));
    assert_eq!(world.ways(call), [Tcp]);
}

#[test]
fn stalls_count_against_the_transport_that_another_one_answered_for() {
    let mut world = world(100.0);
    world.tcp.stalls = 1.0;
    let mut hedged = 0;
    for _ in 0..100 {
        let call = world.request(traits());
        world.wait(call);
        hedged += usize::from(world.ways(call) == [Tcp, Quic]);
        world.pass_time(Duration::from_millis(500));
    }
    // Four observations make a verdict; without them it would go on to learn.
    let text = world.router.explain(&origin());
    assert!(
        text.contains("HTTP/3: faster here for small requests"),
        "{text}"
    );
    assert!((3..=5).contains(&hedged), "{hedged}");
}

#[test]
fn an_answer_that_comes_late_but_first_counts() {
    let mut world = world(300.0);
    let call = explore(&mut world, traits());
    // The other copy finds HTTP/3 mute.
    world.quic.mute = true;
    assert_eq!(world.wait(call).1, End::Done(Tcp));
    assert_eq!(world.ways(call), [Tcp, Quic]);
    let text = world.router.explain(&origin());
    let counts = "small requests: cannot tell yet (2 by HTTP/3, 1 by HTTP/2)";
    assert!(text.contains(counts), "{text}");
}

#[test]
fn where_times_vary_it_waits_longer() {
    let mut world = world(115.0);
    world.quic.spread = 0.5;
    for _ in 0..20 {
        world.request_and_wait(traits());
        world.pass_time(Duration::from_millis(500));
    }
    // TCP varies little, so that its own spread would be too little.
    world.tcp.median_ms = 300.0;
    let call = explore(&mut world, traits());
    assert_eq!(world.wait(call).1, End::Done(Tcp));
    assert_eq!(world.ways(call), [Tcp]);
}

#[test]
fn where_all_is_fast_a_few_milliseconds_are_waited_for() {
    let mut world = world(18.0);
    (world.rtt, world.quic.median_ms) = (Duration::from_millis(2), 4.0);
    let call = explore(&mut world, traits());
    assert_eq!(world.wait(call).1, End::Done(Tcp));
    assert_eq!(world.ways(call), [Tcp]);
}

#[test]
fn only_a_request_alone_on_its_connection_counts() {
    let mut world = world(100.0);
    world.tcp.stalls = 1.0;
    let first = explore(&mut world, traits());
    let others = [(); 2].map(|()| world.request(traits()));
    for call in others {
        assert_eq!(world.ways(call), [Tcp]);
    }
    for call in [first].into_iter().chain(others) {
        assert_eq!(world.wait(call).1, End::Done(Quic));
    }
    let text = world.router.explain(&origin());
    assert!(text.contains("1 by HTTP/2)\n  requests of"), "{text}");
}

#[test]
fn a_reset_counts_although_the_other_copy_is_under_way() {
    let mut world = world(250.0);
    world.tcp.resets = 1.0;
    let call = explore(&mut world, traits());
    assert_eq!(world.wait(call).1, End::Done(Quic));
    assert_eq!(world.ways(call), [Tcp, Quic]);
    let text = world.router.explain(&origin());
    assert!(text.contains("(2 by HTTP/3, 1 by HTTP/2)"), "{text}");
}

#[test]
fn where_everything_became_slower_it_waits_longer() {
    let mut world = world(100.0);
    for _ in 0..10 {
        world.request_and_wait(traits());
        world.pass_time(Duration::from_millis(500));
    }
    (world.quic.median_ms, world.tcp.median_ms) = (300.0, 300.0);
    let mut twice = 0;
    for _ in 0..100 {
        let call = world.request(traits());
        world.wait(call);
        twice += usize::from(world.ways(call).len() == 2);
        world.pass_time(Duration::from_millis(500));
    }
    // Until the mean has followed.
    assert!(twice <= 3, "{twice}");
}

#[test]
fn nothing_is_learnt_from_requests_during_which_the_network_changes() {
    let mut world = world(100.0);
    world.tcp.stalls = 1.0;
    let call = explore(&mut world, traits());
    world.migrates = true;
    world.handle(Event::Network(Some(Network {
        id: NetworkId([9; 16]),
        kind: NetworkKind::Wifi,
        metered: false,
    })));
    assert_eq!(world.wait(call).1, End::Done(Quic));
    let text = world.router.explain(&origin());
    assert!(
        text.contains("small requests: cannot tell yet (0 by HTTP/3, 0 by HTTP/2)"),
        "{text}"
    );
}
