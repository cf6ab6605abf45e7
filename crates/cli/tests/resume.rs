//! Whatever interrupts a run, `--resume` completes it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::said::{Running, until};
use common::study::{records, whole};
use common::{House, names};
use rustix::process::Signal;

const ARGS: [&str; 5] = ["run", "small.toml", "--blocks", "3", "--no-self-test"];

#[test]
fn kill_9_at_ten_random_moments_loses_nothing() {
    let mut house = House::new();
    house.small_study();
    house.kill_leaves_temporary_files();
    let mut luck = Luck::new();
    let mut run = 0;
    let mut killed_within_a_run = 0;
    for moment in 0..10 {
        let out = house.work().join(format!("run-{run}"));
        let begun = out.join("run.json").exists();
        let how = if begun { "--resume" } else { "--out" };
        let args = [&ARGS[..], &[how, out.to_str().unwrap()]].concat();
        let mut running = Running::start(house.commute(&args));
        let wait = Duration::from_millis(luck.up_to(2000));
        std::thread::sleep(wait);
        // It may have ended by itself, and then this is no error.
        running.child.kill().unwrap();
        let said = running.end();
        house.nothing_is_left();
        println!(
            "{moment}: killed after {wait:?} of {how}: {:?}",
            said.status
        );
        if !out.join("run.json").exists() {
            continue;
        }
        killed_within_a_run += 1;
        // Every record is whole: reading checks each of them.
        let _whole = records(&out);
        if said.status.success() {
            whole(&records(&out));
            run += 1;
        }
    }
    assert!(
        killed_within_a_run > 0,
        "ten times too early: raise the time"
    );
    for run in (0..=run).map(|run| house.work().join(format!("run-{run}"))) {
        let how = if run.join("run.json").exists() {
            "--resume"
        } else {
            "--out"
        };
        let args = [&ARGS[..], &[how, run.to_str().unwrap()]].concat();
        common::Said::of(house.commute(&args)).code(0);
        whole(&records(&run));
        let half: Vec<_> = names(&run.join("cells"))
            .into_iter()
            .filter(|name| !name.ends_with(".json"))
            .collect();
        println!("temporary files that were never renamed: {half:?}");
        assert!(half.iter().all(|name| name.starts_with('.')), "{half:?}");
    }
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

/// xorshift64*, seeded anew each time and printed, so that a failure can be looked at again.
struct Luck(u64);

impl Luck {
    fn new() -> Luck {
        let given = std::env::var("COMMUTE_TEST_SEED").ok();
        let seed = given.and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.as_nanos() as u64 | 1
        });
        println!("again with COMMUTE_TEST_SEED={seed}");
        Luck(seed)
    }

    fn up_to(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}
