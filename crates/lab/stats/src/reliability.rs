//! Tests whether an arm fails more often than the baseline.

use schemars::JsonSchema;
use serde::Serialize;

use crate::binomial::cdf;
use crate::family::rejected;

/// The requests of one arm in one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// All requests.
    pub made: usize,
    /// Of those, the ones that failed or timed out.
    pub failed: usize,
}

/// How reliable an arm is compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reliability {
    /// Blocks with requests of both.
    pub blocks: usize,
    /// Blocks in which a larger share of the arm's requests failed than of the baseline's.
    pub blocks_with_more: usize,
    /// Blocks in which a smaller share failed.
    pub blocks_with_fewer: usize,
    /// The two-sided p-value of the exact sign test.
    pub p_value: f64,
    /// The verdict among all arms that were compared.
    pub verdict: ReliabilityVerdict,
}

/// What a comparison of failures shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReliabilityVerdict {
    /// The arm fails less often.
    MoreReliable,
    /// The arm fails more often.
    LessReliable,
    /// The failures may be chance, or there are none.
    CannotTell,
}

impl ReliabilityVerdict {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ReliabilityVerdict::MoreReliable => "more_reliable",
            ReliabilityVerdict::LessReliable => "less_reliable",
            ReliabilityVerdict::CannotTell => "cannot_tell",
        }
    }
}

/// Compares the failures of each arm with the baseline's, given the (arm, baseline) requests of each
/// block. At most a share `error` of the verdicts is expected to be wrong (Benjamini and Hochberg,
/// "Controlling the false discovery rate", 1995).
///
/// The test counts blocks and not requests: requests of one block share their losses, connection and
/// processes, so that they fail together, and a test that takes them for independent (e.g. McNemar's)
/// would call one bad block a difference. It takes six blocks that agree for a verdict.
pub fn compare_reliability(arms: &[Vec<(Requests, Requests)>], error: f64) -> Vec<Reliability> {
    let mut results: Vec<Reliability> = arms.iter().map(|blocks| undecided(blocks)).collect();
    let mut p_values: Vec<f64> = results.iter().map(|r| r.p_value).collect();
    p_values.sort_by(f64::total_cmp);
    let count = rejected(&p_values, error / p_values.len().max(1) as f64);
    let largest = count.checked_sub(1).map(|last| p_values[last]);
    for result in &mut results {
        if largest.is_some_and(|largest| result.p_value <= largest) {
            result.verdict = match result.blocks_with_more > result.blocks_with_fewer {
                true => ReliabilityVerdict::LessReliable,
                false => ReliabilityVerdict::MoreReliable,
            };
        }
    }
    results
}

fn undecided(blocks: &[(Requests, Requests)]) -> Reliability {
    let (mut all, mut more, mut fewer) = (0, 0, 0);
    for (arm, baseline) in blocks {
        if arm.made > 0 && baseline.made > 0 {
            all += 1;
            // The shares failed / made, compared without rounding.
            let (one, other) = (arm.failed * baseline.made, baseline.failed * arm.made);
            more += usize::from(one > other);
            fewer += usize::from(one < other);
        }
    }
    Reliability {
        blocks: all,
        blocks_with_more: more,
        blocks_with_fewer: fewer,
        p_value: sign_test(more, fewer),
        verdict: ReliabilityVerdict::CannotTell,
    }
}

/// Returns the two-sided p-value of the exact sign test: the probability that fair coins are at least
/// as one-sided.
fn sign_test(one: usize, other: usize) -> f64 {
    (2.0 * cdf(one + other, one.min(other), 0.5)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `blocks` blocks of 15 requests. In the first `bad` of them the arm fails `failed` times.
    fn blocks(blocks: usize, bad: usize, failed: usize) -> Vec<(Requests, Requests)> {
        let requests = |failed| Requests { made: 15, failed };
        (0..blocks)
            .map(|b| (requests(if b < bad { failed } else { 0 }), requests(0)))
            .collect()
    }

    fn verdict(of: Vec<(Requests, Requests)>) -> ReliabilityVerdict {
        compare_reliability(&[of], 0.05)[0].verdict
    }

    #[test]
    fn one_failure_in_150_requests_is_not_less_reliable() {
        assert_eq!(verdict(blocks(10, 1, 1)), ReliabilityVerdict::CannotTell);
        assert_eq!(verdict(blocks(10, 0, 0)), ReliabilityVerdict::CannotTell);
        assert_eq!(verdict(Vec::new()), ReliabilityVerdict::CannotTell);
    }

    #[test]
    fn one_bad_block_is_not_less_reliable() {
        assert_eq!(verdict(blocks(10, 1, 15)), ReliabilityVerdict::CannotTell);
    }

    #[test]
    fn failures_in_most_blocks_are_less_reliable() {
        assert_eq!(verdict(blocks(10, 6, 2)), ReliabilityVerdict::LessReliable);
        assert_eq!(verdict(blocks(10, 5, 2)), ReliabilityVerdict::CannotTell);
        let swapped = blocks(10, 6, 2).into_iter().map(|(a, b)| (b, a)).collect();
        assert_eq!(verdict(swapped), ReliabilityVerdict::MoreReliable);
    }

    #[test]
    fn many_arms_share_the_error() {
        let mut arms = vec![blocks(10, 0, 0); 33];
        arms.push(blocks(10, 10, 1));
        let last = |arms: &[_]| compare_reliability(arms, 0.05)[33].verdict;
        assert_eq!(last(&arms), ReliabilityVerdict::CannotTell);
        arms[33] = blocks(11, 11, 1);
        assert_eq!(last(&arms), ReliabilityVerdict::LessReliable);
    }

    #[test]
    fn shares_are_compared_and_not_counts() {
        let half = (
            Requests {
                made: 10,
                failed: 5,
            },
            Requests {
                made: 20,
                failed: 10,
            },
        );
        let got = compare_reliability(&[vec![half; 8]], 0.05)[0];
        assert_eq!((got.blocks_with_more, got.blocks_with_fewer), (0, 0));
        assert_eq!(got.p_value, 1.0);
    }
}
