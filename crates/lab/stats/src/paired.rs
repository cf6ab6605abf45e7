//! Arm and baseline in the same block.

use crate::ends::Ends;
use crate::estimate::{Estimate, at_rank, median};
use crate::interval::Method;
use crate::ranks::{MIN_BLOCKS, Ranks};
use crate::span::Span;

/// Returns the difference between arm and baseline in one block: the median over its steps of arm
/// minus baseline, given the (arm, baseline) times of each step that both made. `None` without a step.
///
/// Both arms meet the same losses at the same step. Subtracting step by step therefore removes more of what they have
/// in common than subtracting medians.
pub fn block_difference(steps: &[(Span, Span)]) -> Option<Span> {
    let differences: Vec<Span> = steps.iter().map(|(arm, base)| arm.minus(*base)).collect();
    median(&differences)
}

/// Returns the factor by which the arm is faster than the baseline in one block: the median over its steps of baseline
/// / arm. The scale is logarithmic, so that 2x faster and 2x slower are equally far from no difference. `None` without
/// a step or when any time is not positive.
pub fn block_speedup(steps: &[(Span, Span)]) -> Option<Span> {
    let positive = |(arm, base): &(Span, Span)| arm.lo > 0.0 && base.lo > 0.0;
    if !steps.iter().all(positive) {
        return None;
    }
    let logs: Vec<Span> = steps
        .iter()
        .map(|(arm, base)| base.over(*arm).map_increasing(f64::ln))
        .collect();
    Some(median(&logs)?.map_increasing(f64::exp))
}

/// Returns the median over blocks of the factors by which an arm is faster, on a logarithmic scale. Its interval has
/// the same ranks and coverage as that of `difference`, which must be from the same blocks. `None` if it is from
/// another number of blocks, or has no ranks.
pub fn speedup(factors: &[Span], difference: &Estimate) -> Option<Estimate> {
    let Method::OrderStatistics { rank } = difference.interval.method else {
        return None;
    };
    if rank == 0 || factors.len() != difference.blocks {
        return None;
    }
    let logs: Vec<Span> = factors.iter().map(|f| f.map_increasing(f64::ln)).collect();
    let mut interval = at_rank(&Ends::sorted(&logs), rank, Ranks::Fixed);
    interval.lo = interval.lo.exp();
    interval.hi = interval.hi.exp();
    interval.coverage = difference.interval.coverage;
    Some(Estimate {
        value: median(&logs)?.map_increasing(f64::exp),
        interval,
        blocks: difference.blocks,
    })
}

/// Returns Spearman's rank correlation of arm and baseline over the blocks where both are exact: how
/// much of their variation they have in common, and so what pairing gains. Equal values share the
/// mean of their ranks. `None` below [`MIN_BLOCKS`] such blocks or when one of the two never varies.
///
/// Ranks are used because a single block with many losses would alone bring Pearson's correlation
/// close to 1.
pub fn rank_correlation(pairs: &[(Span, Span)]) -> Option<f64> {
    let exact: Vec<(f64, f64)> = pairs
        .iter()
        .filter_map(|(a, b)| Some((a.known()?, b.known()?)))
        .collect();
    if exact.len() < MIN_BLOCKS {
        return None;
    }
    let (arm, baseline): (Vec<f64>, Vec<f64>) = exact.into_iter().unzip();
    let (arm, baseline) = (mean_ranks(&arm), mean_ranks(&baseline));
    // Ranks always have the mean (n + 1) / 2.
    let mean = (arm.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| {
        let terms = a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean));
        terms.sum::<f64>()
    };
    let scale = (product(&arm, &arm) * product(&baseline, &baseline)).sqrt();
    (scale > 0.0).then(|| (product(&arm, &baseline) / scale).clamp(-1.0, 1.0))
}

/// Returns the rank of each value, from 1; equal values share the mean of their ranks.
fn mean_ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|x| x < value);
        let up_to = sorted.partition_point(|x| x <= value);
        (below + up_to + 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, estimate_by_order};

    fn pairs(values: &[(f64, f64)]) -> Vec<(Span, Span)> {
        let exact = |&(a, b): &(f64, f64)| (Span::exact(a), Span::exact(b));
        values.iter().map(exact).collect()
    }

    #[test]
    fn block_difference_is_the_median_over_steps() {
        let steps = pairs(&[(12.0, 10.0), (900.0, 895.0), (30.0, 10.0)]);
        assert_eq!(block_difference(&steps), Some(Span::exact(5.0)));
        assert_eq!(block_difference(&[]), None);
    }

    #[test]
    fn timeouts_bound_the_difference_of_a_block() {
        let timeout = Span::at_least(1_000.0);
        let mut steps = pairs(&[(12.0, 10.0), (15.0, 10.0)]);
        steps.push((timeout, Span::exact(10.0)));
        assert_eq!(block_difference(&steps), Some(Span::exact(5.0)));
        steps.push((timeout, Span::exact(10.0)));
        // Between 5 and at least 990.
        assert_eq!(block_difference(&steps), Some(Span::at_least(497.5)));
        let both = [(timeout, timeout)];
        assert_eq!(block_difference(&both).unwrap().known(), None);
    }

    #[test]
    fn speedup_is_the_ratio_of_baseline_to_arm() {
        let factor = block_speedup(&pairs(&[(50.0, 100.0), (10.0, 20.0), (9.0, 9.0)])).unwrap();
        assert!((factor.known().unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(block_speedup(&pairs(&[(0.0, 100.0)])), None);
    }

    #[test]
    fn speedup_has_the_ranks_of_the_difference() {
        let times: Vec<(f64, f64)> = (1..=10).map(|i| (100.0 + f64::from(i), 202.0)).collect();
        let times = pairs(&times);
        let differences: Vec<Span> = times.iter().map(|(a, b)| a.minus(*b)).collect();
        let factors: Vec<Span> = times.iter().map(|(a, b)| b.over(*a)).collect();
        let difference = estimate_by_order(&differences, Level::NINETY_FIVE).unwrap();
        let got = speedup(&factors, &difference).unwrap();
        assert!((got.interval.lo - 202.0 / 109.0).abs() < 1e-12);
        assert!((got.interval.hi - 202.0 / 102.0).abs() < 1e-12);
        assert_eq!(got.interval.coverage, difference.interval.coverage);
        assert_eq!(speedup(&factors[1..], &difference), None);
    }

    #[test]
    fn correlation_depends_on_ranks_alone() {
        let rising: Vec<_> = (0..6).map(|i| (f64::from(i), f64::from(i).exp())).collect();
        assert_eq!(rank_correlation(&pairs(&rising)), Some(1.0));
        let falling: Vec<_> = (0..6).map(|i| (f64::from(i), -f64::from(i))).collect();
        assert_eq!(rank_correlation(&pairs(&falling)), Some(-1.0));
        assert_eq!(rank_correlation(&pairs(&rising[..5])), None, "five blocks");
        assert_eq!(
            rank_correlation(&pairs(&[(1.0, 2.0); 9])),
            None,
            "no variation"
        );
    }

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(mean_ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
