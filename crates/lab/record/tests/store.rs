//! The folder of a run: round trips, partial files and files that are not records.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::{cell, run};
use proptest::prelude::*;
use record::*;

#[test]
fn records_round_trip() {
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
        "in the order of the plan, not of writing"
    );
}

#[test]
fn partial_files_are_ignored() {
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
    fs::write(cells.join("notes.txt"), b"\0\0").unwrap();
    assert_eq!(store.read().unwrap().cells(), []);
}

#[test]
fn the_next_writer_deletes_partial_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    store.write_run(&run(1)).unwrap();
    let left = [
        ".run.json.98.tmp",
        "cells/.nowhere-0-one.1.1.json.99.tmp",
        ".report.html.97.tmp",
    ];
    let others = [
        "cells/.hidden.json",
        "cells/.notes.tmp",
        "cells/a.json.9.tmp",
    ];
    for name in left.iter().chain(&others) {
        fs::write(dir.path().join(name), b"{").unwrap();
    }
    let lock = store.lock().unwrap();
    let is_there = |name: &&str| dir.path().join(name).exists();
    assert!(!left.iter().any(is_there) && others.iter().all(is_there));
    // Those of a writer are left alone.
    fs::write(dir.path().join(left[1]), b"{").unwrap();
    assert!(store.lock().is_err() && is_there(&left[1]));
    drop(lock);
}

#[test]
fn no_temporary_files_remain() {
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
fn records_are_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let run = run(1);
    store.write_run(&run).unwrap();
    assert!(matches!(
        store.write_run(&run),
        Err(StoreError::Exists { .. })
    ));
    assert!(matches!(
        Store::create(dir.path()),
        Err(StoreError::Exists { .. })
    ));
    let cell = cell(&run.plan[0], 1, 1, Outcome::Clean);
    store.write_cell(&cell).unwrap();
    assert!(matches!(
        store.write_cell(&cell),
        Err(StoreError::Exists { .. })
    ));
}

#[test]
fn ids_cannot_escape_the_folder() {
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
fn errors_name_the_file_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Store::open(dir.path()).unwrap_err().to_string();
    assert!(missing.contains("contains no run.json"), "{missing}");

    let header = dir.path().join("run.json");
    let store = Store::create(dir.path()).unwrap();
    let read = |text: &str| {
        fs::write(&header, text).unwrap();
        let error = store.read().unwrap_err().to_string();
        assert!(error.contains("run.json"), "{error}");
        error
    };
    assert!(read("{\"format\": 99}").contains("record format 99"));
    // Format 1 was never released.
    assert!(read("{\"format\": 1}").contains("record format 1, this commute reads 2"));
    assert!(read("{\"format\": 2").contains("not a valid record"));
    assert!(read("{\"format\": 2}").contains("missing field"));
    assert!(read("").contains("not a valid record"));
    // The file may be a link to one that is no record.
    let secret = read("{\"format\": 2, \"commute\": [\"SECRET\"], \"SECRET\": 1}");
    assert!(
        secret.contains("another type or value than that of the field at line 1, column"),
        "{secret}"
    );
    for text in [
        "\"SECRET\"",
        "{\"format\": \"SECRET\"}",
        "SECRET",
        "{\"format\": 2, \"study\": SECRET",
    ] {
        assert!(!read(text).contains("SECRET"), "{text}");
    }
    assert!(!secret.contains("SECRET"), "{secret}");
    let error = store.read().unwrap_err();
    assert!(std::error::Error::source(&error).is_none(), "{error:?}");
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

/// Requests of an app's own may hold credentials.
#[test]
fn what_is_private_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let mode = |file: &str| {
        let metadata = fs::metadata(dir.path().join(file)).unwrap();
        metadata.permissions().mode() & 0o777
    };
    let store = Store::create(dir.path()).unwrap();
    // Left behind by whoever wrote there before.
    fs::create_dir_all(dir.path().join("payloads")).unwrap();
    let digest = "ab".repeat(32);
    let payload = store.payload(&digest);
    fs::write(&payload, "old").unwrap();
    fs::set_permissions(&payload, fs::Permissions::from_mode(0o644)).unwrap();
    store.write_payload(&digest, b"secret").unwrap();
    store.write_private_run(&run(1)).unwrap();
    let payload = format!("payloads/{digest}");
    assert_eq!((mode(&payload), mode("run.json")), (0o600, 0o600));
    // A longer run is no less private.
    store.extend_run(&run(2)).unwrap();
    assert_eq!(mode("run.json"), 0o600);
    assert_eq!(store.read().unwrap().run().blocks, run(2).blocks);
}

