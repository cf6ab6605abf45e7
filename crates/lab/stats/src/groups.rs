//! Whether values depend on the group that their block belongs to, e.g. on the machine that measured it.
//!
//! A permutation test: if groups do not matter, any other assignment of groups to the same blocks is as probable as the
//! actual one (Fisher 1935; Pitman 1937). The largest statistic of all comparisons is compared with its distribution over
//! assignments, so that all comparisons together are wrong with the error probability, however they depend on each other
//! (Westfall and Young, *Resampling-based multiple testing*, 1993, the single-step max-T procedure).

use std::collections::BTreeMap;

/// Assignments that are drawn besides the actual one.
const PERMUTATIONS: usize = 999;
/// Increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Halvings of an interval of shifts: to a millionth of the values' range.
const HALVINGS: usize = 20;

/// Blocks that could have been in each other's groups, e.g. all those of one network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stratum {
    /// The group of each block.
    pub groups: BTreeMap<u32, usize>,
    /// The values of each comparison by block; a value may be infinite. Blocks without a group do not count.
    pub comparisons: Vec<BTreeMap<u32, f64>>,
}

/// What the test says of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupTest {
    /// Number of blocks with a value and a group.
    pub blocks: usize,
    /// Number of groups that they belong to.
    pub groups: usize,
    /// The share of the variance of ranks that groups explain, 0 to 1.
    pub share: f64,
    /// The p-value, corrected for all comparisons of all strata.
    pub p_value: f64,
    /// The smallest shift of all values of the largest group, to the side that shows later, that would have given a p-value
    /// of `error` or less; none if no shift would.
    pub detectable: Option<f64>,
}

/// Tests all comparisons of all strata together. `error` is the probability of a p-value that small by chance.
pub fn depends_on_group(strata: &[Stratum], error: f64, seed: u64) -> Vec<Vec<GroupTest>> {
    let samples: Vec<Vec<Sample>> = strata.iter().map(Stratum::samples).collect();
    let mut random = Random(seed);
    let mut largest: Vec<f64> = (0..PERMUTATIONS)
        .map(|_| {
            let of_stratum = |(stratum, samples): (&Stratum, &Vec<Sample>)| {
                let mut groups: Vec<usize> = stratum.groups.values().copied().collect();
                random.shuffle(&mut groups);
                let shares = samples.iter().map(|sample| sample.share(&groups));
                shares.fold(0.0, f64::max)
            };
            strata
                .iter()
                .zip(&samples)
                .map(of_stratum)
                .fold(0.0, f64::max)
        })
        .collect();
    largest.sort_by(f64::total_cmp);
    // With the actual one, of all assignments at most this share has so large a statistic.
    let as_large =
        |share: f64| largest.len() - largest.partition_point(|other| *other < share - TIE);
    let p_value = |share: f64| (1 + as_large(share)) as f64 / (1 + PERMUTATIONS) as f64;
    let test = |(stratum, sample): (&Stratum, &Sample)| {
        let groups: Vec<usize> = stratum.groups.values().copied().collect();
        let share = sample.share(&groups);
        let is_found = |shifted: &Sample| p_value(shifted.share(&groups)) <= error;
        GroupTest {
            blocks: sample.values.len(),
            groups: sample.sizes(&groups).len(),
            share,
            p_value: p_value(share),
            detectable: sample.detectable(&groups, is_found),
        }
    };
    let of_stratum = |(stratum, samples): (&Stratum, &Vec<Sample>)| {
        samples
            .iter()
            .map(|sample| test((stratum, sample)))
            .collect()
    };
    strata.iter().zip(&samples).map(of_stratum).collect()
}

/// Statistics that differ by less are equal but for rounding.
const TIE: f64 = 1e-12;

/// The values of a comparison.
#[derive(Clone, Debug)]
struct Sample {
    /// The index of each value's block among all blocks of the stratum, and the value.
    values: Vec<(usize, f64)>,
    /// Twice the rank of each value, less the mean: whole numbers, so that sums are exact.
    ranks: Vec<f64>,
}

