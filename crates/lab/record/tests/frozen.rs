//! The published schema, and a folder of old records that must stay readable.
//!
//! `COMMUTE_GOLDEN=write` rewrites both. From the first release on, every [`record::FORMAT`] keeps
//! its folder.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::PathBuf;

use record::*;

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-2")
}

#[test]
fn schema_matches_the_published_one() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/record.schema.json");
    let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    testing::golden(file, &schema);
}

/// Records are written byte for byte as before: no field was lost, added or renamed.
#[test]
fn records_match_the_frozen_ones() {
    let data = invented();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    store.write_run(data.run()).unwrap();
    let mut names = vec!["run.json".to_owned()];
    for cell in data.cells() {
        store.write_cell(cell).unwrap();
        names.push(format!("cells/{}", cell.file_name()));
    }
    for name in names {
        let written = fs::read_to_string(dir.path().join(&name)).unwrap();
        testing::golden(golden().join(&name), &written);
    }
    assert_eq!(Store::open(golden()).unwrap().read().unwrap(), data);
}

/// Returns a run with one record of each outcome.
fn invented() -> RunData {
    let run = common::run(2);
    let reason = || "invented".to_owned();
    let outcomes = [
        (
            0,
            1,
            Outcome::Noisy {
                reasons: vec!["invented: steal 12.5 %".into()],
            },
        ),
        (0, 2, Outcome::Clean),
        (1, 1, Outcome::Clean),
        (2, 1, Outcome::Failed { reason: reason() }),
        (3, 1, Outcome::Unsupported { reason: reason() }),
        (3, 2, Outcome::GivenUp { reason: reason() }),
    ];
    let cells = outcomes.map(|(at, attempt, o)| common::cell(&run.plan[at], 1, attempt, o));
    RunData::new(run, cells.into()).unwrap()
}
