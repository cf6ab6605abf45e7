//! Decides whether a claim holds, by verdicts and intervals alone.

use report::{Comparison, Quantity, Unit};
use stats::Verdict;

use crate::claims::Question;
use crate::expect::{Expect, Size};

/// The largest differences that claims of no difference allow, as the default margin of reports.
const LEAST_MARGIN_NS: f64 = 2e6;
const MARGIN_SHARE: f64 = 0.05;

/// How our result compares with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// As claimed, in direction and, where the claim has one, in size.
    Same,
    /// In the claimed direction; the interval of the size lies outside what is claimed.
    OtherSize,
    /// The verdict is open, and the interval of the size lies outside the claimed one.
    SizeExcluded,
    /// In the claimed direction; the interval of the size lies partly within what is claimed.
    SizeOpen,
    /// The verdict contradicts the claim.
    NotSame,
    /// No verdict, or one that neither agrees nor contradicts.
    Open,
    /// It was not measured.
    NotRun,
    /// Some of its comparisons agree or contradict, others are not decided.
    Partly,
    /// Some of its comparisons contradict it, at least in size, others do not.
    Mixed,
}

impl Outcome {
    /// Judges a comparison by what the claim expects of it.
    pub(crate) fn of(question: &Question, claimed: Size, comparison: &Comparison) -> Outcome {
        use Verdict::{Faster, NoDifference, NotFaster, NotSlower, Slower};
        let expect = *question.expect.as_ref();
        let agrees = match (expect, comparison.verdict) {
            (Expect::Within, _) => return within(question, &comparison.difference),
            (Expect::NoDifference, _) if comparison.difference.unit == Unit::Ns => {
                return no_difference(comparison);
            }
            (Expect::Faster, Faster)
            | (Expect::Slower, Slower)
            | (Expect::NoDifference, NoDifference) => true,
            (Expect::Faster, Slower | NoDifference | NotFaster)
            | (Expect::Slower, Faster | NoDifference | NotSlower)
            | (Expect::NoDifference, Faster | Slower) => false,
            _ => {
                let size = size(claimed, expect, comparison.speedup.as_ref());
                return match size == Outcome::OtherSize {
                    true => Outcome::SizeExcluded,
                    false => Outcome::Open,
                };
            }
        };
        match agrees {
            true => size(claimed, expect, comparison.speedup.as_ref()),
            false => Outcome::NotSame,
        }
    }

    /// Judges a factor by the ends of its interval and by what the claim expects of it.
    pub(crate) fn of_factor(expect: Expect, claimed: Size, ends: (f64, f64)) -> Outcome {
        let (low, high) = in_direction(expect, ends);
        match size_of(claimed, (low, high)) {
            size if low > 1.0 => size,
            _ if high < 1.0 => Outcome::NotSame,
            Outcome::OtherSize => Outcome::SizeExcluded,
            _ => Outcome::Open,
        }
    }

    /// Returns the outcome of a claim with several comparisons.
    pub(crate) fn all(outcomes: &[Outcome]) -> Outcome {
        match outcomes {
            [] => Outcome::NotRun,
            [first, rest @ ..] if rest.iter().all(|o| o == first) => *first,
            all if all.iter().any(|outcome| outcome.is_contradiction()) => Outcome::Mixed,
            _ => Outcome::Partly,
        }
    }

    /// Returns the words for it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Outcome::Same => "same",
            Outcome::OtherSize => "same direction, other size",
            Outcome::SizeExcluded => "other size, direction not decided",
            Outcome::SizeOpen => "same direction, size not decided",
            Outcome::NotSame => "not the same",
            Outcome::Open => "not decided",
            Outcome::NotRun => "not run",
            Outcome::Partly => "not decided in part",
            Outcome::Mixed => "contradicted in part",
        }
    }

    /// Returns whether it contradicts the claim, at least in part or in size.
    pub(crate) fn is_contradiction(self) -> bool {
        use Outcome::{Mixed, NotSame, OtherSize, SizeExcluded};
        matches!(self, NotSame | OtherSize | SizeExcluded | Mixed)
    }
}