impl Stratum {
    fn samples(&self) -> Vec<Sample> {
        let sample = |values: &BTreeMap<u32, f64>| {
            let blocks = self.groups.keys().enumerate();
            let found = blocks.filter_map(|(index, block)| Some((index, *values.get(block)?)));
            Sample::new(found.filter(|(_, value)| !value.is_nan()).collect())
        };
        self.comparisons.iter().map(sample).collect()
    }
}

impl Sample {
    fn new(values: Vec<(usize, f64)>) -> Sample {
        let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        let rank = |(_, value): &(usize, f64)| {
            let below = sorted.partition_point(|other| other < value);
            let up_to = sorted.partition_point(|other| other <= value);
            (below + up_to) as f64 - sorted.len() as f64
        };
        let ranks = values.iter().map(rank).collect();
        Sample { values, ranks }
    }

    /// Returns the number of values and the sum of ranks of each group, by the groups of the stratum's blocks.
    fn sums(&self, groups: &[usize]) -> Vec<(f64, f64)> {
        let mut sums = Vec::new();
        for ((block, _), rank) in self.values.iter().zip(&self.ranks) {
            let group = groups[*block];
            if group >= sums.len() {
                sums.resize(group + 1, (0.0, 0.0));
            }
            sums[group].0 += 1.0;
            sums[group].1 += rank;
        }
        sums
    }

    /// Returns the number of values of each group that has some.
    fn sizes(&self, groups: &[usize]) -> BTreeMap<usize, usize> {
        let sums = self.sums(groups).into_iter().enumerate();
        sums.map(|(group, (n, _))| (group, n as usize))
            .filter(|(_, n)| *n > 0)
            .collect()
    }

    /// Returns the share of the variance of ranks that lies between groups: the statistic of Kruskal and Wallis divided by
    /// n - 1.
    fn share(&self, groups: &[usize]) -> f64 {
        let all: f64 = self.ranks.iter().map(|rank| rank * rank).sum();
        let sums = self.sums(groups).into_iter().filter(|(n, _)| *n > 0.0);
        let between: f64 = sums.map(|(n, sum)| sum * sum / n).sum();
        match all > 0.0 {
            true => between / all,
            false => 0.0,
        }
    }

