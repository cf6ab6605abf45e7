//! `--shard`: the shards of a plan cover it exactly once, and a report does not depend on how the
//! records are distributed over folders.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::study::assert_complete;
use common::{CommandOutput, Sandbox};

/// Returns the cells that a dry run prints.
fn planned_cells(sandbox: &Sandbox, options: &[&str]) -> Vec<String> {
    let output = sandbox
        .run(&[&["run", "small.toml", "--dry-run", "-v"], options].concat())
        .exits_with(0);
    let cells = output.stdout.lines().filter(|l| l.starts_with("basic_"));
    cells.map(str::to_owned).collect()
}

#[test]
fn shards_partition_the_plan() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let plan = planned_cells(&sandbox, &["--blocks", "7"]);
    assert_eq!(plan.len(), 7 * 2);
    for n in [2, 3, 7] {
        let mut sharded = Vec::new();
        for i in 1..=n {
            let shard = format!("{i}/{n}");
            sharded.extend(planned_cells(
                &sandbox,
                &["--blocks", "7", "--shard", &shard],
            ));
        }
        assert_eq!(sharded.len(), plan.len(), "{n} shards: number of cells");
        let (sharded, plan): (BTreeSet<_>, BTreeSet<_>) =
            (sharded.iter().collect(), plan.iter().collect());
        assert_eq!(sharded, plan, "{n} shards: set of cells");
    }
}

/// Such a shard would have nothing to run, and no record to report.
#[test]
fn more_shards_than_blocks_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox
        .run(&["run", "small.toml", "--shard", "1/3"])
        .exits_with(2)
        .stderr_contains(
            "--shard 1/3: the plan has 2 blocks, and a block is not divided; use at most 2 shards",
        );
}

/// Records in a folder of the name `s3:` would be lost with the machine.
#[test]
fn urls_are_no_folders() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    for url in ["ftp://host/runs", "nowhere://bucket"] {
        let scheme = url.split(':').next().unwrap();
        sandbox
            .run(&["run", "small.toml", "--out", url, "--no-self-test"])
            .exits_with(2)
            .stderr_contains(&format!("`{scheme}://`"));
        assert!(!sandbox.work().join(format!("{scheme}:")).exists());
    }
}

/// Runs both shards of a study, into `first` and `second`.
fn run_shards(sandbox: &Sandbox) {
    for (shard, out) in [("1/2", "first"), ("2/2", "second")] {
        let run = ["run", "small.toml", "--out", out, "--no-self-test"];
        sandbox
            .run(&[&run[..], &["--shard", shard]].concat())
            .exits_with(0);
    }
}

/// A shard's share of clean cells is of its own cells, and a report's of all.
#[test]
fn the_share_of_clean_cells_is_judged_for_each_shard_and_for_the_whole() {
    let sandbox = Sandbox::new();
    let study = sandbox.add_small_study();
    let text = fs::read_to_string(&study).unwrap();
    let text = text.replace("blocks = 2", "blocks = 2\nmin_clean_percent = 60");
    fs::write(&study, text).unwrap();
    run_shards(&sandbox);
    let whole = ["report", "first", "second"];
    sandbox.run(&whole).exits_with(0);
    sandbox
        .run(&["report", "first"])
        .exits_with(3)
        .stderr_contains("50.0 % of the cells ended clean; the study requires 60 %");
    // Two of four cells are clean.
    for record in common::file_names(&sandbox.work().join("second/cells")) {
        let record = sandbox.work().join("second/cells").join(record);
        let text = fs::read_to_string(&record).unwrap();
        let mut cell: record::Cell = serde_json::from_str(&text).unwrap();
        cell.outcome = record::Outcome::Noisy {
            reasons: vec!["invented".to_owned()],
        };
        fs::write(&record, serde_json::to_string(&cell).unwrap()).unwrap();
    }
    sandbox
        .run(&whole)
        .exits_with(3)
        .stderr_contains("50.0 % of the cells ended clean; the study requires 60 %");
}

/// A gate must not pass because the shard that fails it is missing.
#[test]
fn thresholds_do_not_pass_without_a_shard() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    run_shards(&sandbox);
    let (part, whole) = (["report", "first"], ["report", "first", "second"]);
    let gate = ["--fail-if", "errors > 90%", "--allow-undecided"];
    for (dirs, options, code) in [
        (&part[..], &gate[..0], 0),
        (&part, &gate[..2], 3),
        (&part, &gate, 0),
        (&whole, &gate, 0),
    ] {
        let output = sandbox.run(&[dirs, options].concat()).exits_with(code);
        let is_part = dirs.len() == part.len();
        let alarm = output
            .stdout
            .contains("INCOMPLETE: 2 of 4 cells were not run.");
        assert_eq!(alarm, is_part, "{output}");
        let reason = "--fail-if is undetermined: 2 of 4 cells were not run";
        assert_eq!(output.stderr.contains(reason), code == 3, "{output}");
    }
}

