//! A row of a table: its fields, and the units of those that are used.

use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::clock;
use crate::error::shown;

/// A column, as its user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header, which is the first line.
    Name(String),
    /// By its number, from 1.
    Number(NonZeroUsize),
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Column, String> {
        match text.trim() {
            "" => Err("name a column of the header, or give its number, from 1".to_owned()),
            "0" => Err("columns are numbered from 1".to_owned()),
            text => Ok(match text.parse() {
                Ok(number) => Column::Number(number),
                Err(_) => Column::Name(text.to_owned()),
            }),
        }
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Column::Name(name) => f.write_str(&shown(name)),
            Column::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The unit of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds, since any moment.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Date and time of day, e.g. `2019.12.16_13.40.04` or `2021-01-13 18:30:53.5`.
    Timestamp,
}

impl TimeUnit {
    /// Returns the unit in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "seconds",
            TimeUnit::Milliseconds => "milliseconds",
            TimeUnit::Microseconds => "microseconds",
            TimeUnit::Timestamp => "date and time of day",
        }
    }

    /// Reads a time, in microseconds since any moment. An error says what would be right.
    pub(crate) fn read_us(self, text: &str) -> Result<i64, String> {
        let us_per_unit = match self {
            TimeUnit::Seconds => 1e6,
            TimeUnit::Milliseconds => 1e3,
            TimeUnit::Microseconds => 1.0,
            TimeUnit::Timestamp => {
                return clock::us(text).ok_or_else(|| {
                    format!(
                        "{} is not a date and time such as 2021-01-13 18:30:53",
                        shown(text)
                    )
                });
            }
        };
        let us = number(text)? * us_per_unit;
        // Up to here, a double is exact to a microsecond.
        match us.abs() <= 9e15 {
            true => Ok(us.round() as i64),
            false => Err(format!("{} {} are too many", shown(text), self.words())),
        }
    }
}

/// The unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Bits per second.
    Bit,
    /// 1000 bits per second.
    Kbit,
    /// 1,000,000 bits per second.
    Mbit,
    /// Bytes per second.
    Byte,
    /// 1000 bytes per second.
    Kbyte,
    /// 1,000,000 bytes per second.
    Mbyte,
}

impl RateUnit {
    /// Returns the unit's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            RateUnit::Bit => "bit/s",
            RateUnit::Kbit => "kbit/s",
            RateUnit::Mbit => "Mbit/s",
            RateUnit::Byte => "B/s",
            RateUnit::Kbyte => "kB/s",
            RateUnit::Mbyte => "MB/s",
        }
    }

    /// Returns bits per second in one of these.
    fn bps(self) -> f64 {
        match self {
            RateUnit::Bit => 1.0,
            RateUnit::Kbit => 1e3,
            RateUnit::Mbit => 1e6,
            RateUnit::Byte => 8.0,
            RateUnit::Kbyte => 8e3,
            RateUnit::Mbyte => 8e6,
        }
    }

    /// Reads a rate, in bits per second; `None` if the field says that there is none. An error says what would be
    /// right.
    pub(crate) fn read_bps(self, text: &str) -> Result<Option<u64>, String> {
        if MISSING.iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Ok(None);
        }
        let bps = number(text)? * self.bps();
        if bps < 0.0 {
            return Err(format!(
                "the rate {} is negative; leave the field empty where nothing was measured",
                shown(text)
            ));
        }
        if bps > crate::MAX_BPS as f64 {
            return Err(format!(
                "{} {} is more than 20 Gbit/s, the peak rate of 5G (ITU-R M.2410), so the unit is likely another; \
                 state it with --rate-unit",
                shown(text),
                self.name()
            ));
        }
        Ok(Some(bps.round() as u64))
    }
}

/// What data sets write where nothing was measured.
const MISSING: [&str; 6] = ["", "-", "nan", "na", "null", "none"];

fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ if text.contains(',') => Err(format!(
            "{} is not a number; write a decimal point instead of the comma",
            shown(text)
        )),
        _ => Err(format!("{} is not a number, e.g. 12.5", shown(text))),
    }
}

/// What separates the fields of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Character(char),
    Spaces,
}

impl Separator {
    /// Returns the separator of a file by its first row: the first of semicolon, tab and comma that is in it, else
    /// spaces.
    pub(crate) fn of(row: &str) -> Separator {
        let found = [';', '\t', ','].into_iter().find(|c| row.contains(*c));
        found.map_or(Separator::Spaces, Separator::Character)
    }

