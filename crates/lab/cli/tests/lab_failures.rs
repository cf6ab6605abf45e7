//! Failures of the lab itself are never recorded against an arm, and cost no result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Command, Stdio};

use common::command::{Running, wait_until};
use common::process::{descendants, has_argument, has_driver};
use common::study::{assert_complete, record_count};
use common::{CommandOutput, Sandbox, User};
use record::{Outcome, RunData};
use rustix::process::{Pid, Signal, kill_process};

const ARGS: [&str; 7] = [
    "run",
    "small.toml",
    "--blocks",
    "3",
    "--out",
    "run",
    "--no-self-test",
];

#[track_caller]
fn assert_none_failed(data: &RunData) {
    for cell in data.cells() {
        let failed = matches!(cell.outcome, Outcome::Failed { .. });
        assert!(!failed, "{}: {:?}", cell.id, cell.outcome);
    }
}

#[test]
fn a_cell_whose_bench_was_killed_is_run_again() {
    let mut sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.allow_temporary_files();
    let running = Running::start(sandbox.commute(&ARGS));
    let run = sandbox.work().join("run");
    wait_until("a driver after the first record", || {
        record_count(&run) > 0 && has_driver(running.pid())
    });
    // The first only waits for the second, which is process 1 of the bench.
    let (init, _) = (descendants(running.pid()).into_iter())
        .rfind(|(pid, _)| has_argument(*pid, "bench-init"))
        .unwrap();
    kill_process(init, Signal::KILL).unwrap();
    running
        .finish()
        .exits_with(0)
        .stderr_contains("the lab failed: bench: ");
    let data = sandbox.records("run");
    assert_complete(&data);
    assert_none_failed(&data);
}

#[test]
fn a_cell_whose_server_was_killed_is_run_again() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let running = Running::start(sandbox.commute(&ARGS));
    let run = sandbox.work().join("run");
    wait_until("a driver after the first record", || {
        record_count(&run) > 0 && has_driver(running.pid())
    });
    let (server, _) = (descendants(running.pid()).into_iter())
        .rfind(|(pid, _)| has_argument(*pid, "serve"))
        .unwrap();
    kill_process(server, Signal::KILL).unwrap();
    let output = running
        .finish()
        .exits_with(0)
        .stderr_contains("the lab failed: server: ");
    // The last line that the server printed is part of the message, and must not be of another matter.
    assert!(!output.stderr.contains("whoever reaches"), "{output}");
    let data = sandbox.records("run");
    assert_complete(&data);
    assert_none_failed(&data);
}

#[test]
fn a_second_writer_is_refused_and_disturbs_nothing() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let running = Running::start(sandbox.commute(&ARGS));
    let run = sandbox.work().join("run");
    wait_until("the first record", || record_count(&run) > 0);
    sandbox
        .run(&["run", "--resume", "run"])
        .exits_with(1)
        .stderr_contains("another commute is running into this folder");
    running.finish().exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    assert_none_failed(&data);
}

#[test]
fn a_full_disk_costs_no_cell() {
    let sandbox = Sandbox::new();
    if !common::is_root() {
        return testing::skip("only root can mount a small disk");
    }
    sandbox.add_small_study();
    std::fs::create_dir(sandbox.work().join("disk")).unwrap();
    // The mount disappears with its mount namespace. The run is first stopped by the full disk, then
    // completed on a larger one.
    let script = "mount -t tmpfs -o size=40k none disk && \
        ! \"$0\" run small.toml --blocks 12 --out disk/run --no-self-test && \
        mount -o remount,size=10m disk && \
        \"$0\" run --resume disk/run && cp -r disk/run run";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_commute")]);
    sandbox.configure(&mut command, User::Caller);
    CommandOutput::of(command)
        .exits_with(0)
        .stderr_contains("No space left on device")
        .stderr_contains("continue with --resume");
    let data = sandbox.records("run");
    assert_complete(&data);
    assert_none_failed(&data);
}

#[test]
fn a_reader_that_goes_away_ends_nothing() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    // `head` ends after the first line of progress; the run goes on and ends as if nobody had left.
    let mut command = sandbox.commute(&ARGS);
    command.stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop((child.stderr.take(), child.stdout.take()));
    assert!(child.wait().unwrap().success());
    assert_complete(&sandbox.records("run"));
}

#[test]
fn an_interrupted_run_says_so_without_a_reader() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let mut command = sandbox.commute(&ARGS);
    command.stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop((child.stderr.take(), child.stdout.take()));
    let run = sandbox.work().join("run");
    wait_until("the first record", || record_count(&run) > 0);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
