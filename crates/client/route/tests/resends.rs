//! Resent requests, and where they go.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::time::Duration;

use Transport::{Quic, Tcp};
use common::{End, PathBehavior, Server, World, origin, traits};
use route::{CallId, Event, Fault, Policy, Protocol, Replay, RequestTraits, Transport};

const S: Duration = Duration::from_secs(1);
const POST: RequestTraits = RequestTraits {
    replayable: false,
    resends: true,
    bytes: None,
    kind: 2,
    urgent: false,
    early: false,
    policy: Policy::Adaptive,
};

fn world() -> World {
    let server = Server::of(PathBehavior::Free, 60.0);
    World::new(1, 50, server, server)
}

fn pinned(policy: Policy) -> RequestTraits {
    RequestTraits { policy, ..traits() }
}

/// Asks, and waits until it is sent.
fn sent(world: &mut World, traits: RequestTraits) -> CallId {
    let call = world.request(traits);
    while world.calls[&call].sends.is_empty() {
        assert!(world.step(world.now + S), "it is never sent");
    }
    call
}

fn explained(world: &mut World) -> String {
    world.handle(Event::Time);
    world.router.explain(&origin())
}

#[test]
fn a_thousand_requests_outlive_connections_that_take_a_hundred_each() {
    for (policy, over) in [(Policy::H2, Tcp), (Policy::H3, Quic)] {
        for traits in [pinned(policy), RequestTraits { policy, ..POST }] {
            let mut world = world();
            (world.quic.conn_requests, world.tcp.conn_requests) = (100, 100);
            // The router's own limit is 512 at a time.
            let calls: Vec<_> = (0..500).map(|_| world.request(traits)).collect();
            world.pass_time(60 * S);
            for call in calls {
                assert_eq!(world.end_of(call), Some(End::Done(over)), "{call:?}");
            }
        }
    }
}

#[test]
fn a_request_that_nothing_ever_takes_fails() {
    let mut world = world();
    world.tcp.conn_requests = 0;
    let call = world.request(pinned(Policy::H2));
    world.pass_time(60 * S);
    assert_eq!(world.end_of(call), Some(End::Failed(Fault::Reset)));
    assert_eq!(world.calls[&call].sends.len(), 1 + 3);
    let call = world.request(RequestTraits {
        policy: Policy::H2,
        ..POST
    });
    world.pass_time(60 * S);
    assert_eq!(world.calls[&call].sends.len(), 1 + 3);
}

#[test]
fn what_the_app_forbids_is_never_sent_again() {
    for replay in [Replay::Safe, Replay::MayHaveActed] {
        let mut world = world();
        let call = sent(
            &mut world,
            RequestTraits {
                resends: false,
                ..traits()
            },
        );
        world.fail(call, Fault::Reset, replay);
        assert_eq!(world.end_of(call), Some(End::Failed(Fault::Reset)));
        assert_eq!(world.calls[&call].sends.len(), 1);
    }
}

#[test]
fn a_malformed_response_is_no_reason_to_ask_again() {
    for policy in [Policy::H2, Policy::H3, Policy::Race] {
        let mut world = world();
        world.hint();
        let call = sent(&mut world, pinned(policy));
        world.fail(call, Fault::Malformed, Replay::MayHaveActed);
        assert_eq!(world.end_of(call), Some(End::Failed(Fault::Malformed)));
        assert_eq!(world.calls[&call].sends.len(), 1);
    }
}

#[test]
fn what_is_misdirected_over_http_3_goes_over_tcp() {
    for traits in [traits(), POST] {
        let mut world = world();
        world.hint();
        world.misdirects = 1.0;
        let call = world.request(traits);
        world.wait(call);
        assert_eq!(world.ways(call), [Quic, Tcp]);
        assert_eq!(world.end_of(call), Some(End::Done(Tcp)));
        // Nothing offers HTTP/3 any more, and what offers it again is not believed at once.
        assert!(explained(&mut world).contains("not known to be offered"));
        world.hint();
        let call = world.request(traits);
        world.wait(call);
        assert_eq!(world.ways(call), [Tcp]);
    }
}

#[test]
fn an_app_that_pins_http_3_gets_what_is_misdirected() {
    let mut world = world();
    world.misdirects = 1.0;
    let (_, end) = world.request_and_wait(pinned(Policy::H3));
    assert_eq!(end, End::Done(Quic));
}

