//! Estimates whether more blocks would decide a comparison.

use schemars::JsonSchema;
use serde::Serialize;

use crate::binomial::cdf;
use crate::interval::Level;
use crate::ranks::{MIN_BLOCKS, Ranks};
use crate::span::Span;

/// The probability of a verdict that a few more blocks must give.
const POWER_OF_A_FEW: f64 = 0.5;

/// The probability of a verdict that ten times as many blocks must give. It is higher, because they
/// cost more.
const POWER_OF_MANY: f64 = 0.8;

/// With this share of blocks on the wrong side of both margins, the blocks do not show where the median
/// is.
const EVEN_SHARE: f64 = 0.45;

/// The fewest blocks that count as a few more.
const AT_LEAST_A_FEW: usize = 6;

/// Beyond this multiple of the blocks so far, more blocks do not count as affordable.
const AFFORDABLE: usize = 10;

/// The search tries numbers of blocks in steps of the blocks so far divided by this.
const SEARCH_STEP: usize = 50;

/// What more blocks would do for an undecided comparison, if they are like those so far. It is a
/// class and not a number, because the blocks that leave a comparison open say little about how many
/// more it takes: the example `power` shows how often each class is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outlook {
    /// Half as many blocks again, or six, will decide it more likely than not.
    AFewMore,
    /// Up to ten times as many blocks will probably decide it.
    SeveralTimesAsMany,
    /// The arm is often faster and often slower by more than the margin, so that even ten times as many
    /// blocks may not decide it, or too many requests timed out.
    MayNotSettle,
}

impl Outlook {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outlook::AFewMore => "a_few_more",
            Outlook::SeveralTimesAsMany => "several_times_as_many",
            Outlook::MayNotSettle => "may_not_settle",
        }
    }
}

/// Returns the outlook of differences that are undecided at `level`.
///
/// An interval excludes what is beyond a margin if fewer blocks than its rank lie there. Let q be the share of such
/// blocks, by Jeffreys' estimate from those so far. N blocks decide with the probability that a binomial (N, q) number
/// is below the rank for N blocks.
pub(crate) fn outlook(differences: &[Span], margin: f64, level: Level, ranks: Ranks) -> Outlook {
    let n = differences.len();
    if n == 0 {
        return Outlook::AFewMore;
    }
    let wrong_share = |right_side: &dyn Fn(&Span) -> bool| {
        let wrong = differences.iter().filter(|d| !right_side(d)).count();
        (wrong as f64 + 0.5) / (n as f64 + 1.0)
    };
    // Any verdict excludes that the arm is slower or that it is faster by more than the margin.
    let q = wrong_share(&|d| d.hi <= margin).min(wrong_share(&|d| d.lo >= -margin));
    if q >= EVEN_SHARE {
        return Outlook::MayNotSettle;
    }
    let power = |blocks: usize| match ranks.rank(blocks, level) {
        0 => 0.0,
        rank => cdf(blocks, rank - 1, q),
    };
    let mut a_few_more = (n + 1..=a_few_more(n)).step_by(1 + n / SEARCH_STEP);
    if a_few_more.any(|blocks| power(blocks) >= POWER_OF_A_FEW) {
        Outlook::AFewMore
    } else if power(AFFORDABLE * n.max(MIN_BLOCKS)) >= POWER_OF_MANY {
        Outlook::SeveralTimesAsMany
    } else {
        Outlook::MayNotSettle
    }
}

/// Returns how many blocks `blocks` and a few more are.
fn a_few_more(blocks: usize) -> usize {
    (blocks + AT_LEAST_A_FEW.max(blocks / 2)).max(MIN_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64], margin: f64) -> Outlook {
        let spans: Vec<Span> = differences.iter().map(|&d| Span::exact(d)).collect();
        outlook(&spans, margin, Level::NINETY_FIVE, Ranks::Fixed)
    }

    #[test]
    fn unanimous_blocks_need_a_few_more() {
        assert_eq!(of(&[-10.0; 5], 2.0), Outlook::AFewMore);
        assert_eq!(of(&[], 2.0), Outlook::AFewMore);
    }

    #[test]
    fn a_quarter_on_the_wrong_side_needs_several_times_as_many() {
        let mut blocks = [-10.0; 8];
        blocks[..2].fill(3.0);
        assert_eq!(of(&blocks, 2.0), Outlook::SeveralTimesAsMany);
    }

    #[test]
    fn blocks_on_both_sides_may_not_settle() {
        let scattered = of(&[-9.0, -8.0, -7.0, 5.0, 6.0, 7.0], 2.0);
        assert_eq!(scattered, Outlook::MayNotSettle);
    }

    #[test]
    fn timeouts_of_both_arms_may_not_settle() {
        let unknown = Span::at_least(9.0).minus(Span::at_least(9.0));
        let got = outlook(&[unknown; 12], 2.0, Level::NINETY_FIVE, Ranks::Fixed);
        assert_eq!(got, Outlook::MayNotSettle);
    }
}
