//! Warm figures: everything in one long shuffle.

use std::cell::Cell;
use std::time::Instant;

use super::pulse::Pulse;
use super::{Bench, EMPTY, Place};
use crate::measure::{self, Measured, Rule, Sample, Stage, Taken};
use crate::protocol::Part;
use crate::runner::{RunnerError, Subject, Timed, waited_ns};
use crate::table::{AaCheck, Cost, Row};
use crate::{Options, Progress};

impl Bench {
    /// Fills in the rows' warm figures.
    pub(super) fn warm(
        &mut self,
        places: &[Place],
        rows: &mut [Row],
        progress: &mut dyn Progress,
    ) -> Option<AaCheck> {
        let mut subjects: Vec<(usize, Part)> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            if row.problem.is_none() {
                let parts = Part::ALL.into_iter().filter(|p| places[i].entry.has(*p));
                subjects.extend(parts.map(|part| (i, part)));
            }
        }
        let once = subjects.len();
        if self.options.twice {
            subjects.extend_from_within(..);
        }
        let rule = self.rule(subjects.len());
        let mut pulses: Vec<Option<(&Place, Pulse)>> = (0..self.runners.len())
            .map(|runner| {
                let mut of = places.iter().filter(|p| p.runner == runner);
                let nothing = of.find(|p| p.entry.codec == EMPTY && p.entry.has(Part::Decode))?;
                Some((nothing, Pulse::default()))
            })
            .collect();
        let warming_up = Cell::new(true);
        let mut stage = None;
        let found = measure::measure(
            subjects.len(),
            rule,
            |subject, n| {
                let (row, part) = subjects[subject];
                let place = &places[row];
                let taken = match &mut pulses[place.runner] {
                    Some((nothing, pulse)) if !warming_up.get() => {
                        self.between_beats(nothing, pulse, place, part, n)
                    }
                    _ => self.time(place, part, n).map(Taken::from),
                };
                if let Err(error) = &taken {
                    // Without a successor whatever follows says so itself.
                    self.restart_after(error, place).ok();
                }
                taken
            },
            |now| {
                warming_up.set(matches!(now, Stage::Calibrating(_)));
                let (what, done, steps) = match now {
                    Stage::Calibrating(n) => ("warming up", n, subjects.len()),
                    Stage::Sampled(n) => ("measuring", n, subjects.len() * rule.rounds),
                    Stage::Refining(percent) => ("measuring on what varies", percent, 100),
                };
                if stage != Some(what) {
                    progress.begin(what, steps);
                    stage = Some(what);
                }
                progress.step(done)
            },
        );
        for ((row, part), measured) in subjects.iter().zip(&found).take(once) {
            match measured {
                Ok(measured) => {
                    *rows[*row].cost_mut(*part) = Cost::new(measured);
                }
                // The first problem is the cause of those that follow.
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

    /// Samples as long as the budget allows, within what makes sense.
    fn rule(&self, subjects: usize) -> Rule {
        let Options { rounds, seed, .. } = self.options;
        let samples = subjects.max(1) * (rounds + WARM_UP_ROUNDS);
        let sample_ns = (self.options.budget_ns / samples as u64).clamp(SHORTEST_NS, LONGEST_NS);
        Rule {
            sample_ns,
            rounds,
            budget_ns: self.options.budget_ns,
            seed,
        }
    }

    fn between_beats(
        &mut self,
        nothing: &Place,
        pulse: &mut Pulse,
        place: &Place,
        part: Part,
        n: u64,
    ) -> Result<Taken, RunnerError> {
        let begun = Instant::now();
        let beat = pulse.iterations();
        let before = self.time(nothing, Part::Decode, beat)?;
        let threads = self.runners[place.runner].threads();
        let timed = self.time(place, part, n)?;
        let waited_ns = waited_ns(&threads, &self.runners[place.runner].threads());
        let after = self.time(nothing, Part::Decode, beat)?;
        let slow = pulse.hear([before.elapsed_ns, after.elapsed_ns]);
        Ok(Taken {
            timed,
            waited_ns,
            slow,
            spent_ns: begun.elapsed().as_nanos() as u64,
        })
    }

    fn time(&mut self, place: &Place, part: Part, n: u64) -> Result<Timed, RunnerError> {
        let message = &self.messages[place.message];
        let subject = Subject::new(&place.entry, message.name);
        let given = (!place.entry.has(Part::Encode)).then_some(place.encoded.as_path());
        self.runners[place.runner].time(subject, part, &message.value_file, given, n)
    }
}

/// Of all pairs of the same thing measured twice, how many differ by less than they should.
fn a_a<'m>(pairs: impl Iterator<Item = (&'m Measured, &'m Measured)>) -> AaCheck {
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
            check.within += usize::from(interval.lo <= 0.0 && 0.0 <= interval.hi);
        }
    }
    check
}

/// About what calibration takes, in samples.
const WARM_UP_ROUNDS: usize = 6;
/// Below it the reading of the clock and the line over the pipe would show.
const SHORTEST_NS: u64 = 2_000_000;
/// Long enough for a runtime to collect garbage in it, short beside a neighbour's visits.
const LONGEST_NS: u64 = 10_000_000;
