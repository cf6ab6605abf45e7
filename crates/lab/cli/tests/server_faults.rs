//! Studies whose server has an HTTP/3 that fails, while its TCP works.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{BASIC_NETWORK, assert_complete, counted_cells};
use record::{CallResult, Cell, Proof};

const STUDY: &str = r#"
name = "faults"
question = "what does HTTP/3 that fails cost?"
networks = ["basic.toml"]
baseline = "hyper h2"
blocks = 1
timeout_s = 5
[sweep]
fault = ["no-quic", "quic-stall", "quic-garbage", "quic-reset", "false-alt-svc"]
[[arm]]
stack = "hyper"
protocol = "h2"
[[arm]]
stack = "quinn"
protocol = "h3"
[[arm]]
name = "hinted"
stack = "client"
protocol = "auto"
[[arm]]
name = "told"
stack = "client"
protocol = "auto"
discovery = "alt_svc"
[[step]]
get = "file"
bytes = 1000
times = 2
"#;

#[test]
fn arms_that_avoid_http_3_are_proven_and_a_choice_is_labelled_by_the_server() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", r#""h3""#, &["{commute}", "driver", "quinn"]);
    let client = ["{commute}", "driver", "client"];
    sandbox.add_stack("client", r#""h2", "h3", "auto""#, &client);
    sandbox.write("basic.toml", BASIC_NETWORK);
    sandbox.write("faults.toml", STUDY);
    let output = sandbox
        .run(&["run", "faults.toml", "--out", "run", "--no-self-test"])
        // Resets are failures, and quinn has nothing else where every request is reset.
        .exits_with(3);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let shown = format!("{} {}: {:?}: {output}", cell.network, cell.arm, cell.calls);
        assert!(cell.is_measured(), "{:?} {shown}", cell.outcome);
        let fault = cell.network.split_once("fault=").unwrap().1;
        match (cell.arm.as_str(), fault) {
            ("hyper h2", _) | ("told", "no-quic" | "quic-garbage" | "false-alt-svc") => {
                assert_eq!(answers(cell), [("h2", 1); 2], "{shown}");
            }
            ("quinn h3", "false-alt-svc") => assert_eq!(answers(cell), [("h3", 1); 2], "{shown}"),
            ("quinn h3", "quic-stall" | "quic-reset") => {
                assert!(answers(cell).is_empty(), "{shown}");
                // The server accepted both requests.
                let is_seen = |call: &record::Call| call.proof == Proof::Server;
                assert!(cell.calls.iter().all(is_seen), "{shown}");
            }
            ("quinn h3", _) => {
                assert!(answers(cell).is_empty(), "{shown}");
                let is_claimed = |call: &record::Call| call.proof == Proof::Client;
                assert!(cell.calls.iter().all(is_claimed), "{shown}");
            }
            (_, "no-quic" | "quic-garbage") => {
                assert_eq!(answers(cell), [("h2", 1); 2], "{shown}");
            }
            ("hinted", "quic-stall" | "quic-reset") => {
                // Accepted over HTTP/3, then answered over HTTP/2.
                let answers = answers(cell);
                assert_eq!(answers[0], ("h2", 2), "{shown}");
                assert!(answers.iter().all(|answer| answer.0 == "h2"), "{shown}");
            }
            _ => assert_eq!(answers(cell).len(), 2, "{shown}"),
        }
    }
    let arms = &data.run().arms;
    assert!(
        arms.iter().all(|arm| arm.fault.is_none()),
        "a sweep's levels are in its networks"
    );
    sandbox.assert_no_leaks();
}

/// Returns the protocol that the server saw of each answered call, and the number of its requests.
fn answers(cell: &Cell) -> Vec<(&str, u32)> {
    let answered =
        |call: &&record::Call| call.result == CallResult::Ok && call.proof == Proof::Server;
    let calls = cell.calls.iter().filter(answered);
    calls
        .map(|call| (call.protocol.as_str(), call.server_hits))
        .collect()
}
