//! Sampling: how many samples are taken, in which order and until when, independent of any clock.
//!
//! The number of iterations follows the rule of the mobile-grpc study: from one, double until the
//! loop takes a good part of the wanted time, then scale. The study took one sample of 10 s. Here
//! many short samples are taken in rounds, interleaved with those of all other subjects. The reason
//! is that measurements minutes apart also differ by what the machine did in between.

use messages::Random;
use stats::{Estimate, Level, Span, estimate_by_order};

use crate::runner::Timed;

/// The fewest samples whose range is an interval of 95 %.
pub const MIN_SAMPLES: usize = 6;
/// The half-width of an interval, as a share of the median, that is narrow enough.
pub const TARGET_HALF_WIDTH: f64 = 0.02;
/// Beyond this, more samples give false precision: a subject that still varies is drifting.
const MAX_ROUNDS: usize = 1_000;
/// Widths are checked again whenever the number of rounds has grown by one part in this many.
const RECHECK_GROWTH_DIVISOR: usize = 4;
/// The uncounted lead-in before a sample is this fraction of its iterations.
const LEAD_IN_DIVISOR: u64 = 8;
const MAX_ITERATIONS: u64 = 1 << 32;
/// Calibration ends at the latest after the time of this many samples.
const MAX_CALIBRATION_SAMPLES: u64 = 12;
/// Calibration ends when the slowest of three samples in a row is at most this factor above the
/// fastest.
const STEADY_RATIO: f64 = 1.03;
/// Waiting up to this long is put down to waking up for the request, before the loop starts.
const WAKEUP_ALLOWANCE_NS: u64 = 100_000;
/// Half of [`TARGET_HALF_WIDTH`].
const MAX_WAIT_SHARE: f64 = 0.01;
/// A neighbour slows a core by a third or more. A runtime's empty loop varies by a few percent,
/// depending on how it was compiled.
const MAX_SLOWDOWN: f64 = 0.1;
const MAX_ATTEMPTS: usize = 3;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct SamplingPlan {
    /// The wanted length of a sample.
    pub sample_ns: u64,
    /// Samples of each subject if time allows; [`MIN_SAMPLES`] in any case.
    pub rounds: usize,
    /// The time for everything together. While it lasts, noisy samples are taken again, and
    /// subjects with an interval wider than [`TARGET_HALF_WIDTH`] get more than `rounds`.
    pub budget_ns: u64,
    /// The seed of the random order.
    pub seed: u64,
}

/// One timed loop, and how noisy it was.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// The runner's result.
    pub timed: Timed,
    /// How long the runner waited for a core during the loop.
    pub waited_ns: u64,
    /// How much slower than full speed the core was just before or just after, as a share.
    /// Nothing else shows a virtual machine's noisy neighbour.
    pub slowdown: f64,
    /// How long the measurement took in all, reference loops included.
    pub spent_ns: u64,
}

/// The samples of one subject.
#[derive(Clone, Debug)]
pub struct Series {
    /// One sample per round.
    pub samples: Vec<Sample>,
    /// Operations per sample.
    pub iterations: u64,
}

/// The sample of one subject in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time per operation.
    pub ns: f64,
    /// Whether a clean measurement was found within the attempts.
    pub clean: bool,
    /// Bytes allocated per operation, if the runtime can tell.
    pub heap_bytes: Option<f64>,
}

/// Progress of [`measure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The subject with this index is being calibrated.
    Calibrating(usize),
    /// This many samples have been taken.
    Sampling(usize),
    /// Every subject has its samples, and those that vary get more; the percentage of the budget
    /// spent so far.
    Refining(usize),
}

impl From<Timed> for Measurement {
    /// Makes a measurement that was not checked for noise.
    fn from(timed: Timed) -> Self {
        Measurement {
            timed,
            waited_ns: 0,
            slowdown: 0.0,
            spent_ns: timed.elapsed_ns,
        }
    }
}

