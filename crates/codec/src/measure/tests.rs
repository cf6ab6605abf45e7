//! The rules against subjects whose cost is known: time is virtual, and luck is seeded.

use std::cell::RefCell;
use std::convert::Infallible;

use super::*;

const RULE: Rule = Rule {
    sample_ns: 5_000_000,
    rounds: 19,
    budget_ns: u64::MAX,
    seed: 1,
};

fn timed(elapsed_ns: u64) -> Taken {
    taken(elapsed_ns, 0, 0.0)
}

fn taken(elapsed_ns: u64, waited_ns: u64, slow: f64) -> Taken {
    Taken {
        timed: Timed {
            elapsed_ns,
            heap_bytes: Some(elapsed_ns),
        },
        waited_ns,
        slow,
        spent_ns: elapsed_ns,
    }
}

fn times(found: &Measured) -> Vec<f64> {
    found.samples.iter().map(|s| s.ns).collect()
}

/// A subject of `cost_ns`, whose every sample is off by up to `noise` (a share).
fn noisy(random: &RefCell<Random>, cost_ns: f64, noise: f64, n: u64) -> Taken {
    let off = 1.0 + noise * (2.0 * random.borrow_mut().double() - 1.0);
    timed((cost_ns * n as f64 * off).max(1.0) as u64)
}

fn measured(found: Vec<Result<Measured, Infallible>>) -> Vec<Measured> {
    found
        .into_iter()
        .map(|m| m.unwrap_or_else(|e| match e {}))
        .collect()
}

#[test]
fn iterations_fill_a_sample_whatever_one_costs() {
    for cost_ns in [1u64, 40, 7_000, 900_000, 5_000_000, 80_000_000] {
        let found = measure::<Infallible>(1, RULE, |_, n| Ok(timed(cost_ns * n)), |_| true);
        let found = &measured(found)[0];
        let sample_ns = found.iterations * cost_ns;
        let wanted = RULE.sample_ns.max(cost_ns);
        assert!(
            (wanted / 2..=wanted * 3 / 2).contains(&sample_ns),
            "{cost_ns}: {sample_ns}"
        );
        assert_eq!(times(found), vec![cost_ns as f64; RULE.rounds]);
    }
}

#[test]
fn what_warms_up_is_measured_warm() {
    let calls = RefCell::new(0u64);
    let time = |_: usize, n: u64| -> Result<Taken, Infallible> {
        let mut calls = calls.borrow_mut();
        // Ten times slower until it was called ten thousand times.
        let cold = n.min(10_000u64.saturating_sub(*calls));
        *calls += n;
        Ok(timed(cold * 1_000 + (n - cold) * 100))
    };
    let found = &measured(measure(1, RULE, time, |_| true))[0];
    assert_eq!(times(found), vec![100.0; RULE.rounds]);
    assert_eq!(found.iterations, 50_000);
}

