//! TOML that people write, e.g. studies and networks: every error names the file, the line, what
//! is wrong and what would be right.
//!
//! A [`Source`] is parsed by serde into a struct whose values are [`toml::Spanned`] wherever a
//! later check may refuse them; that check calls [`Source::error`] with the value's span.
//! Unknown keys and names get the nearest known one from [`did_you_mean`].

use std::ops::Range;

use serde::de::DeserializeOwned;

/// A suggestion compares this much of a name.
const MAX_NAME_CHARS: usize = 80;

/// A TOML text and the file it came from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

/// A mistake in a TOML file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ConfigError {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl<'a> Source<'a> {
    /// Names a text; `file` is used in messages only.
    pub fn new(file: &'a str, text: &'a str) -> Source<'a> {
        Source { file, text }
    }

    /// Parses the text.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(self.text).map_err(|e| {
            let message = plain_message(e.message());
            self.error(&e.span().unwrap_or(0..0), message)
        })
    }

    /// Returns an error at the line where `span` begins.
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        ConfigError {
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|&&b| b == b'\n').count(),
            message: message.into(),
        }
    }
}

/// Returns ` (did you mean `x`?)` for the known name nearest to `wanted`, or nothing when none is
/// near.
pub fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A name from outside may be megabytes long; the distance is quadratic in it.
    let wanted: String = wanted.chars().take(MAX_NAME_CHARS).collect();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map_or_else(String::new, |(_, name)| {
            format!(" (did you mean `{name}`?)")
        })
}

/// serde's message without the names of Rust types, and with the nearest of the names it expected.
fn plain_message(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = match quoted.next() {
        Some(wanted) if message.starts_with("unknown ") => did_you_mean(wanted, quoted),
        _ => String::new(),
    };
    let message = ["u32", "u64"]
        .iter()
        .fold(message.to_owned(), |m, unsigned| {
            m.replace(
                &format!("expected {unsigned}"),
                "expected a whole number, 0 or more",
            )
        });
    format!("{message}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_get_the_nearest_known_one() {
        assert_eq!(
            plain_message("unknown field `blcks`, expected one of `blocks`, `seed`"),
            "unknown field `blcks`, expected one of `blocks`, `seed` (did you mean `blocks`?)"
        );
        assert_eq!(plain_message("invalid type: `x`"), "invalid type: `x`");
        assert_eq!(
            plain_message("invalid value: integer `-2`, expected u32"),
            "invalid value: integer `-2`, expected a whole number, 0 or more"
        );
    }

    #[test]
    fn only_near_names_are_suggested() {
        let keys = ["rate_kbps", "delay_ms", "queue_ms"];
        assert_eq!(
            did_you_mean("rate_mbps", keys),
            " (did you mean `rate_kbps`?)"
        );
        assert_eq!(
            did_you_mean("dealy_ms", keys),
            " (did you mean `delay_ms`?)"
        );
        assert_eq!(did_you_mean("xyz", keys), "");
        assert_eq!(did_you_mean(&"x".repeat(1 << 20), keys), "");
    }

    #[test]
    fn errors_name_the_line_of_the_span() {
        let source = Source::new("a.toml", "x = 1\ny = 2\n");
        assert_eq!(source.error(&(6..7), "no").to_string(), "a.toml:2: no");
        assert_eq!(source.error(&(0..0), "no").line, 1);
        assert_eq!(source.error(&(99..100), "no").line, 3);
    }

    #[test]
    fn parse_errors_name_the_line() {
        let parsed = Source::new("a.toml", "x = 1\n\ny = \n").parse::<toml::Table>();
        assert_eq!(parsed.map_err(|e| e.line), Err(3));
    }
}
