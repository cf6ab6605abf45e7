//! The folder of a run: round trips, half-written files, and files that are not records.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::{cell, run};
use proptest::prelude::*;
use record::*;

#[test]
fn reads_back_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let run = run(2);
    store.write_run(&run).unwrap();
    let cells: Vec<Cell> = run
        .plan
        .iter()
        .map(|p| cell(p, 1, 1, Outcome::Clean))
        .collect();
    for cell in cells.iter().rev() {
        store.write_cell(cell).unwrap();
    }
    let data = Store::open(dir.path()).unwrap().read().unwrap();
    assert_eq!(data.run(), &run);
    assert_eq!(
        data.cells(),
        cells,
        "in the plan's order, not the order of writing"
    );
}

#[test]
fn never_reads_what_is_half_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    store.write_run(&run(1)).unwrap();
    let cells = dir.path().join("cells");
    fs::write(
        cells.join(".nowhere-0-one.1.1.json.99.tmp"),
        b"{\"format\": 1, \"id",
    )
    .unwrap();
    fs::write(cells.join(".hidden.json"), b"{").unwrap();
    fs::write(cells.join("nowhere-0-one.1.1.tap"), b"\0\0").unwrap();
    assert_eq!(store.read().unwrap().cells(), []);
}

#[test]
fn leaves_nothing_temporary_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let run = run(1);
    store.write_run(&run).unwrap();
    store
        .write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean))
        .unwrap();
    let names = |at: &str| {
        let entries = fs::read_dir(dir.path().join(at)).unwrap();
        let mut names: Vec<_> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("."), ["cells", "run.json"]);
    assert_eq!(names("cells"), ["nowhere-0-two.1.1.json"]);
}

#[test]
fn nothing_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let run = run(1);
    store.write_run(&run).unwrap();
    assert!(matches!(
        store.write_run(&run),
        Err(StoreError::Taken { .. })
    ));
    assert!(matches!(
        Store::create(dir.path()),
        Err(StoreError::Taken { .. })
    ));
    let cell = cell(&run.plan[0], 1, 1, Outcome::Clean);
    store.write_cell(&cell).unwrap();
    assert!(matches!(
        store.write_cell(&cell),
        Err(StoreError::Taken { .. })
    ));
}

#[test]
fn an_id_cannot_leave_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let mut cell = cell(&run(1).plan[0], 1, 1, Outcome::Clean);
    for id in ["../run", "a/b", "", ".x", "a\0b", &"x".repeat(129)] {
        cell.id = id.into();
        assert!(
            matches!(store.write_cell(&cell), Err(StoreError::Id { .. })),
            "{id:?}"
        );
    }
    cell.id = "true-metro.003.quinn_h3".into();
    store.write_cell(&cell).unwrap();
}

#[test]
fn errors_name_the_file_and_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Store::open(dir.path()).unwrap_err().to_string();
    assert!(missing.contains("holds no run.json"), "{missing}");

    let head = dir.path().join("run.json");
    let store = Store::create(dir.path()).unwrap();
    let told = |text: &str| {
        fs::write(&head, text).unwrap();
        let error = store.read().unwrap_err().to_string();
        assert!(error.contains("run.json"), "{error}");
        error
    };
    assert!(told("{\"format\": 99}").contains("record format 99"));
    // Format 1 had other names for many fields; nothing was released with it.
    assert!(told("{\"format\": 1}").contains("record format 1, this commute reads 2"));
    assert!(told("{\"format\": 2").contains("not a record"));
    assert!(told("{\"format\": 2}").contains("missing field"));
    assert!(told("").contains("not a record"));
}

#[test]
fn cells_of_another_run_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let run = run(1);
    store.write_run(&run).unwrap();
    let mut stray = cell(&run.plan[0], 1, 1, Outcome::Clean);
    stray.id = "elsewhere-0-one".into();
    store.write_cell(&stray).unwrap();
    let error = store.read().unwrap_err().to_string();
    assert!(
        error.contains("elsewhere-0-one") && error.contains("another run"),
        "{error}"
    );
}

#[test]
fn a_renamed_record_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let run = run(1);
    store.write_run(&run).unwrap();
    store
        .write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean))
        .unwrap();
    let cells = dir.path().join("cells");
    fs::rename(
        cells.join("nowhere-0-two.1.1.json"),
        cells.join("nowhere-0-two.1.2.json"),
    )
    .unwrap();
    assert!(matches!(store.read(), Err(StoreError::Renamed { .. })));
}

#[test]
fn what_is_not_a_file_is_not_a_record() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("run.json")).unwrap();
    let error = Store::open(dir.path())
        .unwrap()
        .read()
        .unwrap_err()
        .to_string();
    assert!(error.contains("it is not a file"), "{error}");
}

#[test]
fn heads_that_contradict_themselves_are_refused() {
    type Change = fn(&mut Run);
    let changes: [(&str, Change); 5] = [
        ("the baseline", |r| r.baseline = "three".into()),
        ("two arms are named", |r| r.arms[1].name = "one".into()),
        ("is planned twice", |r| r.plan.push(r.plan[0].clone())),
        ("names an unknown arm or network", |r| {
            r.plan[0].arm = "three".into();
        }),
        ("is not an id of a cell", |r| r.plan[0].id = "../x".into()),
    ];
    for (told, change) in changes {
        let mut run = run(2);
        change(&mut run);
        let error = RunData::new(run, Vec::new()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

fn call() -> impl Strategy<Value = Call> {
    let times = (any::<u64>(), any::<Option<u64>>(), any::<u64>());
    (any::<u32>(), times, "\\PC{0,20}", any::<bool>(), 0u8..3).prop_map(
        |(id, (start_ns, first_byte_ns, end_ns), text, first, result)| Call {
            id,
            group: "echo".into(),
            connection: id,
            first,
            state: [State::ColdProcess, State::Resumed, State::EarlyData][result as usize],
            proof: [Proof::Client, Proof::Wire, Proof::Server][result as usize],
            protocol: text.clone(),
            start_ns,
            dns_ns: first_byte_ns,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns,
            end_ns,
            request_bytes: end_ns,
            response_bytes: start_ns,
            result: match result {
                0 => CallResult::Ok,
                1 => CallResult::TimedOut,
                _ => CallResult::Error {
                    kind: text.clone(),
                    detail: text,
                },
            },
            server_hits: id,
            server_ns: None,
            exchange: None,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a cell holds, in whatever words, it comes back the same.
    #[test]
    fn any_cell_comes_back(
        calls in prop::collection::vec(call(), 0..4),
        words in "\\PC{0,40}",
        kind in 0u8..4,
        steal in 0.0f64..=1.0,
        (invocation, attempt) in (1u32.., 1u32..),
    ) {
        let run = run(1);
        let outcome = match kind {
            0 => Outcome::Clean,
            1 => Outcome::Noisy { reasons: vec![words.clone(), words] },
            2 => Outcome::Failed { reason: words },
            _ => Outcome::Unsupported { reason: words },
        };
        let mut cell = cell(&run.plan[1], invocation, attempt, outcome);
        cell.calls = calls;
        cell.audit.steal = steal;
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        store.write_run(&run).unwrap();
        store.write_cell(&cell).unwrap();
        let data = store.read().unwrap();
        prop_assert_eq!(data.cells(), [cell]);
    }
}
