//! Progress on standard error: a bar with the time left, or plain lines where it is not a
//! terminal.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use lab::{Event, Plan, Shard};
use record::Outcome;

use super::noise::Noise;
use crate::{progress, terminal};

/// Progress of one run.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Arms, and networks with arms, of whose cells the reason has been printed: all have the same.
    explained: Mutex<BTreeSet<String>>,
    noise: Mutex<Noise>,
}

impl Progress {
    /// Starts the progress of one shard.
    pub(crate) fn new(plan: &Plan, shard: Shard) -> Progress {
        let cells: usize = plan.shard(shard).map(|b| b.cells.len()).sum();
        Progress {
            bar: progress::bar(
                cells,
                "{elapsed_precise} [{bar:30}] {pos}/{len} cells, {eta} left  {wide_msg}",
            ),
            explained: Mutex::default(),
            noise: Mutex::default(),
        }
    }

    pub(crate) fn event(&self, event: &Event<'_>) {
        match event {
            Event::Again { cells } => {
                let line =
                    format!("running blocks again that were noisy or interrupted: {cells} cells");
                progress::print(&self.bar, &line);
                self.bar.inc_length(*cells as u64);
            }
            Event::Started { id, .. } => progress::show(&self.bar, id),
            Event::LabFailed { id, reason } => {
                let line = format!("{id}: the lab failed: {reason}; trying again");
                progress::print(&self.bar, &line);
            }
            Event::Ended { cell } => {
                let outcome = match &cell.outcome {
                    Outcome::Clean => {
                        lock(&self.noise).add_clean();
                        match cell.timed_out() {
                            Some(_) => Some("every request timed out".to_owned()),
                            None => terminal::is_verbose().then(|| "clean".to_owned()),
                        }
                    }
                    Outcome::Noisy { reasons } => match terminal::is_verbose() {
                        true => Some(format!("noisy: {}", reasons.join("; "))),
                        false => lock(&self.noise).explain(reasons),
                    },
                    Outcome::Failed { reason } => Some(format!("failed: {reason}")),
                    Outcome::Unsupported { reason } => self
                        .is_new(cell.arm.clone())
                        .then(|| format!("unsupported: {reason}")),
                    Outcome::GivenUp { reason } => self
                        .is_new(format!("{} on {}", cell.arm, cell.network))
                        .then(|| {
                            format!(
                                "given up, and every later cell: {reason}; if the server was down, run again with \
                                 another --out"
                            )
                        }),
                };
                self.bar.inc(1);
                if let Some(text) = outcome {
                    let line = format!("{} (attempt {}): {text}", cell.id, cell.attempt);
                    progress::print(&self.bar, &line);
                }
                if self.bar.is_hidden() && self.bar.position().is_multiple_of(10) {
                    let left = self.bar.eta().as_secs();
                    let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
                    progress::line(&format!("{done}/{all} cells, about {left} s left"));
                }
            }
        }
    }

    fn is_new(&self, what: String) -> bool {
        lock(&self.explained).insert(what)
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
