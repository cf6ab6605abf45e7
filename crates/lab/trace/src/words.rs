//! Rates and times in words.

use page::{Units, unit_of};

/// Units of rates in bit/s.
pub(crate) const RATES: Units = &[
    (1e9, "Gbit/s"),
    (1e6, "Mbit/s"),
    (1e3, "kbit/s"),
    (1.0, "bit/s"),
];

/// Returns a rate in words, to three digits, e.g. `5.33 Mbit/s`.
pub fn rate(bps: f64) -> String {
    // Rounded first, because that may give the next unit.
    in_units(format!("{bps:.2e}").parse().unwrap_or(bps), RATES)
}

/// Returns a time in words, e.g. `2.1 s`.
pub fn duration(us: u64) -> String {
    let us = us as f64;
    let (factor, unit) = match us {
        _ if us >= 1e6 || us == 0.0 => (1e6, "s"),
        _ if us >= 1e3 => (1e3, "ms"),
        _ => (1.0, "µs"),
    };
    format!("{} {unit}", short(us / factor, 3))
}

fn in_units(value: f64, units: Units) -> String {
    let (factor, unit) = unit_of(value, units);
    let value = value / factor;
    let decimals = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{} {unit}", short(value, decimals))
}

/// Formats a number without zeros at the end of its decimals.
pub(crate) fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns a number and the name of what is counted, e.g. `1 row` or `2 rows`.
pub(crate) fn count(number: usize, one: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {one}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        for (bps, words) in [
            (0.0, "0 bit/s"),
            (5_330_000.0, "5.33 Mbit/s"),
            (12_000_000.0, "12 Mbit/s"),
            (123_400.0, "123 kbit/s"),
            (1.5e9, "1.5 Gbit/s"),
            (999_700.0, "1 Mbit/s"),
        ] {
            assert_eq!(rate(bps), words);
        }
        for (us, words) in [
            (0, "0 s"),
            (7, "7 µs"),
            (2_100_000, "2.1 s"),
            (120_000_000, "120 s"),
            (350_000, "350 ms"),
            (86_400_000_000, "86400 s"),
        ] {
            assert_eq!(duration(us), words);
        }
        assert_eq!([count(1, "row"), count(0, "row")], ["1 row", "0 rows"]);
    }
}