/// Judges a difference that the claim bounds either way.
fn within(question: &Question, difference: &Quantity) -> Outcome {
    let bound_ns = question.within_ms.unwrap_or(0.0) * 1e6;
    let (low, high) = (
        difference.low.unwrap_or(f64::NEG_INFINITY),
        difference.high.unwrap_or(f64::INFINITY),
    );
    if low >= -bound_ns && high <= bound_ns {
        Outcome::Same
    } else if low > bound_ns || high < -bound_ns {
        Outcome::NotSame
    } else {
        Outcome::Open
    }
}

/// Judges a claim of no difference by what such a claim means, whatever margin the study set: 2 ms or 5 %, whichever is
/// more.
fn no_difference(comparison: &Comparison) -> Outcome {
    let Some(speedup) = &comparison.speedup else {
        return Outcome::Open;
    };
    // The slowest end of the difference is the least speedup.
    let (low, high) = (comparison.difference.low, comparison.difference.high);
    let ends = [
        (low.unwrap_or(f64::NEG_INFINITY), speedup.high),
        (high.unwrap_or(f64::INFINITY), speedup.low),
    ];
    let beyond = ends.map(|(difference_ns, speedup)| {
        let share = speedup.map_or(f64::INFINITY, |factor| (1.0 / factor - 1.0).abs());
        let is_beyond = difference_ns.abs() > LEAST_MARGIN_NS && share > MARGIN_SHARE;
        is_beyond.then_some(difference_ns > 0.0)
    });
    match beyond {
        [None, None] => Outcome::Same,
        [Some(low), Some(high)] if low == high => Outcome::NotSame,
        _ => Outcome::Open,
    }
}

/// Judges the size of a difference in the claimed direction.
fn size(claimed: Size, expect: Expect, speedup: Option<&Quantity>) -> Outcome {
    let ends = speedup.map_or((0.0, f64::INFINITY), |speedup| {
        (
            speedup.low.unwrap_or(0.0),
            speedup.high.unwrap_or(f64::INFINITY),
        )
    });
    size_of(claimed, in_direction(expect, ends))
}

/// Returns the ends of a factor in the expected direction.
fn in_direction(expect: Expect, (low, high): (f64, f64)) -> (f64, f64) {
    match expect {
        Expect::Slower => (1.0 / high, 1.0 / low),
        Expect::Faster | Expect::NoDifference | Expect::Within => (low, high),
    }
}

/// Judges the ends of a factor in the expected direction by what is claimed.
fn size_of(claimed: Size, (low, high): (f64, f64)) -> Outcome {
    let Some((least, most)) = claimed else {
        return Outcome::Same;
    };
    if low >= least && high <= most {
        Outcome::Same
    } else if low > most || high < least {
        Outcome::OtherSize
    } else {
        Outcome::SizeOpen
    }
}

#[cfg(test)]
mod tests {
    use report::{BlockValue, Unit, Values};
    use stats::{Ranks, Span};

    use super::*;
    use crate::claims::Claims;

    fn question(rule: &str) -> Question {
        let text = format!(
            "title = ''\nstudy = ''\nlink = ''\nruns = ['r']\n[[claim]]\nsays = ''\nbecause = ''\nchanges = ''\n\
             [[claim.answer]]\nnetworks = ['n']\nmeasure = 'm'\narm = 'a'\nagainst = 'b'\n{rule}\n"
        );
        let claims = Claims::parse(&config::Source::new("claims.toml", &text));
        claims.unwrap().claims.remove(0).answers.remove(0)
    }

    /// Returns the outcome of eight blocks in which the other took 100 ms and the arm `arm_ms`, give or take 1 ms.
    fn outcome(rule: &str, arm_ms: f64) -> Outcome {
        let value = |b: u32| {
            let arm = arm_ms + f64::from(b % 3) - 1.0;
            BlockValue {
                difference: Span::exact((arm - 100.0) * 1e6),
                speedup: Some(Span::exact(100.0 / arm)),
            }
        };
        let values = Values {
            margin: 5e6,
            blocks: (0..8).map(|b| (b, value(b))).collect(),
        };
        let decided = report::decide(&[vec![values]], Unit::Ns, Ranks::Fixed);
        let question = question(rule);
        Outcome::of(&question, question.size(Some(2.0)), &decided[0][0])
    }

