//! Shards: together they are the plan, and any split of the records gives the same report.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::study::whole;
use common::{House, Said};

fn dry_run(house: &House, more: &[&str]) -> Vec<String> {
    let said = house
        .run(&[&["run", "small.toml", "--dry-run"], more].concat())
        .code(0);
    let ids: Vec<String> = said
        .out
        .lines()
        .filter(|line| line.starts_with("gentle_"))
        .map(str::to_owned)
        .collect();
    ids
}

#[test]
fn shards_partition_the_plan() {
    let house = House::new();
    house.small_study();
    let all = dry_run(&house, &["--blocks", "7"]);
    assert_eq!(all.len(), 7 * 2);
    for of in [2, 3, 7, 9] {
        let mut together = Vec::new();
        for index in 1..=of {
            let shard = format!("{index}/{of}");
            together.extend(dry_run(&house, &["--blocks", "7", "--shard", &shard]));
        }
        assert_eq!(together.len(), all.len(), "{of} shards: none doubled");
        let (got, planned): (BTreeSet<_>, BTreeSet<_>) =
            (together.iter().collect(), all.iter().collect());
        assert_eq!(got, planned, "{of} shards: none lost");
    }
}

#[test]
fn shards_that_ran_apart_report_as_one() {
    let house = House::new();
    house.small_study();
    for (shard, out) in [("1/2", "first"), ("2/2", "second")] {
        house
            .run(&[
                "run",
                "small.toml",
                "--out",
                out,
                "--shard",
                shard,
                "--no-self-test",
            ])
            .code(0);
    }
    let both = ["first", "second"].map(|run| house.records(run));
    whole(&record::merge(both.into()).unwrap());
    let same = |format: &str| {
        let of = |dirs: &[&str]| report(&house, dirs, format);
        let straight = of(&["first", "second"]);
        assert_eq!(
            straight.out,
            of(&["second", "first"]).out,
            "{format}: order"
        );
        let thrice = of(&["first", "second", "first"]);
        assert_eq!(straight.out, thrice.out, "{format}: the same one twice");
    };
    ["human", "json", "csv"].into_iter().for_each(same);
}

/// The records that `crates/record` keeps frozen: one of each outcome.
fn frozen() -> PathBuf {
    common::checkout().join("crates/record/tests/golden/format-2")
}

#[test]
fn any_split_of_frozen_records_gives_the_same_report() {
    let house = House::new();
    let whole = frozen();
    let whole = whole.to_str().unwrap();
    let cells = common::names(&frozen().join("cells"));
    assert!(cells.len() >= 5);
    // Each way to lay the records into two folders.
    for split in 0..1_u32 << cells.len() {
        let dirs = ["a", "b"].map(|name| house.work().join(format!("{split}{name}")));
        for (dir, side) in dirs.iter().zip([0, 1]) {
            let mine = |at: usize| split >> at & 1 == side;
            copy(
                dir,
                cells
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| mine(*at))
                    .map(|(_, c)| c),
            );
        }
        let [a, b] = dirs.map(|dir| dir.to_str().unwrap().to_owned());
        // One format a split, and all of them over the splits.
        let format = ["human", "json", "csv"][split as usize % 3];
        let expected = report(&house, &[whole], format);
        for order in [[&a, &b, &a], [&b, &a, &b]] {
            let got = report(&house, &order.map(String::as_str), format);
            assert_eq!(got.out, expected.out, "split {split:b} as {format}");
        }
    }
}

fn copy<'a>(to: &Path, cells: impl Iterator<Item = &'a String>) {
    fs::create_dir_all(to.join("cells")).unwrap();
    fs::copy(frozen().join("run.json"), to.join("run.json")).unwrap();
    for cell in cells {
        let name = Path::new("cells").join(cell);
        fs::copy(frozen().join(&name), to.join(&name)).unwrap();
    }
}

fn report(house: &House, dirs: &[&str], format: &str) -> Said {
    let said = house
        .run(&[&["report"], dirs, &["--format", format]].concat())
        .code(0);
    assert!(!said.out.is_empty(), "{said}");
    said
}
