//! What was once published stays readable: the schema and a folder of old records.
//!
//! `COMMUTE_BLESS=1 cargo test -p commute-record` writes both anew. The golden folder should
//! only ever gain folders: one for each [`record::FORMAT`].

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::PathBuf;

use record::*;

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-2")
}

fn bless() -> bool {
    std::env::var_os("COMMUTE_BLESS").is_some()
}

#[test]
fn the_schema_is_the_published_one() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let now = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if bless() {
        fs::write(&file, &now).unwrap();
    }
    let published = fs::read_to_string(&file).unwrap();
    assert!(
        published == now,
        "docs/record.schema.json is not what the types say: bless it"
    );
}

/// Read and written again, byte for byte: no field was lost, added or renamed.
#[test]
fn old_records_read_and_write_unchanged() {
    if bless() {
        fs::remove_dir_all(golden()).ok();
        write(&invented());
    }
    let data = Store::open(golden()).unwrap().read().unwrap();
    assert_eq!(data, invented());
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    store.write_run(data.run()).unwrap();
    for cell in data.cells() {
        store.write_cell(cell).unwrap();
        let name = format!("cells/{}", cell.file_name());
        let old = fs::read_to_string(golden().join(&name)).unwrap();
        assert_eq!(
            fs::read_to_string(dir.path().join(&name)).unwrap(),
            old,
            "{name}"
        );
    }
    let head = |dir: PathBuf| fs::read_to_string(dir.join("run.json")).unwrap();
    assert_eq!(head(dir.path().into()), head(golden()));
}

fn write(data: &RunData) {
    let store = Store::create(golden()).unwrap();
    store.write_run(data.run()).unwrap();
    for cell in data.cells() {
        store.write_cell(cell).unwrap();
    }
}

/// One record of each outcome.
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
    ];
    let cells = outcomes.map(|(at, attempt, o)| common::cell(&run.plan[at], 1, attempt, o));
    RunData::new(run, cells.into()).unwrap()
}