/// Pages show shards of built-in studies, and the example for Kubernetes has one per pod.
#[test]
fn examples_have_enough_blocks_for_their_shards() {
    let sandbox = Sandbox::new();
    let repository = common::repository();
    let page = fs::read_to_string(repository.join("docs/how-to/many-machines.md")).unwrap();
    let command = |line: &str| line.strip_prefix("commute run ").map(str::to_owned);
    let lines = page.lines().filter_map(command);
    let mut lines: Vec<String> = lines.filter(|line| line.contains("--shard")).collect();
    assert!(!lines.is_empty());
    let example = repository.join("deploy/kubernetes/overlays/example");
    let overlay = fs::read_to_string(example.join("kustomization.yaml")).unwrap();
    let (_, shards) = overlay.split_once("/spec/completions, value: ").unwrap();
    let shards = shards.split('}').next().unwrap();
    let study = example.join("checkout.toml");
    lines.push(format!("{} --shard 1/{shards}", study.display()));
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = sandbox.commute(&[&["run"], &words[..], &["--dry-run"]].concat());
        command.env("COMMUTE_HOME", &repository);
        CommandOutput::of(command).exits_with(0);
    }
}

#[test]
fn report_merges_shards_in_any_order() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    run_shards(&sandbox);
    let shards = ["first", "second"].map(|run| sandbox.records(run));
    assert_complete(&record::merge(shards.into()).unwrap());
    for format in ["human", "json", "csv"] {
        let report = |dirs: &[&str]| report(&sandbox, dirs, format, 0).stdout;
        let expected = report(&["first", "second"]);
        let reversed = report(&["second", "first"]);
        assert_eq!(reversed, expected, "{format}: reversed");
        let duplicate = report(&["first", "second", "first"]);
        assert_eq!(duplicate, expected, "{format}: duplicate");
    }
}

/// Returns the run in the test data of `crates/lab/record`, which has one record of each outcome.
fn frozen_run() -> PathBuf {
    common::repository().join("crates/lab/record/tests/golden/format-2")
}

#[test]
fn report_is_the_same_for_every_split_of_a_run() {
    let sandbox = Sandbox::new();
    let run = frozen_run();
    let run = run.to_str().unwrap();
    let cells = common::file_names(&frozen_run().join("cells"));
    assert!(cells.len() >= 5);
    // Bit n of `split` decides which of the two folders gets record n.
    for split in 0..1_u32 << cells.len() {
        let dirs = ["a", "b"].map(|name| sandbox.work().join(format!("{split}{name}")));
        for (dir, side) in dirs.iter().zip([0, 1]) {
            let on_this_side = cells
                .iter()
                .enumerate()
                .filter(|(n, _)| split >> n & 1 == side)
                .map(|(_, cell)| cell);
            copy_run(dir, on_this_side);
        }
        let [a, b] = dirs.map(|dir| dir.to_str().unwrap().to_owned());
        // One format per split, to save time.
        let format = ["human", "json", "csv"][split as usize % 3];
        // An arm of the two in it was given up, so that it has no answer.
        let expected = report(&sandbox, &[run], format, 3);
        for order in [[&a, &b, &a], [&b, &a, &b]] {
            let actual = report(&sandbox, &order.map(String::as_str), format, 3);
            assert_eq!(
                actual.stdout, expected.stdout,
                "split {split:b} as {format}"
            );
        }
    }
}

/// Copies the frozen run with some of its cells.
fn copy_run<'a>(to: &Path, cells: impl Iterator<Item = &'a String>) {
    fs::create_dir_all(to.join("cells")).unwrap();
    fs::copy(frozen_run().join("run.json"), to.join("run.json")).unwrap();
    for cell in cells {
        let name = Path::new("cells").join(cell);
        fs::copy(frozen_run().join(&name), to.join(&name)).unwrap();
    }
}

fn report(sandbox: &Sandbox, dirs: &[&str], format: &str, code: i32) -> CommandOutput {
    let output = sandbox
        .run(&[&["report"], dirs, &["--format", format]].concat())
        .exits_with(code);
    assert!(!output.stdout.is_empty(), "{output}");
    output
}
