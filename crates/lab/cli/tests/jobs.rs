//! Blocks in parallel measure at the same time, by the records' own times.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use common::Sandbox;
use common::study::SMALL_STUDY;

/// Cells of 4 s, idle most of the time. A start-up is short beside that.
const PAUSE_MS: u64 = 4000;

#[test]
fn windows_of_two_jobs_overlap() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let study = format!("{SMALL_STUDY}[[step]]\npause_ms = {PAUSE_MS}\n");
    sandbox.write("long.toml", &study);
    let args = ["run", "long.toml", "--out", "run", "--jobs", "2"];
    let args = [&args[..], &["--no-self-test"]].concat();
    sandbox.run(&args).exits_with(0);
    let data = sandbox.records("run");
    let mut windows: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for cell in data.cells().iter().filter(|cell| cell.attempt == 1) {
        let window = (cell.started_ns, cell.started_ns + cell.took_ns);
        windows.entry(cell.block).or_default().push(window);
    }
    let (one, other) = (&windows[&0], &windows[&1]);
    // Each cell of one block shares most of its window with a cell of the other block. Start-ups on
    // a crowded machine delay both alike.
    for (start, end) in one {
        let shared = |(s, e): &(u64, u64)| (*end.min(e)).saturating_sub(*start.max(s));
        let most = other.iter().map(shared).max().unwrap();
        assert!(
            most * 10 >= (end - start) * 9,
            "{most} of {} ns: {windows:?}",
            end - start
        );
    }
}
