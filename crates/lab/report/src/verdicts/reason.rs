//! Takes a decided difference apart: its parts over the pairs that the verdict compares, and whether they explain it.

use std::ops::Range;

use explain::Part;
use stats::{Span, Verdict};

use crate::figures::cells::Blocks;
use crate::figures::parts::{PartTimes, parts_by_step};
use crate::figures::population::Population;
use crate::summary::measure::Comparison;
use crate::summary::quantity::Bound;
use crate::summary::reason::{PartDifference, Reason, ReasonOutcome, ReasonPart, in_round_trips};
use crate::words::reason::reason_words;

/// The sum of the parts may differ from the estimate by the margin, or by this share of the estimate.
const SUM_SHARE: f64 = 0.05;
/// Of the half of the pairs that is taken, at most this share may lack parts.
const LACKING_SHARE: f64 = 0.1;
/// Stands for a time without a bound: 12 days, whose sums are exact to 1 µs.
const ENDLESS_NS: f64 = 1e15;

/// A step that both arms made in the same block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Arm minus baseline, ns.
    pub(crate) difference: Span,
    /// The parts of arm and baseline; `None` if either has none.
    pub(crate) parts: Option<[PartTimes; 2]>,
}

/// Returns the pairs from which two arms are compared in a population, block by block and step by step.
pub(crate) fn pairs(
    population: &Population,
    arm: &Blocks<'_>,
    baseline: &Blocks<'_>,
    timeout_ns: u64,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (block, cell) in arm {
        let Some(base) = baseline.get(block) else {
            continue;
        };
        let times = [cell, base].map(|cell| population.steps(cell, timeout_ns));
        let mut parts = [cell, base].map(|cell| parts_by_step(population, cell));
        for (step, time) in times[0].iter() {
            let Some(base) = times[1].get(step) else {
                continue;
            };
            let [of_arm, of_base] = parts.each_mut().map(|parts| parts.remove(&step));
            pairs.push(Pair {
                difference: time.minus(base),
                parts: of_arm.zip(of_base).map(|(arm, base)| [arm, base]),
            });
        }
    }
    pairs
}

/// Returns the reason of a comparison's difference, or what contradicts one. `None` unless the arm is faster or
/// slower, and either requests failed or the pairs have parts.
pub(crate) fn reason(
    comparison: &Comparison,
    pairs: impl FnOnce() -> Vec<Pair>,
    rtt_ns: u64,
) -> Option<Reason> {
    if !matches!(comparison.verdict, Verdict::Faster | Verdict::Slower) {
        return None;
    }
    let mut pairs = pairs();
    let is_known = comparison.difference.bound == Bound::Exact;
    let Some(estimate_ns) = comparison.difference.value.filter(|_| is_known) else {
        return failed(comparison.verdict, &pairs);
    };
    if pairs.iter().all(|pair| pair.parts.is_none()) {
        return None;
    }
    pairs.sort_by(|a, b| position(a, estimate_ns).total_cmp(&position(b, estimate_ns)));
    let taken = &pairs[half_around(&pairs, estimate_ns)];
    let explained: Vec<(f64, &[PartTimes; 2])> = (taken.iter())
        .filter_map(|pair| Some((pair.difference.known()?, pair.parts.as_ref()?)))
        .collect();
    let n = explained.len().max(1) as f64;
    let mean = |part: ReasonPart, index: usize| {
        let times = explained.iter().map(|(_, parts)| parts[index].get(&part));
        times.map(|ns| ns.copied().unwrap_or(0.0)).sum::<f64>() / n
    };
    let difference_of = |part: ReasonPart| {
        let (arm_ns, baseline_ns) = (mean(part, 0), mean(part, 1));
        let difference_ns = arm_ns - baseline_ns;
        (difference_ns != 0.0).then(|| PartDifference {
            part,
            difference_ns,
            round_trips: in_round_trips(part, difference_ns, rtt_ns),
            arm_ns,
            baseline_ns,
        })
    };
    let of_requests = Part::ALL.into_iter().map(ReasonPart::Request);
    let all = of_requests.chain([ReasonPart::BetweenRequests]);
    let mut parts: Vec<PartDifference> = all.filter_map(difference_of).collect();
    parts.sort_by(|a, b| b.difference_ns.abs().total_cmp(&a.difference_ns.abs()));
    let sum_ns = parts.iter().map(|part| part.difference_ns).sum::<f64>();
    let time_ns = explained.iter().map(|(ns, _)| ns).sum::<f64>() / n;
    let mut reason = Reason {
        outcome: ReasonOutcome::Explained,
        words: String::new(),
        pairs: explained.len(),
        sum_ns,
        unnamed_ns: time_ns - sum_ns,
        parts,
    };
    let tolerance_ns = comparison.margin_ns.max(SUM_SHARE * estimate_ns.abs());
    let lacking = taken.len() - explained.len();
    reason.outcome = if lacking as f64 > LACKING_SHARE * taken.len() as f64 {
        ReasonOutcome::Incomplete
    } else if (sum_ns - estimate_ns).abs() > tolerance_ns {
        ReasonOutcome::SumDiffers
    } else if reason.unexplained_ns() >= Reason::NAMED_SHARE * estimate_ns.abs() {
        ReasonOutcome::Unexplained
    } else if reason.named(estimate_ns).is_empty() {
        ReasonOutcome::Scattered
    } else {
        ReasonOutcome::Explained
    };
    reason.words = reason_words(&reason, estimate_ns, taken.len(), rtt_ns);
    Some(reason)
}

