//! A request.

use std::time::Duration;

use route::{CallId, Event, MonotonicTime, RequestTraits};

use crate::common::{End, PathBehavior, Server, World, traits};
use crate::rows;

/// A second after the beginning.
const SOON: MonotonicTime = MonotonicTime::from_ns(1_000_000_000);

fn state(world: &World, id: CallId) -> &'static str {
    let log = &world.calls[&id];
    match (log.ended, log.delivered, log.live.len()) {
        (Some((_, End::Done(_))), ..) => "done",
        (Some((_, End::Failed(_))), ..) => "failed",
        (Some((_, End::Cancelled)), ..) => "cancelled",
        (Some(ended), ..) => panic!("{ended:?}"),
        (None, Some(_), _) => "answered",
        (None, None, 0) => "waits",
        (None, None, 1) => "sent",
        (None, None, _) => "sent twice",
    }
}

fn world(quic: PathBehavior, tcp: PathBehavior) -> World {
    let mut world = World::new(1, 50, Server::of(quic, 60.0), Server::of(tcp, 60.0));
    (world.quic.spread, world.tcp.spread) = (0.0, 0.0);
    (world.resumable, world.body_time) = (true, Duration::from_secs(30));
    world.hint();
    world
}

/// Lets time pass until the request is in this state.
fn until(world: &mut World, id: CallId, is: &str) {
    let limit = world.now + Duration::from_secs(60);
    while state(world, id) != is {
        assert!(world.step(limit), "it never comes to be {is}");
    }
}

/// Creates a world with a request in the state `from`, where this will happen.
fn begin(from: &str, when: &str) -> (World, CallId) {
    let dying = matches!(
        when,
        "its connection falls silent, another one is ready" | "one of the two is answered"
    );
    let mut world = match when {
        "none can be opened" => world(PathBehavior::Refused, PathBehavior::Refused),
        "a certificate is refused" => world(PathBehavior::BadCertificate, PathBehavior::Free),
        _ if dying && from == "answered" => world(PathBehavior::DiesAt(SOON), PathBehavior::Free),
        // The handshake is done at 51 ms, and the request is sent.
        _ if dying => world(
            PathBehavior::DiesAt(MonotonicTime::from_ns(60_000_000)),
            PathBehavior::Free,
        ),
        _ => world(PathBehavior::Free, PathBehavior::Free),
    };
    let traits = RequestTraits {
        replayable: when != "it fails and must not be sent again",
        ..traits()
    };
    if when == "its body ends" {
        world.body_time = Duration::from_secs(1);
    }
    let id = world.request(traits);
    until(&mut world, id, from);
    (world, id)
}

fn happen(world: &mut World, id: CallId, when: &str, to: &str) {
    match when {
        "there is no network" => world.handle(Event::Network(None)),
        "the app lets go" => world.cancel(id),
        "it fails and may be sent again"
        | "it fails and must not be sent again"
        | "its body breaks off" => world.close_first(),
        _ => until(world, id, to),
    }
}

#[test]
fn every_transition_of_a_request_happens() {
    let rows = rows("Of a request:");
    assert!(rows.len() >= 13);
    for [from, when, to] in rows {
        let (mut world, id) = begin(from, when);
        happen(&mut world, id, when, to);
        assert_eq!(state(&world, id), to, "{from}: {when}");
    }
}
