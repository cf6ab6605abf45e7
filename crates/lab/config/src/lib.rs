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
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_get_the_nearest_known_one() {
        assert_eq!(
            plain_message("unknown field `blcks`, expected one of `blocks`, `seed`"),
            "unknown field `blcks`, expected one of `blocks`, `seed` (did you mean `blocks`?)"
        );
        assert_eq!(plain_message("invalid type: `x`"), "invalid type: `x`");
    }

    #[test]
    fn expected_types_are_named_in_plain_words() {
        for (rust, plain) in [
            ("u32", "a whole number, 0 or more"),
            ("a nonzero u16", "a whole number from 1 to 65535"),
            ("f64", "a number"),
            ("a sequence", "a list"),
            ("struct RawArm", "a table"),
            ("`keep` or `flush`", "`keep` or `flush`"),
        ] {
            assert_eq!(
                plain_message(&format!("invalid type: string \"x\", expected {rust}")),
                format!("invalid type: string \"x\", expected {plain}")
            );
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        let keys = ["gate", "rate_kbps", "delay_ms", "queue_ms"];
        assert_eq!(
            did_you_mean("rate_mbps", keys),
            " (did you mean `rate_kbps`?)"
        );
        assert_eq!(
            did_you_mean("dealy_ms", keys),
            " (did you mean `delay_ms`?)"
        );
        assert_eq!(did_you_mean("rate", keys), " (did you mean `rate_kbps`?)");
        assert_eq!(did_you_mean("ra", keys), "");
        assert_eq!(did_you_mean("xyz", keys), "");
        assert_eq!(did_you_mean(&"x".repeat(1 << 20), keys), "");
    }

    #[test]
    fn errors_name_the_place_of_the_span() {
        let source = Source::new("a.toml", "x = 1\ny = 2\n");
        let place = |span: Range<usize>| {
            let error = source.error(&span, "no");
            (error.line, error.column)
        };
        assert_eq!(place(6..7), (2, 1));
        assert_eq!(place(10..11), (2, 5));
        assert_eq!(place(0..0), (1, 1));
        assert_eq!(place(99..100), (3, 1));
    }

    #[test]
    fn parse_errors_name_the_line() {
        let parsed = Source::new("a.toml", "x = 1\n\ny = \n").parse::<toml::Table>();
        assert_eq!(parsed.map_err(|e| e.line), Err(3));
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Outer {
        inner: Option<Inner>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Inner {
        speed: Option<f64>,
        ports: Option<Vec<std::num::NonZeroU16>>,
    }

    fn refusal(text: &str) -> String {
        let parsed = Source::new("a.toml", text).parse::<Outer>();
        parsed.unwrap_err().to_string()
    }

    /// Returns a refusal without the line of the text that it shows.
    fn first_line(text: &str) -> String {
        let refusal = refusal(text);
        refusal.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn parse_errors_name_the_key() {
        let cases = [
            (
                "[inner]\nspeed = 'x'",
                "a.toml:2:9: inner.speed: invalid type: string \"x\", expected a number",
            ),
            (
                "[inner]\n\nsped = 1",
                "a.toml:3:1: inner: unknown field `sped`, expected `speed` or `ports` \
                 (did you mean `speed`?)",
            ),
            (
                "inner.ports = [\n1,\n0]",
                "a.toml:3:1: inner.ports: invalid value: integer `0`, \
                 expected a whole number from 1 to 65535",
            ),
            (
                "iner = 1",
                "a.toml:1:1: unknown field `iner`, expected `inner` (did you mean `inner`?)",
            ),
            (
                "inner = 1",
                "a.toml:1:9: inner: invalid type: integer `1`, expected a table",
            ),
        ];
        for (text, error) in cases {
            assert_eq!(first_line(text), error);
        }
    }

    #[test]
    fn keys_that_people_try_are_answered() {
        let hints = [("sped", "write `speed`, in km/h")];
        let source = Source::new("a.toml", "[inner]\nsped = 1").with_hints(&hints);
        let error = source.parse::<Outer>().unwrap_err();
        let expected = "inner: unknown field `sped`: write `speed`, in km/h";
        assert_eq!(error.message, expected);
        let other = source.parse::<Inner>().unwrap_err().message;
        assert!(
            other.starts_with("unknown field `inner`, expected"),
            "{other}"
        );
    }

    #[test]
    fn errors_at_a_key_name_its_line_or_that_of_its_table() {
        let text = "x = 1\n\n[down]\n[down.gate]\nqueue = 2\n[[arm]]\n[[arm]]\nname = 1";
        let source = Source::new("a.toml", text);
        let line = |key| source.error_at(key, "no").line;
        assert_eq!(line("x"), 1);
        assert_eq!(line("down"), 3);
        assert_eq!(line("down.gate.queue"), 5);
        assert_eq!(line("down.gate.closed"), 4);
        assert_eq!(line("down.x.y"), 3);
        assert_eq!(line("up"), 1);
        assert_eq!(line("arm.1"), 7);
        assert_eq!(line("arm.1.name"), 8);
        assert_eq!(line("arm.0.name"), 6);
        assert_eq!(line("arm.2"), 6);
    }

    #[test]
    fn errors_in_a_table_mark_the_key_that_they_are_about() {
        let text =
            "[[step]]\ncall = 'a'\n\n[[step]]\nsteps = [{ call = 'b', times = 0 }]\npath = '/'";
        #[derive(serde::Deserialize)]
        struct File {
            step: Vec<Spanned<Step>>,
        }
        #[derive(serde::Deserialize)]
        struct Step {
            #[serde(default)]
            steps: Vec<Spanned<toml::Table>>,
        }
        let source = Source::new("a.toml", text);
        let file: File = source.parse().unwrap();
        let outer = file.step[1].span();
        let inner = file.step[1].get_ref().steps[0].span();
        let place = |table: &Range<usize>, message: &str| {
            let error = source.error_in(table, message);
            (error.line, error.column)
        };
        assert_eq!(place(&inner, "times = 0 is out of range"), (5, 32));
        assert_eq!(place(&inner, "`call` and `times` differ"), (5, 19));
        assert_eq!(place(&outer, "path: no"), (6, 8));
        assert_eq!(place(&outer, "leave out `path`"), (6, 8));
        assert_eq!(place(&outer, "times = 0 is out of range"), (4, 1));
        assert_eq!(place(&(0..0), "path: no"), (1, 1));
    }

    #[test]
    fn hostile_text_gives_short_printable_messages() {
        let long = "k".repeat(1 << 20);
        for text in [
            format!("{long} = 1"),
            format!("\"\\u001b[2J{long}\" = 1"),
            format!("inner = '{long}'"),
            format!("[inner]\nspeed = '{long}'"),
            format!("[inner.{long}]"),
            format!("{long}.{long} = 1"),
            format!("x = {long}"),
        ] {
            let error = refusal(&text);
            assert!(error.len() < 1400, "{} bytes", error.len());
            assert!(!error.contains(|c: char| c.is_control() && c != '\n'));
        }
        let error = first_line(&format!("[inner]\n{long} = 1"));
        assert!(error.starts_with("a.toml:2:1: inner: unknown field `kkk"));
        assert!(error.ends_with("kkk`, expected `speed` or `ports`"));
    }
}
