//! A NAT that drops its mappings in the middle of a download: QUIC goes on, TCP does not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::CallResult;

/// 5 MB take 4 s at 10 Mbit/s, so that the rebinding is in the middle of them.
const NETWORK: &str = "\n[nat]\nrebind_at_ms = [2000]\n";
const STUDY: &str = r#"
name = "rebinding"
question = "who survives a rebinding?"
networks = ["rebinding.toml"]
baseline = "quinn h3"
blocks = 1
timeout_s = 20
[[arm]]
stack = "quinn"
protocol = "h3"
[[arm]]
stack = "hyper"
protocol = "h2"
[[step]]
get = "during"
bytes = 5000000
[[step]]
get = "after"
bytes = 1000
times = 3
"#;

#[test]
fn quic_survives_a_rebinding_and_tcp_connects_again() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", "\"h3\"", &["{commute}", "driver", "quinn"]);
    let basic = common::study::BASIC_NETWORK;
    sandbox.write("rebinding.toml", &format!("{basic}{NETWORK}"));
    sandbox.write("study.toml", STUDY);
    let output = sandbox
        .run(&["run", "study.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let [during, after, later @ ..] = &cell.calls[..] else {
            panic!("{}: {:?}: {output}", cell.arm, cell.outcome);
        };
        for call in [after].into_iter().chain(later) {
            assert_eq!(call.result, CallResult::Ok, "{}: {output}", cell.arm);
        }
        if cell.arm == "quinn h3" {
            assert_eq!(during.result, CallResult::Ok, "{output}");
            assert_eq!(after.connection, during.connection);
            assert_eq!(cell.connections.len(), 1);
        } else {
            let failed = matches!(&during.result, CallResult::Error { .. });
            assert!(failed, "{:?}: {output}", during.result);
            assert!(after.first, "{after:?}");
            assert_eq!(cell.connections.len(), 2);
        }
    }
}
