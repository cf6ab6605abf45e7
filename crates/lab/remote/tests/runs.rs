//! Runs into a bucket: what is stored, what another machine finds, and what fails.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "../../record/tests/common/mod.rs"]
#[allow(dead_code, reason = "this test uses only some")]
mod invented;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::{Faults, Machine, Memory, data, files, objects, overwrite};
use invented::{cell, run};
use record::{Outcome, RecordName, Replica as _, Run, Store};
use remote::{Bucket, Prefix, RemoteError, RemoteRun};

/// Of the first cell of [`run`].
const CELL: &str = "study/cells/nowhere-0-two.1.1.json";

fn another_start(run: &Run) -> Run {
    Run {
        started_unix_ns: run.started_unix_ns + 1,
        ..run.clone()
    }
}

#[test]
fn another_machine_continues_a_run() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let cells: Vec<_> = run
        .plan
        .iter()
        .map(|p| cell(p, 1, 1, Outcome::Clean))
        .collect();
    let digest = "ab".repeat(32);
    let one = Machine::new(&bucket);
    let store = one.begin(&run).unwrap();
    store.write_payload(&digest, b"content").unwrap();
    store.write_cell(&cells[0]).unwrap();
    assert_eq!(
        objects(&bucket),
        [CELL, &format!("study/payloads/{digest}"), "study/run.json"]
    );
    let other = Machine::new(&bucket);
    let store = other.resume();
    assert_eq!(std::fs::read(store.payload(&digest)).unwrap(), b"content");
    store.write_cell(&cells[1]).unwrap();
    for machine in [&other, &one] {
        assert_eq!(machine.resume().read().unwrap(), data(&run, &cells));
    }

    other.run.discard_folder().unwrap();
    assert_eq!(
        std::fs::read_dir(other.caches.path().join("runs"))
            .unwrap()
            .count(),
        0
    );
    assert_eq!(other.resume().read().unwrap(), data(&run, &cells));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_what_was_fetched() {
    use std::os::unix::fs::PermissionsExt as _;
    let bucket = Memory::new(Faults::default());
    let one = Machine::new(&bucket);
    one.begin(&run(1)).unwrap();
    let other = Machine::new(&bucket);
    other.resume();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(other.run.folder().parent().unwrap()), 0o700);
    assert_eq!(mode(&other.run.folder().join("run.json")), 0o600);
}

#[test]
fn puts_are_repeated_a_few_times() {
    for (refused, lost_answers) in [(2, 0), (0, 2), (1, 1)] {
        let bucket = Memory::new(Faults {
            refused: AtomicU32::new(refused),
            lost_answers: AtomicU32::new(lost_answers),
            ..Faults::default()
        });
        Machine::new(&bucket).begin(&run(1)).unwrap();
        assert_eq!(objects(&bucket), ["study/run.json"]);
    }
}

#[test]
fn a_record_that_is_not_stored_is_kept_and_stored_later() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let machine = Machine::new(&bucket);
    let store = machine.begin(&run).unwrap();
    let cell = cell(&run.plan[0], 1, 1, Outcome::Clean);
    let refused = &bucket.faults.refused;
    refused.store(u32::MAX, Ordering::Relaxed);
    let error = store.write_cell(&cell).unwrap_err().to_string();
    let folder = machine.run.folder().display().to_string();
    for part in [
        "s3://bucket/study/cells/nowhere-0-two.1.1.json",
        "status 503 (SlowDown)",
        &folder,
        "commute run --resume s3://bucket/study`",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("secret"), "{error}");
    assert_eq!(objects(&bucket), ["study/run.json"]);
    // Fetching stores nothing.
    refused.store(0, Ordering::Relaxed);
    let unstored = machine.fetch().unwrap().unstored;
    let unstored: Vec<String> = unstored.iter().map(ToString::to_string).collect();
    assert_eq!(unstored, [CELL.strip_prefix("study/").unwrap()]);
    assert_eq!(objects(&bucket), ["study/run.json"]);

    machine.resume();
    assert_eq!(objects(&bucket), [CELL, "study/run.json"]);
    assert_eq!(
        Machine::new(&bucket).resume().read().unwrap(),
        data(&run, &[cell])
    );
}

#[test]
fn of_two_machines_in_one_shard_one_fails_and_no_cell_is_lost() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let (one, other) = (Machine::new(&bucket), Machine::new(&bucket));
    // Both find an empty prefix.
    one.run.check_new().unwrap();
    other.run.check_new().unwrap();
    let store = one.begin(&run).unwrap();
    let second = other.run.add(&RecordName::HEADER, b"another header");
    let error = second.unwrap_err().to_string();
    for part in [
        "s3://bucket/study/run.json was stored by another machine",
        "`commute run --resume s3://bucket/study`",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }

    let other_store = other.resume();
    let mine = cell(&run.plan[0], 1, 1, Outcome::Clean);
    let reasons = vec!["another machine measured it".to_owned()];
    let theirs = cell(&run.plan[0], 1, 1, Outcome::Noisy { reasons });
    store.write_cell(&mine).unwrap();
    let error = other_store.write_cell(&theirs).unwrap_err().to_string();
    let folder = other.run.folder().display().to_string();
    assert!(error.contains(CELL) && error.contains(&folder), "{error}");
    // When it goes on, what is stored counts, and its own record is kept elsewhere.
    let fetched = other.fetch().unwrap();
    assert_eq!((fetched.unstored, fetched.uncounted), (vec![], 1));
    assert_eq!(files(&other.run.uncounted()).len(), 1);
    for machine in [&other, &Machine::new(&bucket)] {
        assert_eq!(
            machine.resume().read().unwrap(),
            data(&run, std::slice::from_ref(&mine))
        );
    }
    other.run.discard_folder().unwrap();
    assert_eq!(files(other.caches.path()).len(), 1);
}

