//! A TOML table that knows the line of each thing in it, and which keys were asked for.

use std::{cell::RefCell, collections::BTreeMap, ops::RangeInclusive};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::error::{NetworkError, clip, nearest};

/// Longest text that is read: far above any network, traces inlined.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// The text being read, for errors that name file and line.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    /// Parses the text as TOML and lets `read` take what it knows.
    pub(super) fn read<T>(
        self,
        read: impl FnOnce(&Table<'_>) -> Result<T, NetworkError>,
    ) -> Result<T, NetworkError> {
        if self.text.len() > MAX_TEXT_BYTES {
            return Err(self.error(0, "the text is longer than 64 MiB", "shorten its traces"));
        }
        let root = DeTable::parse(self.text).map_err(|e| {
            let place = e.span().map_or(0, |span| span.start);
            self.error(place, e.message(), "this is not TOML yet")
        })?;
        let table = Table::new(self, "", root.get_ref(), 0);
        let value = read(&table)?;
        table.finish()?;
        Ok(value)
    }

    /// An error at a byte of the text.
    pub(super) fn error(
        self,
        place: usize,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) -> NetworkError {
        let before = &self.text.as_bytes()[..place.min(self.text.len())];
        NetworkError::Refused {
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            what: what.into(),
            way_out: way_out.into(),
        }
    }
}

/// One table. Asking for a key makes it known; what nobody asked for is refused at the end, so the
/// list of keys stands nowhere but in the code that reads them.
pub(super) struct Table<'a> {
    source: Source<'a>,
    name: &'a str,
    place: usize,
    values: BTreeMap<&'a str, (usize, &'a Spanned<DeValue<'a>>)>,
    known: RefCell<Vec<&'static str>>,
}

/// A value with its place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<T> {
    pub(super) place: usize,
    pub(super) value: T,
}

impl<'a> Table<'a> {
    fn new(source: Source<'a>, name: &'a str, table: &'a DeTable<'a>, place: usize) -> Table<'a> {
        let values = table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), (key.span().start, value)))
            .collect();
        Table {
            source,
            name,
            place,
            values,
            known: RefCell::default(),
        }
    }

    /// A table below this one, read whole by `read`.
    pub(super) fn table<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&Table<'_>) -> Result<T, NetworkError>,
    ) -> Result<Option<At<T>>, NetworkError> {
        let Some((place, value)) = self.take(key) else {
            return Ok(None);
        };
        let DeValue::Table(table) = value else {
            return Err(self.wrong(
                place,
                key,
                value,
                format!("write a table [{}]", self.path(key)),
            ));
        };
        let path = self.path(key);
        let table = Table::new(self.source, &path, table, place);
        let value = read(&table)?;
        table.finish()?;
        Ok(Some(At { place, value }))
    }

    /// A text.
    pub(super) fn text(&self, key: &'static str) -> Result<Option<At<String>>, NetworkError> {
        let Some((place, value)) = self.take(key) else {
            return Ok(None);
        };
        let DeValue::String(text) = value else {
            return Err(self.wrong(place, key, value, format!("write {key} = \"...\"")));
        };
        Ok(Some(At {
            place,
            value: text.clone().into_owned(),
        }))
    }

    /// A number within a range, whole or not.
    pub(super) fn number(
        &self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<At<f64>>, NetworkError> {
        let Some((place, value)) = self.take(key) else {
            return Ok(None);
        };
        let way_out = || format!("write a number from {} to {}", range.start(), range.end());
        let Some(number) = as_number(value) else {
            return Err(self.wrong(place, key, value, way_out()));
        };
        if !range.contains(&number) {
            return Err(self.error(
                place,
                format!("{key} = {number} is out of range"),
                way_out(),
            ));
        }
        Ok(Some(At {
            place,
            value: number,
        }))
    }

    /// A whole number within a range.
    pub(super) fn whole(
        &self,
        key: &'static str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<At<u32>>, NetworkError> {
        let wide = f64::from(*range.start())..=f64::from(*range.end());
        let Some(At { place, value }) = self.number(key, wide)? else {
            return Ok(None);
        };
        if value.fract() != 0.0 {
            let what = format!("{key} = {value} is not a whole number");
            return Err(self.error(place, what, format!("write {value:.0}")));
        }
        Ok(Some(At {
            place,
            value: value as u32,
        }))
    }

    /// A list, each element read by `read`, which says what would be right.
    pub(super) fn list<T>(
        &self,
        key: &'static str,
        read: impl Fn(&DeValue<'_>) -> Result<T, &'static str>,
    ) -> Result<Option<At<Vec<T>>>, NetworkError> {
        let Some((place, value)) = self.take(key) else {
            return Ok(None);
        };
        let DeValue::Array(array) = value else {
            return Err(self.wrong(place, key, value, format!("write a list {key} = [...]")));
        };
        let read_one = |(i, element): (usize, &Spanned<DeValue<'_>>)| {
            read(element.get_ref()).map_err(|way_out| {
                let what = format!("entry {} of {key} is wrong", i + 1);
                self.error(element.span().start, what, way_out)
            })
        };
        let value = array
            .iter()
            .enumerate()
            .map(read_one)
            .collect::<Result<_, _>>()?;
        Ok(Some(At { place, value }))
    }

    /// A value that must be there.
    pub(super) fn need<T>(
        &self,
        key: &'static str,
        value: Option<At<T>>,
        example: &str,
    ) -> Result<At<T>, NetworkError> {
        value.ok_or_else(|| {
            let owner = if self.name.is_empty() {
                "the file"
            } else {
                self.name
            };
            self.error(
                self.place,
                format!("{owner} has no {key}"),
                format!("write {example}"),
            )
        })
    }

    /// Whether a key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Where a key stands, or the table if it does not.
    pub(super) fn place_of(&self, key: &str) -> usize {
        self.values.get(key).map_or(self.place, |(place, _)| *place)
    }

    /// An error at a place of the text.
    pub(super) fn error(
        &self,
        place: usize,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) -> NetworkError {
        self.source.error(place, what, way_out)
    }

    /// Refuses the keys nobody asked for.
    fn finish(&self) -> Result<(), NetworkError> {
        let known = self.known.borrow();
        let unknown = |key: &&str| !known.contains(key);
        let Some(key) = self.values.keys().find(|key| unknown(key)) else {
            return Ok(());
        };
        let (place, _) = self.values[key];
        let owner = if self.name.is_empty() {
            String::new()
        } else {
            format!(" in [{}]", self.name)
        };
        let way_out = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the keys here are {}", known.join(", ")),
        };
        Err(self.error(
            place,
            format!("unknown key {:?}{owner}", clip(key)),
            way_out,
        ))
    }

    fn take(&self, key: &'static str) -> Option<(usize, &'a DeValue<'a>)> {
        self.known.borrow_mut().push(key);
        let (place, value) = self.values.get(key)?;
        Some((*place, value.get_ref()))
    }

    fn wrong(&self, place: usize, key: &str, value: &DeValue<'_>, way_out: String) -> NetworkError {
        self.error(
            place,
            format!("{key} is of type {}", value.type_str()),
            way_out,
        )
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        }
    }
}

