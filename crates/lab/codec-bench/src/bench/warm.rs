//! Warm figures: all cases interleaved in random order.

use std::cell::Cell;
use std::time::Instant;

use driver::codec_runner::Part;

use super::core_speed::CoreSpeedMonitor;
use super::{Bench, Case, EMPTY};
use crate::measure::{self, Measurement, Phase, Sample, SamplingPlan, Series};
use crate::runner::{RunnerError, Timed};
use crate::table::{AaCheck, Cost, Row};
use crate::threads::waited_ns;
use crate::{Options, Progress};

/// About how long calibration takes, in rounds.
const CALIBRATION_ROUNDS: usize = 6;
/// In shorter samples, reading the clock and waking up for the request would show.
const MIN_SAMPLE_NS: u64 = 2_000_000;
/// Long enough for garbage collections to fall into it, short beside a neighbour's bursts.
const MAX_SAMPLE_NS: u64 = 10_000_000;

impl Bench {
    /// Fills in the rows' warm figures.
    pub(super) fn warm(
        &mut self,
        cases: &[Case],
        rows: &mut [Row],
        progress: &mut dyn Progress,
    ) -> Option<AaCheck> {
        let mut subjects: Vec<(usize, Part)> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            if row.problem.is_none() {
                let parts = Part::ALL.into_iter().filter(|p| cases[i].entry.has(*p));
                subjects.extend(parts.map(|part| (i, part)));
            }
        }
        let once = subjects.len();
        if self.options.twice {
            subjects.extend_from_within(..);
        }
        let plan = self.plan(subjects.len());
        let mut monitors: Vec<Option<(&Case, CoreSpeedMonitor)>> = (0..self.runners.len())
            .map(|runner| {
                let mut cases = cases.iter().filter(|c| c.runner == runner);
                let empty = cases.find(|c| c.entry.codec == EMPTY && c.entry.has(Part::Decode))?;
                Some((empty, CoreSpeedMonitor::default()))
            })
            .collect();
        let calibrating = Cell::new(true);
        let mut stage = None;
        let found = measure::measure(
            subjects.len(),
            plan,
            |subject, n| {
                let (row, part) = subjects[subject];
                let case = &cases[row];
                let measurement = match &mut monitors[case.runner] {
                    Some((empty, monitor)) if !calibrating.get() => {
                        self.time_monitored(empty, monitor, case, part, n)
                    }
                    _ => self.time(case, part, n).map(Measurement::from),
                };
                if let Err(error) = &measurement {
                    // If the restart fails, the next request reports it.
                    self.restart_after(error, case).ok();
                }
                measurement
            },
            |phase| {
                calibrating.set(matches!(phase, Phase::Calibrating(_)));
                let (what, done, steps) = match phase {
                    Phase::Calibrating(n) => ("warming up", n, subjects.len()),
                    Phase::Sampling(n) => ("measuring", n, subjects.len() * plan.rounds),
                    Phase::Refining(percent) => {
                        ("taking more samples of what varies", percent, 100)
                    }
                };
                if stage != Some(what) {
                    progress.begin(what, steps);
                    stage = Some(what);
                }
                progress.step(done)
            },
        );
        for ((row, part), series) in subjects.iter().zip(&found).take(once) {
            match series {
                Ok(series) => {
                    *rows[*row].cost_mut(*part) = Cost::new(series);
                }
                // The first problem causes those that follow.
                Err(error) => {
                    rows[*row].problem.get_or_insert_with(|| error.to_string());
                }
            }
        }
        self.options.twice.then(|| {
            let pairs = found[..once].iter().zip(&found[once..]);
            let both = pairs.filter_map(|(a, b)| Some((a.as_ref().ok()?, b.as_ref().ok()?)));
            a_a(both)
        })
    }

    /// Plans samples as long as the budget allows, within bounds.
    fn plan(&self, subjects: usize) -> SamplingPlan {
        let Options { rounds, seed, .. } = self.options;
        let samples = subjects.max(1) * (rounds + CALIBRATION_ROUNDS);
        let sample_ns = self.options.budget_ns / samples as u64;
        SamplingPlan {
            sample_ns: sample_ns.clamp(MIN_SAMPLE_NS, MAX_SAMPLE_NS),
            rounds,
            budget_ns: self.options.budget_ns,
            seed,
        }
    }

    /// Times a loop between two reference loops of the same runner.
    fn time_monitored(
        &mut self,
        empty: &Case,
        monitor: &mut CoreSpeedMonitor,
        case: &Case,
        part: Part,
        n: u64,
    ) -> Result<Measurement, RunnerError> {
        let start = Instant::now();
        let reference = monitor.iterations();
        let before = self.time(empty, Part::Decode, reference)?;
        let threads = self.runners[case.runner].threads();
        let timed = self.time(case, part, n)?;
        let waited_ns = waited_ns(&threads, &self.runners[case.runner].threads());
        let after = self.time(empty, Part::Decode, reference)?;
        let slowdown = monitor.record([before.elapsed_ns, after.elapsed_ns]);
        Ok(Measurement {
            timed,
            waited_ns,
            slowdown,
            spent_ns: start.elapsed().as_nanos() as u64,
        })
    }

    fn time(&mut self, case: &Case, part: Part, n: u64) -> Result<Timed, RunnerError> {
        let task = self.task(case);
        let value_file = &self.messages[case.message].value_file;
        let encoded_file = (!case.entry.has(Part::Encode)).then_some(case.encoded.as_path());
        self.runners[case.runner].time(task, part, value_file, encoded_file, n)
    }
}

/// Counts the pairs of the same thing measured twice whose difference has an interval that covers
/// zero.
fn a_a<'m>(pairs: impl Iterator<Item = (&'m Series, &'m Series)>) -> AaCheck {
    let mut check = AaCheck::default();
    for (a, b) in pairs {
        let rounds = a.samples.iter().zip(&b.samples);
        let differences: Vec<Sample> = rounds
            .map(|(a, b)| Sample {
                ns: a.ns - b.ns,
                clean: a.clean && b.clean,
                heap_bytes: None,
            })
            .collect();
        if let Some(difference) = measure::time_ns(&differences) {
            check.pairs += 1;
            let interval = difference.interval;
            check.agreeing += usize::from(interval.lo <= 0.0 && 0.0 <= interval.hi);
        }
    }
    check
}