#[test]
fn a_body_that_is_gone_is_not_sent_elsewhere() {
    let mut world = world();
    world.hint();
    let call = sent(&mut world, POST);
    let (_, conn) = world.calls[&call].sends[0];
    world.handle(Event::Head {
        call,
        conn,
        misdirected: true,
        kept: false,
        alt_svc: b"h3=\":444\"",
        resumable: false,
    });
    assert_eq!(world.calls[&call].delivered, Some(conn));
    assert!(explained(&mut world).contains("not known to be offered"));
}

#[test]
fn an_origin_that_demands_http_1_gets_it_from_then_on() {
    for traits in [pinned(Policy::H2), traits(), POST] {
        let mut world = world();
        let call = sent(&mut world, traits);
        world.fail(call, Fault::Http11Required, Replay::Safe);
        world.wait(call);
        assert_eq!(world.end_of(call), Some(End::Done(Tcp)));
        assert_eq!(world.calls[&call].sends.len(), 2);
        assert!(world.conns.values().all(|socket| socket.http1));
        let call = world.request(traits);
        world.wait(call);
        assert_eq!(world.end_of(call), Some(End::Done(Tcp)));
        assert_eq!(world.opened[&Tcp], 2);
    }
}

#[test]
fn what_http_3_sends_to_http_1_goes_there_alone() {
    let mut world = world();
    world.hint();
    let call = sent(&mut world, POST);
    world.fail(call, Fault::Http11Required, Replay::Safe);
    world.wait(call);
    assert_eq!(world.ways(call), [Quic, Tcp]);
    assert!(explained(&mut world).contains("HTTP/3 here: works"));
    let next = world.request(POST);
    world.wait(next);
    assert_eq!(world.ways(next), [Quic]);
}

#[test]
fn a_head_that_http_3_does_not_take_goes_over_tcp_once() {
    let mut world = world();
    world.hint();
    let call = sent(&mut world, traits());
    world.fail(call, Fault::HeadTooLarge, Replay::Safe);
    world.wait(call);
    assert_eq!(world.ways(call), [Quic, Tcp]);
    assert!(explained(&mut world).contains("HTTP/3 here: works"));
    for policy in [Policy::H2, Policy::H3] {
        let call = sent(&mut world, pinned(policy));
        world.fail(call, Fault::HeadTooLarge, Replay::Safe);
        let failed = Some(End::Failed(Fault::HeadTooLarge));
        if policy == Policy::H2 {
            assert_eq!(world.end_of(call), failed);
        } else {
            world.pass_time(S);
            assert!(world.calls[&call].sends.len() <= 4);
        }
    }
}

#[test]
fn a_server_that_starts_again_is_waited_for() {
    for protocol in [Protocol::H1, Protocol::H2] {
        let mut world = world();
        world.protocol = protocol;
        world.request_and_wait(traits());
        world.close_first();
        world.tcp.path = PathBehavior::Refused;
        let calls = [world.request(traits()), world.request(POST)];
        world.pass_time(3 * S);
        world.tcp.path = PathBehavior::Free;
        world.pass_time(3 * S);
        for call in calls {
            assert_eq!(world.end_of(call), Some(End::Done(Tcp)));
            assert_eq!(world.calls[&call].sends.len(), 1);
        }
    }
}

#[test]
fn a_server_that_stays_away_is_waited_for_in_bounds() {
    let mut world = world();
    world.request_and_wait(traits());
    world.close_first();
    world.tcp.path = PathBehavior::Refused;
    let opened = world.opened[&Tcp];
    let (time, end) = world.request_and_wait(traits());
    assert_eq!(end, End::Failed(Fault::Connect));
    assert!((10 * S..13 * S).contains(&time), "{time:?}");
    // After 0.2, 0.4, 0.8, 1.6 and every 2 s.
    assert!(world.opened[&Tcp] - opened <= 9, "{}", world.opened[&Tcp]);
}

#[test]
fn a_server_that_never_answered_is_not_waited_for() {
    let mut world = world();
    world.tcp.path = PathBehavior::Refused;
    let (time, end) = world.request_and_wait(traits());
    assert_eq!(end, End::Failed(Fault::Connect));
    assert!(time < S);
    // Nor one that answered long ago.
    world.tcp.path = PathBehavior::Free;
    world.request_and_wait(traits());
    world.pass_time(120 * S);
    world.close_first();
    world.tcp.path = PathBehavior::Refused;
    let (time, end) = world.request_and_wait(traits());
    assert_eq!(end, End::Failed(Fault::Connect));
    assert!(time < S);
}

