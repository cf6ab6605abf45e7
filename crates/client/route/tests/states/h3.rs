//! HTTP/3 to an origin on a network.

use std::time::Duration;

use route::{Event, MonotonicTime, RequestTraits};

use crate::common::{PathBehavior, Server, World, origin, traits};
use crate::{lose_connections, rows};

fn world(quic: PathBehavior, tcp: PathBehavior) -> World {
    World::new(1, 50, Server::of(quic, 60.0), Server::of(tcp, 60.0))
}

fn state(world: &mut World) -> String {
    world.handle(Event::Time);
    let explained = world.router.explain(&origin());
    let line = explained
        .lines()
        .find_map(|line| line.trim().strip_prefix("HTTP/3 here: "));
    line.expect("it says the state").to_owned()
}

/// Creates a world in which HTTP/3 is in the state `from`.
fn begin(from: &str, quic: PathBehavior, tcp: PathBehavior) -> World {
    let mut world = world(quic, tcp);
    match from {
        "unknown" => {}
        "untried" => world.hint(),
        "works" => {
            world.quic.path = PathBehavior::Free;
            world.hint();
            world.request_and_wait(traits());
            world.quic.path = quic;
        }
        "broken" | "on probation" => {
            (world.quic.path, world.tcp.path) = (PathBehavior::BadHandshake, PathBehavior::Free);
            world.hint();
            world.request_and_wait(traits());
            if from == "on probation" {
                world.pass_time(Duration::from_secs(5));
            }
            lose_connections(&mut world);
            (world.quic.path, world.tcp.path) = (quic, tcp);
        }
        other => panic!("no way to the state {other}"),
    }
    assert_eq!(state(&mut world), from);
    world
}

/// Lets happen what the table says.
fn happen(from: &str, when: &str) -> World {
    let race = |quic, tcp| {
        let mut world = begin(from, quic, tcp);
        world.request_and_wait(traits());
        world
    };
    match when {
        "a hint, an HTTPS record or `Alt-Svc` offers it" => {
            let mut world = begin(from, PathBehavior::Free, PathBehavior::Free);
            world.hint();
            world
        }
        "a connection is ready" => {
            let mut world = race(PathBehavior::Free, PathBehavior::Free);
            world.pass_time(Duration::from_secs(1));
            world
        }
        "a request failed over HTTP/3, TCP answered it" => {
            let mut world = begin(from, PathBehavior::Free, PathBehavior::Free);
            world.quic.resets = 1.0;
            world.request_and_wait(traits());
            if from == "on probation" {
                // The first one found only TCP open, and QUIC's handshake beside it.
                world.pass_time(Duration::from_secs(1));
                world.request_and_wait(traits());
            }
            world
        }
        "two requests in a row failed over HTTP/3" => {
            let mut world = begin(from, PathBehavior::Free, PathBehavior::Blocked);
            (world.quic.resets, world.quic.safe_resets) = (1.0, 0.0);
            let post = RequestTraits {
                replayable: false,
                ..traits()
            };
            world.request_and_wait(post);
            world.request_and_wait(post);
            world
        }
        "the offer ends or is withdrawn" => {
            let mut world = begin(from, PathBehavior::Free, PathBehavior::Free);
            world.pass_time(Duration::from_secs(8 * 24 * 3_600));
            world
        }
        "a whole response comes over HTTP/3" => {
            let mut world = race(PathBehavior::Free, PathBehavior::Free);
            world.pass_time(Duration::from_secs(1));
            world.request_and_wait(traits());
            world
        }
        "QUIC failed, TCP works" => {
            let mut world = begin(from, PathBehavior::BadHandshake, PathBehavior::Free);
            lose_connections(&mut world);
            world.request_and_wait(traits());
            world.pass_time(Duration::from_secs(1));
            world
        }
        "QUIC failed, and TCP failed, too" => race(PathBehavior::Blocked, PathBehavior::Blocked),
        "QUIC fell silent, TCP answered the request" => race(
            PathBehavior::DiesAt(MonotonicTime::from_ns(1)),
            PathBehavior::Free,
        ),
        "its time passed" => {
            let mut world = begin(from, PathBehavior::Free, PathBehavior::Free);
            world.pass_time(Duration::from_secs(5));
            world
        }
        other => panic!("nothing here makes this happen: {other}"),
    }
}

#[test]
fn every_transition_of_http_3_happens() {
    let rows = rows("## The states of HTTP/3");
    assert!(rows.len() >= 13);
    for [from, when, to] in rows {
        assert_eq!(state(&mut happen(from, when)), to, "{from}: {when}");
    }
}

#[test]
fn a_second_failure_breaks_it_for_longer() {
    let world = happen("on probation", "QUIC failed, TCP works");
    let explained = world.router.explain(&origin());
    // A refused handshake counts three: 4 s, then 32 s.
    assert!(explained.contains("next try in 3"), "{explained}");
}
