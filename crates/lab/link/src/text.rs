//! Numbers as the one-line summary of a network prints them, and texts that messages repeat.

use crate::time::NS_PER_MS;

/// Most characters of a user's name or value that a message repeats.
const MAX_QUOTED_CHARS: usize = 80;

/// Formats a time in milliseconds, without the unit.
pub(crate) fn ms(ns: u64) -> String {
    decimal(ns as f64 / NS_PER_MS as f64)
}

/// Formats a share in percent.
pub(crate) fn percent(ppb: u32) -> String {
    format!("{} %", decimal(f64::from(ppb) / 1e7))
}

/// Formats a number with at most four decimals and without trailing zeros.
pub(crate) fn decimal(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the beginning of a user's text, without control characters.
pub(crate) fn clip(text: &str) -> String {
    let printable = |c: char| if neutral::is_interpreted(c) { ' ' } else { c };
    text.chars().take(MAX_QUOTED_CHARS).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_zeros_are_cut() {
        assert_eq!(decimal(100.0), "100");
        assert_eq!(decimal(1.63840), "1.6384");
        assert_eq!(decimal(0.00001), "0");
        assert_eq!(ms(61_500_000), "61.5");
        assert_eq!(percent(15_000_000), "1.5 %");
    }

    #[test]
    fn clipped_text_is_short_and_printable() {
        assert_eq!(clip("a\u{1b}[2J\n"), "a [2J ");
        assert_eq!(clip(&"x".repeat(1 << 20)).len(), MAX_QUOTED_CHARS);
    }
}
