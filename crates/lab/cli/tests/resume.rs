//! `commute run --resume` completes an interrupted run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::command::{Running, wait_until};
use common::process::{descendants, has_driver, is_driver};
use common::study::{assert_complete, record_count, records};
use common::{Sandbox, file_names};
use record::{Cell, RunData};
use rustix::process::{Pid, Signal, kill_process};

const ARGS: [&str; 5] = ["run", "small.toml", "--blocks", "3", "--no-self-test"];

/// Returns whether a run has reached a point, from its folder and the process ID of `commute`.
type Reached = fn(&Path, Pid) -> bool;

/// The points at which a run of six cells is killed, in the order in which it reaches them.
const KILL_POINTS: [(&str, Reached); 10] = [
    ("start", |_, _| true),
    ("folder", |out, _| out.join("cells").is_dir()),
    ("bench", |_, pid| !descendants(pid).is_empty()),
    ("run.json", |out, _| out.join("run.json").exists()),
    ("folder of a cell", has_cell_folder),
    ("driver", |_, pid| has_driver(pid)),
    ("first record", |out, _| record_count(out) > 0),
    ("two records", |out, _| record_count(out) > 1),
    ("driver after three records", |out, pid| {
        record_count(out) > 2 && has_driver(pid)
    }),
    ("four records", |out, _| record_count(out) > 3),
];

#[test]
fn run_killed_at_any_point_can_be_resumed() {
    let mut sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.allow_temporary_files();
    for (point, reached) in KILL_POINTS {
        let out = sandbox.work().join(point.replace(' ', "-"));
        let args = [&ARGS[..], &["--out", out.to_str().unwrap()]].concat();
        let mut running = Running::start(sandbox.commute(&args));
        wait_until(point, || reached(&out, running.pid()));
        running.child.kill().unwrap();
        let output = running.finish();
        let killed = !output.status.success();
        assert!(killed, "the run ended before the kill at {point}: {output}");
        sandbox.assert_no_leaks();
        if out.join("run.json").exists() {
            // Fails if a record is incomplete.
            records(&out);
            sandbox
                .run(&["run", "--resume", out.to_str().unwrap()])
                .exits_with(0);
            assert_complete(&records(&out));
        }
    }
}

/// Returns whether the temporary folder of a running cell exists.
fn has_cell_folder(out: &Path, pid: Pid) -> bool {
    let tmp = out.parent().unwrap().with_file_name("tmp");
    let prefix = format!(".commute-cell-{}-", pid.as_raw_nonzero());
    let is_cell_folder = |name: &String| name.starts_with(&prefix);
    file_names(&tmp).iter().any(is_cell_folder)
}

/// Before the first cell there is nothing to report, whether the self-test passes or, as here, cannot be made: on a
/// busy machine it may fail as well.
#[test]
fn run_stopped_in_its_self_test_has_no_report() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let running = Running::start(sandbox.commute(&["run", "small.toml", "--out", "run"]));
    // The bench on which stacks are asked what they can do precedes the run's folder.
    let run = sandbox.work().join("run");
    let mut stopped = None;
    wait_until("a driver of the self-test", || {
        let mut processes = descendants(running.pid()).into_iter();
        let driver = processes.find(|(pid, _)| run.exists() && is_driver(*pid));
        stopped = driver.filter(|(pid, _)| kill_process(*pid, Signal::STOP).is_ok());
        stopped.is_some()
    });
    running.signal(Signal::INT);
    running.wait_for_stderr("stopping after the self-test; press Ctrl-C again");
    kill_process(stopped.unwrap().0, Signal::KILL).unwrap();
    let output = running
        .finish()
        .exits_with(130)
        .stderr_contains("stopped before the first cell");
    assert_eq!(output.stdout, "", "{output}");
    assert!(!run.exists(), "{output}");
}

#[test]
fn run_stopped_by_ctrl_c_is_reported_and_can_be_resumed() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let args = [&ARGS[..], &["--out", "run"]].concat();
    let running = Running::start(sandbox.commute(&args));
    let run = sandbox.work().join("run");
    wait_until("the first record", || record_count(&run) > 0);
    running.signal(Signal::INT);
    let output = running
        .finish()
        .exits_with(130)
        .stderr_contains("stopped; to continue: commute run --resume run");
    let part = sandbox.records("run");
    assert!(part.cells().len() < part.run().plan.len(), "{output}");
    assert!(sandbox.work().join("run/report.html").is_file(), "{output}");

    for other in [
        &["small.toml"][..],
        &["--seed", "9"],
        &["--shard", "1/2"],
        &["--quick"],
    ] {
        let args = [&["run", "--resume", "run"], other].concat();
        sandbox
            .run(&args)
            .exits_with(2)
            .stderr_contains("cannot be used with");
    }
    sandbox
        .run(&["run", "--resume", "run", "--blocks", "2"])
        .exits_with(2)
        .stderr_contains("the run has 3 blocks already");
    sandbox
        .run(&["run", "small.toml", "--out", "run", "--no-self-test"])
        .exits_with(2)
        .stderr_contains("--resume");

    // The study is not needed any more.
    std::fs::remove_file(sandbox.work().join("small.toml")).unwrap();
    std::fs::remove_file(sandbox.work().join("basic.toml")).unwrap();
    sandbox.run(&["run", "--resume", "run"]).exits_with(0);
    assert_complete(&sandbox.records("run"));
}

