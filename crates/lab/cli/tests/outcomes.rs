//! Unsupported arms are recorded with the reason, and timeouts are reported in place of times.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{BASIC_NETWORK, SMALL_STUDY, assert_complete, counted_cells};
use record::{CallResult, Cell, Outcome, Store};

/// Writes `other.toml`: [`SMALL_STUDY`] with two more arms; the caller chooses the one called `other`.
fn add_arm(sandbox: &Sandbox, stack: &str, protocol: &str) {
    let arm =
        format!("[[arm]]\nname = \"other\"\nstack = \"{stack}\"\nprotocol = \"{protocol}\"\n");
    let measured = "[[arm]]\nstack = \"hyper\"\nprotocol = \"h1\"\n[[step]]";
    let study = SMALL_STUDY
        .replace("blocks = 2", "blocks = 1\nmin_clean_percent = 100")
        .replace("[[step]]", &(arm + measured));
    sandbox.write("other.toml", &study);
}

/// Runs `other.toml`, checks that only the arm `other` is unsupported, and returns the reason and standard
/// error.
fn unsupported_reason(sandbox: &Sandbox) -> (String, String) {
    let output = sandbox
        .run(&["run", "other.toml", "--out", "run", "--no-self-test"])
        .exits_with(3)
        .stderr_contains("threshold:")
        .stdout_contains("1 unsupported");
    let data = sandbox.records("run");
    assert_complete(&data);
    let mut reasons = Vec::new();
    for cell in counted_cells(&data) {
        match &cell.outcome {
            Outcome::Unsupported { reason } if cell.arm == "other" => reasons.push(reason.clone()),
            _ => assert!(cell.is_measured(), "{:?}: {output}", cell.outcome),
        }
    }
    assert_eq!(reasons.len(), 1, "{output}");
    (reasons.remove(0), output.stderr)
}

#[test]
fn missing_program_is_unsupported_with_install_hint() {
    for program in ["/no/such/python3", "no-such-python3"] {
        let sandbox = Sandbox::new();
        sandbox.add_small_study();
        sandbox.add_stack("python", r#""h2""#, &[program, "driver.py"]);
        add_arm(&sandbox, "python", "h2");
        let (reason, _) = unsupported_reason(&sandbox);
        assert!(reason.contains("python3"), "{reason}");
        assert!(reason.ends_with(": make python"), "{reason}");
    }
}

#[test]
fn protocol_that_the_driver_lacks_is_unsupported() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    add_arm(&sandbox, "hyper", "h3");
    let (reason, stderr) = unsupported_reason(&sandbox);
    assert!(reason.contains("h3"), "{reason}");
    let warning = "warning: arm `other`: hyper does not offer h3";
    assert!(stderr.starts_with(warning), "{stderr}");
}

#[test]
fn the_reason_is_printed_once_for_each_arm() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    add_arm(&sandbox, "hyper", "h3");
    let args = ["run", "other.toml", "--no-self-test", "--blocks", "2"];
    let output = sandbox
        .run(&args)
        .exits_with(3)
        .stdout_contains("2 unsupported");
    assert_eq!(
        output.stderr.matches("unsupported: ").count(),
        1,
        "{output}"
    );
}

/// Writes `slow-study.toml`, all of whose requests time out.
fn add_slow_study(sandbox: &Sandbox, blocks: u32) {
    sandbox.add_small_study();
    // 100 kB take 8 s at 100 kbit/s, far more than the timeout of 1.5 s.
    let slow = BASIC_NETWORK
        .replace("rate_kbps = 10000", "rate_kbps = 100")
        .replace("queue_ms = 100", "queue_ms = 1000");
    sandbox.write("slow.toml", &slow);
    let study = SMALL_STUDY
        .replace("basic.toml", "slow.toml")
        .replace("blocks = 2", &format!("blocks = {blocks}"))
        .replace("timeout_s = 5", "timeout_s = 1.5")
        .replace(
            "call = \"echo\"\ntimes = 2",
            "get = \"image\"\nbytes = 100000",
        );
    sandbox.write("slow-study.toml", &study);
}

