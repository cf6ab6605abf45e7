//! TOML that people write, e.g. studies and networks: every error names the file, the line, the
//! key, what is wrong and what would be right.
//!
//! serde parses a [`Source`] into a struct. A later check that refuses a value reports it by its key with
//! [`Source::error_at`]. With [`Source::error`] it reports the span of a [`toml::Spanned`], and with
//! [`Source::error_in`] the span of its table. Unknown keys and names get the nearest known one from [`did_you_mean`].
//!
//! A quantity ([`Ms`], [`Bytes`], ...) is a number in the unit that its key names, or text with a unit.
//!
//! Messages stay short whatever the text contains, and hold no control characters.

#![forbid(unsafe_code)]

mod error;
mod quantity;

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use error::ConfigError;
pub use quantity::{Bytes, Kbps, Ms, PERCENT, Percent, RATES, Seconds, TIMES, quantity};

/// A suggestion compares this much of a name.
const MAX_NAME_CHARS: usize = 80;

/// A shorter name than this is the beginning of too many others to suggest one.
const MIN_PREFIX_BYTES: usize = 3;

/// A TOML text and the file it came from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    file: &'a str,
    text: &'a str,
    /// Keys that people try, and what they should write.
    hints: &'a [(&'a str, &'a str)],
}

impl<'a> Source<'a> {
    /// Creates a source; `file` is used in messages only.
    pub fn new(file: &'a str, text: &'a str) -> Source<'a> {
        Source {
            file,
            text,
            hints: &[],
        }
    }

    /// Sets what to answer to unknown keys that people are likely to try: pairs of a key and what to
    /// write instead.
    pub fn with_hints(self, hints: &'a [(&'a str, &'a str)]) -> Source<'a> {
        Source { hints, ..self }
    }

    /// Parses the text.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(self.text).map_err(|e| {
            let message = (self.hint(e.message())).unwrap_or_else(|| plain_message(e.message()));
            let message = match key_of(&e) {
                Some(key) => format!("{key}: {message}"),
                None => message,
            };
            self.error(&e.span().unwrap_or(0..0), message)
        })
    }

    /// Returns an error at the value of a key, e.g. `down.gate.queue` or, in the first of several tables,
    /// `arm.0.name`; if the text lacks the key, at the nearest table above it.
    pub fn error_at(&self, key: &str, message: impl Into<String>) -> ConfigError {
        self.error(&self.span_of(key).unwrap_or(0..0), message)
    }

    /// Returns an error at a span of the text; `0..0` is the file as a whole.
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.file, self.text, span, &message.into())
    }

    /// Returns an error in the table at a span, at the value of the key that the message is about. That is the key that
    /// the message begins with, or else the first one in backquotes. Without such a key the error is at the table.
    pub fn error_in(&self, table: &Range<usize>, message: impl Into<String>) -> ConfigError {
        let message = message.into();
        let root = DeTable::parse(self.text).ok();
        let found = root
            .as_ref()
            .and_then(|root| table_at(root.get_ref(), table));
        let value = |key: &str| Some(found?.get(key)?.span());
        let first_word = message.split([' ', ':', '=']).next().unwrap_or_default();
        let quoted = message.split('`').skip(1).step_by(2);
        let mut keys = std::iter::once(first_word).chain(quoted);
        let span = keys.find_map(value).unwrap_or_else(|| table.clone());
        self.error(&span, message)
    }

    /// Returns the span of the value at a dotted key, or else of the last part of the key that is in the text.
    fn span_of(&self, key: &str) -> Option<Range<usize>> {
        let root = DeTable::parse(self.text).ok()?;
        let mut parts = key.split('.');
        let (name, value) = root.get_ref().get_key_value(parts.next()?)?;
        let (mut span, mut value) = (name.span(), value);
        for name in parts {
            (span, value) = match value.get_ref() {
                DeValue::Table(table) => match table.get_key_value(name) {
                    Some((name, value)) => (name.span(), value),
                    None => return Some(span),
                },
                DeValue::Array(values) => {
                    match name.parse().ok().and_then(|i: usize| values.get(i)) {
                        Some(value) => (value.span(), value),
                        None => return Some(span),
                    }
                }
                _ => return Some(span),
            };
        }
        Some(match value.get_ref() {
            DeValue::Table(_) => span,
            _ => value.span(),
        })
    }

    /// Returns what to write instead of the unknown key that serde's message names.
    fn hint(&self, message: &str) -> Option<String> {
        let key = message.strip_prefix("unknown field `")?.split('`').next()?;
        let (_, instead) = self.hints.iter().find(|(tried, _)| *tried == key)?;
        Some(format!("unknown field `{key}`: {instead}"))
    }
}

/// Returns the table at a span, anywhere below `root`.
fn table_at<'t, 'i>(root: &'t DeTable<'i>, span: &Range<usize>) -> Option<&'t DeTable<'i>> {
    root.values().find_map(|value| in_value(value, span))
}

fn in_value<'t, 'i>(
    value: &'t Spanned<DeValue<'i>>,
    span: &Range<usize>,
) -> Option<&'t DeTable<'i>> {
    match value.get_ref() {
        DeValue::Table(table) if value.span() == *span => Some(table),
        DeValue::Table(table) => table_at(table, span),
        DeValue::Array(values) => values.iter().find_map(|value| in_value(value, span)),
        _ => None,
    }
}

/// Returns ` (did you mean `x`?)` for the known name nearest to `wanted`, or nothing when none is
/// near. A name that `wanted` begins is nearest, e.g. `rate_kbps` for `rate`.
pub fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A name from outside may be megabytes long; the distance is quadratic in it.
    let wanted: String = wanted.chars().take(MAX_NAME_CHARS).collect();
    let distance = |name: &str| match wanted.len() >= MIN_PREFIX_BYTES && name.starts_with(&wanted)
    {
        true => 0,
        false => strsim::damerau_levenshtein(&wanted, name),
    };
    known
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map_or_else(String::new, |(_, name)| {
            format!(" (did you mean `{name}`?)")
        })
}

/// Returns the dotted key of the value or table that serde refused. toml keeps it private and prints it only where it
/// has no text to quote from.
fn key_of(error: &toml::de::Error) -> Option<String> {
    let mut error = error.clone();
    error.set_input(None);
    let printed = error.to_string();
    let key = printed.strip_prefix(error.message())?.trim();
    Some(key.strip_prefix("in `")?.strip_suffix('`')?.to_owned())
}

/// Returns serde's message without the names of Rust types, and with the nearest of the names it expected.
fn plain_message(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if let (Some(wanted), true) = (quoted.next(), message.starts_with("unknown ")) {
        return format!("{message}{}", did_you_mean(wanted, quoted));
    }
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "f64" => "a number",
        "u32" | "u64" => "a whole number, 0 or more",
        "a nonzero u16" => "a whole number from 1 to 65535",
        "a sequence" => "a list",
        rust if rust.starts_with("struct ") => "a table",
        plain => plain,
    };
    format!("{found}, expected {expected}")
}

#[cfg(test)]
mod tests;
