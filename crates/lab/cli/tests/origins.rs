//! Studies whose files are on another origin than their API.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{BASIC_NETWORK, assert_complete, counted_cells};
use record::{CallResult, Cell, Proof};

const STUDY: &str = r#"
name = "origins"
question = "what does another origin for files cost?"
networks = ["basic.toml"]
baseline = "h1 one"
blocks = 1
timeout_s = 10

[origins]
files = "same-server"

[[step]]
call = "api"
[[step]]
get = "files"
bytes = 100000
origin = "files"
[[step]]
call = "api"
[[step]]
get = "files"
bytes = 100000
origin = "files"
"#;

fn arms() -> String {
    let arm = |(protocol, origins): (&str, &str)| {
        format!(
            "[[arm]]\nname = \"{protocol} {origins}\"\nstack = \"hyper\"\nprotocol = \"{protocol}\"\n\
             origins = \"{origins}\"\n"
        )
    };
    ["h1", "h2"]
        .into_iter()
        .flat_map(|protocol| ["one", "same-server", "own-server"].map(|at| (protocol, at)))
        .map(arm)
        .collect()
}

/// Returns the connection of each call, in order.
fn connections(cell: &Cell) -> Vec<u32> {
    cell.calls.iter().map(|call| call.connection).collect()
}

#[test]
fn each_origin_of_hyper_has_a_connection_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.write("basic.toml", BASIC_NETWORK);
    sandbox.write("origins.toml", &format!("{STUDY}{}", arms()));
    sandbox
        .run(&["run", "origins.toml", "--out", "run"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    let cells = counted_cells(&data);
    assert_eq!(cells.len(), 6);
    for cell in cells {
        let is_answered = |c: &record::Call| c.result == CallResult::Ok && c.proof == Proof::Server;
        assert!(cell.calls.iter().all(is_answered), "{}", cell.arm);
        // hyper uses a connection only for the name that it was opened for.
        let expected = match cell.arm.ends_with(" one") {
            true => vec![1, 1, 1, 1],
            false => vec![1, 2, 1, 2],
        };
        assert_eq!(connections(cell), expected, "{}", cell.arm);
        let opened = expected.iter().max().copied().unwrap() as usize;
        assert_eq!(cell.connections.len(), opened, "{}", cell.arm);
    }
    let arms = &data.run().arms;
    let own = arms.iter().find(|arm| arm.name == "h2 own-server").unwrap();
    assert_eq!(own.origins["files"], "own-server");
    let one = arms.iter().find(|arm| arm.name == "h2 one").unwrap();
    assert!(one.origins.is_empty());
    sandbox.assert_no_leaks();
}
