//! Moments as programs write them: RFC 3339 with parts missing, or a number since 1970.

use time::{Date, Month, Time, UtcOffset};

/// Numbers since 1970 below this are seconds, below its thousandfold milliseconds, and so on: the year 5138.
const MAX_SECONDS: f64 = 1e11;
const NS_PER_S: f64 = 1e9;

/// Parses a time to ns since 1970; returns none if it cannot be read. A time without a zone is taken as UTC: only
/// differences count.
pub(super) fn ns_since_1970(text: &str) -> Option<i128> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    let (date, rest) = text.split_at_checked(10)?;
    let mut date = date.split('-');
    let year = date.next()?.parse().ok()?;
    let month = Month::try_from(date.next()?.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, date.next()?.parse().ok()?).ok()?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !":.,".contains(c));
    let (time, zone) = rest.split_at(end.unwrap_or(rest.len()));
    let moment = date.with_time(time_of_day(time)?);
    Some(
        moment
            .assume_offset(offset(zone.trim())?)
            .unix_timestamp_nanos(),
    )
}

fn of_number(number: f64) -> Option<i128> {
    let per_second = [1.0, 1e3, 1e6, 1e9].into_iter();
    let per_second = per_second.clone().find(|per| number < MAX_SECONDS * per)?;
    (number > 0.0).then_some((number / per_second * NS_PER_S) as i128)
}

/// Parses `HH:MM` with optional seconds and an optional fraction of any length.
fn time_of_day(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let mut next = || parts.next()?.parse::<u8>().ok();
    let (hour, minute, second) = (next()?, next()?, next().unwrap_or(0));
    let nanos: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    Time::from_hms_nano(hour, minute, second, nanos.parse().ok()?).ok()
}

/// Parses the offset from UTC: nothing, `Z`, `UTC`, `+07`, `+0700` or `+07:00`.
fn offset(zone: &str) -> Option<UtcOffset> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") || zone == "UTC" {
        return Some(UtcOffset::UTC);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() { "0" } else { minutes };
    let (hours, minutes): (i8, i8) = (hours.parse().ok()?, minutes.parse().ok()?);
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_every_form_that_programs_write() {
        // 2026-01-13 15:41:11 UTC.
        const NS: i128 = 1_768_318_871_000_000_000;
        for (text, ms) in [
            ("2026-01-13T15:41:11Z", 0),
            ("2026-01-13T15:41:11.5Z", 500),
            ("2026-01-13T15:41:11.000000", 0),
            ("2026-01-13 15:41:11,250", 250),
            ("2026-01-13T22:41:11.000+0700", 0),
            ("2026-01-13T22:41:11.000+07:00", 0),
            ("2026-01-13T11:41:11-04", 0),
            ("2026-01-13T15:41", -11_000),
            ("1768318871", 0),
            ("1768318871000", 0),
            ("1768318871000.5", 0),
            ("1768318871000000", 0),
        ] {
            let read = ns_since_1970(text).map(|ns| (ns - NS).div_euclid(1_000_000));
            assert_eq!(read, Some(ms), "{text}");
        }
        for text in [
            "",
            "now",
            "1/13/2026, 3:41:11 PM",
            "2026-13-01T00:00:00Z",
            "-1",
            "ä026-01-13T15:41",
        ] {
            assert_eq!(ns_since_1970(text), None, "{text}");
        }
    }
}
