//! Properties of comparisons and estimates for any data.

use proptest::prelude::*;
use stats::{
    Comparison, Differences, Family, Level, Ranks, Span, Verdict, decide, estimate,
    estimate_by_order,
};

/// Generates the time of one block, sometimes censored.
fn time() -> impl Strategy<Value = Span> {
    prop_oneof![
        8 => (1u32..10_000).prop_map(|t| Span::exact(f64::from(t))),
        1 => (5_000u32..10_000).prop_map(|t| Span::at_least(f64::from(t))),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(Span, Span)>> {
    prop::collection::vec((time(), time()), 1..26)
}

/// A margin, and a level shared by up to 30 comparisons.
#[derive(Clone, Copy, Debug)]
struct Rule {
    margin: f64,
    level: Level,
}

fn compare(pairs: &[(Span, Span)], rule: &Rule) -> Option<Comparison> {
    let differences = Differences {
        by_block: pairs.iter().map(|(arm, base)| arm.minus(*base)).collect(),
        margin: rule.margin,
    };
    (!pairs.is_empty()).then(|| stats::compare(&differences, rule.level, Ranks::Fixed))
}

fn rule() -> impl Strategy<Value = Rule> {
    (1u32..2_000, 1usize..30).prop_map(|(margin, comparisons)| Rule {
        margin: f64::from(margin),
        level: Level::of_error(0.05 / comparisons as f64),
    })
}

fn kind(verdict: Verdict) -> i32 {
    match verdict {
        Verdict::Faster => -1,
        Verdict::Slower => 1,
        Verdict::NoDifference => 0,
        Verdict::NotSlower => -2,
        Verdict::NotFaster => 2,
        Verdict::CannotTell { .. } => 9,
    }
}

/// Returns whether the second verdict is the first or a more exact one.
fn may_become(first: Verdict, second: Verdict) -> bool {
    use Verdict::{CannotTell, Faster, NoDifference, NotFaster, NotSlower, Slower};
    match first {
        CannotTell { .. } => true,
        NotSlower => matches!(second, NotSlower | NoDifference | Faster),
        NotFaster => matches!(second, NotFaster | NoDifference | Slower),
        decided => second == decided,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn swapping_the_arms_mirrors_the_verdict(pairs in pairs(), rule in rule()) {
        let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        let (there, back) = (compare(&pairs, &rule).unwrap(), compare(&swapped, &rule).unwrap());
        let mirrored = match there.verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::NotSlower => Verdict::NotFaster,
            Verdict::NotFaster => Verdict::NotSlower,
            same => same,
        };
        prop_assert_eq!(back.verdict, mirrored);
        prop_assert_eq!(back.difference.interval.lo, -there.difference.interval.hi);
        prop_assert_eq!(back.difference.interval.hi, -there.difference.interval.lo);
    }

    #[test]
    fn order_of_blocks_does_not_matter(pairs in prop::collection::vec((time(), time()), 1..20), rule in rule()) {
        let mut other = pairs.clone();
        other.reverse();
        prop_assert_eq!(compare(&pairs, &rule), compare(&other, &rule));
    }

    /// What both arms have in common cancels out, and units do not matter. Powers of two and whole
    /// numbers keep floating-point rounding out of it.
    #[test]
    fn common_shifts_and_units_do_not_matter(pairs in pairs(), rule in rule(), shift in 0u32..10_000, double in any::<bool>()) {
        let scale = if double { 2.0 } else { 0.5 };
        let moved: Vec<_> = pairs
            .iter()
            .map(|&(a, b)| {
                let f = |s: Span| s.map_increasing(|t| (t + f64::from(shift)) * scale);
                (f(a), f(b))
            })
            .collect();
        let wide = Rule { margin: rule.margin * scale, ..rule };
        let (here, there) = (compare(&pairs, &rule).unwrap(), compare(&moved, &wide).unwrap());
        prop_assert_eq!(kind(here.verdict), kind(there.verdict));
        prop_assert_eq!(here.difference.interval.lo * scale, there.difference.interval.lo);
    }

    #[test]
    fn estimates_lie_inside_their_interval(values in prop::collection::vec(time(), 1..30)) {
        let got = estimate(&values, Level::NINETY_FIVE).unwrap();
        prop_assert!(got.interval.lo <= got.value.lo && got.value.hi <= got.interval.hi);
        prop_assert!((0.0..=1.0).contains(&got.interval.coverage));
    }

    #[test]
    fn stricter_levels_never_narrow_an_exact_interval(values in prop::collection::vec(time(), 1..20), m in 1usize..50) {
        let one = estimate_by_order(&values, Level::NINETY_FIVE).unwrap().interval;
        let shared = estimate_by_order(&values, Level::of_error(0.05 / m as f64)).unwrap().interval;
        prop_assert!(shared.lo <= one.lo && one.hi <= shared.hi && shared.coverage >= one.coverage);
    }

    /// A verdict reached with censored times stays the same whatever those times really were; where it
    /// left one side open, it may become more exact.
    #[test]
    fn verdicts_do_not_depend_on_the_true_length_of_timeouts(pairs in pairs(), rule in rule(), beyond in 0u32..100_000) {
        let completed: Vec<_> = pairs
            .iter()
            .map(|&(a, b)| {
                let end = |s: Span| if s.hi.is_infinite() { Span::exact(s.lo + f64::from(beyond)) } else { s };
                (end(a), end(b))
            })
            .collect();
        let verdict = |pairs: &[(Span, Span)]| compare(pairs, &rule).unwrap().verdict;
        prop_assert!(may_become(verdict(&pairs), verdict(&completed)));
    }

    #[test]
    fn swapping_all_arms_mirrors_a_report(report in report(), ranks in ranks()) {
        let mirrored = map(&report, |s| Span { lo: -s.hi, hi: -s.lo });
        let (there, back) = (decide(&report, 0.05, ranks), decide(&mirrored, 0.05, ranks));
        for (there, back) in there.iter().zip(&back) {
            prop_assert_eq!(there.level, back.level);
            for (there, back) in there.comparisons.iter().zip(&back.comparisons) {
                prop_assert_eq!(there.difference.interval.lo, -back.difference.interval.hi);
                prop_assert_eq!(there.p_value, back.p_value);
                prop_assert_eq!(there.verdict.is_decided(), back.verdict.is_decided());
            }
        }
    }

    /// Verdict, interval and p-value of a comparison agree.
    #[test]
    fn decided_comparisons_reach_the_level_of_their_family(report in report(), ranks in ranks()) {
        for family in decide(&report, 0.05, ranks) {
            let decided = family.comparisons.iter().filter(|c| c.verdict.is_decided()).count();
            prop_assert_eq!(family.selected, decided > 0);
            prop_assert!(family.level.coverage() >= 0.95 - 1e-12);
            for comparison in &family.comparisons {
                let within = |p: f64| p <= family.level.alpha() * (1.0 + 1e-9);
                let decided = comparison.verdict.is_decided();
                prop_assert_eq!(decided, comparison.p_value.is_some_and(within));
                prop_assert!(!decided || comparison.difference.interval.reaches(family.level));
            }
        }
    }

    #[test]
    fn smaller_errors_never_decide_more(report in report(), ranks in ranks()) {
        let (strict, lax) = (decide(&report, 0.01, ranks), decide(&report, 0.05, ranks));
        for (strict, lax) in strict.iter().zip(&lax) {
            prop_assert!(strict.level.alpha() <= lax.level.alpha());
            for (strict, lax) in strict.comparisons.iter().zip(&lax.comparisons) {
                prop_assert!(may_become(strict.verdict, lax.verdict));
            }
        }
    }

    /// Less censoring never undoes a verdict, not even of another comparison.
    #[test]
    fn reports_do_not_depend_on_the_true_length_of_timeouts(report in report(), beyond in 0u32..100_000) {
        let end = |s: Span| if s.hi.is_infinite() { Span::exact(s.lo + f64::from(beyond)) } else { s };
        let completed = decide(&map(&report, end), 0.05, Ranks::Fixed);
        for (family, completed) in decide(&report, 0.05, Ranks::Fixed).iter().zip(&completed) {
            for (one, completed) in family.comparisons.iter().zip(&completed.comparisons) {
                prop_assert!(may_become(one.verdict, completed.verdict));
            }
        }
    }
}

/// Reports whose differences are often clear, so that families are selected.
fn report() -> impl Strategy<Value = Vec<Family>> {
    let difference = prop_oneof![
        8 => (-40i32..40).prop_map(|d| Span::exact(f64::from(d))),
        1 => (-20i32..100).prop_map(|d| Span::at_least(f64::from(d))),
    ];
    let shift = prop_oneof![Just(0.0), Just(50.0), Just(-50.0)];
    let comparison = (prop::collection::vec(difference, 0..16), shift, 0u32..60).prop_map(
        |(by_block, shift, margin)| Differences {
            by_block: by_block
                .iter()
                .map(|s| s.map_increasing(|d| d + shift))
                .collect(),
            margin: f64::from(margin),
        },
    );
    let family = prop::collection::vec(comparison, 0..6);
    prop::collection::vec(family.prop_map(|comparisons| Family { comparisons }), 0..5)
}

fn ranks() -> impl Strategy<Value = Ranks> {
    prop_oneof![Just(Ranks::Fixed), Just(Ranks::Anytime)]
}

/// Applies a function to every difference of a report.
fn map(report: &[Family], f: impl Fn(Span) -> Span) -> Vec<Family> {
    let mut report = report.to_vec();
    for differences in report.iter_mut().flat_map(|family| &mut family.comparisons) {
        for span in &mut differences.by_block {
            *span = f(*span);
        }
    }
    report
}

/// The baseline compared with itself is "faster" or "slower" no more often than the level allows,
/// within four standard deviations of the count. A margin of zero is the hardest case.
#[test]
fn a_a_comparisons_rarely_differ() {
    let trials = 4_000u64;
    for blocks in [6u64, 10, 15] {
        let rule = Rule {
            margin: 0.0,
            level: Level::NINETY_FIVE,
        };
        let mut wrong = 0;
        for t in 0..trials {
            let pairs: Vec<_> = (0..blocks)
                .map(|b| (noise(t, 2 * b), noise(t, 2 * b + 1)))
                .map(|(a, b)| (Span::exact(a), Span::exact(b)))
                .collect();
            wrong += u64::from(kind(compare(&pairs, &rule).unwrap().verdict).abs() == 1);
        }
        let sd = (0.05 * 0.95 * trials as f64).sqrt();
        assert!(
            wrong as f64 <= 0.05 * trials as f64 + 4.0 * sd,
            "{blocks} blocks: {wrong}"
        );
        assert!(
            wrong > 0,
            "{blocks} blocks: no false positive at all, so the test is not sensitive"
        );
    }
}

/// Returns a hash of (stream, index) in 0..1; any fixed distribution without ties will do.
fn noise(stream: u64, index: u64) -> f64 {
    let mut x =
        stream.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03);
    for _ in 0..3 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}