#[test]
fn rounds_visit_everything_once_in_an_order_of_their_own() {
    let visits = RefCell::new(Vec::new());
    let time = |subject: usize, n: u64| -> Result<Taken, Infallible> {
        visits.borrow_mut().push(subject);
        Ok(timed(n * 5_000_000))
    };
    measured(measure(8, RULE, time, |_| true));
    let visits = visits.into_inner();
    let rounds: Vec<&[usize]> = visits[visits.len() - 8 * RULE.rounds..].chunks(8).collect();
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
fn the_same_thing_twice_differs_by_no_more_than_its_interval() {
    let random = RefCell::new(Random::new(7));
    let mut within = 0;
    for seed in 0..200 {
        // Drift never narrows: here time ends it.
        let budget_ns = 2 * 25 * RULE.sample_ns;
        let rule = Rule {
            seed,
            budget_ns,
            ..RULE
        };
        // The machine drifts, for both alike: interleaving takes care of that.
        let drift = RefCell::new(1.0);
        let time = |_: usize, n: u64| -> Result<Taken, Infallible> {
            *drift.borrow_mut() *= 1.001;
            Ok(noisy(&random, 250.0 * *drift.borrow(), 0.03, n))
        };
        let found = measured(measure(2, rule, time, |_| true));
        let pairs = found[0].samples.iter().zip(&found[1].samples);
        let differences: Vec<Span> = pairs.map(|(a, b)| Span::exact(a.ns - b.ns)).collect();
        let difference = estimate_by_order(&differences, Level::NINETY_FIVE);
        let difference = difference.unwrap().interval;
        within += usize::from(difference.lo <= 0.0 && 0.0 <= difference.hi);
    }
    assert!(within >= 190, "{within} of 200");
}

/// Time that a neighbour takes away now and then: right-skewed, far from normal.
fn crowded(random: &RefCell<Random>, cost_ns: f64, n: u64) -> Taken {
    let [luck, more] = [(); 2].map(|()| random.borrow_mut().double());
    let share = if luck < 0.3 { 0.5 * more } else { 0.06 * more };
    timed((cost_ns * n as f64 * (1.0 + share)) as u64)
}

#[test]
fn what_varies_gets_more_samples_until_it_is_narrow_or_the_budget_is_spent() {
    let random = RefCell::new(Random::new(3));
    let found = |budget_ns| {
        let rule = Rule { budget_ns, ..RULE };
        let time = |subject: usize, n: u64| -> Result<Taken, Infallible> {
            Ok(match subject {
                0 => timed(n * 100),
                _ => crowded(&random, 100.0, n),
            })
        };
        measured(measure(2, rule, time, |_| true))
    };
    let samples = |found: &[Measured]| [0, 1].map(|s| found[s].samples.len());
    assert_eq!(samples(&found(0)), [FEWEST; 2]);
    // Both 19, 5 ms each and some longer, with a lead-in; then one of them goes on, alone.
    let short = samples(&found(300_000_000));
    assert_eq!(short[0], 19);
    assert!((30..=41).contains(&short[1]), "{short:?}");
    let long = found(u64::MAX);
    assert_eq!(long[0].samples.len(), 19);
    assert!(long[1].is_narrow(), "{}", long[1].samples.len());
}

#[test]
fn stopping_when_it_is_narrow_does_not_make_the_interval_lie() {
    // Luck below 0.3 adds up to 0.5 evenly, above it up to 0.06: half of all add less than x
    // where 0.3 * x / 0.5 + 0.7 * x / 0.06 = 0.5.
    let median = 100.0 * (1.0 + 0.5 / (0.3 / 0.5 + 0.7 / 0.06));
    let random = RefCell::new(Random::new(11));
    let (runs, mut covered) = (300, 0);
    for seed in 0..runs {
        let rule = Rule { seed, ..RULE };
        let time =
            |_: usize, n: u64| -> Result<Taken, Infallible> { Ok(crowded(&random, 100.0, n)) };
        let found = &measured(measure(1, rule, time, |_| true))[0];
        let interval = found.time_ns().unwrap().interval;
        covered += u64::from(interval.lo <= median && median <= interval.hi);
    }
    assert!(covered * 100 >= runs * 94, "{covered} of {runs}");
}

#[test]
fn a_disturbed_sample_is_taken_again_and_the_best_is_kept() {
    for slow in [0.0, 0.3] {
        let call = RefCell::new(0);
        let take = |_: usize, n: u64| -> Result<Taken, Infallible> {
            *call.borrow_mut() += 1;
            // Every third: of a lead-in, a sample and its repetition, each in turn.
            Ok(match *call.borrow() % 3 {
                0 if slow > 0.0 => taken(n * 140, 0, slow),
                0 => taken(n * 200, n * 100, 0.0),
                _ => taken(n * 100, 0, 0.0),
            })
        };
        let found = &measured(measure(1, RULE, take, |_| true))[0];
        assert_eq!(times(found), vec![100.0; RULE.rounds]);
        assert!(found.samples.iter().all(|s| s.clean));
        assert_eq!(found.heap_bytes(), Some(100.0));
    }
}

#[test]
fn a_machine_that_is_never_quiet_takes_no_longer_than_the_budget() {
    let spent_ns = RefCell::new(0);
    let take = |_: usize, n: u64| -> Result<Taken, Infallible> {
        *spent_ns.borrow_mut() += n * 100;
        Ok(taken(n * 100, 0, 0.5))
    };
    let budget_ns = 10 * RULE.rounds as u64 * RULE.sample_ns;
    let rule = Rule { budget_ns, ..RULE };
    let found = &measured(measure(4, rule, take, |_| true))[0];
    assert!(found.samples.len() >= RULE.rounds && found.samples.iter().all(|s| !s.clean));
    let spent_ns = *spent_ns.borrow();
    assert!(spent_ns < budget_ns * 5 / 4, "{spent_ns} of {budget_ns}");
}

#[test]
fn disturbed_samples_count_only_where_hardly_any_is_clean() {
    let of = |clean: usize| {
        let sample = |i| Sample {
            ns: if i < clean { 100.0 } else { 150.0 },
            clean: i < clean,
            heap_bytes: None,
        };
        Measured {
            samples: (0..19).map(sample).collect(),
            iterations: 1,
        }
    };
    let median = |found: &Measured| found.time_ns().unwrap().value.known();
    let (few, enough) = (of(FEWEST - 1), of(FEWEST));
    assert_eq!(
        (median(&enough), enough.used().len()),
        (Some(100.0), FEWEST)
    );
    assert_eq!((median(&few), few.used().len()), (Some(150.0), 19));
    assert!(enough.is_narrow() && !of(0).is_narrow());
    assert_eq!(FEWEST, Level::NINETY_FIVE.fewest_blocks());
}

#[test]
fn an_error_costs_its_own_subject_only() {
    let time = |subject: usize, n: u64| match subject {
        1 => Err("broken"),
        _ => Ok(timed(n * 100)),
    };
    let found = measure(3, RULE, time, |_| true);
    assert!(found[0].is_ok() && found[2].is_ok());
    assert_eq!(found[1].as_ref().err(), Some(&"broken"));
}

#[test]
fn stopping_keeps_what_there_is() {
    let go_on = |stage| !matches!(stage, Stage::Sampled(5..));
    let found = measure::<Infallible>(1, RULE, |_, n| Ok(timed(n * 100)), go_on);
    assert_eq!(measured(found)[0].samples.len(), 5);
}
