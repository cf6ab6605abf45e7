//! Steps that are bound by time, from study to report.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::Pace;

const HEAD: &str = r#"
name = "loads"
question = "how many requests?"
networks = ["basic.toml"]
baseline = "h2"
blocks = 1
timeout_s = 5
margin_ms = 1000
tail_percent = 95
[[arm]]
name = "h2"
stack = "hyper"
protocol = "h2"
[[arm]]
name = "h1"
stack = "hyper"
protocol = "h1"
"#;

fn run(steps: &str) -> (Sandbox, record::RunData) {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.write("loads.toml", &format!("{HEAD}{steps}"));
    sandbox
        .run(&["run", "loads.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    (sandbox, data)
}

#[test]
fn a_closed_loop_ends_with_its_time() {
    let (sandbox, data) = run(r#"
[[step]]
call = "echo"
for_s = 1.5
warmup_s = 0.5
outstanding = 4
[[step]]
call = "after"
times = 21
"#);
    assert_eq!(
        data.run().calls.len(),
        21,
        "only the calls that are planned one by one"
    );
    for cell in counted_cells(&data) {
        assert!(cell.is_measured(), "{:?}", cell.outcome);
        assert_eq!(cell.calls.len(), 21);
        let [load] = &cell.loads[..] else {
            panic!("{:?}", cell.loads)
        };
        // Four in flight, each for at least the round trip of 20 ms. Even a machine on which each
        // takes 300 ms makes some.
        assert!((20..=310).contains(&load.calls), "{load:?}");
        assert!((4..=100).contains(&load.warmup_calls), "{load:?}");
        assert_eq!((load.timed_out, load.failed(), load.late), (0, 0, 0));
        assert_eq!(load.measured_ns, 1_500_000_000);
        assert!(!load.out_of_steps);
        let times = load.distribution().unwrap();
        assert_eq!(times.count(), load.calls);
        assert!(
            times.at_rank(1).unwrap() >= 19_600_000,
            "a round trip takes 20 ms"
        );
        // The measured calls of `after` wait for every request of the load.
        assert!(
            cell.calls[0].start_ns >= 2_000_000_000,
            "{:?}",
            cell.calls[0]
        );
    }
    let report = sandbox.run(&["report", "run", "-v"]).exits_with(0);
    let report = report
        .stdout_contains("echo (1.5 s, 4 in flight): requests per second")
        .stdout_contains("p95 of echo (1.5 s, 4 in flight)");
    assert!(
        !report.stdout.contains("p99.9"),
        "not from so few: {report}"
    );
    let json = sandbox
        .run(&["report", "run", "--format", "json"])
        .exits_with(0);
    json.stdout_contains("\"requests_per_second\"");
    let page = std::fs::read_to_string(sandbox.work().join("run/report.html")).unwrap();
    assert!(page.contains("requests per second and their times"));
}

#[test]
fn an_open_loop_sends_at_its_rate() {
    let (sandbox, data) = run(r#"
[[step]]
get = "file"
bytes = 100
for_s = 1
warmup_s = 0.2
rate_per_s = 50
"#);
    let plan = data.run().groups[0].load.unwrap();
    assert_eq!(plan.pace, Pace::RatePerS(50));
    for cell in counted_cells(&data) {
        assert!(cell.is_measured(), "{:?}", cell.outcome);
        let [load] = &cell.loads[..] else {
            panic!("{:?}", cell.loads)
        };
        assert_eq!((load.calls, load.warmup_calls), (50, 10), "{load:?}");
        let times = load.distribution().unwrap();
        assert!(
            times.at_rank(1).unwrap() >= 19_600_000,
            "a round trip takes 20 ms"
        );
    }
    sandbox
        .run(&["report", "run", "-v"])
        .exits_with(0)
        .stdout_contains("late sends");
}

/// The link carries 10 Mbit/s, hence 12 of these files per second; 60 are asked for.
#[test]
fn an_open_loop_that_is_too_fast_ends_and_shows_it() {
    let (_sandbox, data) = run(r#"
[[step]]
get = "file"
bytes = 100000
for_s = 1
rate_per_s = 60
"#);
    for cell in counted_cells(&data).into_iter().filter(|c| c.arm == "h2") {
        let [load] = &cell.loads[..] else {
            panic!("{:?}", cell.outcome)
        };
        assert_eq!(load.calls, 60, "{load:?}");
        let times = load.distribution().unwrap();
        // 60 files take 4.8 s; the last to end has waited for those before it.
        let longest = times.max_ns().unwrap_or(0);
        assert!(load.timed_out > 0 || longest > 2_000_000_000, "{longest}");
    }
}
