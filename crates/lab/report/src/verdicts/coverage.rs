//! How much of the time of requests, and of the differences between arms, is explained.

use explain::Part;
use record::CompactCall;
use stats::Verdict;

use crate::summary::coverage::Coverage;
use crate::summary::measure::Comparison;
use crate::summary::reason::ReasonOutcome;
use crate::summary::why::WhyMeasure;

/// Returns how much is explained of these populations and their requests.
pub(crate) fn coverage(measures: &[WhyMeasure], calls: &[CompactCall<'_>]) -> Coverage {
    let mut shares: Vec<f64> = calls.iter().filter_map(|call| unexplained(*call)).collect();
    shares.sort_by(f64::total_cmp);
    let arms = measures.iter().flat_map(|measure| &measure.arms);
    let comparisons = arms.filter_map(|arm| arm.comparison.as_ref());
    let is_decided = |c: &&Comparison| matches!(c.verdict, Verdict::Faster | Verdict::Slower);
    let decided: Vec<Option<ReasonOutcome>> = comparisons
        .filter(is_decided)
        .map(|c| c.reason.as_ref().map(|reason| reason.outcome))
        .collect();
    let outcomes = || decided.iter().flatten();
    let is_match = |outcome: &&ReasonOutcome| {
        !matches!(
            outcome,
            ReasonOutcome::SumDiffers | ReasonOutcome::Incomplete | ReasonOutcome::Failed
        )
    };
    let is_reason = |outcome: &&ReasonOutcome| **outcome == ReasonOutcome::Explained;
    Coverage {
        calls: shares.len(),
        unexplained_median: shares.get(shares.len() / 2).copied().unwrap_or(0.0),
        unexplained_most: shares.last().copied().unwrap_or(0.0),
        decided: decided.len(),
        matched: outcomes().filter(is_match).count(),
        explained: outcomes().filter(is_reason).count(),
    }
}

/// Returns the share of a call's time that is unexplained; `None` without parts.
fn unexplained(call: CompactCall<'_>) -> Option<f64> {
    let all_ns: u64 = call.parts().map(|(_, ns)| ns).sum();
    let of = call.part_ns(Part::Unexplained.name());
    (all_ns > 0).then(|| of.unwrap_or(0) as f64 / all_ns as f64)
}
