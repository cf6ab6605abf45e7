//! A discounted mean with its standard error.

use std::time::Duration;

use crate::time::MonotonicTime;

/// An observation counts half after as many later ones.
const HALF_LIFE_COUNT: f64 = 32.0;
/// An observation counts half after this time.
const HALF_LIFE: Duration = Duration::from_secs(15 * 60);
/// Observations are cut off here: one that took eight times as long as usual, or failed, counts no
/// more than this.
const LIMIT: f64 = 2.079_441_541_679_835_7;
/// Spread that is assumed as if one observation had shown it, so that a few equal ones do not
/// look certain.
const PRIOR_SPREAD: f64 = 0.2;

/// Mean of the logarithm of a time against its kind's, of one transport.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Sum of weights.
    weight: f64,
    /// Sum of squared weights, which gives the number of observations that count.
    squares: f64,
    mean: f64,
    /// Weighted sum of squared deviations.
    spread: f64,
    at: MonotonicTime,
    /// Of the last four observations, those far above the mean; the latest is the lowest bit.
    surprises: u8,
}

impl Estimate {
    /// Restores a remembered mean that counts as `weight` observations.
    pub(crate) fn recalled(weight: f64, mean: f64, deviation: f64, at: MonotonicTime) -> Self {
        let spread = deviation * deviation * weight;
        Self {
            weight,
            squares: weight,
            mean,
            spread,
            at,
            surprises: 0,
        }
    }

    /// Counts an observation; `None` is a failure. Returns whether the last four are outliers: three
    /// of them lay two deviations above what was known.
    pub(crate) fn observe(&mut self, log_ratio: Option<f64>, now: MonotonicTime) -> bool {
        let x = log_ratio
            .filter(|x| x.is_finite())
            .unwrap_or(LIMIT)
            .clamp(-LIMIT, LIMIT);
        self.fade(now);
        let surprise = self.count() >= 4.0 && x > self.mean + 2.0 * self.deviation();
        self.surprises = (self.surprises << 1 | u8::from(surprise)) & 0b1111;
        self.scale((-1.0 / HALF_LIFE_COUNT).exp2());
        self.weight += 1.0;
        self.squares += 1.0;
        let delta = x - self.mean;
        self.mean += delta / self.weight;
        self.spread += delta * (x - self.mean);
        self.surprises.count_ones() >= 3
    }

    /// Discounts what is known to a tenth, because the circumstances changed.
    pub(crate) fn doubt(&mut self) {
        self.scale(0.1);
        self.surprises = 0;
    }

    /// Returns the number of observations that count (Kish's effective sample size).
    pub(crate) fn count(&self) -> f64 {
        if self.squares > 0.0 {
            self.weight * self.weight / self.squares
        } else {
            0.0
        }
    }

    /// Returns the weight that is left; it fades, while [`Estimate::count`] does not.
    pub(crate) fn weight(&self, now: MonotonicTime) -> f64 {
        self.weight * faded(now.since(self.at))
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the standard deviation of one observation.
    pub(crate) fn deviation(&self) -> f64 {
        let spread = self.spread + PRIOR_SPREAD * PRIOR_SPREAD;
        (spread / (self.weight + 1.0)).sqrt()
    }

    /// Returns the standard error of the mean, from no more observations than are left.
    pub(crate) fn standard_error(&self, now: MonotonicTime) -> f64 {
        let count = self.count().min(self.weight(now));
        if count > 0.0 {
            self.deviation() / count.sqrt()
        } else {
            f64::INFINITY
        }
    }

    fn fade(&mut self, now: MonotonicTime) {
        self.scale(faded(now.since(self.at)));
        self.at = now;
    }

    fn scale(&mut self, factor: f64) {
        self.weight *= factor;
        self.squares *= factor * factor;
        self.spread *= factor;
    }
}

fn faded(time: Duration) -> f64 {
    (-time.as_secs_f64() / HALF_LIFE.as_secs_f64()).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> MonotonicTime {
        MonotonicTime::from_ns(s * 1_000_000_000)
    }

    #[test]
    fn a_mean_of_many_equals_their_mean_and_fades() {
        let mut estimate = Estimate::default();
        for i in 0..10 {
            estimate.observe(Some(f64::from(i % 2)), at(0));
        }
        assert!((estimate.mean() - 0.5).abs() < 0.03, "{}", estimate.mean());
        assert!(
            (estimate.count() - 10.0).abs() < 0.2,
            "{}",
            estimate.count()
        );
        assert!((estimate.deviation() - 0.5).abs() < 0.05);
        let (fresh, old) = (
            estimate.standard_error(at(0)),
            estimate.standard_error(at(3_600)),
        );
        assert!(old > 2.0 * fresh, "{fresh} {old}");
        for _ in 0..1_000 {
            estimate.observe(Some(0.0), at(1));
        }
        assert!(estimate.mean() < 1e-6 && estimate.count() < 100.0);
    }

    #[test]
    fn failures_and_stalls_count_as_eight_times_as_long_at_most() {
        for observation in [None, Some(f64::NAN), Some(f64::INFINITY), Some(1e9)] {
            let mut estimate = Estimate::default();
            estimate.observe(observation, at(0));
            assert!((estimate.mean().exp() - 8.0).abs() < 1e-9);
        }
    }

    #[test]
    fn three_surprises_of_four_are_reported() {
        let mut estimate = Estimate::default();
        for _ in 0..16 {
            assert!(!estimate.observe(Some(0.0), at(0)));
        }
        assert!(!estimate.observe(Some(2.0), at(0)));
        assert!(!estimate.observe(Some(2.0), at(0)));
        estimate.doubt();
        let mut again = Estimate::default();
        for _ in 0..32 {
            again.observe(Some(0.0), at(0));
        }
        let reported: Vec<bool> = (0..3).map(|_| again.observe(Some(2.0), at(0))).collect();
        assert_eq!(reported, [false, false, true]);
    }
}