impl Series {
    /// Returns the samples that count: the clean ones, or all if fewer than [`MIN_SAMPLES`] are
    /// clean.
    pub fn used(&self) -> Vec<Sample> {
        used(&self.samples)
    }

    /// Returns the median time per operation with its 95 % interval.
    pub fn time_ns(&self) -> Option<Estimate> {
        time_ns(&self.samples)
    }

    /// Returns the median of the bytes allocated per operation.
    pub fn heap_bytes(&self) -> Option<f64> {
        let bytes = self.used().into_iter().filter_map(|s| s.heap_bytes);
        let bytes: Vec<Span> = bytes.map(Span::exact).collect();
        stats::median(&bytes).and_then(Span::known)
    }

    /// Returns whether the samples are clean and their interval is narrow enough.
    ///
    /// Only the interval's width decides, never its position, and it is checked only now and then,
    /// so stopping does not bias the median (for means: Chow and Robbins, "On the asymptotic theory
    /// of fixed-width sequential confidence intervals for the mean", 1965; for this rule: a test).
    fn is_narrow(&self) -> bool {
        let clean = self.used().iter().all(|s| s.clean);
        clean
            && self.time_ns().is_some_and(|time| {
                let (low, high) = (time.interval.lo, time.interval.hi);
                let ns = time.value.known().unwrap_or(0.0);
                (high - ns).max(ns - low) <= TARGET_HALF_WIDTH * ns
            })
    }
}

fn used(samples: &[Sample]) -> Vec<Sample> {
    let clean: Vec<Sample> = samples.iter().copied().filter(|s| s.clean).collect();
    match clean.len() < MIN_SAMPLES {
        true => samples.to_vec(),
        false => clean,
    }
}

/// Returns the median of the samples that count, with its 95 % interval.
pub(crate) fn time_ns(samples: &[Sample]) -> Option<Estimate> {
    let used: Vec<Span> = used(samples).iter().map(|s| Span::exact(s.ns)).collect();
    estimate_by_order(&used, Level::NINETY_FIVE)
}

/// Measures several subjects in interleaved rounds.
///
/// `time` runs a subject the given number of times; an error ends that subject's series.
/// `keep_going` is called before each sample; when it returns false, the samples so far are
/// returned.
pub fn measure<E>(
    subjects: usize,
    plan: SamplingPlan,
    mut time: impl FnMut(usize, u64) -> Result<Measurement, E>,
    mut keep_going: impl FnMut(Phase) -> bool,
) -> Vec<Result<Series, E>> {
    let mut found: Vec<Result<Series, E>> = Vec::with_capacity(subjects);
    for subject in 0..subjects {
        let calibrated = match keep_going(Phase::Calibrating(subject)) {
            true => calibrate(plan, |n| time(subject, n)),
            false => Ok(1),
        };
        found.push(calibrated.map(|iterations| Series {
            samples: Vec::with_capacity(plan.rounds),
            iterations,
        }));
    }
    let mut random = Random::new(plan.seed);
    let mut order: Vec<usize> = (0..subjects).collect();
    let (mut sampled, mut spent_ns) = (0, 0);
    let mut next_check = plan.rounds;
    for round in 0..MAX_ROUNDS {
        if round == next_check {
            order.retain(|&s| found[s].as_ref().is_ok_and(|m| !m.is_narrow()));
            next_check += next_check.div_ceil(RECHECK_GROWTH_DIVISOR);
        }
        if order.is_empty() || round >= MIN_SAMPLES && spent_ns >= plan.budget_ns {
            break;
        }
        random.shuffle(&mut order);
        // Retries may use what earlier rounds left of their share of the budget.
        let share = (round + 1).min(plan.rounds) as f64 / plan.rounds as f64;
        let spendable_ns = (plan.budget_ns as f64 * share) as u64;
        for &subject in &order {
            let phase = match round < plan.rounds {
                true => Phase::Sampling(sampled),
                false => {
                    let spent = spent_ns as f64 / plan.budget_ns.max(1) as f64;
                    Phase::Refining((100.0 * spent) as usize)
                }
            };
            if !keep_going(phase) {
                return found;
            }
            sampled += 1;
            let Ok(series) = &mut found[subject] else {
                continue;
            };
            let attempts = if spent_ns < spendable_ns {
                MAX_ATTEMPTS
            } else {
                1
            };
            let sample = sample(series.iterations, attempts, |n| {
                let measurement = time(subject, n)?;
                spent_ns += measurement.spent_ns;
                Ok(measurement)
            });
            match sample {
                Ok(sample) => series.samples.push(sample),
                Err(error) => found[subject] = Err(error),
            }
        }
    }
    found
}

