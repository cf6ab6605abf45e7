//! Tests of the scheduler, with runners that measure nothing.

use std::sync::Arc;
use std::time::Duration;

use record::{Machine, RecordName, Replica, ReplicaError};
use study::plan::{ResumedAt, remaining};

use super::*;
use crate::run::small_plan::small_plan;

/// A runner that measures nothing; the first arm is noisy in the first attempt of block 0.
struct Invented;

/// A runner whose lab fails this often before it runs a cell.
struct Failing(u32);

impl CellRunner for Failing {
    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
        if self.0 > 0 {
            self.0 -= 1;
            return Err("invented".to_owned());
        }
        Invented.run(attempt)
    }
}

#[test]
fn what_the_lab_fails_at_is_tried_again_and_never_recorded() {
    let plan = small_plan();
    let now = ResumedAt {
        boot: "",
        monotonic_ns: 2,
    };
    let run_with = |failures: u32| {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        let retried = AtomicUsize::new(0);
        let ended = run(
            Progress::default(),
            |done| remaining(plan.blocks.iter(), done, &now, |_| u64::MAX),
            vec![Failing(failures)],
            &store,
            &AtomicBool::new(false),
            &|event| {
                if matches!(event, Event::LabFailed { .. }) {
                    retried.fetch_add(1, Ordering::Relaxed);
                }
            },
        );
        let cells = std::fs::read_dir(dir.path().join("cells")).unwrap().count();
        (ended, retried.into_inner(), cells)
    };
    let (ended, retried, _) = run_with(LAB_TRIES - 1);
    assert_eq!(ended.unwrap(), Ended::Complete);
    assert_eq!(retried, 2);
    let (ended, _, cells) = run_with(LAB_TRIES);
    let error = ended.unwrap_err().to_string();
    assert!(
        error.contains("invented") && error.contains("--resume"),
        "{error}"
    );
    assert_eq!(cells, 0);
}

impl CellRunner for Invented {
    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
        let noisy = attempt.cell.planned.block == 0 && attempt.cell.arm == 0 && attempt.number == 1;
        let outcome = match noisy {
            true => Outcome::Noisy {
                reasons: vec!["invented".into()],
            },
            false => Outcome::Clean,
        };
        Ok(Cell {
            took_ns: 1,
            ..attempt.unmeasured(outcome, 1)
        })
    }
}

#[test]
fn blocks_with_a_noisy_cell_are_run_again_after_all_others() {
    let plan = small_plan();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path()).unwrap();
    let now = ResumedAt {
        boot: "",
        monotonic_ns: 2,
    };
    let started = Mutex::new(Vec::new());
    let ended = run(
        Progress::default(),
        |done| remaining(plan.blocks.iter(), done, &now, |_| u64::MAX),
        vec![Invented, Invented],
        &store,
        &AtomicBool::new(false),
        &|event| match event {
            Event::Again { cells } => started.lock().unwrap().push(format!("{cells} again")),
            Event::Started { attempt, .. } => {
                started.lock().unwrap().push(attempt.to_string());
            }
            Event::LabFailed { .. } | Event::Ended { .. } => {}
        },
    );
    assert_eq!(ended.unwrap(), Ended::Complete);
    // Block 0 of each of two networks has three arms.
    let mut expected = vec!["1".to_owned(); plan.cells().count()];
    expected.push("6 again".to_owned());
    expected.extend(vec!["2".to_owned(); 6]);
    assert_eq!(*started.lock().unwrap(), expected);
}

/// How a cell ends.
type Ends = fn(&Attempt<'_>) -> Result<Cell, String>;

/// A runner that is asked to stop while its second cell runs, which then ends like this.
struct Stopped<'a> {
    stop: &'a AtomicBool,
    cells: u32,
    ends: Ends,
}

impl CellRunner for Stopped<'_> {
    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
        self.cells += 1;
        if self.cells < 2 {
            return Invented.run(attempt);
        }
        self.stop.store(true, Ordering::Relaxed);
        (self.ends)(attempt)
    }
}

#[test]
fn a_cell_that_fails_when_the_run_is_asked_to_stop_has_no_record() {
    let failed: Ends = |attempt| {
        let reason = "the driver ended".to_owned();
        Ok(attempt.unmeasured(Outcome::Failed { reason }, 1))
    };
    let lab_failed: Ends = |_| Err("the server ended".to_owned());
    let clean: Ends = |attempt| Ok(attempt.unmeasured(Outcome::Clean, 1));
    for (ends, expected) in [(failed, 1), (lab_failed, 1), (clean, 2)] {
        let plan = small_plan();
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        let now = ResumedAt {
            boot: "",
            monotonic_ns: 2,
        };
        let stop = AtomicBool::new(false);
        let ended = run(
            Progress::default(),
            |done| remaining(plan.blocks.iter(), done, &now, |_| u64::MAX),
            vec![Stopped {
                stop: &stop,
                cells: 0,
                ends,
            }],
            &store,
            &stop,
            &|_| {},
        );
        assert_eq!(ended.unwrap(), Ended::Stopped);
        let cells = std::fs::read_dir(dir.path().join("cells")).unwrap().count();
        assert_eq!(cells, expected);
    }
}

/// A replica that takes long to store the first record.
#[derive(Debug)]
struct Slow(AtomicBool);

const PAUSE: Duration = Duration::from_secs(2);

impl Replica for Slow {
    fn add(&self, _: &RecordName, _: &[u8]) -> Result<(), ReplicaError> {
        if self.0.swap(false, Ordering::Relaxed) {
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn replace(&self, _: &RecordName, _: &[u8], _: &[u8]) -> Result<(), ReplicaError> {
        Ok(())
    }
}

/// A runner that measures nothing, at the time that it is.
struct Now;

impl CellRunner for Now {
    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
        Ok(Cell {
            machine: Some(Machine::default()),
            ..attempt.unmeasured(Outcome::Clean, monotonic_ns())
        })
    }
}

#[test]
fn a_block_whose_record_takes_long_to_store_is_begun_again() {
    let plan = small_plan();
    let dir = tempfile::tempdir().unwrap();
    let replica: Arc<dyn Replica> = Arc::new(Slow(AtomicBool::new(true)));
    let store = Store::create(dir.path())
        .unwrap()
        .with_replica(Some(replica));
    let limit_ns = (PAUSE / 2).as_nanos() as u64;
    let ended = run(
        Progress::default(),
        |done| {
            let now = ResumedAt {
                boot: "",
                monotonic_ns: monotonic_ns(),
            };
            remaining(plan.blocks.iter(), done, &now, |_| limit_ns)
        },
        vec![Now],
        &store,
        &AtomicBool::new(false),
        &|_| {},
    );
    assert_eq!(ended.unwrap(), Ended::Complete);
    let again = file_names(&dir.path().join("cells"), ".2.1.json");
    let whole: Vec<String> = plan.blocks[0]
        .cells
        .iter()
        .map(|c| c.planned.id.clone())
        .collect();
    assert_eq!(again, whole.into_iter().collect());
    let all = file_names(&dir.path().join("cells"), ".1.1.json").len();
    assert_eq!(all, plan.cells().count() - (plan.blocks[0].cells.len() - 1));
}

/// Returns the names of files with this ending, without it.
fn file_names(dir: &std::path::Path, ending: &str) -> std::collections::BTreeSet<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|name| Some(name.strip_suffix(ending)?.to_owned()))
        .collect()
}
