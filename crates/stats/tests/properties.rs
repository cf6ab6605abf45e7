//! Properties of comparisons and estimates for any data.

use proptest::prelude::*;
use stats::{Level, Rule, Span, Verdict, compare, estimate, estimate_by_order};

/// The time of one block, sometimes censored.
fn time() -> impl Strategy<Value = Span> {
    prop_oneof![
        8 => (1u32..10_000).prop_map(|t| Span::exact(f64::from(t))),
        1 => (5_000u32..10_000).prop_map(|t| Span::at_least(f64::from(t))),
    ]
}

fn pairs() -> impl Strategy<Value = Vec<(Span, Span)>> {
    // Fewer and more blocks than the 20 from which intervals are bootstrapped.
    prop_oneof![
        6 => prop::collection::vec((time(), time()), 1..20),
        1 => prop::collection::vec((time(), time()), 20..26),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    (1u32..2_000, 1usize..30).prop_map(|(margin, comparisons)| Rule {
        margin: f64::from(margin),
        level: Level::NINETY_FIVE.shared_by(comparisons),
    })
}

fn kind(verdict: Verdict) -> i32 {
    match verdict {
        Verdict::Faster => -1,
        Verdict::Slower => 1,
        Verdict::NoDifference => 0,
        Verdict::CannotTell { .. } => 9,
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
        let shared = estimate_by_order(&values, Level::NINETY_FIVE.shared_by(m)).unwrap().interval;
        prop_assert!(shared.lo <= one.lo && one.hi <= shared.hi && shared.coverage >= one.coverage);
    }

    /// A verdict reached with censored times stays the same whatever those times really were.
    #[test]
    fn verdicts_do_not_depend_on_the_true_length_of_timeouts(pairs in pairs(), rule in rule(), beyond in 0u32..100_000) {
        let completed: Vec<_> = pairs
            .iter()
            .map(|&(a, b)| {
                let end = |s: Span| if s.hi.is_infinite() { Span::exact(s.lo + f64::from(beyond)) } else { s };
                (end(a), end(b))
            })
            .collect();
        match compare(&pairs, &rule).unwrap().verdict {
            Verdict::CannotTell { .. } => {}
            // The estimate was bounded too, so the true lengths change nothing.
            decided => prop_assert_eq!(compare(&completed, &rule).unwrap().verdict, decided),
        }
    }
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
