//! UDP on a network.

use std::time::Duration;

use route::Event;

use crate::common::{PathBehavior, Server, World, origin, traits};
use crate::{lose_connections, rows};

fn state(world: &mut World) -> String {
    world.handle(Event::Time);
    let explained = world.router.explain(&origin());
    let line = explained
        .lines()
        .find_map(|line| line.trim().strip_prefix("UDP here: "));
    line.expect("it says the state").to_owned()
}

/// Makes a first request over a network where UDP does this, and waits for the end of all attempts.
fn race(world: &mut World, quic: PathBehavior) {
    world.quic.path = quic;
    lose_connections(world);
    world.request_and_wait(traits());
    world.pass_time(Duration::from_secs(20));
}

fn begin(from: &str) -> World {
    let mut world = World::new(
        1,
        50,
        Server::of(PathBehavior::Free, 60.0),
        Server::of(PathBehavior::Free, 60.0),
    );
    world.hint();
    match from {
        "not known" => {}
        "works" => race(&mut world, PathBehavior::Free),
        "blocked" | "to be tried again" => {
            happen(&mut world, "three attempts had no packet, TCP worked");
            if from == "to be tried again" {
                happen(&mut world, "its time passed");
            }
        }
        other => panic!("no way to the state {other}"),
    }
    assert_eq!(state(&mut world), from);
    world
}

fn happen(world: &mut World, when: &str) {
    match when {
        "a packet comes over QUIC" => race(world, PathBehavior::Free),
        "three attempts had no packet, TCP worked" => {
            for _ in 0..3 {
                assert_ne!(state(world), "blocked");
                race(world, PathBehavior::Blocked);
            }
        }
        "an attempt had no packet, TCP worked" => race(world, PathBehavior::Blocked),
        "its time passed" => world.pass_time(Duration::from_secs(60)),
        other => panic!("nothing here makes this happen: {other}"),
    }
}

#[test]
fn every_transition_of_udp_happens() {
    let rows = rows("Of UDP on a network:");
    assert!(rows.len() >= 6);
    for [from, when, to] in rows {
        let mut world = begin(from);
        happen(&mut world, when);
        assert_eq!(state(&mut world), to, "{from}: {when}");
    }
}
