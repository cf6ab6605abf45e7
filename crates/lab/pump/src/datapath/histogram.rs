//! A histogram of fixed size, for the lateness of departures.

/// Buckets per power of two.
const STEPS: usize = 32;
const BUCKETS: usize = (64 - STEPS.ilog2() as usize + 1) * STEPS;

/// Counts values in buckets that are 1/32 of their value wide: quantiles are exact to 3 %.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram {
            buckets: vec![0; BUCKETS],
            count: 0,
            max: 0,
        }
    }

    pub(crate) fn record(&mut self, value: u64) {
        self.buckets[bucket(value)] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.fill(0);
        (self.count, self.max) = (0, 0);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// Returns the smallest value that at least a share `q` of all values do not exceed; 0 when
    /// empty.
    pub(crate) fn quantile(&self, q: f64) -> u64 {
        let rank = (q * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (i, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return upper_bound(i).min(self.max);
            }
        }
        self.max
    }
}

fn bucket(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    let octave = value.ilog2() - STEPS.ilog2();
    octave as usize * STEPS + (value >> octave) as usize
}

fn upper_bound(bucket: usize) -> u64 {
    if bucket < 2 * STEPS {
        return bucket as u64;
    }
    let octave = bucket / STEPS - 1;
    let start = ((bucket - octave * STEPS) as u128) << octave;
    u64::try_from(start + (1u128 << octave) - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_its_bucket() {
        let mut value = 1u64;
        while value < u64::MAX / 3 {
            for v in [value - 1, value, value + 1] {
                let b = bucket(v);
                assert!(
                    v <= upper_bound(b) && (b == 0 || v > upper_bound(b - 1)),
                    "{v}"
                );
            }
            value = value * 3 / 2 + 1;
        }
        assert_eq!(upper_bound(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_are_exact_to_three_percent() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|v| histogram.record(v * 100));
        for q in [0.01, 0.5, 0.99, 0.999] {
            let (quantile, exact) = (histogram.quantile(q) as f64, q * 1e6);
            // The buckets are 1/32 (3.1 %) wide.
            assert!((quantile / exact - 1.0).abs() < 0.032, "{q}: {quantile}");
        }
        assert_eq!(histogram.quantile(1.0), 1_000_000);
        assert_eq!(Histogram::new().quantile(0.5), 0);
    }
}
