//! Sampling of subjects whose cost is known, in virtual time and with seeded randomness.

use std::cell::RefCell;
use std::convert::Infallible;

use super::*;

const PLAN: SamplingPlan = SamplingPlan {
    sample_ns: 5_000_000,
    rounds: 19,
    budget_ns: u64::MAX,
    seed: 1,
};

fn quiet(elapsed_ns: u64) -> Measurement {
    measurement(elapsed_ns, 0, 0.0)
}

fn measurement(elapsed_ns: u64, waited_ns: u64, slowdown: f64) -> Measurement {
    Measurement {
        timed: Timed {
            elapsed_ns,
            heap_bytes: Some(elapsed_ns),
        },
        waited_ns,
        slowdown,
        spent_ns: elapsed_ns,
    }
}

fn times(found: &Series) -> Vec<f64> {
    found.samples.iter().map(|s| s.ns).collect()
}

/// Returns a measurement of a subject of `cost_ns`, off by up to `noise` (a share).
fn noisy(random: &RefCell<Random>, cost_ns: f64, noise: f64, n: u64) -> Measurement {
    let off = 1.0 + noise * (2.0 * random.borrow_mut().double() - 1.0);
    quiet((cost_ns * n as f64 * off).max(1.0) as u64)
}

fn all_series(found: Vec<Result<Series, Infallible>>) -> Vec<Series> {
    found
        .into_iter()
        .map(|m| m.unwrap_or_else(|e| match e {}))
        .collect()
}

#[test]
fn iterations_fill_a_sample_at_any_cost() {
    for cost_ns in [1u64, 40, 7_000, 900_000, 5_000_000, 80_000_000] {
        let found = measure::<Infallible>(1, PLAN, |_, n| Ok(quiet(cost_ns * n)), |_| true);
        let found = &all_series(found)[0];
        let sample_ns = found.iterations * cost_ns;
        let wanted = PLAN.sample_ns.max(cost_ns);
        assert!(
            (wanted / 2..=wanted * 3 / 2).contains(&sample_ns),
            "{cost_ns}: {sample_ns}"
        );
        assert_eq!(times(found), vec![cost_ns as f64; PLAN.rounds]);
    }
}

#[test]
fn warm_up_is_not_measured() {
    let calls = RefCell::new(0u64);
    let time = |_: usize, n: u64| -> Result<Measurement, Infallible> {
        let mut calls = calls.borrow_mut();
        // Ten times slower for the first ten thousand calls.
        let cold = n.min(10_000u64.saturating_sub(*calls));
        *calls += n;
        Ok(quiet(cold * 1_000 + (n - cold) * 100))
    };
    let found = &all_series(measure(1, PLAN, time, |_| true))[0];
    assert_eq!(times(found), vec![100.0; PLAN.rounds]);
    assert_eq!(found.iterations, 50_000);
}

#[test]
fn each_round_times_everything_once_in_a_new_order() {
    let visits = RefCell::new(Vec::new());
    let time = |subject: usize, n: u64| -> Result<Measurement, Infallible> {
        visits.borrow_mut().push(subject);
        Ok(quiet(n * 5_000_000))
    };
    all_series(measure(8, PLAN, time, |_| true));
    let visits = visits.into_inner();
    let rounds: Vec<&[usize]> = visits[visits.len() - 8 * PLAN.rounds..].chunks(8).collect();
    for round in &rounds {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
    let mut orders = rounds.clone();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), rounds.len());
}

#[test]
fn a_a_differences_have_intervals_that_cover_zero() {
    let random = RefCell::new(Random::new(7));
    let mut within = 0;
    for seed in 0..200 {
        // Drift never narrows; the budget ends it.
        let budget_ns = 2 * 25 * PLAN.sample_ns;
        let plan = SamplingPlan {
            seed,
            budget_ns,
            ..PLAN
        };
        // The machine drifts; interleaving makes that the same for both.
        let drift = RefCell::new(1.0);
        let time = |_: usize, n: u64| -> Result<Measurement, Infallible> {
            *drift.borrow_mut() *= 1.001;
            Ok(noisy(&random, 250.0 * *drift.borrow(), 0.03, n))
        };
        let found = all_series(measure(2, plan, time, |_| true));
        let pairs = found[0].samples.iter().zip(&found[1].samples);
        let differences: Vec<Span> = pairs.map(|(a, b)| Span::exact(a.ns - b.ns)).collect();
        let difference = estimate_by_order(&differences, Level::NINETY_FIVE);
        let difference = difference.unwrap().interval;
        within += usize::from(difference.lo <= 0.0 && 0.0 <= difference.hi);
    }
    assert!(within >= 190, "{within} of 200");
}

/// Returns a measurement of a subject that a neighbour slows now and then: right-skewed, far from
/// normal.
fn crowded(random: &RefCell<Random>, cost_ns: f64, n: u64) -> Measurement {
    let [neighbour, extra] = [(); 2].map(|()| random.borrow_mut().double());
    let share = if neighbour < 0.3 {
        0.5 * extra
    } else {
        0.06 * extra
    };
    quiet((cost_ns * n as f64 * (1.0 + share)) as u64)
}

