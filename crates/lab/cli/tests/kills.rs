//! Ends a run, its bench or its driver at random moments, then resumes the run: no cell is lost,
//! doubled or recorded by half, and nothing stays behind.
//!
//! `make kills` does it 60 times, and prints a table: `COMMUTE_KILLS` is how often. Runs measure one and two cells at a time
//! in turn; `COMMUTE_KILLS_JOBS=2` has all of them measure two.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::command::Running;
use common::process::descendants;
use common::study::assert_complete;
use common::{Sandbox, file_names};
use record::{Cell, Outcome, RunData};
use rustix::process::{Pid, Signal, kill_process};

/// One of each kind, with one and two jobs in turn.
const DEFAULT_KILLS: u64 = 7;
/// Blocks of two cells, so that two jobs have two cells in flight for most of a run.
const BLOCKS: &str = "4";
/// With one job, a run takes about this long. With two it takes two thirds of that.
const MAX_DELAY_MS: u64 = 6_000;

/// What is done to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Blow {
    Signal(i32),
    TwiceInterrupted,
    Bench,
    Driver,
}

const BLOWS: [Blow; 7] = [
    Blow::Signal(9),
    Blow::Signal(1),
    Blow::Signal(15),
    Blow::Signal(2),
    Blow::TwiceInterrupted,
    Blow::Bench,
    Blow::Driver,
];

#[derive(Default)]
struct Tally {
    runs: u32,
    resumed: u32,
    /// Records at the time of the kill.
    records: usize,
    /// Cells without a record that were in flight at the time of the kill, as far as their folders show.
    in_flight: usize,
    failed_cells: usize,
}

#[test]
fn killed_runs_lose_at_most_the_cells_in_flight() {
    let number_of = |name: &str| Some(std::env::var(name).ok()?.parse::<u64>().unwrap());
    let kills = number_of("COMMUTE_KILLS").unwrap_or(DEFAULT_KILLS);
    let always = number_of("COMMUTE_KILLS_JOBS");
    let sandbox = {
        let mut sandbox = Sandbox::new();
        sandbox.add_small_study();
        // The last run may be killed. What it leaves is checked below.
        sandbox.allow_temporary_files();
        sandbox
    };
    let mut table = BTreeMap::<(u64, Blow), Tally>::new();
    for (number, &blow) in (0..kills).zip(BLOWS.iter().cycle()) {
        let jobs = always.unwrap_or(1 + number % 2);
        let tally = table.entry((jobs, blow)).or_default();
        tally.runs += 1;
        strike_and_resume(&sandbox, number, blow, jobs, tally);
    }
    println!("jobs  blow               runs  resumed  records before  in flight  failed cells");
    for ((jobs, blow), tally) in &table {
        println!(
            "{jobs:>4}  {:<17}  {:>4}  {:>7}  {:>14}  {:>9}  {:>12}",
            format!("{blow:?}"),
            tally.runs,
            tally.resumed,
            tally.records,
            tally.in_flight,
            tally.failed_cells
        );
    }
}

