//! `commute run --until-decided` adds blocks until every comparison is decided, or the budget is
//! spent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::assert_complete;

/// HTTP/3 saves one of three round trips of 40 ms: a single comparison, as clear as can be.
const STUDY: &str = r#"
name = "clear"
question = "is a round trip noticed?"
networks = ["distant.toml"]
baseline = "h2"
blocks = 2
[[arm]]
name = "h2"
stack = "hyper"
protocol = "h2"
[[arm]]
name = "h3"
stack = "quinn"
protocol = "h3"
[[step]]
call = "echo"
"#;

const NETWORK: &str = r#"
about = "distant"
source = "made up, for tests"
[down]
delay_ms = 20
[up]
delay_ms = 20
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", r#""h3""#, &["{commute}", "driver", "quinn"]);
    sandbox.write("clear.toml", STUDY);
    sandbox.write("distant.toml", NETWORK);
    sandbox
}

#[test]
fn blocks_are_added_until_every_comparison_is_decided() {
    let sandbox = sandbox();
    let args = ["run", "clear.toml", "--until-decided", "--out", "run"];
    let output = sandbox.run(&[&args[..], &["--no-self-test"]].concat());
    let data = sandbox.records("run");
    assert_complete(&data);
    // Intervals that hold at every look take 7 unanimous blocks, fixed ones 6.
    let blocks = data.run().blocks;
    assert!(blocks >= 7 && blocks % 2 == 1, "{blocks}: {output}");
    output
        .exits_with(0)
        .stderr_contains(&format!("blocks: {blocks}; comparisons decided: 1 of 1"))
        .stdout_contains("Use h3");
    assert_eq!(data.run().settings.extended, blocks > 7);
}

#[test]
fn a_spent_budget_ends_the_run_and_names_the_command_to_go_on() {
    let sandbox = sandbox();
    let small = ["run", "clear.toml", "--until-decided", "--blocks", "1"];
    let budget = ["--budget", "1ms", "--out", "run", "--no-self-test"];
    sandbox
        .run(&[&small[..], &budget].concat())
        .exits_with(0)
        .stderr_contains("blocks: 1; comparisons decided: 0 of 1")
        .stderr_contains("the budget is spent; to continue: commute run --resume run");
    sandbox
        .run(&["run", "--resume", "run", "--budget", "1ms"])
        .exits_with(0)
        .stderr_contains("the budget is spent");
    assert_eq!(sandbox.records("run").run().blocks, 1);
}

#[test]
fn a_budget_without_until_decided_is_refused() {
    sandbox()
        .run(&["run", "clear.toml", "--budget", "1m"])
        .exits_with(2)
        .stderr_contains("--budget is for runs with --until-decided");
}