    #[test]
    fn directions_are_judged_by_the_verdict() {
        for (rule, arm_ms, expected) in [
            ("expect = 'faster'", 50.0, Outcome::Same),
            ("expect = 'faster'", 100.0, Outcome::NotSame),
            ("expect = 'faster'", 200.0, Outcome::NotSame),
            ("expect = 'faster'", 95.0, Outcome::Open),
            ("expect = 'slower'", 200.0, Outcome::Same),
            ("expect = 'slower'", 50.0, Outcome::NotSame),
            ("expect = 'no_difference'", 100.0, Outcome::Same),
            ("expect = 'no_difference'", 50.0, Outcome::NotSame),
            ("expect = 'no_difference'", 97.0, Outcome::Same),
            ("expect = 'no_difference'", 105.0, Outcome::Open),
            ("expect = 'no_difference'", 110.0, Outcome::NotSame),
        ] {
            assert_eq!(outcome(rule, arm_ms), expected, "{rule}, {arm_ms} ms");
        }
    }

    #[test]
    fn sizes_are_judged_by_the_interval() {
        for (rule, arm_ms, expected) in [
            ("expect = 'faster'\nat_least = 1.5", 50.0, Outcome::Same),
            (
                "expect = 'faster'\nat_least = 1.5",
                80.0,
                Outcome::OtherSize,
            ),
            ("expect = 'faster'\nat_least = 2.0", 50.0, Outcome::SizeOpen),
            (
                "expect = 'slower'\nat_least = 1.5\nat_most = 3.0",
                200.0,
                Outcome::Same,
            ),
            (
                "expect = 'slower'\nat_most = 1.5",
                200.0,
                Outcome::OtherSize,
            ),
            ("expect = 'faster'\nnear = 'two'", 50.0, Outcome::Same),
            ("expect = 'slower'\nnear = 'two'", 400.0, Outcome::OtherSize),
            // The verdict is open, but nothing near twice is possible.
            (
                "expect = 'faster'\nnear = 'two'",
                95.0,
                Outcome::SizeExcluded,
            ),
            ("expect = 'within'\nwithin_ms = 15", 110.0, Outcome::Same),
            ("expect = 'within'\nwithin_ms = 15", 150.0, Outcome::NotSame),
            ("expect = 'within'\nwithin_ms = 10", 110.0, Outcome::Open),
        ] {
            assert_eq!(outcome(rule, arm_ms), expected, "{rule}, {arm_ms} ms");
        }
    }

    /// Nothing is known of a difference whose blocks timed out.
    #[test]
    fn a_claim_of_no_difference_stays_open_without_bounds() {
        let unknown = Span::at_least(9e9).minus(Span::at_least(9e9));
        let value = BlockValue {
            difference: unknown,
            speedup: Some(Span::at_least(9e9).over(Span::at_least(9e9))),
        };
        let values = Values {
            margin: 5e6,
            blocks: (0..8).map(|b| (b, value)).collect(),
        };
        let decided = report::decide(&[vec![values]], Unit::Ns, Ranks::Fixed);
        let question = question("expect = 'no_difference'");
        let outcome = Outcome::of(&question, None, &decided[0][0]);
        assert_eq!(outcome, Outcome::Open);
    }

    #[test]
    fn claims_of_several_comparisons_hold_if_all_agree() {
        use Outcome::{Mixed, NotRun, NotSame, Open, Partly, Same};
        assert_eq!(Outcome::all(&[Same, Same]), Same);
        assert_eq!(Outcome::all(&[Same, NotSame]), Mixed);
        assert_eq!(Outcome::all(&[Same, Open]), Partly);
        assert_eq!(Outcome::all(&[]), NotRun);
    }
}
