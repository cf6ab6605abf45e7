//! Axes: from values to positions, with round ticks.

/// Units of one dimension, the largest first: factor and name.
pub type Units = &'static [(f64, &'static str)];

/// Units of times in ns.
pub const TIME: Units = &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
/// Units of sizes in bytes.
pub const BYTES: Units = &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];

/// Units of shares in percent.
pub const PERCENT: Units = &[(1.0, "%")];
/// Units of plain numbers.
pub const COUNT: Units = &[(1.0, "")];

/// A log axis has at most about this many ticks.
const MAX_TICKS: usize = 6;
/// Below this ratio of its ends a log axis has evenly spaced ticks.
const NARROW: f64 = 4.0;

/// An axis between two positions.
#[derive(Clone, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
    from: f64,
    to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// The distance of ticks.
    Linear(f64),
    Log,
}

impl Axis {
    /// Returns an axis from `from` to `to` that covers all values and ends at ticks; `None` without a
    /// value. Equal values get a width of a hundredth of them, but at least `least`.
    pub fn linear(
        values: impl IntoIterator<Item = f64>,
        least: f64,
        [from, to]: [f64; 2],
    ) -> Option<Self> {
        let (low, high) = ends(values)?;
        let step = round_step((high - low).max(high.abs() / 100.0).max(least) / 5.0);
        let low = (low / step).floor() * step;
        let high = ((high / step).ceil() * step).max(low + step);
        Some(Self {
            low,
            high,
            scale: Scale::Linear(step),
            from,
            to,
        })
    }

    /// Returns a logarithmic axis over all positive values; `None` without one.
    pub fn log(values: impl IntoIterator<Item = f64>, [from, to]: [f64; 2]) -> Option<Self> {
        let (low, high) = ends(values.into_iter().filter(|value| *value > 0.0))?;
        let room = (high / low).powf(0.04).max(1.002);
        Some(Self {
            low: low / room,
            high: high * room,
            scale: Scale::Log,
            from,
            to,
        })
    }

    /// Returns the position of a value; values beyond the ends are at the ends.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear(_) => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Returns the positions of both ends.
    pub fn ends(&self) -> [f64; 2] {
        [self.from, self.to]
    }

    /// Returns the lowest and the highest value.
    pub fn range(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    /// Returns the round values along it.
    pub fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear(step) => multiples(step, self.low, self.high),
            Scale::Log if self.high / self.low < NARROW => {
                let step = round_step((self.high - self.low) / 6.0);
                multiples(step, self.low, self.high)
            }
            Scale::Log => {
                for multiples in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0]] {
                    let ticks = self.powers(multiples, 1);
                    if ticks.len() <= MAX_TICKS {
                        return ticks;
                    }
                }
                let decades = self.powers(&[1.0], 1).len();
                self.powers(&[1.0], decades.div_ceil(MAX_TICKS).max(1))
            }
        }
    }

    /// Returns the ticks with their words. Evenly spaced ticks share a unit.
    pub fn labels(&self, units: Units) -> Vec<(f64, String)> {
        let ticks = self.ticks();
        let largest = ticks.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let is_even = self.scale != Scale::Log || self.high / self.low < NARROW;
        let spacing = ticks.windows(2).map(|pair| pair[1] - pair[0]).next();
        let label = |value: f64| {
            let (factor, unit) = unit_of(if is_even { largest } else { value }, units);
            let spacing = spacing.filter(|_| is_even).unwrap_or(value) / factor;
            let decimals = (-spacing.abs().log10()).ceil().clamp(0.0, 6.0) as usize;
            match value.abs() < spacing * factor / 1e6 {
                true => format!("0 {}", if unit == "%" { unit } else { "" })
                    .trim_end()
                    .to_owned(),
                false => format!("{:.decimals$} {unit}", value / factor)
                    .trim_end()
                    .to_owned(),
            }
        };
        ticks.into_iter().map(|tick| (tick, label(tick))).collect()
    }

    /// Returns multiples of every `stride`th power of ten.
    fn powers(&self, multiples: &[f64], stride: usize) -> Vec<f64> {
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let ticks = powers.filter(|power| power.rem_euclid(stride as i32) == 0);
        ticks
            .flat_map(|power| multiples.iter().map(move |m| m * 10f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Returns the least 1, 2 or 5 times a power of ten that is not below a distance.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|m| m * power);
    // Powers of ten are not exact in binary.
    let fits = steps.into_iter().find(|step| *step >= rough * (1.0 - 1e-9));
    fits.unwrap_or(10.0 * power)
}

fn multiples(step: f64, low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (
        (low / step - 1e-9).ceil() as i64,
        (high / step + 1e-9).floor() as i64,
    );
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Returns the factor and the name of the unit in which a value has one to three digits before the point.
pub fn unit_of(value: f64, units: Units) -> (f64, &'static str) {
    let fits = units
        .iter()
        .find(|(factor, _)| value.abs() >= factor * (1.0 - 1e-9));
    fits.or(units.last()).copied().unwrap_or((1.0, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(axis: &Axis) -> Vec<String> {
        axis.labels(TIME)
            .into_iter()
            .map(|(_, word)| word)
            .collect()
    }

    #[test]
    fn linear_axes_cover_their_values_between_round_ticks() {
        for (values, low, high, ticks) in [
            (vec![103e6, 397e6], 100e6, 400e6, 4),
            (vec![0.0, 1.8e9], 0.0, 2e9, 5),
            (vec![5e6, 5e6], 5e6, 5.01e6, 2),
        ] {
            let axis = Axis::linear(values, 1_000.0, [0.0, 300.0]).unwrap();
            assert!((axis.low - low).abs() < 1.0, "{}", axis.low);
            assert!((axis.high - high).abs() < 1.0, "{}", axis.high);
            assert_eq!(axis.ticks().len(), ticks);
        }
        assert!(Axis::linear([], 1.0, [0.0, 1.0]).is_none());
    }

    #[test]
    fn ticks_of_an_axis_differ_in_words() {
        let axis = Axis::linear([-0.5e6, 0.5e6], 1_000.0, [0.0, 1.0]).unwrap();
        assert_eq!(
            words(&axis),
            [
                "-600 µs", "-400 µs", "-200 µs", "0", "200 µs", "400 µs", "600 µs"
            ]
        );
        let axis = Axis::log([50.1e6, 51.4e6], [0.0, 1.0]).unwrap();
        assert_eq!(words(&axis), ["50.0 ms", "50.5 ms", "51.0 ms", "51.5 ms"]);
    }

    #[test]
    fn log_axes_have_few_round_ticks() {
        let axis = Axis::log([3e9, 31e9], [280.0, 0.0]).unwrap();
        assert_eq!(words(&axis), ["5 s", "10 s", "20 s"]);
        assert!(axis.at(31e9) < axis.at(3e9));
        let axis = Axis::log([1e3, 10e9], [0.0, 1.0]).unwrap();
        assert!(axis.ticks().len() <= MAX_TICKS, "{:?}", axis.ticks());
        assert!(Axis::log([0.0], [0.0, 1.0]).is_none());
    }

    #[test]
    fn values_beyond_the_ends_are_at_the_ends() {
        let axis = Axis::linear([0.0, 10.0], 1.0, [20.0, 120.0]).unwrap();
        assert_eq!(
            [axis.at(-5.0), axis.at(5.0), axis.at(99.0)],
            [20.0, 70.0, 120.0]
        );
    }
}
