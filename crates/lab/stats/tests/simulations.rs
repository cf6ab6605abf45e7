//! Coverage, error rates and power in simulated studies. `examples/power.rs` prints the same figures
//! with more trials.

mod simulation;

use simulation::designs::Design;
use simulation::random::{Distribution, Random};
use simulation::{
    Followed, NARROW_MARGIN, OUTLOOKS, Outcome, Share, WIDE_MARGIN, any_false_while_looking,
    coverage, outlooks, quantile_coverage, study,
};
use stats::{Outlook, Ranks, Span, TwoRuns, decide_changes};

/// Coverages of the interval at ranks, by David and Nagaraja, "Order Statistics", 7.1.
const EXACT: [(usize, f64); 6] = [
    (6, 0.96875),
    (8, 0.9921875),
    (10, 0.978516),
    (14, 0.987061),
    (20, 0.958611),
    (30, 0.957226),
];

/// Exact intervals cover what they state, within four standard errors. Interpolated ones may be off
/// by a point besides.
#[test]
fn intervals_of_medians_cover_what_they_state() {
    const TRIALS: u64 = 8_000;
    for (n, stated) in EXACT {
        for distribution in Distribution::ALL {
            let (interpolated, by_order) = coverage(distribution, n, TRIALS);
            let name = distribution.name();
            let error = 4.0 * (stated * (1.0 - stated) / TRIALS as f64).sqrt();
            let got = by_order.value();
            assert!((got - stated).abs() < error, "{n} {name}: {got}");
            let got = interpolated.value();
            assert!((got - 0.95).abs() < 0.02, "{n} {name}: {got}");
        }
    }
}

/// Exact for any distribution that has shifted, within four standard errors.
#[test]
fn intervals_between_two_runs_cover_what_they_state() {
    const TRIALS: u64 = 3_000;
    const SHIFT: f64 = 3.0;
    for distribution in Distribution::ALL {
        for (old, new) in [(6, 9), (10, 10), (14, 8)] {
            let (mut covered, mut stated) = (Share::default(), 0.0);
            for seed in 0..TRIALS {
                let mut random = Random::new(seed);
                let mut blocks = |n: usize, shift: f64| -> Vec<Span> {
                    let mut draw = |_| Span::exact(shift + distribution.draw(&mut random));
                    (0..n).map(&mut draw).collect()
                };
                let runs = TwoRuns {
                    old: blocks(old, 0.0),
                    new: blocks(new, SHIFT),
                    margin: 0.0,
                };
                let interval = decide_changes(&[vec![runs]], 0.05)[0][0]
                    .difference
                    .interval;
                covered.add((interval.lo..=interval.hi).contains(&SHIFT));
                stated = interval.coverage;
            }
            let error = 4.0 * (stated * (1.0 - stated) / TRIALS as f64).sqrt();
            let (got, name) = (covered.value(), distribution.name());
            assert!(
                (got - stated).abs() < error,
                "{old} {new} {name}: {got} for {stated}"
            );
        }
    }
}

#[test]
fn intervals_of_p95_cover_it() {
    for blocks in [10, 20] {
        for skewed in [false, true] {
            let got = quantile_coverage(blocks, skewed, 2_000).value();
            assert!(got >= 0.94, "{blocks} blocks, skewed {skewed}: {got}");
        }
    }
}

fn worst_column(outcome: &Outcome) -> f64 {
    outcome.wrong_by_column.iter().copied().fold(0.0, f64::max)
}

/// Most of the 5/6 that can be decided is decided from six blocks on.
#[test]
fn real_differences_are_decided() {
    let design = Design::real();
    for (blocks, share) in [(6, 0.65), (10, 0.80), (14, 0.82)] {
        let outcome = study(&design, blocks, 60);
        let decided = outcome.decided.value();
        assert!(decided >= share, "{blocks} blocks: {decided}");
        assert!(worst_column(&outcome) <= 0.05, "{blocks}: {outcome:?}");
    }
}

#[test]
fn decisions_are_rarely_wrong_in_any_column() {
    let design = Design::half();
    for (blocks, share) in [(10, 0.15), (14, 0.3)] {
        let outcome = study(&design, blocks, 100);
        let decided = outcome.decided.value();
        assert!(decided >= share, "{blocks} blocks: {decided}");
        assert!(worst_column(&outcome) <= 0.05, "{blocks}: {outcome:?}");
    }
}

/// Without any difference, at most 5 % of reports decide anything, within four standard errors.
#[test]
fn reports_on_equal_arms_are_rarely_wrong() {
    for arms in [1, 4, 34] {
        for blocks in [6, 10, 14] {
            let trials = 4_000 / arms as u64;
            let any = study(&Design::equal(arms), blocks, trials)
                .any_wrong
                .value();
            let limit = 0.05 + 4.0 * (0.05f64 * 0.95 / trials as f64).sqrt();
            assert!(any <= limit, "{arms} arms, {blocks} blocks: {any}");
        }
    }
}

/// Looking every two blocks breaks ranks for a fixed number of blocks, and not the others.
#[test]
fn anytime_ranks_allow_looking() {
    let trials = 400;
    let anytime = any_false_while_looking(Ranks::Anytime, trials).value();
    assert!(anytime <= 0.05, "{anytime}");
    let fixed = any_false_while_looking(Ranks::Fixed, trials).value();
    assert!(fixed > 0.05, "{fixed}: the test is not sensitive");
}

#[test]
fn outlooks_are_honest() {
    for (blocks, shared_by) in [(6, 1), (10, 1), (8, 24), (14, 24)] {
        let wide = outlooks(&WIDE_MARGIN, blocks, shared_by, 3_000);
        let narrow = outlooks(&NARROW_MARGIN, blocks, shared_by, 3_000);
        for (outlook, (wide, narrow)) in OUTLOOKS.into_iter().zip(wide.into_iter().zip(narrow)) {
            let context = format!("{blocks} blocks, {shared_by}, {outlook:?}: {wide:?} {narrow:?}");
            let few = |followed: &Followed| followed.after_a_few_more.value();
            let many = |followed: &Followed| followed.after_ten_times.value();
            let enough = |followed: &Followed| followed.share.count >= 100.0;
            let right = match outlook {
                Outlook::AFewMore => few(&wide) >= 0.5 && many(&wide) >= 0.75,
                Outlook::SeveralTimesAsMany => few(&wide) <= 0.75 && many(&wide) >= 0.75,
                Outlook::MayNotSettle => few(&wide) <= 0.75,
            };
            assert!(right || !enough(&wide), "{context}");
            if outlook == Outlook::MayNotSettle {
                let right = few(&narrow) <= 0.3 && many(&narrow) <= 0.5;
                assert!(right && enough(&narrow), "{context}");
            }
        }
    }
}
