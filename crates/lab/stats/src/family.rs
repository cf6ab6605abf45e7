//! Verdicts for all comparisons of a report, in families.

use crate::ends::Ends;
use crate::estimate::{Estimate, at_rank, median};
use crate::interval::Level;
use crate::outlook::outlook;
use crate::ranks::{MIN_BLOCKS, Ranks, at_most};
use crate::span::Span;
use crate::verdict::{Comparison, Verdict, verdict};

/// Comparisons that are read together, e.g. all arms in one column of a table: one measure on one
/// network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// One entry per arm that is compared with the baseline.
    pub comparisons: Vec<Differences>,
}

/// What is known of the difference between one arm and the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences {
    /// Arm minus baseline, one value per block that has both.
    pub by_block: Vec<Span>,
    /// Largest difference that still counts as no difference, in the unit of the differences. At
    /// least the resolution of the arms' clocks.
    pub margin: f64,
}

/// The verdicts of one family.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyResult {
    /// The level of every interval in the family.
    pub level: Level,
    /// Whether any comparison of the family is decided.
    pub selected: bool,
    /// One result per comparison, in the family's order.
    pub comparisons: Vec<Comparison>,
}

/// Compares all arms of a report with the baseline, with a share `error` (e.g. 0.05) of mistakes.
///
/// Families with at least one comparison that stands out are selected. The procedure is that of Benjamini and Hochberg
/// on Simes' p-values (Benjamini and Bogomolov, "Selective inference on multiple families of hypotheses", 2014). All
/// intervals of a selected family have the same level. At this level, at most a share `error` of the intervals behind a
/// verdict is expected to miss, averaged over the selected families (Benjamini and Yekutieli, "False discovery
/// rate-adjusted multiple confidence intervals for selected parameters", 2005). A wrong verdict implies an interval
/// that misses.
///
/// Every comparison gets an interval of its family's level, decided or not; with too few blocks for
/// that level, it is the whole range with the coverage that has. Comparisons without a block get the
/// whole line and do not count. That does not select the others by their values: an arm that is given up
/// leaves its family by its own first two blocks only.
pub fn decide(families: &[Family], error: f64, ranks: Ranks) -> Vec<FamilyResult> {
    let measured: Vec<Vec<Measured>> = families
        .iter()
        .map(|family| {
            family
                .comparisons
                .iter()
                .map(|d| Measured::new(d, ranks))
                .collect()
        })
        .collect();
    let p_values: Vec<Vec<f64>> = measured
        .iter()
        .map(|family| sorted(family.iter().filter_map(Measured::counted)))
        .collect();
    measured
        .iter()
        .zip(levels(&p_values, error))
        .map(|(family, (level, decided))| FamilyResult {
            level,
            selected: decided > 0,
            comparisons: family.iter().map(|m| m.compare(level, ranks)).collect(),
        })
        .collect()
}

/// Returns, for each family of sorted p-values, the level of its intervals and how many comparisons are
/// decided at it.
pub(crate) fn levels(p_values: &[Vec<f64>], error: f64) -> Vec<(Level, usize)> {
    let simes = sorted(p_values.iter().filter(|p| !p.is_empty()).map(|p| simes(p)));
    let share = error / simes.len().max(1) as f64;
    let selected = rejected(&simes, share);
    let error_of_family = share * selected.max(1) as f64;
    let of_family = |p_values: &Vec<f64>| {
        let share = error_of_family / p_values.len().max(1) as f64;
        let decided = rejected(p_values, share);
        (Level::of_error(share * decided.max(1) as f64), decided)
    };
    p_values.iter().map(of_family).collect()
}

/// Compares one arm with the baseline at `level`, apart from any family.
pub fn compare(differences: &Differences, level: Level, ranks: Ranks) -> Comparison {
    Measured::new(differences, ranks).compare(level, ranks)
}

/// Differences with what does not depend on other comparisons.
struct Measured<'a> {
    differences: &'a Differences,
    ends: Ends,
    /// The median; `None` without a block.
    value: Option<Span>,
    p_value: Option<f64>,
}

impl<'a> Measured<'a> {
    fn new(differences: &'a Differences, ranks: Ranks) -> Self {
        let mut measured = Self {
            differences,
            ends: Ends::sorted(&differences.by_block),
            value: median(&differences.by_block),
            p_value: None,
        };
        measured.p_value = measured
            .first_rank_that_decides()
            .map(|rank| ranks.error(differences.by_block.len(), rank));
        measured
    }

    /// Returns the smallest rank whose interval gives a verdict. Intervals are nested, so every larger
    /// rank gives the same verdict or a more exact one.
    fn first_rank_that_decides(&self) -> Option<usize> {
        let blocks = self.differences.by_block.len();
        if blocks < MIN_BLOCKS {
            return None;
        }
        (1..=blocks / 2).find(|&rank| self.verdict_at(rank).is_some())
    }

    fn verdict_at(&self, rank: usize) -> Option<Verdict> {
        let blocks = self.differences.by_block.len();
        let (lo, hi) = (self.ends.lo[rank - 1], self.ends.hi[blocks - rank]);
        verdict(self.value?, (lo, hi), self.differences.margin)
    }

    /// Returns the p-value, infinite if there is none, of a comparison that counts.
    fn counted(&self) -> Option<f64> {
        self.value?;
        Some(self.p_value.unwrap_or(f64::INFINITY))
    }