#[test]
fn a_connection_that_may_not_move_stays_on_its_path() {
    let network = |id| {
        Event::Network(Some(route::Network {
            id: route::NetworkId([id; 16]),
            kind: route::NetworkKind::Wifi,
            metered: false,
        }))
    };
    for migrates in [true, false] {
        let mut world = world();
        world.migrates = migrates;
        world.hint();
        world.request_and_wait(pinned(Policy::H3));
        world.handle(network(1));
        assert_eq!(world.nudges > 0, migrates);
        assert_eq!(
            world.request_and_wait(pinned(Policy::H3)).1,
            End::Done(Quic)
        );
        assert_eq!(world.opened[&Quic], if migrates { 1 } else { 2 });
        // Nor does it change its port where it falls silent.
        let nudges = world.nudges;
        world.quic.path = PathBehavior::Stalls;
        world.request(pinned(Policy::H3));
        world.pass_time(10 * S);
        assert_eq!(world.nudges > nudges, migrates);
    }
}

#[test]
fn a_path_that_stays_silent_ends_what_must_not_be_repeated() {
    for policy in [Policy::H2, Policy::H3] {
        let mut world = world();
        world.request_and_wait(pinned(policy));
        (world.quic.path, world.tcp.path) = (PathBehavior::Stalls, PathBehavior::Stalls);
        let (time, end) = world.request_and_wait(RequestTraits { policy, ..POST });
        assert_eq!(end, End::Failed(Fault::Reset));
        assert!((30 * S..33 * S).contains(&time), "{time:?}");
    }
}

#[test]
fn a_server_that_forgot_its_connections_gets_another_one() {
    let mut world = world();
    world.request_and_wait(pinned(Policy::H3));
    world.quic.path = PathBehavior::Stalls;
    let call = world.request(pinned(Policy::H3));
    world.pass_time(2 * S);
    world.quic.path = PathBehavior::Free;
    // The old connection stays silent: what it carried is lost with the server.
    let (time, end) = world.wait(call);
    assert_eq!(end, End::Done(Quic));
    assert!(time < 3 * S, "{time:?}");
}

#[test]
fn a_request_whose_connections_the_app_keeps_closing_is_sent_twice_more() {
    for policy in [Policy::H2, Policy::H3] {
        let mut world = world();
        let call = world.request(pinned(policy));
        for sends in 1..=3 {
            while world.calls[&call].sends.len() < sends {
                assert!(world.step(world.now + S), "it is never sent");
            }
            world.handle(Event::Disconnect);
        }
        world.pass_time(10 * S);
        assert_eq!(world.end_of(call), Some(End::Failed(Fault::Reset)));
        assert_eq!(world.calls[&call].sends.len(), 1 + 2);
    }
}

#[test]
fn a_head_that_http_3_does_not_take_ends_where_tcp_is_refused() {
    let mut world = world();
    world.hint();
    world.tcp.path = PathBehavior::Refused;
    let call = sent(&mut world, traits());
    world.fail(call, Fault::HeadTooLarge, Replay::Safe);
    assert_eq!(world.wait(call).1, End::Failed(Fault::Connect));
    assert_eq!(world.ways(call), [Quic]);
}

#[test]
fn a_request_that_left_http_3_returns_where_tcp_is_refused() {
    for policy in [Policy::Adaptive, Policy::Race] {
        let mut world = world();
        world.hint();
        world.tcp.path = PathBehavior::Refused;
        let call = sent(&mut world, pinned(policy));
        world.fail(call, Fault::Reset, Replay::MayHaveActed);
        assert_eq!(world.wait(call).1, End::Done(Quic), "{policy:?}");
        assert_eq!(world.ways(call), [Quic, Quic]);
    }
}

#[test]
fn a_request_that_left_http_3_waits_for_an_open_connection_over_tcp() {
    let mut world = world();
    world.hint();
    world.request_and_wait(pinned(Policy::H2));
    world.request_and_wait(pinned(Policy::H3));
    (world.streams, world.body_time) = (1, 5 * S);
    let long = sent(&mut world, pinned(Policy::H2));
    // No other one can be opened.
    world.tcp_limit = 1;
    let call = sent(&mut world, pinned(Policy::Race));
    assert_eq!(world.ways(call), [Quic]);
    world.fail(call, Fault::Reset, Replay::MayHaveActed);
    assert_eq!(world.wait(long).1, End::Done(Tcp));
    assert_eq!(world.wait(call).1, End::Done(Tcp));
    assert_eq!(world.ways(call), [Quic, Tcp]);
}