/// Returns the reason of a difference whose size is unknown: requests of the slower arm failed, which count as at least
/// their time limit.
fn failed(verdict: Verdict, pairs: &[Pair]) -> Option<Reason> {
    let has_failed = |pair: &&Pair| match verdict {
        Verdict::Slower => pair.difference.hi.is_infinite(),
        _ => pair.difference.lo.is_infinite(),
    };
    let mut reason = Reason {
        outcome: ReasonOutcome::Failed,
        words: String::new(),
        pairs: pairs.iter().filter(has_failed).count(),
        sum_ns: 0.0,
        unnamed_ns: 0.0,
        parts: Vec::new(),
    };
    reason.words = reason_words(&reason, f64::INFINITY, pairs.len(), 0);
    (reason.pairs > 0).then_some(reason)
}

/// Returns the half of the sorted pairs whose mean difference is nearest to the estimate: neighbours, and of several such
/// halves the one nearest to the middle.
fn half_around(pairs: &[Pair], estimate_ns: f64) -> Range<usize> {
    let quarter = pairs.len() / 4;
    let taken = pairs.len() - 2 * quarter;
    let mut sums = vec![0.0];
    for pair in pairs {
        let at_ns = position(pair, estimate_ns).clamp(-ENDLESS_NS, ENDLESS_NS);
        sums.push(sums[sums.len() - 1] + at_ns - estimate_ns);
    }
    let distance_ns = |from: usize| (sums[from + taken] - sums[from]).abs() / taken as f64;
    // To 1 µs, so that halves that differ by rounding alone are equal.
    let rank = |&from: &usize| {
        let distance_us = (distance_ns(from) / 1e3).round() as u64;
        (distance_us, from.abs_diff(quarter))
    };
    let from = (0..=2 * quarter).min_by_key(rank).unwrap_or(0);
    from..from + taken
}

/// Returns where a pair stands among all pairs sorted by difference. One of which nothing is known stands in the
/// middle, where it counts as one without parts.
fn position(pair: &Pair, estimate_ns: f64) -> f64 {
    let Span { lo, hi } = pair.difference;
    match (lo.is_finite(), hi.is_finite()) {
        (true, true) => (lo + hi) / 2.0,
        (true, false) => f64::INFINITY,
        (false, true) => f64::NEG_INFINITY,
        (false, false) => estimate_ns,
    }
}

#[cfg(test)]
mod tests;
