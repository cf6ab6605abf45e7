//! Takes a router through each transition that `docs/reference/client-states.md` names.

mod calls;
#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod h3;
mod udp;

use common::World;
use route::{Event, Fault};

const PAGE: &str = include_str!("../../../../../docs/reference/client-states.md");

/// Returns the rows of the first table after this line: from, when, to.
fn rows(line: &str) -> Vec<[&'static str; 3]> {
    let after = PAGE.lines().skip_while(|at| !at.starts_with(line));
    let table = after.skip_while(|at| !at.starts_with("| from |")).skip(2);
    let cells = |row: &'static str| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not three columns: {row}"))
    };
    table
        .take_while(|at| at.starts_with('|'))
        .map(cells)
        .collect()
}

/// Closes all connections, as their peers would.
fn lose_connections(world: &mut World) {
    for conn in world.conns.keys().copied().collect::<Vec<_>>() {
        world.conns.remove(&conn);
        world.handle(Event::Closed {
            conn,
            fault: Fault::Reset,
        });
    }
}