    fn detectable(&self, groups: &[usize], is_found: impl Fn(&Sample) -> bool) -> Option<f64> {
        let largest = self.sizes(groups).into_iter().max_by_key(|(_, n)| *n)?.0;
        let finite = || {
            self.values
                .iter()
                .map(|(_, v)| *v)
                .filter(|v| v.is_finite())
        };
        let range =
            finite().fold(f64::NEG_INFINITY, f64::max) - finite().fold(f64::INFINITY, f64::min);
        let is_found = |shift: f64| {
            let shifted = |(block, value): &(usize, f64)| {
                let is_in = groups[*block] == largest;
                (*block, if is_in { value + shift } else { *value })
            };
            is_found(&Sample::new(self.values.iter().map(shifted).collect()))
        };
        let both = |shift: f64| is_found(shift) && is_found(-shift);
        // Beyond twice the range all values of the group are beyond all others.
        let mut high = 2.0 * range.max(f64::MIN_POSITIVE);
        if !high.is_finite() || !both(high) {
            return None;
        }
        let mut low = 0.0;
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            match both(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high)
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Brings elements into a random order (Fisher and Yates).
    fn shuffle<T>(&mut self, elements: &mut [T]) {
        for last in (1..elements.len()).rev() {
            let choices = last as u128 + 1;
            // Its bias is below 2^-32.
            let chosen = (u128::from(self.next()) * choices) >> 64;
            elements.swap(last, chosen as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns comparisons of normal values over blocks that two machines measured in turn. One machine adds `shift` to the
    /// first comparison.
    fn stratum(random: &mut Random, comparisons: usize, blocks: u32, shift: f64) -> Stratum {
        let mut unit = || ((random.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        let mut value = |comparison: usize, block: u32| {
            let radius = (-2.0 * unit().ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * unit()).cos();
            let is_shifted = comparison == 0 && block % 2 == 1;
            normal + if is_shifted { shift } else { 0.0 }
        };
        let of_comparison = |comparison: usize| -> BTreeMap<u32, f64> {
            (0..blocks)
                .map(|block| (block, value(comparison, block)))
                .collect()
        };
        Stratum {
            comparisons: (0..comparisons).map(of_comparison).collect(),
            groups: (0..blocks)
                .map(|block| (block, block as usize % 2))
                .collect(),
        }
    }

    #[test]
    fn a_planted_difference_is_found() {
        let mut random = Random(7);
        let strata = [
            stratum(&mut random, 5, 20, 3.0),
            stratum(&mut random, 5, 20, 0.0),
        ];
        let tests = depends_on_group(&strata, 0.05, 1);
        let found: Vec<(usize, usize)> = (0..2)
            .flat_map(|s| (0..5).map(move |c| (s, c)))
            .filter(|(s, c)| tests[*s][*c].p_value <= 0.05)
            .collect();
        assert_eq!(found, [(0, 0)], "{tests:?}");
        assert_eq!((tests[0][0].blocks, tests[0][0].groups), (20, 2));
        assert!(tests[0][0].p_value <= 0.01);
        let detectable = tests[1][0].detectable.unwrap();
        assert!((1.0..4.0).contains(&detectable), "{detectable}");
        assert_eq!(tests, depends_on_group(&strata, 0.05, 1));
    }

    /// Of 400 runs of ten comparisons without a difference, 5 % may show one: 20 with a standard deviation of 4.4.
    #[test]
    fn without_a_difference_one_run_in_twenty_shows_one() {
        let mut random = Random(3);
        let wrong = (0..400).filter(|seed| {
            let strata = [
                stratum(&mut random, 5, 12, 0.0),
                stratum(&mut random, 5, 12, 0.0),
            ];
            let tests = depends_on_group(&strata, 0.05, *seed);
            tests.iter().flatten().any(|test| test.p_value <= 0.05)
        });
        let wrong = wrong.count();
        assert!((7..=33).contains(&wrong), "{wrong}");
    }

    #[test]
    fn too_few_blocks_detect_nothing() {
        let mut random = Random(5);
        let tests = depends_on_group(&[stratum(&mut random, 1, 4, 1e6)], 0.05, 1);
        assert_eq!(tests[0][0].detectable, None);
        assert!(tests[0][0].p_value > 0.05);
        let none = Stratum::default();
        assert_eq!(depends_on_group(&[none], 0.05, 1), [Vec::new()]);
    }

    #[test]
    fn equal_and_infinite_values_have_ranks() {
        let values = [
            (0, f64::INFINITY),
            (1, 1.0),
            (2, 1.0),
            (3, f64::NEG_INFINITY),
        ];
        assert_eq!(Sample::new(values.into()).ranks, [3.0, 0.0, 0.0, -3.0]);
        let equal = Sample::new(vec![(0, 1.0), (1, 1.0)]);
        assert_eq!(equal.share(&[0, 1]), 0.0);
        assert_eq!(equal.detectable(&[0, 1], |_| false), None);
    }

    #[test]
    fn the_share_is_that_of_kruskal_and_wallis() {
        // H = 12 / (n (n + 1)) * sum(R² / n) - 3 (n + 1) = 3.857 for 1, 2, 3 and 4, 5, 6.
        let values = (0..6).map(|i| (i, i as f64)).collect();
        let share = Sample::new(values).share(&[0, 0, 0, 1, 1, 1]);
        assert!((share * 5.0 - 27.0 / 7.0).abs() < 1e-12, "{share}");
    }
}
