//! Compares two runs of the same arm. Nothing pairs their blocks.
//!
//! Every block of the new run is compared with every block of the old one. The estimate is the median of these
//! differences (Hodges and Lehmann, "Estimates of location based on rank tests", 1963). The interval runs from the r-th
//! smallest to the r-th largest of them, with the ranks of the Wilcoxon-Mann-Whitney test. Its coverage is exact for
//! any continuous distribution that has only shifted (Hollander, Wolfe and Chicken, "Nonparametric Statistical
//! Methods", 3rd ed., 4.2 and 4.3).

use std::collections::BTreeMap;

use crate::ends::Ends;
use crate::estimate::{Estimate, median};
use crate::family::levels;
use crate::interval::{Interval, Level, Method};
use crate::ranks::at_most;
use crate::span::Span;
use crate::verdict::{Verdict, verdict};

/// Blocks of a run that are compared; further ones are left out. Of 200 and 200, the interval is within
/// a tenth of a standard deviation on either side.
const MAX_BLOCKS: usize = 200;

/// One arm in two runs, with one value per block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TwoRuns {
    /// The values of the old run.
    pub old: Vec<Span>,
    /// The values of the new run.
    pub new: Vec<Span>,
    /// Largest difference that still counts as no difference, in the unit of the values.
    pub margin: f64,
}

/// What changed between two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// New minus old; negative means that the new run is faster. Its number of blocks is that of the run
    /// with fewer.
    pub difference: Estimate,
    /// The verdict on that difference; `None` if there is none.
    pub verdict: Option<Verdict>,
    /// The smallest error probability at which the blocks decide the comparison, were it the only one;
    /// `None` if they decide it at none.
    pub p_value: Option<f64>,
}

/// Compares arms between two runs, with a share `error` (e.g. 0.05) of mistakes. A family is what is read
/// together, e.g. all arms in one measure on one network; the levels of intervals are those of
/// [`crate::decide`].
pub fn decide_changes(families: &[Vec<TwoRuns>], error: f64) -> Vec<Vec<Change>> {
    let mut nulls = BTreeMap::new();
    for runs in families.iter().flatten() {
        let sizes = runs.sizes();
        nulls.entry(sizes).or_insert_with(|| Null::new(sizes));
    }
    let measured: Vec<Vec<Measured<'_>>> = families
        .iter()
        .map(|family| {
            family
                .iter()
                .map(|runs| Measured::new(runs, &nulls[&runs.sizes()]))
                .collect()
        })
        .collect();
    let p_values: Vec<Vec<f64>> = measured
        .iter()
        .map(|family| {
            let counted = family.iter().filter(|m| m.value.is_some());
            let mut p_values: Vec<f64> = counted
                .map(|m| m.p_value.unwrap_or(f64::INFINITY))
                .collect();
            p_values.sort_by(f64::total_cmp);
            p_values
        })
        .collect();
    let levels = levels(&p_values, error);
    let changes = |(family, (level, _)): (&Vec<Measured<'_>>, (Level, usize))| {
        family.iter().map(|m| m.change(level)).collect()
    };
    measured.iter().zip(levels).map(changes).collect()
}

impl TwoRuns {
    fn sizes(&self) -> (usize, usize) {
        (
            self.old.len().min(MAX_BLOCKS),
            self.new.len().min(MAX_BLOCKS),
        )
    }

    /// Returns new minus old for every pair of blocks.
    fn differences(&self) -> Vec<Span> {
        let (old, new) = self.sizes();
        let of_new = |new: &Span| {
            let new = *new;
            self.old[..old].iter().map(move |old| new.minus(*old))
        };
        self.new[..new].iter().flat_map(of_new).collect()
    }
}

/// All differences of two runs, with what does not depend on other comparisons.
struct Measured<'a> {
    null: &'a Null,
    margin: f64,
    blocks: usize,
    ends: Ends,
    /// The median; `None` unless both runs have blocks.
    value: Option<Span>,
    p_value: Option<f64>,
}