#[test]
fn a_run_whose_header_was_not_stored_is_begun_again() {
    let bucket = Memory::new(Faults::default());
    let machine = Machine::new(&bucket);
    let refused = &bucket.faults.refused;
    let digest = "ab".repeat(32);
    machine.run.check_new().unwrap();
    let store = Store::create(machine.run.folder()).unwrap();
    let store = store.with_replica(Some(Arc::clone(&machine.run) as _));
    refused.store(u32::MAX, Ordering::Relaxed);
    let errors = [
        store.write_payload(&digest, b"content").unwrap_err(),
        store.write_run(&run(1)).unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(error.contains("the same command again"), "{error}");
    }
    refused.store(0, Ordering::Relaxed);
    // As a job of a scheduler does it.
    assert!(machine.fetch().unwrap_err().is_usage());
    let run = another_start(&run(1));
    machine.begin(&run).unwrap();
    assert_eq!(machine.resume().read().unwrap(), data(&run, &[]));
}

#[test]
fn a_bucket_that_was_emptied_gets_no_old_run() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let machine = Machine::new(&bucket);
    let store = machine.begin(&run).unwrap();
    store
        .write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean))
        .unwrap();
    let Machine { run, caches } = machine;
    drop((store, run));
    let emptied = Memory::new(Faults::default());
    let again = RemoteRun::new(common::bucket(&emptied, &common::prefix()), caches.path());
    for error in [again.check_new(), again.fetch(u64::MAX, &|_| {}).map(drop)] {
        let error = error.unwrap_err();
        assert!(matches!(error, RemoteError::Emptied { .. }), "{error}");
    }
    assert_eq!(objects(&emptied), Vec::<String>::new());
}

#[test]
fn two_processes_of_a_machine_do_not_share_a_folder() {
    let bucket = Memory::new(Faults::default());
    let machine = Machine::new(&bucket);
    drop(machine.begin(&run(1)).unwrap());
    let second = || {
        RemoteRun::new(
            common::bucket(&bucket, &common::prefix()),
            machine.caches.path(),
        )
    };
    for error in [
        second().check_new(),
        second().fetch(u64::MAX, &|_| {}).map(drop),
    ] {
        let error = error.unwrap_err();
        assert!(matches!(error, RemoteError::Locked { .. }), "{error}");
    }
    let Machine { run, caches } = machine;
    drop(run);
    let next = RemoteRun::new(common::bucket(&bucket, &common::prefix()), caches.path());
    next.fetch(u64::MAX, &|_| {}).unwrap();
}

#[test]
fn a_put_that_is_never_answered_ends() {
    let bucket = Memory::new(Faults::default());
    let run = run(1);
    let machine = Machine::new(&bucket);
    let store = machine.begin(&run).unwrap();
    bucket.faults.hanging.store(true, Ordering::Relaxed);
    let started = Instant::now();
    let error = store.write_cell(&cell(&run.plan[0], 1, 1, Outcome::Clean));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no answer within"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10), "{error}");
}

#[test]
fn each_store_has_a_folder_of_its_own() {
    let prefix = Prefix::parse("s3://bucket/study").unwrap();
    let folder = |endpoint: &str| {
        let variables = [("AWS_ENDPOINT_URL".to_owned(), endpoint.to_owned())];
        let bucket = Bucket::open_with(&prefix, variables).unwrap();
        RemoteRun::new(bucket, std::path::Path::new("/nowhere"))
            .folder()
            .to_owned()
    };
    assert_eq!(folder("https://one.example"), folder("https://one.example"));
    assert_ne!(folder("https://one.example"), folder("https://two.example"));
}

#[test]
fn each_scheme_opens_a_store() {
    let account = (
        "AZURE_STORAGE_ACCOUNT_NAME".to_owned(),
        "account".to_owned(),
    );
    for url in [
        "s3://bucket/a",
        "gs://bucket/a",
        "az://container/a",
        "file:///a",
    ] {
        let prefix = Prefix::parse(url).unwrap();
        Bucket::open_with(&prefix, [account.clone()]).unwrap();
    }
    let prefix = Prefix::parse("az://container/a").unwrap();
    let error = Bucket::open_with(&prefix, []).unwrap_err().to_string();
    assert!(error.contains("Account must be specified"), "{error}");
}

