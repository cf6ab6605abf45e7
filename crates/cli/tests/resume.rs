//! Whatever interrupts a run, `--resume` completes it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::command::{Running, until};
use common::study::{records, whole};
use common::{House, leaks, names};
use rustix::process::{Pid, Signal};

const ARGS: [&str; 5] = ["run", "small.toml", "--blocks", "3", "--no-self-test"];

/// A moment in a run, seen from outside: the run's folder and the processes below `commute`.
type Moment = fn(&Path, Pid) -> bool;

/// The moments at which a run is killed, in the order in which a run passes them.
const MOMENTS: [(&str, Moment); 10] = [
    ("at its start", |_, _| true),
    ("with its folder made", |out, _| out.join("cells").is_dir()),
    ("with a bench", |_, pid| !leaks::below(pid).is_empty()),
    ("with run.json", |out, _| out.join("run.json").exists()),
    ("with a cell's folder", |out, _| scratch_dirs(out) > 0),
    ("with a driver", |_, pid| has_driver(pid)),
    ("with a first record", |out, _| records_in(out) > 0),
    ("with two records", |out, _| records_in(out) > 1),
    ("with a driver after three records", |out, pid| {
        records_in(out) > 2 && has_driver(pid)
    }),
    ("with four records", |out, _| records_in(out) > 3),
];

#[test]
fn kill_9_at_any_moment_loses_nothing() {
    let mut house = House::new();
    house.small_study();
    house.kill_leaves_temporary_files();
    for (name, moment) in MOMENTS {
        let out = house.work().join(name.replace(' ', "-"));
        let args = [&ARGS[..], &["--out", out.to_str().unwrap()]].concat();
        let mut running = Running::start(house.commute(&args));
        until(name, || moment(&out, running.pid()));
        running.child.kill().unwrap();
        let said = running.end();
        assert!(!said.status.success(), "killed too late {name}: {said}");
        house.nothing_is_left();
        if out.join("run.json").exists() {
            // Reading checks that every record is complete.
            records(&out);
            let args = [&ARGS[..], &["--resume", out.to_str().unwrap()]].concat();
            house.run(&args).code(0);
            whole(&records(&out));
        }
    }
}

fn has_driver(commute: Pid) -> bool {
    let below = leaks::below(commute);
    below
        .iter()
        .any(|(_, name)| name.starts_with("commute-driver"))
}

fn records_in(out: &Path) -> usize {
    let complete = |name: &&String| name.ends_with(".json") && !name.starts_with('.');
    entries(&out.join("cells")).iter().filter(complete).count()
}

fn scratch_dirs(out: &Path) -> usize {
    let scratch = |name: &&String| name.starts_with(".cell-");
    entries(out).iter().filter(scratch).count()
}

/// The names in a folder; none while it does not exist.
fn entries(dir: &Path) -> Vec<String> {
    if dir.is_dir() { names(dir) } else { Vec::new() }
}

#[test]
fn ctrl_c_leaves_a_valid_part_that_resumes() {
    let house = House::new();
    house.small_study();
    let args = [&ARGS[..], &["--out", "run"]].concat();
    let running = Running::start(house.commute(&args));
    let cells = house.work().join("run/cells");
    until("the first record", || {
        cells.is_dir() && names(&cells).iter().any(|name| name.ends_with(".json"))
    });
    running.signal(Signal::INT);
    let said = running
        .end()
        .code(130)
        .complains("stopped; to continue: commute run small.toml");
    let part = house.records("run");
    assert!(part.cells().len() < part.run().plan.len(), "{said}");
    assert!(house.work().join("run/report.html").is_file(), "{said}");

    for (other, differs) in [
        (["--seed", "9"], "the seed differs"),
        (["--blocks", "4"], "the set of cells differs"),
    ] {
        let args = [&["run", "small.toml", "--resume", "run"], &other[..]].concat();
        house.run(&args).code(1).complains(differs);
    }
    house
        .run(&["run", "small.toml", "--out", "run", "--no-self-test"])
        .code(1)
        .complains("--resume");

    let args = [&ARGS[..], &["--resume", "run"]].concat();
    house.run(&args).code(0);
    whole(&house.records("run"));
}