impl<'a> Measured<'a> {
    fn new(runs: &TwoRuns, null: &'a Null) -> Self {
        let differences = runs.differences();
        let (old, new) = runs.sizes();
        let mut measured = Self {
            null,
            margin: runs.margin,
            blocks: old.min(new),
            ends: Ends::sorted(&differences),
            value: median(&differences),
            p_value: None,
        };
        // Intervals are nested, so that every larger rank decides what one decides.
        let mut ranks = 1..=differences.len() / 2;
        let first = ranks.find(|&rank| measured.verdict_at(rank).is_some());
        measured.p_value = first.map(|rank| null.error(rank));
        measured
    }

    fn at(&self, rank: usize) -> (f64, f64) {
        (
            self.ends.lo[rank - 1],
            self.ends.hi[self.ends.hi.len() - rank],
        )
    }

    fn verdict_at(&self, rank: usize) -> Option<Verdict> {
        verdict(self.value?, self.at(rank), self.margin)
    }

    fn change(&self, level: Level) -> Change {
        let Some(value) = self.value else {
            return Change {
                difference: Estimate::UNKNOWN,
                verdict: None,
                p_value: None,
            };
        };
        let rank = self.null.rank(level);
        // With too few blocks for the level, the whole range with the coverage that it has.
        let shown = rank.max(1);
        let (lo, hi) = self.at(shown);
        Change {
            difference: Estimate {
                value,
                interval: Interval {
                    lo,
                    hi,
                    coverage: 1.0 - self.null.error(shown),
                    method: Method::OrderStatistics { rank: shown },
                },
                blocks: self.blocks,
            },
            verdict: (rank > 0).then(|| self.verdict_at(rank)).flatten(),
            p_value: self.p_value,
        }
    }
}

/// The distribution of the Mann-Whitney statistic of two samples if nothing differs: how many of all
/// pairs have the new value below the old one.
struct Null {
    /// The probability that it is at most the index, up to half of all pairs.
    cumulative: Vec<f64>,
}

impl Null {
    /// Computes the exact distribution by the recurrence of Mann and Whitney: the largest of all m + n values is one of
    /// the m or one of the n. Source: "On a test of whether one of two random variables is stochastically larger than
    /// the other", 1947.
    fn new((m, n): (usize, usize)) -> Self {
        // The distributions of `a` values against 0 to n.
        let mut of_a: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
        for a in 1..=m {
            let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
            for b in 1..=n {
                let (fewer, share) = (&of_a[b], a as f64 / (a + b) as f64);
                let mut probabilities = vec![0.0; a * b + 1];
                // The largest is one of the a: it is above all b.
                for (u, p) in fewer.iter().enumerate() {
                    probabilities[u + b] += share * p;
                }
                for (u, p) in next[b - 1].iter().enumerate() {
                    probabilities[u] += (1.0 - share) * p;
                }
                next.push(probabilities);
            }
            of_a = next;
        }
        let half = of_a[n].iter().take(m * n / 2 + 1);
        let sum = |sum: &mut f64, p: &f64| {
            *sum += p;
            Some(*sum)
        };
        Self {
            cumulative: half.scan(0.0, sum).collect(),
        }
    }

    /// Returns the probability that the interval from the `rank`-th smallest to the `rank`-th largest
    /// difference misses the shift.
    fn error(&self, rank: usize) -> f64 {
        let below = self.cumulative.get(rank - 1);
        below.map_or(1.0, |p| (2.0 * p).min(1.0))
    }