/// Finds how many iterations fill a sample while the runtime warms up: classes load, code is
/// compiled, caches fill. Stops when three consecutive samples agree, or at the time limit.
fn calibrate<E>(
    plan: SamplingPlan,
    mut time: impl FnMut(u64) -> Result<Measurement, E>,
) -> Result<u64, E> {
    let mut n = 1;
    let mut spent_ns = 0;
    let mut costs_ns: Vec<f64> = Vec::new();
    loop {
        let elapsed_ns = time(n)?.timed.elapsed_ns.max(1);
        spent_ns += elapsed_ns;
        if elapsed_ns < plan.sample_ns / 2 && n < MAX_ITERATIONS {
            n *= 2;
            continue;
        }
        costs_ns.push(elapsed_ns as f64 / n as f64);
        n = scaled(n, elapsed_ns, plan.sample_ns);
        let steady = costs_ns.len() >= 3 && {
            let (low, high) = range(&costs_ns[costs_ns.len() - 3..]);
            high <= low * STEADY_RATIO
        };
        if steady || spent_ns >= plan.sample_ns * MAX_CALIBRATION_SAMPLES {
            return Ok(n);
        }
    }
}

fn scaled(n: u64, elapsed_ns: u64, wanted_ns: u64) -> u64 {
    let n = n as f64 * wanted_ns as f64 / elapsed_ns as f64;
    (n.round() as u64).clamp(1, MAX_ITERATIONS)
}

/// Takes a clean sample, or after `attempts` the least noisy one.
fn sample<E>(
    n: u64,
    attempts: usize,
    mut take: impl FnMut(u64) -> Result<Measurement, E>,
) -> Result<Sample, E> {
    // Other subjects ran since: they own the caches and branch predictors, and the core may sleep.
    if n >= LEAD_IN_DIVISOR {
        take(n / LEAD_IN_DIVISOR)?;
    }
    let mut best = take(n)?;
    for _ in 1..attempts {
        if is_clean(&best) {
            break;
        }
        let again = take(n)?;
        if noise(&again) < noise(&best) {
            best = again;
        }
    }
    let per_operation = |total: u64| total as f64 / n as f64;
    Ok(Sample {
        ns: per_operation(best.timed.elapsed_ns),
        clean: is_clean(&best),
        heap_bytes: best.timed.heap_bytes.map(per_operation),
    })
}

fn is_clean(measurement: &Measurement) -> bool {
    wait_share(measurement) <= MAX_WAIT_SHARE && measurement.slowdown <= MAX_SLOWDOWN
}

fn noise(measurement: &Measurement) -> f64 {
    wait_share(measurement) + measurement.slowdown
}

/// Returns the share of the loop's time that the runner waited for a core.
fn wait_share(measurement: &Measurement) -> f64 {
    let waited_ns = measurement.waited_ns.saturating_sub(WAKEUP_ALLOWANCE_NS);
    waited_ns as f64 / measurement.timed.elapsed_ns.max(1) as f64
}

fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    (low, high)
}

#[cfg(test)]
mod tests;