    /// Returns the separator in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Separator::Character(';') => "semicolons",
            Separator::Character('\t') => "tabs",
            Separator::Character(_) => "commas",
            Separator::Spaces => "spaces",
        }
    }

    /// Splits a row into `fields`, without the spaces and the quotes around each. Fails if a quote does not end.
    pub(crate) fn split(self, row: &str, fields: &mut Vec<String>) -> Result<(), String> {
        fields.clear();
        let Separator::Character(separator) = self else {
            fields.extend(row.split_whitespace().map(str::to_owned));
            return Ok(());
        };
        let mut rest = row;
        loop {
            let trimmed = rest.trim_start_matches(' ');
            let (field, after) = match trimmed.strip_prefix('"') {
                Some(quoted) => unquote(quoted)?,
                None => {
                    let end = rest.find(separator).unwrap_or(rest.len());
                    (rest[..end].trim().to_owned(), &rest[end..])
                }
            };
            fields.push(field);
            let after = after.trim_start_matches(' ');
            match after.strip_prefix(separator) {
                Some(next) => rest = next,
                None if after.is_empty() => return Ok(()),
                None => return Err(format!("{} follows a closing quote", shown(after))),
            }
        }
    }
}

/// Returns the text up to the closing quote, where two quotes are one, and what follows.
fn unquote(quoted: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = quoted;
    loop {
        let Some((text, after)) = rest.split_once('"') else {
            return Err("a quote does not end on its line".to_owned());
        };
        field += text;
        match after.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                rest = more;
            }
            None => return Ok((field.trim().to_owned(), after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(row: &str) -> Result<Vec<String>, String> {
        let mut fields = Vec::new();
        Separator::of(row).split(row, &mut fields)?;
        Ok(fields)
    }

    #[test]
    fn rows_are_split_at_their_separator() {
        for (row, fields) in [
            ("1,2.5,", &["1", "2.5", ""][..]),
            ("1;2,5; 3", &["1", "2,5", "3"]),
            ("1\t \t3", &["1", "", "3"]),
            ("  1   2.5\u{a0}3", &["1", "2.5", "3"]),
            (
                r#"a,"['x', 'y']", "b ""c"" ",d"#,
                &["a", "['x', 'y']", "b \"c\"", "d"],
            ),
            ("\"\",é", &["", "é"]),
            (",", &["", ""]),
        ] {
            assert_eq!(split(row).unwrap(), fields, "{row}");
        }
    }

    #[test]
    fn quotes_end_where_the_field_ends() {
        assert_eq!(
            split(r#"1,"2"#).unwrap_err(),
            "a quote does not end on its line"
        );
        assert_eq!(
            split(r#"1,"2"3,4"#).unwrap_err(),
            "\"3,4\" follows a closing quote"
        );
    }

    #[test]
    fn columns_are_names_or_numbers() {
        assert!(matches!("2".parse(), Ok(Column::Number(n)) if n.get() == 2));
        assert_eq!(
            " DL_bitrate".parse(),
            Ok(Column::Name("DL_bitrate".to_owned()))
        );
        assert_eq!(
            "0".parse::<Column>().unwrap_err(),
            "columns are numbered from 1"
        );
        assert!(" ".parse::<Column>().is_err());
    }

    #[test]
    fn times_are_read_in_their_unit() {
        for (unit, text, us) in [
            (TimeUnit::Seconds, "0.58", 580_000),
            (TimeUnit::Seconds, "1.6e9", 1_600_000_000_000_000),
            (TimeUnit::Milliseconds, "12.5", 12_500),
            (TimeUnit::Microseconds, "-7", -7),
            (TimeUnit::Timestamp, "1970-01-01 00:00:01.25", 1_250_000),
        ] {
            assert_eq!(unit.read_us(text), Ok(us), "{text}");
        }
        for (unit, text) in [
            (TimeUnit::Seconds, "inf"),
            (TimeUnit::Seconds, "1e10"),
            (TimeUnit::Seconds, "x"),
            (TimeUnit::Timestamp, "12.5"),
        ] {
            assert!(unit.read_us(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_read_in_their_unit() {
        for (unit, text, bps) in [
            (RateUnit::Bit, "7", 7),
            (RateUnit::Kbit, "532905", 532_905_000),
            (RateUnit::Mbit, "0.019512", 19_512),
            (RateUnit::Byte, "1500", 12_000),
            (RateUnit::Kbyte, "1.5", 12_000),
            (RateUnit::Mbyte, "2", 16_000_000),
            (RateUnit::Mbit, "20000", crate::MAX_BPS),
        ] {
            assert_eq!(unit.read_bps(text), Ok(Some(bps)), "{text}");
        }
        for text in ["", "-", "NaN", "nan", "NA", "null", "None"] {
            assert_eq!(RateUnit::Bit.read_bps(text), Ok(None), "{text}");
        }
        let wrong = |text: &str| RateUnit::Mbit.read_bps(text).unwrap_err();
        assert!(wrong("-1").starts_with("the rate \"-1\" is negative"));
        assert!(wrong("20001").contains("more than 20 Gbit/s"));
        assert!(wrong("1,5").contains("decimal point"));
        assert!(wrong("inf").starts_with("\"inf\" is not a number"));
        assert!(wrong("\u{1b}[2J").starts_with("\"\\u{1b}[2J\" is not"));
        let long = wrong(&"x".repeat(1000));
        assert!(long.chars().count() < 80, "{long}");
    }
}