    /// Returns the largest rank whose error is at most that of `level`; 0 if there is none.
    fn rank(&self, level: Level) -> usize {
        let within = |p: &f64| at_most(2.0 * p, level.alpha());
        self.cumulative
            .partition_point(within)
            .min(self.cumulative.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: impl IntoIterator<Item = f64>) -> Vec<Span> {
        values.into_iter().map(Span::exact).collect()
    }

    fn change(old: Vec<Span>, new: Vec<Span>) -> Change {
        let margin = 2.0;
        decide_changes(&[vec![TwoRuns { old, new, margin }]], 0.05)[0][0]
    }

    fn from(first: u32, blocks: u32) -> Vec<Span> {
        exact((first..first + blocks).map(f64::from))
    }

    /// 2 / C(8, 4) is 2.9 %, 2 / C(7, 3) is 5.7 %.
    #[test]
    fn four_blocks_against_four_can_decide() {
        let got = change(from(100, 4), from(50, 4));
        assert_eq!(got.verdict, Some(Verdict::Faster));
        assert!((got.p_value.unwrap() - 2.0 / 70.0).abs() < 1e-12);
        assert!((got.difference.interval.coverage - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
        assert_eq!(
            change(from(50, 4), from(100, 4)).verdict,
            Some(Verdict::Slower)
        );
        let got = change(from(100, 3), from(50, 4));
        assert_eq!(got.verdict, None);
        assert!((got.difference.interval.coverage - (1.0 - 2.0 / 35.0)).abs() < 1e-12);
    }

    #[test]
    fn equal_runs_do_not_differ_where_they_scatter_little() {
        let near = |shift: f64| exact((0..10).map(|i| 100.0 + shift + f64::from(i) / 10.0));
        assert_eq!(
            change(near(0.0), near(0.05)).verdict,
            Some(Verdict::NoDifference)
        );
        let far = |shift: f64| exact((0..10).map(|i| 100.0 + shift + f64::from(i * 10)));
        assert_eq!(change(far(0.0), far(0.5)).verdict, None);
    }

    #[test]
    fn runs_without_a_block_are_unknown_and_cost_nothing() {
        let nothing = TwoRuns {
            old: from(1, 6),
            ..TwoRuns::default()
        };
        let clear = TwoRuns {
            old: from(100, 4),
            new: from(50, 4),
            margin: 2.0,
        };
        let got = decide_changes(&[vec![nothing, clear]], 0.05);
        assert_eq!(got[0][0].verdict, None);
        assert_eq!(got[0][0].difference.blocks, 0);
        assert_eq!(got[0][1].verdict, Some(Verdict::Faster));
    }

    #[test]
    fn timeouts_count_as_at_least_their_length() {
        let mut new = from(50, 4);
        new.extend([Span::at_least(10_000.0); 6]);
        let got = change(from(100, 10), new);
        assert_eq!(got.difference.value.hi, f64::INFINITY);
        assert_eq!(got.difference.interval.hi, f64::INFINITY);
        assert_eq!(got.verdict, None);
        let all = vec![Span::at_least(10_000.0); 10];
        assert_eq!(change(from(100, 10), all).verdict, Some(Verdict::Slower));
    }

    #[test]
    fn only_the_first_blocks_of_long_runs_count() {
        let long = |first| from(first, 300);
        let got = change(long(1_000), long(0));
        assert_eq!(
            (got.difference.blocks, got.verdict),
            (200, Some(Verdict::Faster))
        );
    }

    /// Two samples without a difference: the interval must miss zero as often as it says.
    #[test]
    fn every_probability_is_that_of_counting_all_orders() {
        let null = Null::new((3, 4));
        let mut counts = [0; 13];
        for chosen in 0_u32..1 << 7 {
            if chosen.count_ones() == 3 {
                let above = |i: u32| (0..i).filter(|j| chosen >> j & 1 == 0).count();
                let u: usize = (0..7).filter(|i| chosen >> i & 1 == 1).map(above).sum();
                counts[u] += 1;
            }
        }
        let mut sum = 0;
        for (u, p) in null.cumulative.iter().enumerate() {
            sum += counts[u];
            assert!((p - f64::from(sum) / 35.0).abs() < 1e-12, "{u}");
        }
    }
}
