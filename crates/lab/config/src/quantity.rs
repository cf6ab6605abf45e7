//! Quantities: a number in the unit that its key names, or text with any unit.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A unit's name, and how many of the base unit it is.
type Unit = (&'static str, f64);

/// In nanoseconds.
pub const TIMES: &[Unit] = &[("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// In bits per second.
pub const RATES: &[Unit] = &[
    ("kbit/s", 1e3),
    ("kbps", 1e3),
    ("kbit", 1e3),
    ("kb", 1e3),
    ("Mbit/s", 1e6),
    ("Mbps", 1e6),
    ("Mbit", 1e6),
    ("Mb", 1e6),
    ("Gbit/s", 1e9),
    ("Gbps", 1e9),
    ("Gbit", 1e9),
    ("Gb", 1e9),
];
/// In percent.
pub const PERCENT: &[Unit] = &[("%", 1.0)];
/// In bytes.
const SIZES: &[Unit] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// Parses a number and its unit, e.g. `5Mbit/s` or `1.5 ms`. Returns it in the base unit; none if it
/// is not one, or lacks its unit.
pub fn quantity(text: &str, units: &[Unit]) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let (_, scale) = units.iter().find(|(name, _)| *name == unit.trim())?;
    Some(number.parse::<f64>().ok()? * scale)
}

/// Defines the type of a key whose name has this unit.
macro_rules! quantity_of {
    ($(#[$doc:meta])* $name:ident($units:expr, $base_per_unit:expr, $expected:literal)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl From<$name> for f64 {
            fn from(quantity: $name) -> f64 {
                quantity.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                number_or_text("number", $units)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let written = Written { units: $units, expected: $expected };
                let number = deserializer.deserialize_any(written)?;
                Ok($name(match number {
                    Number::Plain(number) => number,
                    Number::WithUnit(base) => base / $base_per_unit,
                }))
            }
        }
    };
}

quantity_of!(
    /// A time in milliseconds, or text such as `"30ms"` or `"2s"`.
    Ms(TIMES, 1e6, "a number of milliseconds, or text with a unit as in \"30ms\" or \"2s\"")
);
quantity_of!(
    /// A time in seconds, or text such as `"30s"` or `"500ms"`.
    Seconds(TIMES, 1e9, "a number of seconds, or text with a unit as in \"30s\" or \"500ms\"")
);
quantity_of!(
    /// A rate in 1000 bit/s, or text such as `"5Mbit/s"`.
    Kbps(RATES, 1e3, "a number of kbit/s, or text with a unit as in \"5Mbit/s\"")
);
quantity_of!(
    /// A share in percent, or text such as `"1.5%"`.
    Percent(PERCENT, 1.0, "a number of percent, or text as in \"1.5%\"")
);

/// A number of bytes, or text such as `"160kB"` (1000 bytes each) or `"1MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(u64);

impl From<Bytes> for u64 {
    fn from(bytes: Bytes) -> u64 {
        bytes.0
    }
}

impl JsonSchema for Bytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        number_or_text("integer", SIZES)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a whole number of bytes, or text with a unit as in \"160kB\"";
        let written = Written {
            units: SIZES,
            expected: EXPECTED,
        };
        let (Number::Plain(bytes) | Number::WithUnit(bytes)) =
            deserializer.deserialize_any(written)?;
        // Above 2^53, not every whole number is a double.
        match bytes.fract() == 0.0 && (0.0..=9e15).contains(&bytes) {
            true => Ok(Bytes(bytes as u64)),
            false => Err(D::Error::invalid_value(Unexpected::Float(bytes), &EXPECTED)),
        }
    }
}

/// Returns the schema of a number or a text; the pattern is for text only.
fn number_or_text(number: &str, units: &[Unit]) -> Schema {
    let units: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    json_schema!({
        "type": [number, "string"],
        "pattern": format!("^ *[0-9.]+ *({}) *$", units.join("|")),
    })
}

enum Number {
    /// In the key's unit.
    Plain(f64),
    /// In the base unit.
    WithUnit(f64),
}

/// Reads a number or text.
struct Written {
    units: &'static [Unit],
    expected: &'static str,
}

impl Visitor<'_> for Written {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
        Ok(Number::Plain(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number::Plain(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number::Plain(number as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let number = quantity(text, self.units).map(Number::WithUnit);
        number.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: &str) -> Result<T, String> {
        #[derive(serde::Deserialize)]
        struct Keys<T> {
            key: T,
        }
        let source = format!("key = {value}");
        let keys = crate::Source::new("a.toml", &source).parse::<Keys<T>>();
        keys.map(|keys| keys.key).map_err(|e| e.message)
    }

    #[test]
    fn numbers_are_in_the_keys_unit_and_text_has_its_own() {
        for (written, ms) in [
            ("3000", 3000.0),
            ("61.5", 61.5),
            ("-1", -1.0),
            ("\"3s\"", 3000.0),
            ("\"61.5 ms\"", 61.5),
            ("\"250us\"", 0.25),
        ] {
            assert_eq!(read::<Ms>(written), Ok(Ms(ms)), "{written}");
        }
        assert_eq!(read::<Seconds>("\"500ms\""), Ok(Seconds(0.5)));
        assert_eq!(read::<Kbps>("\"6.3Mbit/s\""), Ok(Kbps(6300.0)));
        assert_eq!(read::<Kbps>("6300"), Ok(Kbps(6300.0)));
        assert_eq!(read::<Percent>("\"1.5%\""), Ok(Percent(1.5)));
        assert_eq!(read::<Bytes>("\"160kB\""), Ok(Bytes(160_000)));
        assert_eq!(read::<Bytes>("\"1.5 MiB\""), Ok(Bytes(1_572_864)));
        assert_eq!(read::<Bytes>("160000"), Ok(Bytes(160_000)));
    }

    #[test]
    fn anything_else_is_answered_with_an_example() {
        let ms = "expected a number of milliseconds, or text with a unit as in \"30ms\" or \"2s\"";
        for written in [
            "\"3\"",
            "\"3 sec\"",
            "\"-1ms\"",
            "\"\"",
            "\"1.2.3s\"",
            "true",
            "[1]",
        ] {
            let refused = read::<Ms>(written).unwrap_err();
            assert!(refused.contains(ms), "{written}: {refused}");
        }
        for written in ["-1", "0.5", "\"0.5B\"", "\"1kb\"", "1e300", "nan"] {
            let refused = read::<Bytes>(written).unwrap_err();
            let bytes = "expected a whole number of bytes, or text with a unit as in \"160kB\"";
            assert!(refused.contains(bytes), "{written}: {refused}");
        }
    }
}
