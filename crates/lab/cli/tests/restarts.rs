//! Studies in which the app's process ends and another starts.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{BASIC_NETWORK, assert_complete, counted_cells};
use record::{CallResult, Cell, Position, Proof, State};

const STUDY: &str = r#"
name = "restarts"
question = "what does a client remember?"
networks = ["basic.toml"]
baseline = "hyper h2"
blocks = 1
timeout_s = 10
[[arm]]
stack = "hyper"
protocol = "h2"
[[arm]]
stack = "quinn"
protocol = "h3"
[[arm]]
stack = "tonic"
protocol = "grpc"
[[arm]]
stack = "client"
protocol = "auto"
discovery = "alt_svc"
[[step]]
call = "before"
times = 8
[[step]]
restart = true
[[step]]
call = "after"
times = 3
[[step]]
restart = true
[[step]]
parallel = true
steps = [{ call = "again", times = 2 }]
"#;

#[test]
fn each_process_is_cold_and_finds_what_the_one_before_has_stored() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    for (name, protocols) in [
        ("quinn", r#""h3""#),
        ("tonic", r#""grpc""#),
        ("client", r#""h2", "h3", "auto""#),
    ] {
        sandbox.add_stack(name, protocols, &["{commute}", "driver", name]);
    }
    sandbox.write("basic.toml", BASIC_NETWORK);
    sandbox.write("restarts.toml", STUDY);
    let output = sandbox
        .run(&["run", "restarts.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let shown = format!(
            "{}: {:?} {:?}: {output}",
            cell.arm, cell.outcome, cell.calls
        );
        assert!(cell.is_measured(), "{shown}");
        assert_eq!(cell.calls.len(), 8 + 3 + 2, "{shown}");
        let is_proven = |c: &record::Call| c.result == CallResult::Ok && c.proof == Proof::Server;
        assert!(cell.calls.iter().all(is_proven), "{shown}");
        for first in [0, 8] {
            assert_eq!(cell.calls[first].state, State::ColdProcess, "{shown}");
        }
        assert_eq!(connections_in_common(cell), 0, "{shown}");
        if cell.arm == "client auto" {
            let protocols = [0, 8].map(|first| cell.calls[first].protocol.as_str());
            assert_eq!(
                protocols,
                ["h2", "h3"],
                "told of HTTP/3 in another process: {shown}"
            );
        } else {
            assert_eq!(cell.connections.len(), 3, "{shown}");
        }
    }
    let planned = data.run().calls.iter();
    let cold = planned.filter(|call| call.position == Position::ColdProcess);
    let groups: Vec<&str> = cold.map(|call| call.group.as_str()).collect();
    assert_eq!(groups, ["before", "after", "again", "again"]);
    sandbox.assert_no_leaks();
}

/// Counts the connections that carried calls of more than one group. Each group had a process of its own.
fn connections_in_common(cell: &Cell) -> usize {
    let of = |call: &record::Call| (call.connection, call.group.clone());
    let mut used: Vec<_> = cell.calls.iter().map(of).collect();
    used.sort_unstable();
    used.dedup();
    used.windows(2)
        .filter(|pair| pair[0].0 == pair[1].0)
        .count()
}
