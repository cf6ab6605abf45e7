//! Gives an arm up on a network where all requests of its first cells timed out.
//!
//! Each further cell would wait for as many timeouts. The price is the verdict `slower` or *less reliable*, which needs six
//! blocks: the report says instead that the arm was given up.

use std::collections::{BTreeMap, BTreeSet};

use record::{Cell, Outcome, Planned};

/// The number of cells that are measured before an arm is given up.
const FIRST_CELLS: usize = 2;

/// What is known of the arms of a run, by network and arm.
#[derive(Debug, Default)]
pub(crate) struct GivingUp(BTreeMap<(String, String), FirstCells>);

/// The cells of an arm on a network as long as all requests time out.
#[derive(Debug, Default)]
struct FirstCells {
    /// Their blocks; attempts at the same block count once.
    blocks: BTreeSet<u32>,
    requests: u64,
    /// A request did not time out: the arm is never given up.
    responds: bool,
    /// The reason in the first record that gives it up. It stays given up, so that a resumed run does the same.
    given_up: Option<String>,
}

impl GivingUp {
    /// Returns what recorded cells, in any order, show.
    pub(crate) fn of(cells: &[Cell]) -> GivingUp {
        let mut known = GivingUp::default();
        cells.iter().for_each(|cell| known.add(cell));
        known
    }

    /// Takes account of a cell that was recorded.
    pub(crate) fn add(&mut self, cell: &Cell) {
        let key = (cell.network.clone(), cell.arm.clone());
        let of_arm = self.0.entry(key).or_default();
        match (&cell.outcome, cell.timed_out()) {
            (Outcome::GivenUp { reason }, _) => of_arm.given_up = Some(reason.clone()),
            // They say nothing of requests.
            (Outcome::Failed { .. } | Outcome::Unsupported { .. }, _) => {}
            (Outcome::Clean | Outcome::Noisy { .. }, Some(requests)) => {
                of_arm.blocks.insert(cell.block);
                of_arm.requests = of_arm.requests.saturating_add(requests);
            }
            (Outcome::Clean | Outcome::Noisy { .. }, None) => of_arm.responds = true,
        }
    }

