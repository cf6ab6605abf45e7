//! Dates and times of day, as data sets write them.

use time::{Date, Month, PrimitiveDateTime, Time};

/// Reads `YEAR-MONTH-DAY HOUR:MINUTE:SECOND`, in microseconds since the Unix epoch. The parts of the date may also be
/// separated by `.` or `/`, those of the time by `.`, and date and time by `T` or `_`. A fraction of the second and an
/// offset from UTC (`Z`, `+01:00`, `-0600`) may follow; without an offset the time is taken for UTC.
pub(crate) fn us(text: &str) -> Option<i64> {
    let mut at = Cursor(text.trim().as_bytes());
    let year = at.digits(4)?;
    at.one_of(b"-./")?;
    let month = at.digits(2)?;
    at.one_of(b"-./")?;
    let day = at.digits(2)?;
    at.one_of(b" T_")?;
    let hour = at.digits(2)?;
    at.one_of(b":.")?;
    let minute = at.digits(2)?;
    at.one_of(b":.")?;
    let second = at.digits(2)?;
    let fraction_us = match at.one_of(b".,") {
        Some(_) => at.fraction_us()?,
        None => 0,
    };
    let offset_s = at.offset_s()?;
    let small = |number: i64| u8::try_from(number).ok();
    let month = Month::try_from(small(month)?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?).ok()?;
    let utc_s = PrimitiveDateTime::new(date, time)
        .assume_utc()
        .unix_timestamp();
    Some((utc_s - offset_s) * 1_000_000 + fraction_us)
}

/// What is not read yet.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn one_of(&mut self, known: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        known.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    /// Reads a number of exactly this many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let number = digits.iter().try_fold(0, |number, digit| {
            digit
                .is_ascii_digit()
                .then(|| number * 10 + i64::from(digit - b'0'))
        });
        self.0 = rest;
        number
    }

    /// Reads one digit or more after the point; those after the sixth are dropped.
    fn fraction_us(&mut self) -> Option<i64> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.0.split_at(digits.count());
        self.0 = rest;
        let us = (0..6).fold(0, |us, i| {
            us * 10 + digits.get(i).map_or(0, |digit| i64::from(digit - b'0'))
        });
        (!digits.is_empty()).then_some(us)
    }

    /// Reads an offset from UTC up to the end of the text.
    fn offset_s(&mut self) -> Option<i64> {
        self.0 = self.0.trim_ascii_start();
        if matches!(self.0, b"" | b"Z" | b"z") {
            return Some(0);
        }
        let sign = match self.one_of(b"+-")? {
            b'+' => 1,
            _ => -1,
        };
        let hours = self.digits(2)?;
        self.one_of(b":");
        let minutes = self.digits(2)?;
        (self.0.is_empty() && hours < 24 && minutes < 60)
            .then_some(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::us;

    #[test]
    fn the_formats_of_data_sets_are_read() {
        // By GNU date: 2019-12-16 13:40:04 UTC.
        const S: i64 = 1_576_503_604_000_000;
        for (text, expected) in [
            ("2019.12.16_13.40.04", S),
            ("2019-12-16 13:40:04", S),
            ("2019/12/16T13:40:04Z", S),
            ("2019-12-16 13:40:04.5", S + 500_000),
            ("2019-12-16 13:40:04,1234567", S + 123_456),
            ("2019-12-16 07:40:04-06:00", S),
            ("2019-12-16 14:40:04 +0100", S),
            ("2020-02-29 00:00:00", 1_582_934_400_000_000),
        ] {
            assert_eq!(us(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn others_are_refused() {
        for text in [
            "",
            "1576503604",
            "2019-12-16",
            "2019-12-16 13:40",
            "2019-12-16 24:00:00",
            "2019-02-29 00:00:00",
            "2019-13-01 00:00:00",
            "19-12-16 13:40:04",
            "2019-12-16 13:40:04.",
            "2019-12-16 13:40:04 CST",
            "2019-12-16 13:40:04+01:00x",
            "2019-12-16 13:40:04+24:00",
            "2019-12-16 1x:40:04",
        ] {
            assert_eq!(us(text), None, "{text}");
        }
    }
}
