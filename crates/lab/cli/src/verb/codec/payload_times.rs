//! Times the operations on a user's own payload, and decides how often each is run.

use std::convert::Infallible;

use codec_bench::Timed;
use codec_bench::measure::{Measurement, Phase, SamplingPlan, measure};

/// The time for all samples of a payload. One of each operation is taken in any case.
const BUDGET_NS: u64 = 2_000_000_000;
const SAMPLE_NS: u64 = 2_000_000;
/// Operations that take longer than this together are timed once: calibration and rounds would multiply it.
const ONCE_NS: u64 = BUDGET_NS / 2;

/// How long one run of an operation takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OperationTime {
    pub(super) ns: Option<f64>,
    /// How often it was run. A single run is cold, and only a hint.
    pub(super) runs: u64,
}

/// Times operations. `run` takes the index of an operation and how often to run it, and returns the time of these runs
/// in ns.
pub(super) fn times(
    operations: usize,
    rounds: usize,
    seed: u64,
    mut run: impl FnMut(usize, u64) -> u64,
) -> Vec<OperationTime> {
    let once: Vec<u64> = (0..operations).map(|index| run(index, 1)).collect();
    if once.iter().sum::<u64>() > ONCE_NS {
        let time = |ns| OperationTime {
            ns: Some(ns as f64),
            runs: 1,
        };
        return once.into_iter().map(time).collect();
    }
    let mut runs = vec![1; operations];
    let plan = SamplingPlan {
        sample_ns: SAMPLE_NS,
        rounds,
        budget_ns: BUDGET_NS,
        seed,
    };
    let spent_ns = std::cell::Cell::new(0);
    let series = measure::<Infallible>(
        operations,
        plan,
        |index, n| {
            let elapsed_ns = run(index, n);
            runs[index] += n;
            spent_ns.set(spent_ns.get() + elapsed_ns);
            Ok(Measurement::from(Timed {
                elapsed_ns,
                heap_bytes: None,
            }))
        },
        |phase| match phase {
            Phase::Sampling(taken) if taken >= operations => spent_ns.get() < BUDGET_NS,
            Phase::Calibrating(_) | Phase::Sampling(_) | Phase::Refining(_) => true,
        },
    );
    let time = |(series, runs): (Result<codec_bench::measure::Series, Infallible>, u64)| {
        let Ok(series) = series;
        OperationTime {
            ns: series.time_ns().and_then(|time| time.value.known()),
            runs,
        }
    };
    series.into_iter().zip(runs).map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often each of 20 operations of `ns` is run in all.
    fn runs(ns: u64) -> Vec<u64> {
        let mut runs = vec![0; 20];
        let times = times(20, 19, 1, |index, n| {
            runs[index] += n;
            n * ns
        });
        let expected = runs.iter().map(|runs| OperationTime {
            ns: Some(ns as f64),
            runs: *runs,
        });
        assert_eq!(times, expected.collect::<Vec<_>>());
        runs
    }

    #[test]
    fn large_payloads_are_timed_once() {
        assert_eq!(runs(60_000_000), [1; 20]);
        assert_eq!(runs(6_000_000_000), [1; 20]);
    }

    /// All runs together take a bounded time, whatever an operation takes.
    #[test]
    fn the_budget_bounds_the_number_of_runs() {
        for ns in [1_000, 100_000, 3_000_000, 20_000_000, 50_000_000] {
            let taken = runs(ns).iter().sum::<u64>() * ns;
            assert!(taken <= 2 * BUDGET_NS, "{ns}: {taken}");
        }
        assert!(runs(1_000).iter().all(|n| *n > 10_000));
    }
}