#[test]
fn a_prefix_takes_one_run() {
    let bucket = Memory::new(Faults::default());
    let nothing = Machine::new(&bucket).fetch().unwrap_err();
    assert!(matches!(nothing, RemoteError::NoRun { .. }), "{nothing}");
    let machine = Machine::new(&bucket);
    let first = cell(&run(1).plan[0], 1, 1, Outcome::Clean);
    machine.begin(&run(1)).unwrap().write_cell(&first).unwrap();
    let error = Machine::new(&bucket).run.check_new().unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert!(
        error.to_string().contains("--resume s3://bucket/study`"),
        "{error}"
    );
    // The folder is of a run that someone has replaced in the bucket.
    let text = serde_json::to_vec(&another_start(&run(1))).unwrap();
    overwrite(&bucket, "study/run.json", &text);
    let error = machine.fetch().unwrap_err();
    assert!(matches!(error, RemoteError::OtherRun { .. }), "{error}");
}

#[test]
fn stores_that_replace_objects_are_refused() {
    let bucket = Memory::new(Faults {
        ignores_create: true,
        ..Faults::default()
    });
    let machine = Machine::new(&bucket);
    let error = machine.begin(&run(1)).unwrap_err().to_string();
    assert!(error.contains("If-None-Match"), "{error}");
    // The header is there now, and does not make the store a better one.
    for machine in [&machine, &Machine::new(&bucket)] {
        let fetched = machine.fetch().unwrap();
        let error = machine.run.store(&fetched.unstored).unwrap_err();
        assert!(
            matches!(error, RemoteError::Unconditional { .. }),
            "{error}"
        );
    }

    let bucket = Memory::new(Faults {
        ignores_update: true,
        ..Faults::default()
    });
    let machine = Machine::new(&bucket);
    let store = machine.begin(&run(1)).unwrap();
    let error = store.extend_run(&run(2)).unwrap_err().to_string();
    assert!(error.contains("If-Match"), "{error}");
}

#[test]
fn an_extension_that_was_not_stored_is_given_again() {
    let bucket = Memory::new(Faults::default());
    let machine = Machine::new(&bucket);
    let store = machine.begin(&run(1)).unwrap();
    bucket.faults.refused.store(u32::MAX, Ordering::Relaxed);
    let error = store.extend_run(&run(2)).unwrap_err().to_string();
    assert!(error.contains("the same command again"), "{error}");
    bucket.faults.refused.store(0, Ordering::Relaxed);
    let store = machine.resume();
    assert_eq!(store.read().unwrap().run(), &run(1));
    // The request is sent twice, and the second finds the object of the first.
    bucket.faults.doubled.store(1, Ordering::Relaxed);
    store.extend_run(&run(2)).unwrap();
    assert_eq!(
        Machine::new(&bucket).resume().read().unwrap().run(),
        &run(2)
    );
}

#[test]
fn a_run_is_extended_by_one_machine_at_a_time() {
    let bucket = Memory::new(Faults::default());
    let one = Machine::new(&bucket);
    let store = one.begin(&run(1)).unwrap();
    let other = Machine::new(&bucket);
    let other_store = other.resume();
    store.extend_run(&run(2)).unwrap();
    let error = other_store.extend_run(&run(3)).unwrap_err().to_string();
    assert!(
        error.contains("s3://bucket/study/run.json was stored by another machine"),
        "{error}"
    );
    // The bucket decides.
    assert_eq!(other.resume().read().unwrap().run(), &run(2));
}

#[test]
fn a_shared_folder_takes_runs_too() {
    let share = tempfile::tempdir().unwrap();
    let url = format!("file://{}/a study", share.path().display());
    let prefix = Prefix::parse(&url).unwrap();
    let machine = || Machine::at(Bucket::open(&prefix).unwrap());
    let run = run(1);
    let one = machine();
    let store = one.begin(&run).unwrap();
    let first = cell(&run.plan[0], 1, 1, Outcome::Clean);
    store.write_cell(&first).unwrap();
    let other = machine();
    let other_store = other.resume();
    assert_eq!(other_store.read().unwrap(), data(&run, &[first]));
    let reasons = vec!["invented".to_owned()];
    let second = cell(&run.plan[1], 1, 1, Outcome::Clean);
    store.write_cell(&second).unwrap();
    let conflicting = cell(&run.plan[1], 1, 1, Outcome::Noisy { reasons });
    assert!(other_store.write_cell(&conflicting).is_err());
    store.extend_run(&invented::run(2)).unwrap();
    // A folder of that share is a run's folder.
    let data = Store::open(share.path().join("a study")).unwrap().read();
    assert_eq!(data.unwrap().cells().len(), 2);
    // Nothing else lies there.
    assert_eq!(files(share.path()).len(), 3);
}

#[test]
fn nothing_that_is_printed_has_a_key() {
    let prefix = Prefix::parse("s3://bucket/study").unwrap();
    let machine = Machine::at(Bucket::open(&prefix).unwrap());
    let shown = format!("{:?}", machine.run);
    assert!(shown.contains("s3://bucket/study"), "{shown}");
    assert!(!shown.to_lowercase().contains("credential"), "{shown}");
}
