//! Reading the tables of a network file: ranges, units, and errors that name the whole key.

use std::{
    fmt::Display,
    ops::{Range, RangeInclusive},
};

use config::{ConfigError, Source};

use crate::time::NS_PER_MS;

/// 100 bit/s to 100 Gbit/s.
pub(crate) const RATE_KBPS: RangeInclusive<f64> = 0.1..=100_000_000.0;
/// Moments after the origin: up to an hour.
pub(crate) const MOMENT_MS: RangeInclusive<f64> = 0.0..=3_600_000.0;
/// Lengths of queues, periods and delays of overtaken packets: a microsecond to an hour.
pub(crate) const LENGTH_MS: RangeInclusive<f64> = 0.001..=3_600_000.0;
/// Shares that may be zero.
pub(crate) const PERCENT: RangeInclusive<f64> = 0.0..=100.0;
/// Shares that would have no effect at zero.
pub(crate) const NONZERO_PERCENT: RangeInclusive<f64> = 0.0001..=100.0;

/// One table of a network file; errors name its keys in full, e.g. `down.gate.queue`.
pub(crate) struct Table<'a> {
    source: Source<'a>,
    /// Dotted; empty for the file itself.
    name: String,
}

impl<'a> Table<'a> {
    /// Returns the file's outermost table.
    pub(crate) fn root(source: Source<'a>) -> Table<'a> {
        let name = String::new();
        Table { source, name }
    }

    /// Returns the table `key` inside this one.
    pub(crate) fn inner(&self, key: &str) -> Table<'a> {
        Table {
            source: self.source,
            name: self.dotted(key),
        }
    }

    /// Returns `value`, unless it is outside `range`.
    pub(crate) fn within<T: PartialOrd + Display>(
        &self,
        key: &str,
        value: Option<impl Into<T>>,
        range: &RangeInclusive<T>,
    ) -> Result<Option<T>, ConfigError> {
        match value.map(Into::into) {
            Some(number) if !range.contains(&number) => {
                let (least, most) = (range.start(), range.end());
                let message =
                    format!("{number} is out of range; write a number from {least} to {most}");
                Err(self.error(key, message))
            }
            value => Ok(value),
        }
    }

    /// Returns `value`, or an error that shows how to write the missing key.
    pub(crate) fn required<T>(
        &self,
        key: &str,
        value: Option<T>,
        example: &str,
    ) -> Result<T, ConfigError> {
        value.ok_or_else(|| self.table_error(key, format!("`{key}` is missing; write {example}")))
    }

    /// Returns `value`, which must be present and within `range`.
    pub(crate) fn required_within(
        &self,
        key: &str,
        value: Option<impl Into<f64>>,
        range: &RangeInclusive<f64>,
        example: &str,
    ) -> Result<f64, ConfigError> {
        self.required(key, self.within(key, value, range)?, example)
    }

    /// Refuses more than one of `keys`, each with whether it is present.
    pub(crate) fn at_most_one(&self, keys: &[(&str, bool)]) -> Result<(), ConfigError> {
        let present: Vec<&str> = keys
            .iter()
            .filter_map(|&(key, present)| present.then_some(key))
            .collect();
        match present[..] {
            [first, .., last] => {
                let message = format!("cannot be combined with {first}; keep one of them");
                Err(self.error(last, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error about one key.
    pub(crate) fn error(&self, key: &str, message: impl Display) -> ConfigError {
        let key = self.dotted(key);
        self.source.error_at(&key, format!("{key}: {message}"))
    }

    /// Returns an error about a part of the value of one key.
    pub(crate) fn error_in(
        &self,
        key: &str,
        span: &Range<usize>,
        message: impl Display,
    ) -> ConfigError {
        let key = self.dotted(key);
        self.source.error(span, format!("{key}: {message}"))
    }

    /// Returns an error about the table as a whole, at the line of `key` if the table has it.
    pub(crate) fn table_error(&self, key: &str, message: impl Display) -> ConfigError {
        let message = match self.name.as_str() {
            "" => message.to_string(),
            name => format!("{name}: {message}"),
        };
        self.source.error_at(&self.dotted(key), message)
    }

    fn dotted(&self, key: &str) -> String {
        match self.name.as_str() {
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }
}

/// Converts milliseconds to nanoseconds.
pub(crate) fn ns(ms: f64) -> u64 {
    (ms * NS_PER_MS as f64).round() as u64
}

/// Converts kilobits per second to bits per second.
pub(crate) fn bps(kbps: f64) -> u64 {
    (kbps * 1000.0).round() as u64
}

/// Converts percent to parts per billion.
pub(crate) fn ppb(percent: f64) -> u32 {
    (percent * 10_000_000.0).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "speed_ms = 10\n[down]\n[down.policy]\nport = 9\nname = 'x'\n";

    fn root() -> Table<'static> {
        Table::root(Source::new("x.toml", TEXT))
    }

    fn refusal<T>(result: Result<T, ConfigError>) -> String {
        let error = result.err().unwrap();
        format!("{}:{}: {}", error.file, error.line, error.message)
    }

    #[test]
    fn values_inside_their_range_or_absent_pass() {
        assert_eq!(
            root().within("speed_ms", Some(2.5), &PERCENT),
            Ok(Some(2.5))
        );
        assert_eq!(root().within("speed_ms", None::<f64>, &PERCENT), Ok(None));
        assert_eq!(root().within("port", Some(9), &(1..=9)), Ok(Some(9)));
    }

    #[test]
    fn values_outside_their_range_are_refused_with_line_and_range() {
        assert_eq!(
            refusal(root().within("speed_ms", Some(10.0), &(0.0..=9.5))),
            "x.toml:1: speed_ms: 10 is out of range; write a number from 0 to 9.5"
        );
        let policy = root().inner("down").inner("policy");
        assert_eq!(
            refusal(policy.within("port", Some(0), &(1..=8))),
            "x.toml:4: down.policy.port: 0 is out of range; write a number from 1 to 8"
        );
        for odd in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(root().within("speed_ms", Some(odd), &PERCENT).is_err());
        }
    }

    #[test]
    fn missing_keys_are_shown_by_example() {
        assert_eq!(
            refusal(root().required("about", None::<()>, "about = \"...\"")),
            "x.toml:1: `about` is missing; write about = \"...\""
        );
        let policy = root().inner("down").inner("policy");
        assert_eq!(
            refusal(policy.required("rate", None::<()>, "rate = 1")),
            "x.toml:3: down.policy: `rate` is missing; write rate = 1"
        );
        assert_eq!(root().required("about", Some(1), ""), Ok(1));
    }

    #[test]
    fn of_exclusive_keys_the_last_is_refused() {
        let policy = root().inner("down").inner("policy");
        assert_eq!(
            refusal(policy.at_most_one(&[("port", true), ("rate", false), ("name", true)])),
            "x.toml:5: down.policy.name: cannot be combined with port; keep one of them"
        );
        assert_eq!(
            policy.at_most_one(&[("port", true), ("rate", false)]),
            Ok(())
        );
    }

    #[test]
    fn units_are_rounded_to_whole_ones() {
        assert_eq!(ns(61.5), 61_500_000);
        assert_eq!(bps(14.4), 14_400);
        assert_eq!(ppb(1.5), 15_000_000);
        assert_eq!(ppb(100.0), 1_000_000_000);
    }
}