fn strike_and_resume(sandbox: &Sandbox, number: u64, blow: Blow, jobs: u64, tally: &mut Tally) {
    let context = format!("run {number}, {blow:?}, {jobs} jobs");
    let name = format!("run-{number}");
    let out = sandbox.work().join(&name);
    let jobs_text = jobs.to_string();
    // Of runs that were killed before they could be resumed.
    let earlier = file_names(&sandbox.dir().join("tmp"));
    let running = Running::start(sandbox.commute(&[
        "run",
        "small.toml",
        "--blocks",
        BLOCKS,
        "--jobs",
        &jobs_text,
        "--no-self-test",
        "--out",
        &name,
    ]));
    std::thread::sleep(Duration::from_millis(delay_ms(number)));
    strike(blow, running.pid());
    running.finish();
    sandbox.assert_no_leaks();
    let folders = file_names(&sandbox.dir().join("tmp")).into_iter();
    let in_flight = folders.filter(|name| !earlier.contains(name)).count();
    // Each cell has one folder, which goes before its record is written.
    let allowed = if blow.is_abrupt() { jobs as usize } else { 0 };
    assert!(in_flight <= allowed, "{context}: {in_flight} folders stay");
    tally.in_flight += in_flight;
    if !out.join("run.json").exists() {
        return;
    }
    // Fails if a record is incomplete.
    let before = sandbox.records(&name);
    assert_none_skipped(&before, jobs, &context);
    tally.records += before.cells().len();
    tally.resumed += 1;

    sandbox.run(&["run", "--resume", &name]).exits_with(0);
    let after = sandbox.records(&name);
    assert_complete(&after);
    for cell in before.cells() {
        let kept = after.cells().contains(cell);
        assert!(kept, "{context}: the record of {} has changed", cell.id);
    }
    let left = file_names(&sandbox.dir().join("tmp"));
    assert!(left.is_empty(), "{context}: left in TMPDIR: {left:?}");
    let unfinished = |name: &String| !name.ends_with(".json") || name.starts_with('.');
    let left: Vec<_> = (file_names(&out.join("cells")).into_iter())
        .filter(unfinished)
        .collect();
    assert!(
        left.is_empty(),
        "{context}: left beside the records: {left:?}"
    );
    let failed = |c: &&Cell| matches!(c.outcome, Outcome::Failed { .. });
    let failed = after.cells().iter().filter(failed).count();
    // A driver that died is a result; nothing else may fail a cell.
    let allowed = usize::from(blow == Blow::Driver);
    assert!(failed <= allowed, "{context}: {failed} cells failed");
    tally.failed_cells += failed;
}

/// Asserts that no cell was skipped before the kill: each block has records of its first cells, and no more blocks are
/// begun than jobs may have been at, besides those that are done.
#[track_caller]
fn assert_none_skipped(data: &RunData, jobs: u64, context: &str) {
    let recorded: BTreeSet<&str> = data.cells().iter().map(|cell| cell.id.as_str()).collect();
    let mut blocks = BTreeMap::<u32, Vec<bool>>::new();
    let mut plan: Vec<_> = data.run().plan.iter().collect();
    plan.sort_by_key(|planned| (planned.block, planned.position));
    for planned in plan {
        let has_record = recorded.contains(planned.id.as_str());
        blocks.entry(planned.block).or_default().push(has_record);
    }
    let in_order = |cells: &Vec<bool>| cells.is_sorted_by(|earlier, later| earlier >= later);
    assert!(blocks.values().all(in_order), "{context}: {blocks:?}");
    let last = blocks.iter().rfind(|(_, cells)| cells[0]);
    let last = last.map_or(0, |(block, _)| *block);
    let open = blocks.range(..=last);
    let open = open.filter(|(_, cells)| cells.contains(&false)).count();
    assert!(open as u64 <= jobs, "{context}: {blocks:?}");
}

impl Blow {
    /// Reports whether the run gets no time to delete its temporary files.
    fn is_abrupt(self) -> bool {
        matches!(
            self,
            Blow::Signal(9) | Blow::Signal(1) | Blow::TwiceInterrupted
        )
    }
}

/// Spreads the moments of the kills over a run, the same in every invocation. Multiplication by an
/// odd constant visits every value of a power of two once.
fn delay_ms(number: u64) -> u64 {
    (number * 2_654_435_761) % 4_096 * MAX_DELAY_MS / 4_096
}

/// Strikes, unless the target does not run at this moment.
fn strike(blow: Blow, run: Pid) {
    let end = |pid, signal: Signal| {
        // It may have ended by itself.
        let _sent = kill_process(pid, signal);
    };
    let below = |what: fn(Pid, &str) -> bool| {
        let found = descendants(run).into_iter();
        found.rev().find(|(pid, name)| what(*pid, name))
    };
    match blow {
        Blow::Signal(number) => end(run, Signal::from_named_raw(number).unwrap()),
        Blow::TwiceInterrupted => {
            end(run, Signal::INT);
            std::thread::sleep(Duration::from_millis(50));
            end(run, Signal::INT);
        }
        Blow::Bench => {
            // The first only waits for the second, which is process 1 of the bench.
            if let Some((init, _)) =
                below(|pid, _| common::process::has_argument(pid, "bench-init"))
            {
                end(init, Signal::KILL);
            }
        }
        Blow::Driver => {
            if let Some((driver, _)) = below(|pid, _| common::process::is_driver(pid)) {
                end(driver, Signal::KILL);
            }
        }
    }
}
