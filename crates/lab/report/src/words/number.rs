//! Formats numbers for people: one unit, and as many digits as the interval warrants.

use crate::summary::quantity::{Bound, Quantity, Unit};

/// Absorbs floating-point error before rounding up or down: 104.00000000000001 is 104.
const ROUNDING_NOISE: f64 = 1e-9;
/// A millionth of a unit is nothing that anything here is measured to.
const MOST_DECIMALS: usize = 6;

/// Formats the value with its interval, e.g. `265 ms [259, 274]`.
pub fn with_interval(q: &Quantity) -> String {
    let Some(value) = q.value else {
        return "unknown".into();
    };
    let ends = ends(q);
    let largest = ends.map_or(value.abs(), |(low, high)| {
        value.abs().max(low.abs()).max(high.abs())
    });
    // The value's own unit, unless the interval reaches far beyond it.
    let scale = Scale::of(
        q.unit,
        if largest > 100.0 * value.abs() {
            largest
        } else {
            value
        },
    );
    let (number, interval) = scale.number_and_interval(q, value);
    format!("{number} {}{interval}", scale.unit)
}

/// Formats the quantities of a column, or of a row, in one unit.
pub(crate) struct Column(Scale);

impl Column {
    /// Returns the unit that suits most of the quantities; `None` without a value.
    pub(crate) fn over<'a>(quantities: impl IntoIterator<Item = &'a Quantity>) -> Option<Self> {
        Self::suiting(quantities, |_, value| value)
    }

    /// Returns the unit that suits most of the differences: near 0 it is the interval that has to be read.
    pub(crate) fn over_differences<'a>(
        differences: impl IntoIterator<Item = &'a Quantity>,
    ) -> Option<Self> {
        let reach = |q: &Quantity, value: f64| {
            let ends = [q.low, q.high].into_iter().flatten();
            ends.filter(|end| end.is_finite())
                .fold(value.abs(), |a, b| a.max(b.abs()))
        };
        Self::suiting(differences, reach)
    }

    fn suiting<'a>(
        quantities: impl IntoIterator<Item = &'a Quantity>,
        size: impl Fn(&Quantity, f64) -> f64,
    ) -> Option<Self> {
        let known = quantities.into_iter();
        let sized = |q: &'a Quantity| Some((size(q, q.value?).abs(), q.unit));
        let mut known: Vec<(f64, Unit)> = known.filter_map(sized).collect();
        known.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let &(size, unit) = known.get(known.len() / 2)?;
        Some(Self(Scale::of(unit, size)))
    }

    /// Returns the name of the unit.
    pub(crate) fn unit(&self) -> &'static str {
        self.0.unit
    }

    /// Formats a value with its interval, without the unit, e.g. `265 [259, 274]`.
    pub(crate) fn show(&self, q: &Quantity) -> String {
        let Some(value) = q.value else {
            return "unknown".into();
        };
        let (number, interval) = self.0.number_and_interval(q, value);
        number + &interval
    }

    /// Formats a value and its interval, each without the unit.
    pub(crate) fn parts(&self, q: &Quantity) -> (String, String) {
        q.value.map_or_else(
            || ("unknown".into(), String::new()),
            |value| {
                let (number, interval) = self.0.number_and_interval(q, value);
                (number, interval.trim_start().to_owned())
            },
        )
    }

    /// Formats a value with its unit and its interval, e.g. `265 ms [259, 274]`.
    pub(crate) fn show_with_unit(&self, q: &Quantity) -> String {
        let Some(value) = q.value else {
            return "unknown".into();
        };
        let (number, interval) = self.0.number_and_interval(q, value);
        format!("{number} {}{interval}", self.unit())
    }
}

/// Returns the ends of the interval, if there is one.
fn ends(q: &Quantity) -> Option<(f64, f64)> {
    q.low.zip(q.high).filter(|_| q.blocks > 1)
}

/// A formatted size and its interval, e.g. `118 ms` and `104 to 133`.
pub struct Size {
    /// The estimate, e.g. `118 ms` or `at least 10 s`.
    pub value: String,
    /// The interval, e.g. `104 to 133`, in the unit of the value.
    pub range: String,
    /// The unit of both, e.g. `ms`.
    pub(crate) unit: &'static str,
}

/// Formats a difference or a factor. `flip` inverts it: it negates a difference and takes the
/// reciprocal of a factor.
pub fn size(q: &Quantity, flip: bool) -> Option<Size> {
    size_in(q, flip, None)
}