    fn compare(&self, level: Level, ranks: Ranks) -> Comparison {
        let Differences { by_block, margin } = self.differences;
        let blocks = by_block.len();
        let rank = ranks.rank(blocks, level);
        let difference = match self.value {
            Some(value) => Estimate {
                value,
                interval: at_rank(&self.ends, rank.max(1), ranks),
                blocks,
            },
            None => Estimate::UNKNOWN,
        };
        let decided = (blocks >= MIN_BLOCKS && rank > 0).then(|| self.verdict_at(rank));
        let undecided = || Verdict::CannotTell {
            blocks,
            outlook: outlook(by_block, *margin, level, ranks),
        };
        Comparison {
            difference,
            verdict: decided.flatten().unwrap_or_else(undecided),
            p_value: self.p_value,
        }
    }
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// Returns Simes' p-value of sorted p-values: that of the hypothesis that none of them stands out.
fn simes(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let each = sorted.iter().enumerate();
    each.map(|(i, p)| n * p / (i + 1) as f64)
        .fold(f64::INFINITY, f64::min)
}

/// Returns how many of the sorted p-values the procedure of Benjamini and Hochberg rejects: the
/// largest j with p_(j) <= j * `share`.
pub(crate) fn rejected(sorted: &[f64], share: f64) -> usize {
    (1..=sorted.len())
        .rev()
        .find(|&j| at_most(sorted[j - 1], share * j as f64))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FASTER: f64 = -10.0;

    /// Returns `blocks` blocks that all agree.
    fn unanimous(blocks: usize) -> Differences {
        differences(&vec![FASTER; blocks])
    }

    /// Returns blocks that no rank decides.
    fn undecidable(blocks: usize) -> Differences {
        let both = |i| if i % 2 == 0 { -50.0 } else { 50.0 };
        differences(&(0..blocks).map(both).collect::<Vec<_>>())
    }

    fn differences(by_block: &[f64]) -> Differences {
        Differences {
            by_block: by_block.iter().copied().map(Span::exact).collect(),
            margin: 2.0,
        }
    }

    /// Returns a family of `of` comparisons, `decidable` of them unanimous.
    fn family(decidable: usize, of: usize, blocks: usize) -> Family {
        let comparisons = (0..of).map(|i| match i < decidable {
            true => unanimous(blocks),
            false => undecidable(blocks),
        });
        Family {
            comparisons: comparisons.collect(),
        }
    }

    fn decided(result: &FamilyResult) -> usize {
        let decided = |c: &&Comparison| c.verdict.is_decided();
        result.comparisons.iter().filter(decided).count()
    }

    #[test]
    fn six_blocks_are_enough_if_all_comparisons_agree() {
        for arms in [1, 4, 34] {
            let results = decide(&vec![family(arms, arms, 6); 6], 0.05, Ranks::Fixed);
            assert!(results.iter().all(|f| f.selected && decided(f) == arms));
            assert!((results[0].level.coverage() - 0.95).abs() < 1e-12);
            let results = decide(&vec![family(arms, arms, 5); 6], 0.05, Ranks::Fixed);
            assert!(results.iter().all(|f| !f.selected && decided(f) == 0));
        }
    }

    #[test]
    fn one_comparison_alone_needs_more_blocks() {
        for (arms, blocks) in [(4, 8), (34, 11)] {
            let of = |blocks| decide(&[family(1, arms, blocks)], 0.05, Ranks::Fixed);
            assert_eq!(decided(&of(blocks - 1)[0]), 0);
            assert_eq!(decided(&of(blocks)[0]), 1);
        }
    }

    /// Three of four comparisons in five of six families: 0.05 * 5/6 * 3/4 is exactly 2/2^6.
    #[test]
    fn p_values_equal_to_their_bound_are_decided() {
        let mut families = vec![family(3, 4, 6); 5];
        families.push(family(0, 4, 6));
        let results = decide(&families, 0.05, Ranks::Fixed);
        for result in &results[..5] {
            assert_eq!(decided(result), 3);
            assert!((result.level.alpha() - 1.0 / 32.0).abs() < 1e-12);
        }
        assert!(!results[5].selected);
        assert!((results[5].level.alpha() - 0.05 * 5.0 / 6.0 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn undecided_comparisons_get_the_interval_of_the_family() {
        let results = decide(&[family(9, 10, 12)], 0.05, Ranks::Fixed);
        let last = results[0].comparisons[9];
        // 0.05 * 9/10 allows rank 3 (3.86 %) of 12.
        assert_eq!(last.difference.interval.rank(), Some(3));
        assert_eq!(last.p_value, None);
        assert!(!last.verdict.is_decided());
    }

    #[test]
    fn comparisons_without_blocks_do_not_count() {
        let mut with = family(1, 4, 8);
        with.comparisons.extend(vec![differences(&[]); 40]);
        let empty = Family::default();
        let results = decide(&[with, empty], 0.05, Ranks::Fixed);
        assert_eq!(decided(&results[0]), 1);
        let unknown = results[0].comparisons[43].difference;
        assert_eq!(unknown.blocks, 0);
        assert_eq!(unknown.interval.lo, f64::NEG_INFINITY);
        assert!(!results[1].selected);
    }

    #[test]
    fn anytime_ranks_need_more_blocks() {
        let of = |n| decide(&[family(4, 4, n)], 0.05, Ranks::Anytime);
        assert_eq!((decided(&of(6)[0]), decided(&of(7)[0])), (0, 4));
    }

    #[test]
    fn p_value_is_the_error_of_the_first_rank_that_decides() {
        // One block of ten on the wrong side, beyond the margin of 2: rank 2, 2 * 11/1024.
        let mut blocks = [FASTER; 10];
        blocks[4] = 3.0;
        let results = decide(
            &[Family {
                comparisons: vec![differences(&blocks)],
            }],
            0.05,
            Ranks::Fixed,
        );
        let p = results[0].comparisons[0].p_value.unwrap();
        assert!((p - 22.0 / 1_024.0).abs() < 1e-12, "{p}");
    }
}