#[test]
fn requests_slower_than_the_timeout_are_censored() {
    let sandbox = Sandbox::new();
    add_slow_study(&sandbox, 1);
    let output = sandbox
        .run(&["run", "slow-study.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        assert!(cell.is_measured(), "{:?}: {output}", cell.outcome);
        assert_eq!(cell.calls.len(), 1);
        let call = &cell.calls[0];
        assert_eq!(call.result, CallResult::TimedOut, "{output}");
        assert!(
            call.end_ns >= 1_500_000_000,
            "ended before the timeout: {call:?}"
        );
    }
    // The report shows the timeouts of clean cells, and on a busy machine these may be noisy; so
    // report a copy in which they are clean.
    let copy = Store::create(sandbox.work().join("clean")).unwrap();
    copy.write_run(data.run()).unwrap();
    for cell in counted_cells(&data) {
        let clean = Cell {
            outcome: Outcome::Clean,
            ..cell.clone()
        };
        copy.write_cell(&clean).unwrap();
    }
    sandbox
        .run(&["report", "clean"])
        .exits_with(0)
        .stdout_contains("timed out");
}

/// Two cells of each arm wait for their timeouts, and no later one does, in a resumed run either.
#[test]
fn arms_that_only_time_out_are_given_up() {
    let sandbox = Sandbox::new();
    add_slow_study(&sandbox, 3);
    let first = sandbox.run(&["run", "slow-study.toml", "--out", "run", "--no-self-test"]);
    let reason = "all 2 requests of the arm's first 2 cells on this network timed out";
    let output = first
        .exits_with(3)
        .stderr_contains("every request timed out")
        .stderr_contains(&format!(
            "given up, and every later cell: {reason}; if the server was down, run again with another --out"
        ))
        .stdout_contains("No answer: 1 of 3 cells of one were given up: all 2 requests of");
    assert_eq!(output.stderr.matches("given up").count(), 2, "{output}");
    let extended = sandbox.run(&["run", "--resume", "run", "--blocks", "5"]);
    extended.exits_with(3).stdout_contains("6 given up");
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let expected = if cell.block < 2 { 1 } else { 0 };
        assert_eq!(cell.calls.len(), expected, "{}", cell.id);
        let is_given_up = matches!(cell.outcome, Outcome::GivenUp { .. });
        assert_eq!(is_given_up, cell.block >= 2, "{}", cell.id);
    }
}

/// A study without its baseline has no answer, so nothing is run.
#[test]
fn missing_baseline_is_refused_before_the_run() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("absent", r#""h2""#, &["{stack}/no-such-driver"]);
    let study = SMALL_STUDY.replacen("\"hyper\"", "\"absent\"", 1);
    sandbox.write("ours.toml", &study);
    let reason = "`one`, the baseline, cannot be measured: not installed (stacks/absent/no-such-driver is \
                  missing); needs: make absent";
    let dry_run = sandbox
        .run(&["run", "ours.toml", "--dry-run"])
        .exits_with(0);
    let warning = format!("warning: this study will not be run: {reason}");
    assert!(dry_run.stdout.contains(&warning), "{dry_run}");
    let refused = sandbox.run(&["run", "ours.toml"]).exits_with(4);
    assert!(refused.stderr.contains(reason), "{refused}");
    assert!(!sandbox.work().join("runs").exists());
}

/// With nothing to compare the baseline with a study has no answer, so nothing is run.
#[test]
fn study_without_an_arm_to_compare_is_refused_before_the_run() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("absent", r#""h2""#, &["{stack}/no-such-driver"]);
    let arms = "[[arm]]\nname = \"frames\"\nstack = \"hyper\"\nprotocol = \"h2\"\nobserve = \"frame:60\"\n\
                [[arm]]\nstack = \"absent\"\nprotocol = \"h2\"\n[[step]]";
    let study = SMALL_STUDY.replace("[[step]]", arms);
    sandbox.write("ours.toml", &study);
    let refused = sandbox.run(&["run", "ours.toml"]);
    refused
        .exits_with(4)
        .stderr_contains("ours.toml: no arm can be compared with the baseline")
        .stderr_contains("arms that remain: `one` (baseline), `two` (A/A)\n")
        .stderr_contains("arm `frames`: observe: hyper does not offer it\n")
        .stderr_contains("arm `absent h2`: not installed (stacks/absent/no-such-driver is missing)")
        .stderr_contains("`commute stacks` lists what each stack offers");
    assert!(!sandbox.work().join("runs").exists());
}

/// What only the driver's hello tells is known before the run, and does not stop it.
#[test]
fn arms_that_cannot_do_the_study_are_named_before_the_run() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let arm = |name: &str, more: &str| {
        format!("[[arm]]\nname = \"{name}\"\nstack = \"hyper\"\nprotocol = \"h1\"\n{more}\n")
    };
    let arms = arm("frames", "observe = \"frame:60\"") + &arm("h1", "") + "[[step]]";
    sandbox.write("ours.toml", &SMALL_STUDY.replace("[[step]]", &arms));
    let dry_run = sandbox.run(&["run", "ours.toml", "--dry-run"]);
    dry_run
        .exits_with(0)
        .stdout_contains("warning: arm `frames`: observe: hyper does not offer it\n")
        .stdout_contains(
            "warning: arms that remain: `one` (baseline), `two` (A/A), `h1`; cells of the others",
        );
}

/// A driver that does not start is noticed before the link does.
#[test]
fn driver_that_does_not_start_is_refused_as_the_baseline() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("broken", r#""h2""#, &["/bin/false"]);
    sandbox.write("ours.toml", &SMALL_STUDY.replace("\"hyper\"", "\"broken\""));
    let refused = sandbox.run(&["run", "ours.toml"]);
    refused
        .exits_with(4)
        .stderr_contains("`one`, the baseline, cannot be measured: its driver does not start: ");
}
