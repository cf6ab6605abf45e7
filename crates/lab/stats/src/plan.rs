//! The number of blocks that a study needs before anything can be decided.

use crate::interval::Level;
use crate::ranks::{MIN_BLOCKS, Ranks};

/// The fewest blocks at which [`crate::decide`] can decide comparisons whose blocks all agree. With
/// fewer, no result could be a verdict; with scatter it takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewestBlocks {
    /// If every comparison in every family is decided.
    pub all: usize,
    /// If a single comparison in each family is decided.
    pub one_per_family: usize,
    /// If a single comparison of the whole report is decided. With this many blocks no verdict
    /// depends on any other.
    pub one: usize,
}

/// Returns the fewest blocks for a report, given the number of comparisons in each family and the
/// error as for [`crate::decide`]. `None` without a comparison.
pub fn fewest_blocks(families: &[usize], error: f64, ranks: Ranks) -> Option<FewestBlocks> {
    let largest = *families.iter().max().filter(|&&largest| largest > 0)? as f64;
    let count = families.iter().filter(|&&family| family > 0).count() as f64;
    let at = |error: f64| ranks.fewest_blocks(Level::of_error(error)).max(MIN_BLOCKS);
    Some(FewestBlocks {
        all: at(error),
        one_per_family: at(error / largest),
        one: at(error / largest / count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Differences, Family, Span, decide};

    #[test]
    fn thirty_four_arms_in_six_columns() {
        let fixed = fewest_blocks(&[34; 6], 0.05, Ranks::Fixed).unwrap();
        assert_eq!((fixed.all, fixed.one_per_family, fixed.one), (6, 11, 13));
        let anytime = fewest_blocks(&[34; 6], 0.05, Ranks::Anytime).unwrap();
        assert_eq!((anytime.all, anytime.one_per_family), (7, 13));
        assert!(anytime.one > 13);
        assert_eq!(fewest_blocks(&[0], 0.05, Ranks::Fixed), None);
    }

    /// The plan agrees with the decisions at and below its numbers.
    #[test]
    fn plans_are_what_decide_needs() {
        let arms = 4;
        for ranks in [Ranks::Fixed, Ranks::Anytime] {
            let plan = fewest_blocks(&[arms; 6], 0.05, ranks).unwrap();
            for (decidable, families, fewest) in [
                (arms, 6, plan.all),
                (1, 6, plan.one_per_family),
                (1, 1, plan.one),
            ] {
                let any = |blocks| {
                    let results = decide(&report(decidable, families, blocks), 0.05, ranks);
                    results.iter().any(|f| f.selected)
                };
                assert!(any(fewest) && !any(fewest - 1), "{decidable} in {families}");
            }
        }
    }

    /// Returns six families of four arms. In `families` of them, `decidable` arms are unanimous.
    fn report(decidable: usize, families: usize, blocks: usize) -> Vec<Family> {
        let differences = |decidable| Differences {
            by_block: (0..blocks)
                .map(|block| {
                    Span::exact(if decidable || block % 2 == 0 {
                        9.0
                    } else {
                        -9.0
                    })
                })
                .collect(),
            margin: 2.0,
        };
        let family = |family| Family {
            comparisons: (0..4)
                .map(|arm| differences(family < families && arm < decidable))
                .collect(),
        };
        (0..6).map(family).collect()
    }
}