    /// Returns why a planned cell is not measured, if so.
    pub(crate) fn reason(&self, planned: &Planned) -> Option<String> {
        let key = (planned.network.clone(), planned.arm.clone());
        let of_arm = self.0.get(&key)?;
        let FirstCells {
            blocks, requests, ..
        } = of_arm;
        let cells = blocks.len();
        of_arm.given_up.clone().or_else(|| {
            (!of_arm.responds && cells >= FIRST_CELLS).then(|| {
                format!("all {requests} requests of the arm's first {cells} cells on this network timed out")
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use record::{Call, CallResult, Proof, State, Store};
    use study::plan::{Done, ResumedAt, remaining};

    use super::*;
    use crate::run::scheduler::{self, Attempt, CellRunner, Ended, Progress};
    use crate::run::small_plan::small_plan;

    /// Makes a call that ends as the closure says of network, block and arm.
    struct Invented<F>(F);

    fn call(result: CallResult) -> Call {
        Call {
            id: 1,
            group: "echo".into(),
            connection: 1,
            first: true,
            state: State::ColdProcess,
            proof: Proof::Server,
            protocol: "h2".into(),
            start_ns: 0,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns: None,
            end_ns: 1,
            request_bytes: 0,
            response_bytes: 0,
            result,
            server_hits: 1,
            server_ns: None,
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: BTreeMap::new(),
            path: None,
            exchange: None,
        }
    }

    fn late() -> CallResult {
        CallResult::TimedOut
    }

    impl<F: FnMut(&Planned) -> Vec<CallResult>> CellRunner for Invented<F> {
        fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
            let results = (self.0)(&attempt.cell.planned);
            Ok(Cell {
                calls: results.into_iter().map(call).collect(),
                ..attempt.unmeasured(Outcome::Clean, 1)
            })
        }
    }

    /// Runs the rest of the small plan, three blocks on each of two networks, in a folder. Returns how many cells of
    /// the arm `quinn h3` were run by network.
    fn run_in(
        store: &Store,
        results: &(dyn Fn(&Planned) -> Vec<CallResult> + Sync),
    ) -> BTreeMap<String, u32> {
        let plan = small_plan();
        let run = record::Run {
            arms: plan.arms(),
            ..plan.head()
        };
        let cells = match store.read() {
            Ok(data) => data.cells().to_vec(),
            Err(_) => {
                store.write_run(&run).unwrap();
                Vec::new()
            }
        };
        let now = ResumedAt {
            boot: "",
            monotonic_ns: 2,
        };
        let ran = Mutex::new(BTreeMap::new());
        let runner = Invented(|planned: &Planned| {
            if planned.arm == "quinn h3" {
                *ran.lock()
                    .unwrap()
                    .entry(planned.network.clone())
                    .or_default() += 1;
            }
            results(planned)
        });
        let progress = Progress {
            given_up: GivingUp::of(&cells),
            done: cells.iter().map(Done::new).collect(),
        };
        let ended = scheduler::run(
            progress,
            |done| remaining(plan.blocks.iter(), done, &now, |_| u64::MAX),
            vec![runner],
            store,
            &AtomicBool::new(false),
            &|_| {},
        );
        assert_eq!(ended.unwrap(), Ended::Complete);
        ran.into_inner().unwrap()
    }

    fn given_up(store: &Store) -> Vec<String> {
        let data = store.read().unwrap();
        let cells = data.cells().iter();
        let given_up = cells.filter_map(|cell| match &cell.outcome {
            Outcome::GivenUp { reason } => Some(format!("{}: {reason}", cell.id)),
            _ => None,
        });
        given_up.collect()
    }

    #[test]
    fn arm_that_only_times_out_is_given_up_on_that_network() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        let results = |planned: &Planned| match (planned.arm.as_str(), planned.network.as_str()) {
            ("quinn h3", "lan") => vec![late(), late()],
            _ => vec![CallResult::Ok, late()],
        };
        let ran = run_in(&store, &results);
        let expected = [("lan".to_owned(), 2), ("true-metro".to_owned(), 3)];
        assert_eq!(ran, BTreeMap::from(expected));
        let reason =
            "lan_002_quinn-h3: all 4 requests of the arm's first 2 cells on this network timed out";
        assert_eq!(given_up(&store), [reason]);
    }

    #[test]
    fn arm_that_responded_once_is_never_given_up() {
        for first_block in [vec![CallResult::Ok], vec![late(), CallResult::Ok]] {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::create(dir.path()).unwrap();
            let results = |planned: &Planned| match planned.block {
                0 => first_block.clone(),
                _ => vec![late()],
            };
            run_in(&store, &results);
            assert_eq!(given_up(&store), [] as [&str; 0]);
        }
    }

    /// The server may have been down during one block, which was run again.
    #[test]
    fn two_attempts_at_one_block_give_no_arm_up() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        run_in(&store, &|_| vec![late()]);
        let data = store.read().unwrap();
        let planned = small_plan();
        let planned = planned.cells().next().unwrap();
        let is_of_arm = |cell: &&Cell| cell.arm == planned.arm && cell.network == planned.network;
        let measured = data.cells().iter().filter(is_of_arm);
        let mut cells: Vec<Cell> = measured
            .filter(|cell| cell.is_measured())
            .cloned()
            .collect();
        assert_eq!(cells.len(), 2);
        assert!(GivingUp::of(&cells).reason(planned).is_some());
        cells[1] = Cell {
            attempt: 2,
            ..cells[0].clone()
        };
        assert_eq!(GivingUp::of(&cells).reason(planned), None);
    }

    /// A cell that was in flight when the arm was given up may have had a response.
    #[test]
    fn arm_that_was_given_up_stays_so() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        run_in(&store, &|_| vec![late()]);
        let mut cells = store.read().unwrap().cells().to_vec();
        let measured = cells.iter_mut().filter(|cell| cell.is_measured());
        measured.for_each(|cell| cell.calls[0].result = CallResult::Ok);
        for order in [cells.clone(), cells.into_iter().rev().collect()] {
            let known = GivingUp::of(&order);
            let plan = small_plan();
            assert!(plan.cells().all(|planned| known.reason(planned).is_some()));
        }
    }

    /// The record of one cell is removed, as if the run had been interrupted before; the server responds now.
    #[test]
    fn resumed_run_gives_the_same_arms_up() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path()).unwrap();
        run_in(&store, &|_| vec![late()]);
        let before = given_up(&store);
        assert_eq!(before.len(), 2 * 3);
        let last = dir.path().join("cells/lan_002_quinn-h3.1.1.json");
        std::fs::remove_file(last).unwrap();
        let ran = run_in(&store, &|_| vec![CallResult::Ok]);
        assert_eq!(ran, BTreeMap::new());
        assert_eq!(given_up(&store), before);
    }
}
