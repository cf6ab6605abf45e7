//! Where a page's figures are from.

use maud::{Markup, html};
use time::OffsetDateTime;

/// Where and when the figures of a page were made.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The version of commute.
    pub commute: String,
    /// When, in ns since the Unix epoch; 0 if it is unknown.
    pub unix_ns: u64,
    /// The machine, in words; empty if it is unknown.
    pub machine: String,
}

impl Origin {
    /// Returns the head of a page: its title and its origin.
    pub fn head(&self, title: &str) -> Markup {
        html! {
            p.study { (date(self.unix_ns)) }
            h1 { (title) }
            dl.origin {
                dt { "Made by" }
                dd { "commute " (self.commute) }
                @if !self.machine.is_empty() {
                    dt { "On" }
                    dd { (self.machine) }
                }
            }
        }
    }
}

/// Returns date and time, in UTC, of a time in ns since the Unix epoch; 0 is unknown.
pub fn date(unix_ns: u64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ns));
    match time {
        Ok(time) if unix_ns > 0 => format!(
            "{} {:02}:{:02} UTC",
            time.date(),
            time.hour(),
            time.minute()
        ),
        _ => "unknown date".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(date(1_763_843_887_000_000_000), "2025-11-22 20:38 UTC");
        assert_eq!(date(0), "unknown date");
    }
}