/// A scheduler signals all processes of a job. What its signal ends has not failed.
#[test]
fn a_cell_whose_driver_the_signal_ends_counts_as_not_run() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let args = [&ARGS[..], &["--out", "run"]].concat();
    let running = Running::start(sandbox.commute(&args));
    let run = sandbox.work().join("run");
    let mut stopped = None;
    wait_until("a driver after the first record", || {
        let mut processes = descendants(running.pid()).into_iter();
        let driver = processes.find(|(pid, _)| record_count(&run) > 0 && is_driver(*pid));
        stopped = driver.filter(|(pid, _)| kill_process(*pid, Signal::STOP).is_ok());
        stopped.is_some()
    });
    running.signal(Signal::TERM);
    running.wait_for_stderr("finishing the current cell");
    kill_process(stopped.unwrap().0, Signal::KILL).unwrap();
    let output = running.finish().exits_with(130);
    let part = sandbox.records("run");
    assert!(part.cells().len() < part.run().plan.len(), "{output}");
    assert!(part.cells().iter().all(Cell::is_measured), "{output}");
    sandbox.run(&["run", "--resume", "run"]).exits_with(0);
    assert_complete(&sandbox.records("run"));
}

/// The command of a task that a scheduler may start again.
#[test]
fn one_command_begins_a_run_and_continues_it() {
    let sandbox = Sandbox::new();
    let study = sandbox.add_small_study();
    let run = |more: &[&str]| {
        let command = [
            "run",
            "small.toml",
            "--out",
            "run",
            "--or-resume",
            "--no-self-test",
        ];
        sandbox.run(&[&command[..], more].concat())
    };
    let part = ["--shard", "2/2", "--blocks", "4"];
    run(&part).exits_with(0);
    let before = sandbox.records("run");
    let last = before.cells().last().unwrap().file_name();
    std::fs::remove_file(sandbox.work().join("run/cells").join(last)).unwrap();
    // With options that a record does not have.
    let gate = ["--yes", "--fail-if", "errors > 90%", "--allow-undecided"];
    let same = [part, gate].concat();
    run(&same).exits_with(0);
    let after = sandbox.records("run");
    assert_eq!(after.run(), before.run());
    assert_eq!(ids(&after), ids(&before));

    for (more, what) in [
        (&["--shard", "1/2", "--blocks", "4"][..], "the shard"),
        (
            &["--shard", "2/2", "--blocks", "4", "--seed", "9"],
            "the seed",
        ),
        (&["--shard", "2/2"], "the set of cells"),
        (&["--shard", "2/2", "--blocks", "4", "--pcap"], "--pcap"),
    ] {
        run(more)
            .exits_with(2)
            .stderr_contains("run: this folder holds another run (")
            .stderr_contains(what);
    }
    let other = std::fs::read_to_string(&study)
        .unwrap()
        .replace("times = 2", "times = 3");
    std::fs::write(&study, &other).unwrap();
    run(&same)
        .exits_with(2)
        .stderr_contains("(the study differs)");
    assert_eq!(sandbox.records("run").cells(), after.cells());

    std::fs::write(&study, other.replace("times = 3", "times = 2")).unwrap();
    run(&["--shard", "2/2", "--blocks", "6"]).exits_with(0);
    assert!(sandbox.records("run").run().settings.extended);
}

/// Returns the cells with a record. A block that was interrupted for long is run again from its first cell.
fn ids(data: &RunData) -> BTreeSet<&str> {
    data.cells().iter().map(|cell| cell.id.as_str()).collect()
}

#[test]
fn a_run_is_extended_as_if_it_had_been_planned_so() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let run = |args: &[&str]| {
        sandbox
            .run(&[&["run", "--no-self-test"], args].concat())
            .exits_with(0);
    };
    run(&["small.toml", "--blocks", "1", "--out", "run"]);
    let before = sandbox.records("run");
    run(&["--resume", "run", "--blocks", "3"]);
    run(&["small.toml", "--blocks", "3", "--out", "planned"]);
    let (extended, planned) = (sandbox.records("run"), sandbox.records("planned"));
    assert_complete(&extended);
    assert_eq!(extended.run().plan, planned.run().plan);
    assert_eq!(extended.run().blocks, 3);
    for cell in before.cells() {
        assert!(extended.cells().contains(cell));
    }
}
