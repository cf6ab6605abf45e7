//! How often, in which order, until when: the bench's rules, without a clock of their own.
//!
//! The rule for the number of iterations is that of study 1 (mobile-grpc): from one, double
//! until the loop takes a good part of the time wanted, then scale. What differs: the study
//! took one sample of 10 s, here many short ones are taken in rounds, interleaved with all
//! other subjects, because two things measured minutes apart differ by what the machine did in
//! between.

use stats::{Estimate, Level, Span, estimate_by_order};
use wire::Random;

use crate::runner::Timed;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Wanted length of a sample.
    pub sample_ns: u64,
    /// Samples of each subject, if time allows; [`FEWEST`] whether or not.
    pub rounds: usize,
    /// Until everything together has taken this long, samples that were noisy are taken
    /// again, and subjects whose interval is wider than [`REACH`] get more than `rounds`.
    pub budget_ns: u64,
    /// Where the order's luck comes from.
    pub seed: u64,
}

/// A loop that was timed, and how quiet it was meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// What the runner says.
    pub timed: Timed,
    /// How long it waited for a core meanwhile.
    pub waited_ns: u64,
    /// How much slower than at its best the core was just before or just after, as a share: a
    /// neighbour of a virtual machine shows in nothing else.
    pub slow: f64,
    /// How long all of it took, with what was done to tell.
    pub spent_ns: u64,
}

/// What was found of one subject.
#[derive(Clone, Debug)]
pub struct Measured {
    /// By round.
    pub samples: Vec<Sample>,
    /// Operations in a sample.
    pub iterations: u64,
}

/// One round's share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of one operation.
    pub ns: f64,
    /// Nothing noisy it, perhaps after some attempts.
    pub clean: bool,
    /// What one operation allocates.
    pub heap_bytes: Option<f64>,
}

/// What is told while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// This subject is being calibrated.
    Calibrating(usize),
    /// So many samples were taken.
    Sampled(usize),
    /// Every subject has its samples, and those that need it get more; this part of the budget
    /// is spent, in percent.
    Refining(usize),
}

impl From<Timed> for Taken {
    /// Nobody looked whether it was quiet.
    fn from(timed: Timed) -> Self {
        Taken {
            timed,
            waited_ns: 0,
            slow: 0.0,
            spent_ns: timed.elapsed_ns,
        }
    }
}

impl Measured {
    /// The samples that count.
    pub fn used(&self) -> Vec<Sample> {
        used(&self.samples)
    }

    /// Their median with its interval of 95 %.
    pub fn time_ns(&self) -> Option<Estimate> {
        time_ns(&self.samples)
    }

    /// What one operation allocates, their median.
    pub fn heap_bytes(&self) -> Option<f64> {
        let bytes = self.used().into_iter().filter_map(|s| s.heap_bytes);
        let bytes: Vec<Span> = bytes.map(Span::exact).collect();
        stats::median(&bytes).and_then(Span::known)
    }

    /// Known well enough, and from clean samples. Only the interval's width decides, never where
    /// it lies, and only now and then: so stopping does not draw the median to a side (for means
    /// Chow and Robbins, "On the asymptotic theory of fixed-width sequential confidence intervals
    /// for the mean", 1965; for this rule a test).
    fn is_narrow(&self) -> bool {
        let clean = self.used().iter().all(|s| s.clean);
        clean
            && self.time_ns().is_some_and(|time| {
                let (low, high) = (time.interval.lo, time.interval.hi);
                let ns = time.value.known().unwrap_or(0.0);
                (high - ns).max(ns - low) <= REACH * ns
            })
    }
}

/// The clean samples, or all where hardly any is.
fn used(samples: &[Sample]) -> Vec<Sample> {
    let clean: Vec<Sample> = samples.iter().copied().filter(|s| s.clean).collect();
    match clean.len() < FEWEST {
        true => samples.to_vec(),
        false => clean,
    }
}

/// The median of the samples that count, with its interval of 95 %.
pub(crate) fn time_ns(samples: &[Sample]) -> Option<Estimate> {
    let used: Vec<Span> = used(samples).iter().map(|s| Span::exact(s.ns)).collect();
    estimate_by_order(&used, Level::NINETY_FIVE)
}

