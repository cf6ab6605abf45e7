//! Phones that move to other addresses in the middle of a download.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::{CallResult, Cell, Outcome};

/// 5 MB take 4 s at 10 Mbit/s, so that the move is in the middle of them.
const STUDY: &str = r#"
name = "moves"
question = "who survives a move?"
networks = ["basic.toml"]
baseline = "quinn h3"
blocks = 1
timeout_s = 20
[[arm]]
stack = "quinn"
protocol = "h3"
[[arm]]
stack = "client"
protocol = "h3"
[[arm]]
stack = "hyper"
protocol = "h2"
[[step]]
get = "before"
bytes = 1000
[[step]]
get = "during"
bytes = 5000000
[[step]]
get = "after"
bytes = 1000
times = 3
[[move]]
at_ms = 2000
signal = true
abort_tcp = true
"#;

fn sandbox(study: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", "\"h3\"", &["{commute}", "driver", "quinn"]);
    let client = "\"h2\", \"h3\", \"auto\"";
    sandbox.add_stack("client", client, &["{commute}", "driver", "client"]);
    sandbox.write("basic.toml", common::study::BASIC_NETWORK);
    sandbox.write("study.toml", study);
    sandbox
}

const RUN: [&str; 6] = [
    "run",
    "study.toml",
    "--out",
    "run",
    "--no-self-test",
    "--explain",
];

/// Returns the number of connections that carried calls.
fn connections(cell: &Cell) -> usize {
    let mut used: Vec<u32> = cell.calls.iter().map(|call| call.connection).collect();
    used.sort_unstable();
    used.dedup();
    used.len()
}

#[test]
fn quic_moves_and_tcp_connects_again() {
    let sandbox = sandbox(STUDY);
    let output = sandbox.run(&RUN).exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let shown = format!("{}: {:?}: {output}", cell.arm, cell.outcome);
        let [moved] = &cell.moves[..] else {
            panic!("{:?}: {shown}", cell.moves);
        };
        assert_eq!(moved.signalled, cell.arm == "client h3", "{shown}");
        assert!(moved.left_ns >= Some(moved.at_ns), "{moved:?}: {shown}");
        assert!(moved.at_ns >= 2_000_000_000, "{moved:?}: {shown}");
        let [before, during, after, later @ ..] = &cell.calls[..] else {
            panic!("{shown}");
        };
        for call in [before, after].into_iter().chain(later) {
            assert_eq!(call.result, CallResult::Ok, "{shown}");
        }
        assert!(!before.parts.is_empty(), "{shown}");
        assert!(during.parts.is_empty(), "{shown}");
        assert_eq!(cell.audit.stray_packets, 0, "{shown}");
        if cell.arm == "hyper h2" {
            let failed = matches!(&during.result, CallResult::Error { .. });
            assert!(failed, "{:?}: {shown}", during.result);
            assert_eq!(connections(cell), 2, "{shown}");
            assert!(!later[0].parts.is_empty(), "{shown}");
        } else {
            assert_eq!(during.result, CallResult::Ok, "{shown}");
            assert_eq!(connections(cell), 1, "{shown}");
            // Its packets have two ports, or two addresses.
            assert!(later[0].parts.is_empty(), "{shown}");
        }
    }
    sandbox.assert_no_leaks();
}

#[test]
fn with_an_overlap_tcp_goes_on_and_new_connections_come_from_the_next_address() {
    let overlap = STUDY.replace("signal = true", "overlap_ms = 8000");
    let sandbox = sandbox(&overlap);
    let output = sandbox.run(&RUN).exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let shown = format!("{}: {:?}: {output}", cell.arm, cell.outcome);
        assert_eq!(cell.moves.len(), 1, "{shown}");
        assert_eq!(cell.moves[0].left_ns, None, "{shown}");
        assert!(!cell.moves[0].signalled, "{shown}");
        let all_ok = cell.calls.iter().all(|call| call.result == CallResult::Ok);
        assert!(all_ok, "{:?}: {shown}", cell.calls);
        assert_eq!(connections(cell), 1, "{shown}");
    }
}

#[test]
fn a_move_after_the_last_step_fails_the_cell_with_both_times() {
    let late = STUDY.replace("at_ms = 2000", "at_ms = 19000");
    let sandbox = sandbox(&late);
    sandbox.run(&RUN);
    let data = sandbox.records("run");
    let cells = data.cells();
    assert!(!cells.is_empty());
    for cell in cells {
        let Outcome::Failed { reason } = &cell.outcome else {
            panic!("{:?}", cell.outcome);
        };
        assert!(reason.contains("before the move at 19000 ms"), "{reason}");
    }
}