/// Formats a difference or a factor as [`size`] does, in the unit of a column if there is one.
pub(crate) fn size_in(q: &Quantity, flip: bool, column: Option<&Column>) -> Option<Size> {
    let oriented = |x: f64| match (flip, q.unit) {
        (false, _) => x,
        (true, Unit::Factor) => 1.0 / x,
        (true, _) => -x,
    };
    let (low, high) = if flip {
        (q.high, q.low)
    } else {
        (q.low, q.high)
    };
    let (value, low, high) = (oriented(q.value?), low.map(oriented), high.map(oriented));
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    let (low, high) = (finite(low), finite(high));
    let largest = [low, high]
        .into_iter()
        .flatten()
        .fold(value.abs(), |a, b| a.max(b.abs()));
    let of_column = column.map(|column| column.0.clone());
    let scale = of_column.unwrap_or_else(|| Scale::of(q.unit, largest));
    let reach = low
        .zip(high)
        .map(|(low, high)| (value - low).max(high - value));
    let decimals = scale.decimals(reach, value);
    let bound = match (q.bound, flip) {
        (Bound::AtLeast, true) => Bound::AtMost,
        (Bound::AtMost, true) => Bound::AtLeast,
        (same, _) => same,
    };
    let words = match bound {
        Bound::AtLeast => "at least ",
        Bound::AtMost => "at most ",
        Bound::Exact | Bound::Unknown => "",
    };
    let join = if q.unit == Unit::Factor { "" } else { " " };
    let low = low.map(|low| scale.down(low, decimals));
    let high = high.map(|high| scale.up(high, decimals));
    let range = match (low, high) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("{low} or more"),
        (None, Some(high)) => format!("{high} or less"),
        (None, None) => "unbounded".into(),
    };
    let digits = scale.bounded(value, decimals, bound);
    let value = format!("{words}{digits}{join}{}", scale.unit);
    let unit = scale.unit;
    Some(Size { value, range, unit })
}

/// Formats the ends of a difference in time, both in the unit of a column, or in the larger one's.
pub(crate) fn ends_in(low: f64, high: f64, column: Option<&Column>) -> (String, String) {
    let of_column = column.map(|column| column.0.clone());
    let largest = low.abs().max(high.abs());
    let scale = of_column.unwrap_or_else(|| Scale::of(Unit::Ns, largest));
    let shown = |ns: f64| format!("{} {}", scale.two_digits(ns.abs()), scale.unit);
    (shown(low), shown(high))
}

/// Formats a duration with two or three digits, e.g. `6 ms` or `3 min 41 s`.
pub fn duration(ns: f64) -> String {
    if ns >= 60e9 {
        let s = (ns / 1e9).round() as u64;
        return match (s / 3600, s / 60 % 60, s % 60) {
            (0, m, s) => format!("{m} min {s} s"),
            (h, m, _) => format!("{h} h {m} min"),
        };
    }
    let scale = Scale::of(Unit::Ns, ns);
    let decimals = usize::from(ns / scale.factor < 9.95);
    let digits = scale.digits(ns, decimals);
    format!(
        "{} {}",
        digits.strip_suffix(".0").unwrap_or(&digits),
        scale.unit
    )
}

/// Formats a share as a percentage, with enough digits to distinguish it from 100 %.
pub fn percent(share: f64) -> String {
    let missing = 100.0 * (1.0 - share);
    let decimals = if missing >= 0.95 || missing <= 0.0 {
        0
    } else {
        2
    };
    let digits = format!("{:.decimals$}", 100.0 * share);
    let digits = if decimals > 0 {
        digits.trim_end_matches('0')
    } else {
        &digits
    };
    format!("{digits} %")
}

/// Formats energies in J from the least to the most, e.g. `1.20 to 1.41 J`; `None` without any.
pub fn joules_range(mut joules: Vec<f64>) -> Option<String> {
    joules.sort_by(f64::total_cmp);
    let digits = |value: f64| match value < 1.0 {
        true => format!("{value:.3}"),
        false => format!("{value:.2}"),
    };
    Some(match joules[..] {
        [] => return None,
        [one] => format!("{} J", digits(one)),
        [least, .., most] => format!("{} to {} J", digits(least), digits(most)),
    })
}

/// Formats a count, e.g. `1 block` or `2 blocks`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[derive(Clone)]
struct Scale {
    unit: &'static str,
    factor: f64,
}