/// Measures `subjects` things. `time` runs one of them so many times; an error ends that
/// subject's part. `go_on` is asked before each sample; when it says no, what there is is
/// returned.
pub fn measure<E>(
    subjects: usize,
    rule: Rule,
    mut time: impl FnMut(usize, u64) -> Result<Taken, E>,
    mut go_on: impl FnMut(Stage) -> bool,
) -> Vec<Result<Measured, E>> {
    let mut found: Vec<Result<Measured, E>> = Vec::with_capacity(subjects);
    for subject in 0..subjects {
        let calibrated = match go_on(Stage::Calibrating(subject)) {
            true => calibrate(rule, |n| time(subject, n)),
            false => Ok(1),
        };
        found.push(calibrated.map(|iterations| Measured {
            samples: Vec::with_capacity(rule.rounds),
            iterations,
        }));
    }
    let mut random = Random::new(rule.seed);
    let mut order: Vec<usize> = (0..subjects).collect();
    let (mut sampled, mut spent_ns) = (0, 0);
    let mut look = rule.rounds;
    for round in 0..MOST_ROUNDS {
        if round == look {
            order.retain(|&s| found[s].as_ref().is_ok_and(|m| !m.is_narrow()));
            look += look.div_ceil(LOOK);
        }
        if order.is_empty() || round >= FEWEST && spent_ns >= rule.budget_ns {
            break;
        }
        random.shuffle(&mut order);
        // What the first rounds do not spend is left for the last ones.
        let share = (round + 1).min(rule.rounds) as f64 / rule.rounds as f64;
        let spendable_ns = (rule.budget_ns as f64 * share) as u64;
        for &subject in &order {
            let stage = match round < rule.rounds {
                true => Stage::Sampled(sampled),
                false => {
                    let spent = spent_ns as f64 / rule.budget_ns.max(1) as f64;
                    Stage::Refining((100.0 * spent) as usize)
                }
            };
            if !go_on(stage) {
                return found;
            }
            sampled += 1;
            let Ok(measured) = &mut found[subject] else {
                continue;
            };
            let attempts = if spent_ns < spendable_ns { ATTEMPTS } else { 1 };
            let taken = sample(measured.iterations, attempts, |n| {
                let taken = time(subject, n)?;
                spent_ns += taken.spent_ns;
                Ok(taken)
            });
            match taken {
                Ok(sample) => measured.samples.push(sample),
                Err(error) => found[subject] = Err(error),
            }
        }
    }
    found
}

/// How many iterations fill a sample, found while everything warms up: classes load, code is
/// compiled, caches fill. It ends when three samples in a row agree, or patience does.
fn calibrate<E>(rule: Rule, mut time: impl FnMut(u64) -> Result<Taken, E>) -> Result<u64, E> {
    let mut n = 1;
    let mut spent_ns = 0;
    let mut last: Vec<f64> = Vec::new();
    loop {
        let elapsed_ns = time(n)?.timed.elapsed_ns.max(1);
        spent_ns += elapsed_ns;
        if elapsed_ns < rule.sample_ns / 2 && n < MOST_ITERATIONS {
            n *= 2;
            continue;
        }
        last.push(elapsed_ns as f64 / n as f64);
        n = scaled(n, elapsed_ns, rule.sample_ns);
        let steady = last.len() >= 3 && {
            let three = &last[last.len() - 3..];
            let (low, high) = ends(three);
            high <= low * STEADY
        };
        if steady || spent_ns >= rule.sample_ns * WARM_UP_SAMPLES {
            return Ok(n);
        }
    }
}

fn scaled(n: u64, elapsed_ns: u64, wanted_ns: u64) -> u64 {
    let n = n as f64 * wanted_ns as f64 / elapsed_ns as f64;
    (n.round() as u64).clamp(1, MOST_ITERATIONS)
}

/// A sample that nothing noisy; after some attempts, the one that was noisy least.
fn sample<E>(
    n: u64,
    attempts: usize,
    mut take: impl FnMut(u64) -> Result<Taken, E>,
) -> Result<Sample, E> {
    // Others ran since: caches and branch predictors are theirs, the core may sleep.
    if n >= LEAD_IN {
        take(n / LEAD_IN)?;
    }
    let mut best = take(n)?;
    for _ in 1..attempts {
        if is_clean(&best) {
            break;
        }
        let again = take(n)?;
        if disturbance(&again) < disturbance(&best) {
            best = again;
        }
    }
    let of_one = |all: u64| all as f64 / n as f64;
    Ok(Sample {
        ns: of_one(best.timed.elapsed_ns),
        clean: is_clean(&best),
        heap_bytes: best.timed.heap_bytes.map(of_one),
    })
}

fn is_clean(taken: &Taken) -> bool {
    waited(taken) <= WAIT_SHARE && taken.slow <= SLOW_SHARE
}

fn disturbance(taken: &Taken) -> f64 {
    waited(taken) + taken.slow
}

/// The share of its time that it waited for a core.
fn waited(taken: &Taken) -> f64 {
    taken.waited_ns.saturating_sub(WAKE_NS) as f64 / taken.timed.elapsed_ns.max(1) as f64
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    (low, high)
}

/// Samples whose whole range is an interval of 95 %.
pub const FEWEST: usize = 6;
/// Half of an interval's width, as a share of the median, that is narrow enough.
pub const REACH: f64 = 0.02;
/// More would not make it better known, but wrongly known: what varies still, drifts.
const MOST_ROUNDS: usize = 1_000;
/// After this part more samples it is seen anew what is narrow.
const LOOK: usize = 4;
/// Before a sample, the same again for this part of its length, not counted.
const LEAD_IN: u64 = 8;
const MOST_ITERATIONS: u64 = 1 << 32;
/// Warm-up ends at latest after so many samples' time.
const WARM_UP_SAMPLES: u64 = 12;
/// Samples this near to one another are the same.
const STEADY: f64 = 1.03;
/// Waking up to hear what is to be timed is waiting too, but not within the loop.
const WAKE_NS: u64 = 100_000;
/// Half of the half-width that is aimed at.
const WAIT_SHARE: f64 = 0.01;
/// A neighbour takes a third and more; a runtime's empty loop, compiled now this way and now
/// that, a few percent.
const SLOW_SHARE: f64 = 0.1;
const ATTEMPTS: usize = 3;

#[cfg(test)]
mod tests;
