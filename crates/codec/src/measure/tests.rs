//! The rules against subjects whose cost is known: time is virtual, and luck is seeded.

use std::cell::RefCell;
use std::convert::Infallible;

use super::*;

const RULE: Rule = Rule {
    sample_ns: 5_000_000,
    rounds: 19,
    budget_ns: 0,
    seed: 1,
};

fn timed(elapsed_ns: u64) -> Timed {
    Timed {
        elapsed_ns,
        waited_ns: 0,
        heap_bytes: None,
    }
}

/// A subject of `cost_ns`, whose every sample is off by up to `noise` (a share).
fn noisy(random: &RefCell<Random>, cost_ns: f64, noise: f64, n: u64) -> Timed {
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
        assert_eq!(found.samples_ns, vec![cost_ns as f64; RULE.rounds]);
    }
}

#[test]
fn what_warms_up_is_measured_warm() {
    let calls = RefCell::new(0u64);
    let time = |_: usize, n: u64| -> Result<Timed, Infallible> {
        let mut calls = calls.borrow_mut();
        // Ten times slower until it was called ten thousand times.
        let cold = n.min(10_000u64.saturating_sub(*calls));
        *calls += n;
        Ok(timed(cold * 1_000 + (n - cold) * 100))
    };
    let found = &measured(measure(1, RULE, time, |_| true))[0];
    assert_eq!(found.samples_ns, vec![100.0; RULE.rounds]);
    assert_eq!(found.iterations, 50_000);
}

#[test]
fn rounds_visit_everything_once_in_an_order_of_their_own() {
    let visits = RefCell::new(Vec::new());
    let time = |subject: usize, n: u64| -> Result<Timed, Infallible> {
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
        let rule = Rule { seed, ..RULE };
        // The machine drifts, for both alike: interleaving takes care of that.
        let drift = RefCell::new(1.0);
        let time = |_: usize, n: u64| -> Result<Timed, Infallible> {
            *drift.borrow_mut() *= 1.001;
            Ok(noisy(&random, 250.0 * *drift.borrow(), 0.03, n))
        };
        let found = measured(measure(2, rule, time, |_| true));
        let pairs = found[0].samples_ns.iter().zip(&found[1].samples_ns);
        let differences: Vec<Span> = pairs.map(|(a, b)| Span::exact(a - b)).collect();
        let difference = estimate(&differences, Level::NINETY_FIVE, seed)
            .unwrap()
            .interval;
        within += usize::from(difference.lo <= 0.0 && 0.0 <= difference.hi);
    }
    assert!(within >= 190, "{within} of 200");
}

/// Time that a neighbour takes away now and then: right-skewed, far from normal.
fn crowded(random: &RefCell<Random>, cost_ns: f64, n: u64) -> Timed {
    let [luck, more] = [(); 2].map(|()| random.borrow_mut().double());
    let share = if luck < 0.3 { 0.5 * more } else { 0.06 * more };
    timed((cost_ns * n as f64 * (1.0 + share)) as u64)
}

#[test]
fn what_varies_gets_more_samples_until_it_is_narrow_or_the_budget_is_spent() {
    let random = RefCell::new(Random::new(3));
    let found = |budget_ns| {
        let rule = Rule { budget_ns, ..RULE };
        let time = |subject: usize, n: u64| -> Result<Timed, Infallible> {
            Ok(match subject {
                0 => timed(n * 100),
                _ => crowded(&random, 100.0, n),
            })
        };
        measured(measure(2, rule, time, |_| true))
    };
    let samples = |found: &[Measured]| [0, 1].map(|s| found[s].samples_ns.len());
    assert_eq!(samples(&found(0)), [19, 19]);
    // Both 19, 5 ms each and some longer; then one of them goes on, alone.
    let short = samples(&found(300_000_000));
    assert_eq!(short[0], 19);
    assert!((30..=41).contains(&short[1]), "{short:?}");
    let long = found(u64::MAX);
    assert_eq!(long[0].samples_ns.len(), 19);
    assert!(long[1].is_narrow(1), "{}", long[1].samples_ns.len());
}

#[test]
fn stopping_when_it_is_narrow_does_not_make_the_interval_lie() {
    // Luck below 0.3 adds up to 0.5 evenly, above it up to 0.06: half of all add less than x
    // where 0.3 * x / 0.5 + 0.7 * x / 0.06 = 0.5.
    let median = 100.0 * (1.0 + 0.5 / (0.3 / 0.5 + 0.7 / 0.06));
    let random = RefCell::new(Random::new(11));
    let (runs, mut covered) = (300, 0);
    for seed in 0..runs {
        let budget_ns = u64::MAX;
        let rule = Rule {
            budget_ns,
            seed,
            ..RULE
        };
        let time =
            |_: usize, n: u64| -> Result<Timed, Infallible> { Ok(crowded(&random, 100.0, n)) };
        let found = &measured(measure(1, rule, time, |_| true))[0];
        let interval = found.time_ns(seed).unwrap().interval;
        covered += u64::from(interval.lo <= median && median <= interval.hi);
    }
    assert!(covered * 100 >= runs * 94, "{covered} of {runs}");
}

#[test]
fn a_sample_that_waited_is_taken_again_and_the_best_is_kept() {
    let call = RefCell::new(0);
    let time = |_: usize, n: u64| -> Result<Timed, Infallible> {
        *call.borrow_mut() += 1;
        // Every third: of a lead-in, a sample and its repetition, each in turn.
        let waits = *call.borrow() % 3 == 0;
        Ok(Timed {
            elapsed_ns: n * if waits { 200 } else { 100 },
            waited_ns: if waits { n * 100 } else { 0 },
            heap_bytes: Some(n * 64),
        })
    };
    let found = &measured(measure(1, RULE, time, |_| true))[0];
    assert_eq!(found.samples_ns, vec![100.0; RULE.rounds]);
    assert_eq!((found.disturbed, found.heap_bytes), (0, Some(64.0)));
    let always = |_: usize, n: u64| -> Result<Timed, Infallible> {
        Ok(Timed {
            elapsed_ns: n * 200,
            waited_ns: n * 100,
            heap_bytes: None,
        })
    };
    let found = &measured(measure(1, RULE, always, |_| true))[0];
    assert_eq!(found.disturbed, RULE.rounds);
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
    assert_eq!(measured(found)[0].samples_ns.len(), 5);
}