#[test]
fn varying_subjects_get_more_samples_within_the_budget() {
    let random = RefCell::new(Random::new(3));
    let found = |budget_ns| {
        let plan = SamplingPlan { budget_ns, ..PLAN };
        let time = |subject: usize, n: u64| -> Result<Measurement, Infallible> {
            Ok(match subject {
                0 => quiet(n * 100),
                _ => crowded(&random, 100.0, n),
            })
        };
        all_series(measure(2, plan, time, |_| true))
    };
    let samples = |found: &[Series]| [0, 1].map(|s| found[s].samples.len());
    assert_eq!(samples(&found(0)), [MIN_SAMPLES; 2]);
    // Both take 19 samples of 5 ms and more, each with a lead-in; then one goes on alone.
    let short = samples(&found(300_000_000));
    assert_eq!(short[0], 19);
    assert!((30..=41).contains(&short[1]), "{short:?}");
    let long = found(u64::MAX);
    assert_eq!(long[0].samples.len(), 19);
    assert!(long[1].is_narrow(), "{}", long[1].samples.len());
}

#[test]
fn stopping_at_the_target_width_keeps_the_coverage() {
    // With probability 0.3 the share is uniform up to 0.5, else up to 0.06. Half of all shares are
    // below x where 0.3 * x / 0.5 + 0.7 * x / 0.06 = 0.5.
    let median = 100.0 * (1.0 + 0.5 / (0.3 / 0.5 + 0.7 / 0.06));
    let random = RefCell::new(Random::new(11));
    let (runs, mut covered) = (300, 0);
    for seed in 0..runs {
        let plan = SamplingPlan { seed, ..PLAN };
        let time = |_: usize, n: u64| -> Result<Measurement, Infallible> {
            Ok(crowded(&random, 100.0, n))
        };
        let found = &all_series(measure(1, plan, time, |_| true))[0];
        let interval = found.time_ns().unwrap().interval;
        covered += u64::from(interval.lo <= median && median <= interval.hi);
    }
    assert!(covered * 100 >= runs * 94, "{covered} of {runs}");
}

#[test]
fn noisy_samples_are_retaken() {
    for slowdown in [0.0, 0.3] {
        let call = RefCell::new(0);
        let take = |_: usize, n: u64| -> Result<Measurement, Infallible> {
            *call.borrow_mut() += 1;
            // Every third call is noisy, which is in turn a lead-in, a sample and a retake.
            Ok(match *call.borrow() % 3 {
                0 if slowdown > 0.0 => measurement(n * 140, 0, slowdown),
                0 => measurement(n * 200, n * 100, 0.0),
                _ => measurement(n * 100, 0, 0.0),
            })
        };
        let found = &all_series(measure(1, PLAN, take, |_| true))[0];
        assert_eq!(times(found), vec![100.0; PLAN.rounds]);
        assert!(found.samples.iter().all(|s| s.clean));
        assert_eq!(found.heap_bytes(), Some(100.0));
    }
}

#[test]
fn budget_bounds_the_time_on_a_noisy_machine() {
    let spent_ns = RefCell::new(0);
    let take = |_: usize, n: u64| -> Result<Measurement, Infallible> {
        *spent_ns.borrow_mut() += n * 100;
        Ok(measurement(n * 100, 0, 0.5))
    };
    let budget_ns = 10 * PLAN.rounds as u64 * PLAN.sample_ns;
    let plan = SamplingPlan { budget_ns, ..PLAN };
    let found = &all_series(measure(4, plan, take, |_| true))[0];
    assert!(found.samples.len() >= PLAN.rounds && found.samples.iter().all(|s| !s.clean));
    let spent_ns = *spent_ns.borrow();
    assert!(spent_ns < budget_ns * 5 / 4, "{spent_ns} of {budget_ns}");
}

#[test]
fn noisy_samples_count_only_without_enough_clean_ones() {
    let of = |clean: usize| {
        let sample = |i| Sample {
            ns: if i < clean { 100.0 } else { 150.0 },
            clean: i < clean,
            heap_bytes: None,
        };
        Series {
            samples: (0..19).map(sample).collect(),
            iterations: 1,
        }
    };
    let median = |found: &Series| found.time_ns().unwrap().value.known();
    let (few, enough) = (of(MIN_SAMPLES - 1), of(MIN_SAMPLES));
    assert_eq!(
        (median(&enough), enough.used().len()),
        (Some(100.0), MIN_SAMPLES)
    );
    assert_eq!((median(&few), few.used().len()), (Some(150.0), 19));
    assert!(enough.is_narrow() && !of(0).is_narrow());
    assert_eq!(MIN_SAMPLES, Level::NINETY_FIVE.fewest_blocks());
}

#[test]
fn an_error_ends_only_its_own_subject() {
    let time = |subject: usize, n: u64| match subject {
        1 => Err("broken"),
        _ => Ok(quiet(n * 100)),
    };
    let found = measure(3, PLAN, time, |_| true);
    assert!(found[0].is_ok() && found[2].is_ok());
    assert_eq!(found[1].as_ref().err(), Some(&"broken"));
}

#[test]
fn stopping_keeps_the_samples_so_far() {
    let keep_going = |phase| !matches!(phase, Phase::Sampling(5..));
    let found = measure::<Infallible>(1, PLAN, |_, n| Ok(quiet(n * 100)), keep_going);
    assert_eq!(all_series(found)[0].samples.len(), 5);
}
