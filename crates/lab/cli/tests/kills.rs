//! Ends a run, its bench or its driver at random moments, then resumes the run: no cell is lost,
//! doubled or recorded by half, and nothing stays behind.
//!
//! `COMMUTE_KILLS=60 cargo test -p commute --test kills -- --nocapture` prints a table of 60.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::Sandbox;
use common::command::Running;
use common::process::descendants;
use common::study::{assert_complete, record_count};
use record::Outcome;
use rustix::process::{Pid, Signal, kill_process};

/// One of each kind.
const DEFAULT_KILLS: u64 = 7;
/// A run of six cells takes about this long.
const MAX_DELAY_MS: u64 = 4_000;

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
    failed_cells: usize,
}

#[test]
fn killed_runs_lose_at_most_the_cell_in_flight() {
    let kills = std::env::var("COMMUTE_KILLS").map_or(DEFAULT_KILLS, |n| n.parse().unwrap());
    let mut sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.allow_temporary_files();
    let mut table = BTreeMap::<Blow, Tally>::new();
    for (number, &blow) in (0..kills).zip(BLOWS.iter().cycle()) {
        let tally = table.entry(blow).or_default();
        tally.runs += 1;
        let name = format!("run-{number}");
        let out = sandbox.work().join(&name);
        let args = ["run", "small.toml", "--blocks", "3", "--no-self-test"];
        let running = Running::start(sandbox.commute(&[&args[..], &["--out", &name]].concat()));
        std::thread::sleep(Duration::from_millis(delay_ms(number)));
        strike(blow, running.pid());
        running.finish();
        sandbox.assert_no_leaks();
        if !out.join("run.json").exists() {
            continue;
        }
        tally.records += record_count(&out);
        tally.resumed += 1;
        sandbox.run(&["run", "--resume", &name]).exits_with(0);
        let data = sandbox.records(&name);
        assert_complete(&data);
        let failed = |c: &&record::Cell| matches!(c.outcome, Outcome::Failed { .. });
        let failed = data.cells().iter().filter(failed).count();
        // A driver that died is a result; nothing else may fail a cell.
        let allowed = usize::from(blow == Blow::Driver);
        assert!(failed <= allowed, "{blow:?}: {failed} cells failed");
        tally.failed_cells += failed;
    }
    println!("blow               runs  resumed  records before  failed cells");
    for (blow, tally) in &table {
        println!(
            "{:<17}  {:>4}  {:>7}  {:>14}  {:>12}",
            format!("{blow:?}"),
            tally.runs,
            tally.resumed,
            tally.records,
            tally.failed_cells
        );
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