/// The number in a value. NaN comes out as it is: no range holds it.
pub(super) fn as_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        // Decimal alone: nobody writes a delay in hexadecimal, and its digits would be misread.
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(
        text: &str,
        read: impl FnOnce(&Table<'_>) -> Result<T, NetworkError>,
    ) -> Result<T, String> {
        Source {
            file: "x.toml",
            text,
        }
        .read(read)
        .map_err(|e| e.to_string())
    }

    fn speed(text: &str) -> Result<Option<f64>, String> {
        read(text, |t| {
            t.text("about")?;
            t.number("speed_ms", 0.0..=9.5)
                .map(|n| n.map(|at| at.value))
        })
    }

    #[test]
    fn numbers_are_read_whole_or_not() {
        assert_eq!(speed("speed_ms = 2"), Ok(Some(2.0)));
        assert_eq!(speed("speed_ms = 2.5"), Ok(Some(2.5)));
        assert_eq!(speed(""), Ok(None));
    }

    #[test]
    fn errors_name_file_line_and_way_out() {
        let cases = [
            (
                "\n\nspeed_ms = 10",
                "x.toml:3: speed_ms = 10 is out of range; write a number from 0 to 9.5",
            ),
            (
                "speed_ms = nan",
                "x.toml:1: speed_ms = NaN is out of range; write a number from 0 to 9.5",
            ),
            (
                "speed_ms = -1",
                "x.toml:1: speed_ms = -1 is out of range; write a number from 0 to 9.5",
            ),
            (
                "speed_ms = 0x5",
                "x.toml:1: speed_ms is of type integer; write a number from 0 to 9.5",
            ),
            (
                "about = 'a'\nspeed = 1",
                "x.toml:2: unknown key \"speed\"; did you mean speed_ms?",
            ),
            (
                "zzz = 1",
                "x.toml:1: unknown key \"zzz\"; the keys here are about, speed_ms",
            ),
            (
                "about = 5",
                "x.toml:1: about is of type integer; write about = \"...\"",
            ),
        ];
        for (text, error) in cases {
            assert_eq!(speed(text), Err(error.to_owned()), "{text}");
        }
        assert!(speed("speed_ms = ").unwrap_err().starts_with("x.toml:1: "));
        assert!(speed("a = 1\nb = [").unwrap_err().starts_with("x.toml:2: "));
    }

    #[test]
    fn a_table_below_tells_its_whole_name() {
        let deep = |text: &str| {
            read(text, |t| {
                t.table("down", |down| {
                    down.table("policy", |policy| policy.whole("port", 1..=9))
                })
            })
            .map(|_| ())
        };
        assert_eq!(deep("[down.policy]\nport = 9"), Ok(()));
        assert_eq!(
            deep("[down.policy]\nport = 9\nprot = 9"),
            Err("x.toml:3: unknown key \"prot\" in [down.policy]; did you mean port?".to_owned())
        );
        assert_eq!(
            deep("[down]\npolicy = 4"),
            Err("x.toml:2: policy is of type integer; write a table [down.policy]".to_owned())
        );
        assert_eq!(
            deep("down.policy.port = 1.5"),
            Err("x.toml:1: port = 1.5 is not a whole number; write 2".to_owned())
        );
    }
}