#[test]
fn renamed_records_are_refused() {
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
fn folders_are_not_records() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("run.json")).unwrap();
    let error = Store::open(dir.path())
        .unwrap()
        .read()
        .unwrap_err()
        .to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[test]
fn inconsistent_headers_are_refused() {
    type Change = fn(&mut Run);
    let changes: [(&str, Change); 5] = [
        ("the baseline", |r| r.baseline = "three".into()),
        ("two arms are named", |r| r.arms[1].name = "one".into()),
        ("is planned twice", |r| r.plan.push(r.plan[0].clone())),
        ("has an unknown arm or network", |r| {
            r.plan[0].arm = "three".into();
        }),
        ("is not a valid cell id", |r| r.plan[0].id = "../x".into()),
    ];
    for (message, change) in changes {
        let mut run = run(2);
        change(&mut run);
        let error = RunData::new(run, Vec::new()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
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
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: Default::default(),
            path: None,
            exchange: None,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any cell, with any text in it, is read back unchanged.
    #[test]
    fn any_cell_round_trips(
        calls in prop::collection::vec(call(), 0..4),
        text in "\\PC{0,40}",
        kind in 0u8..5,
        steal in 0.0f64..=1.0,
        (invocation, attempt) in (1u32.., 1u32..),
    ) {
        let run = run(1);
        let outcome = match kind {
            0 => Outcome::Clean,
            1 => Outcome::Noisy { reasons: vec![text.clone(), text] },
            2 => Outcome::Failed { reason: text },
            3 => Outcome::Unsupported { reason: text },
            _ => Outcome::GivenUp { reason: text },
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

#[test]
fn a_folder_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let lock = store.lock().unwrap();
    let other = Store::create(dir.path()).unwrap();
    let error = other.lock().unwrap_err().to_string();
    assert!(error.contains("another commute"), "{error}");
    drop(lock);
    other.lock().unwrap();
}

/// A run's folder may come from a stranger, e.g. in a repository.
#[cfg(unix)]
#[test]
fn links_in_the_folder_are_not_followed() {
    use std::os::unix::fs::symlink;

    let dir = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (dir.path().join("run"), dir.path().join("elsewhere"));
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir(&folder).unwrap();
    // Its name is that of a file of an ended process, which the next writer deletes.
    let left = elsewhere.join(".run.json.98.tmp");
    fs::write(&left, "the user's").unwrap();
    let run = run(1);
    let of_link = |result: Result<(), StoreError>, name: &str| {
        let error = result.unwrap_err().to_string();
        let link = folder.join(name);
        assert!(
            error.contains(&format!("{} is a symbolic link", link.display())),
            "{error}"
        );
    };

    symlink(&elsewhere, folder.join("cells")).unwrap();
    of_link(Store::create(&folder).map(drop), "cells");
    fs::remove_file(folder.join("cells")).unwrap();
    symlink(elsewhere.join("none"), folder.join("run.json")).unwrap();
    let exists = Store::create(&folder).unwrap_err();
    assert!(matches!(exists, StoreError::Exists { .. }), "{exists}");
    fs::remove_file(folder.join("run.json")).unwrap();

    let store = Store::create(&folder).unwrap();
    symlink(&elsewhere, folder.join("payloads")).unwrap();
    of_link(
        store.write_payload(&"ab".repeat(32), b"content"),
        "payloads",
    );
    let own = format!(".run.json.{}.tmp", std::process::id());
    symlink(&left, folder.join(own)).unwrap();
    store.write_run(&run).unwrap();
    fs::rename(folder.join("cells"), dir.path().join("moved")).unwrap();
    symlink(&elsewhere, folder.join("cells")).unwrap();
    of_link(store.lock().map(drop), "cells");
    of_link(
        store.write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean)),
        "cells",
    );

    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(left).unwrap(), "the user's");
    // The user has named this one.
    symlink(&folder, dir.path().join("named")).unwrap();
    fs::remove_file(folder.join("cells")).unwrap();
    fs::create_dir(folder.join("cells")).unwrap();
    let named = Store::open(dir.path().join("named")).unwrap();
    named.lock().unwrap();
    named
        .write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean))
        .unwrap();
}