impl Scale {
    /// Returns the unit in which a number of this size has one to three digits before the point.
    fn of(unit: Unit, value: f64) -> Self {
        let steps: &[(&str, f64)] = match unit {
            Unit::Ns => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)],
            Unit::Bytes => &[("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)],
            Unit::BitsPerSecond => &[
                ("Gbit/s", 1e9),
                ("Mbit/s", 1e6),
                ("kbit/s", 1e3),
                ("bit/s", 1.0),
            ],
            Unit::PerSecond => &[("/s", 1.0)],
            Unit::Joules => &[("J", 1.0), ("mJ", 1e-3)],
            Unit::Percent => &[("%", 1.0)],
            Unit::Factor => &[("x", 1.0)],
        };
        let fits = steps.iter().find(|(_, factor)| value.abs() >= *factor);
        let &(unit, factor) = fits.unwrap_or(&steps[steps.len() - 1]);
        Self { unit, factor }
    }

    /// Returns the number of decimals, at most three, that are meaningful with an interval of this reach. They are few,
    /// but enough for rounding the reach up to widen it by at most half. Without a reach they make two significant
    /// digits.
    fn decimals(&self, reach: Option<f64>, value: f64) -> usize {
        let reach = reach.filter(|&r| r > 0.0).unwrap_or(value.abs() / 5.0) / self.factor;
        if reach == 0.0 {
            return 0;
        }
        [1.95, 0.195, 0.0195]
            .iter()
            .position(|&step| reach >= step)
            .unwrap_or(3)
    }

    /// Returns a value of a quantity and, behind a space, its interval, without the unit.
    fn number_and_interval(&self, q: &Quantity, value: f64) -> (String, String) {
        let ends = ends(q);
        let reach = ends.map(|(low, high)| (value - low).max(high - value));
        let decimals = self.decimals(reach, value);
        let number = self.bounded(value, decimals, q.bound);
        let interval = match ends.filter(|(low, high)| low < high) {
            Some((low, high)) => {
                format!(
                    " [{}, {}]",
                    self.down(low, decimals),
                    self.up(high, decimals)
                )
            }
            None => String::new(),
        };
        (format!("{}{number}", bound_mark(q.bound)), interval)
    }

    fn digits(&self, value: f64, decimals: usize) -> String {
        let digits = format!("{:.decimals$}", value / self.factor);
        // No negative zero.
        match digits.strip_prefix('-') {
            Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
            _ => digits,
        }
    }

    /// Rounds so that a bound stays true.
    fn bounded(&self, value: f64, decimals: usize, bound: Bound) -> String {
        match bound {
            Bound::AtLeast => self.down(value, decimals),
            Bound::AtMost => self.up(value, decimals),
            Bound::Exact | Bound::Unknown => self.digits(value, decimals),
        }
    }

    /// Formats a value with all digits before the point, but at least two; as 0 only if it is.
    fn two_digits(&self, value: f64) -> String {
        let size = value.abs() / self.factor;
        let decimals = match size {
            9.95.. | 0.0 => 0,
            0.995.. => 1,
            _ => (-size.log10()).ceil() as usize + 1,
        };
        let digits = self.digits(value, decimals);
        match digits.contains('.') {
            true => digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned(),
            false => digits,
        }
    }

    /// Rounds down. An interval that is printed too wide still covers what it claims.
    fn down(&self, value: f64, decimals: usize) -> String {
        self.toward(value, decimals, |x| (x + ROUNDING_NOISE).floor())
    }

    /// Rounds up.
    fn up(&self, value: f64, decimals: usize) -> String {
        self.toward(value, decimals, |x| (x - ROUNDING_NOISE).ceil())
    }

    /// Rounds, but not to 0: an interval that excludes 0 must not be printed as one that reaches it.
    fn toward(&self, value: f64, decimals: usize, round: fn(f64) -> f64) -> String {
        let rounded = |decimals: usize| {
            let step = self.factor / 10f64.powi(decimals as i32);
            round(value / step) * step
        };
        let enough = (decimals..=MOST_DECIMALS).find(|d| rounded(*d) != 0.0);
        let decimals = enough.filter(|_| value != 0.0).unwrap_or(decimals);
        self.digits(rounded(decimals), decimals)
    }
}

fn bound_mark(bound: Bound) -> &'static str {
    match bound {
        Bound::AtLeast => "≥ ",
        Bound::AtMost => "≤ ",
        Bound::Exact | Bound::Unknown => "",
    }
}

#[cfg(test)]
mod tests;