/// Writes a run as shards into folders, cell by cell in turn, and returns their stores.
fn in_shards(run: &Run, shards: usize, dir: &std::path::Path) -> Vec<Store> {
    let store = |shard: usize| {
        let store = Store::create(dir.join(shard.to_string())).unwrap();
        let mut header = run.clone();
        header.settings.shard = shard as u32 + 1;
        header.started_unix_ns += shard as u64;
        store.write_run(&header).unwrap();
        for planned in run.plan.iter().skip(shard).step_by(shards) {
            let mut cell = cell(planned, 1, 1, Outcome::Clean);
            // Paths are for `commute why` only.
            cell.calls.iter_mut().for_each(|call| call.path = None);
            store.write_cell(&cell).unwrap();
        }
        store
    };
    (0..shards).map(store).collect()
}

#[test]
fn reading_shards_one_by_one_gives_what_merging_them_gives() {
    let dir = tempfile::tempdir().unwrap();
    let mut shards = in_shards(&run(8), 3, dir.path());
    let merged = merge(shards.iter().map(|s| s.read().unwrap()).collect()).unwrap();
    shards.push(shards[1].clone());
    for _ in 0..shards.len() {
        shards.rotate_left(1);
        let mut collector = Collector::new();
        let mut compact = Collector::new();
        for shard in &shards {
            shard.collect(&mut collector).unwrap();
            shard.collect(&mut compact).unwrap();
        }
        assert_eq!(collector.finish().unwrap(), merged);
        let compact: CompactRun = compact.finish().unwrap();
        assert_eq!(compact, CompactRun::from(&merged));
        for (cell, whole) in compact.cells().iter().zip(merged.cells()) {
            let calls: Vec<Call> = cell.calls.iter().map(Call::from).collect();
            assert_eq!(calls, whole.calls);
        }
    }
}

#[test]
fn the_first_damaged_record_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let run = run(8);
    let store = in_shards(&run, 1, dir.path()).remove(0);
    let mut names: Vec<String> = (store.cells::<Vec<Call>>().unwrap())
        .map(|cell| cell.unwrap().file_name())
        .collect();
    assert!(names.is_sorted() && names.len() == run.plan.len());
    for damaged in [12, 5] {
        let file = dir.path().join("0/cells").join(&names[damaged]);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() / 2]).unwrap();
    }
    let first = names.swap_remove(5);
    let text = fs::read_to_string(dir.path().join("0/cells").join(&first)).unwrap();
    let named = format!(
        "{first} is not a valid record: incomplete JSON at line {}, column",
        text.lines().count()
    );
    for error in [
        store.read().unwrap_err(),
        store
            .collect(&mut Collector::<CompactCalls>::new())
            .unwrap_err(),
    ] {
        let error = error.to_string();
        assert!(error.contains(&named), "{error} {named}");
    }
    // The other records are still read.
    let cells = store.cells::<Vec<Call>>().unwrap();
    assert_eq!(cells.filter(Result::is_ok).count(), run.plan.len() - 2);
}
