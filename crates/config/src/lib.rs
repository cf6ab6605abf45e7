//! TOML that people write, e.g. studies and networks: every error names the file, the line, the
//! key, what is wrong and what would be right.
//!
//! serde parses a [`Source`] into a struct. A later check that refuses a value reports it with
//! [`Source::error_at`] by its key, or with [`Source::error`] by its span if it is a
//! [`toml::Spanned`]. Unknown keys and names get the nearest known one from [`did_you_mean`].
//!
//! Messages stay short whatever the text contains, and hold no control characters.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::DeTable;

/// A suggestion compares this much of a name.
const MAX_NAME_CHARS: usize = 80;

/// A shorter name than this is the beginning of too many others to suggest one.
const MIN_PREFIX_BYTES: usize = 3;

/// Of a longer message only the two ends are kept, this many characters each.
const MESSAGE_END_CHARS: usize = 500;

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
            let message = match key_of(&e) {
                Some(key) => format!("{key}: {}", plain_message(e.message())),
                None => plain_message(e.message()),
            };
            self.error(&e.span().unwrap_or(0..0), message)
        })
    }

    /// Returns an error at the line of a key, e.g. `down.gate.queue`; if the text lacks the key, at
    /// the line of the nearest table above it.
    pub fn error_at(&self, key: &str, message: impl Into<String>) -> ConfigError {
        self.error(&self.span_of(key).unwrap_or(0..0), message)
    }

    /// Returns an error at the line where `span` begins.
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        ConfigError {
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|&&b| b == b'\n').count(),
            message: bounded(&message.into()),
        }
    }

    /// The span of the last part of a dotted key that is in the text.
    fn span_of(&self, key: &str) -> Option<Range<usize>> {
        let root = DeTable::parse(self.text).ok()?;
        let mut table = Some(root.get_ref());
        let mut span = None;
        for name in key.split('.') {
            let Some((name, value)) = table.and_then(|table| table.get_key_value(name)) else {
                break;
            };
            span = Some(name.span());
            table = value.get_ref().as_table();
        }
        span
    }
}

/// Returns ` (did you mean `x`?)` for the known name nearest to `wanted`, or nothing when none is
/// near. A name that `wanted` begins is near, e.g. `rate_kbps` for `rate`.
pub fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A name from outside may be megabytes long; the distance is quadratic in it.
    let wanted: String = wanted.chars().take(MAX_NAME_CHARS).collect();
    let distance = |name: &str| match strsim::damerau_levenshtein(&wanted, name) {
        far if wanted.len() >= MIN_PREFIX_BYTES && name.starts_with(&wanted) => far.min(1),
        edits => edits,
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

/// The dotted key of the value or table that serde refused. toml keeps it private and prints it
/// only where it has no text to quote from.
fn key_of(error: &toml::de::Error) -> Option<String> {
    let mut error = error.clone();
    error.set_input(None);
    let printed = error.to_string();
    let key = printed.strip_prefix(error.message())?.trim();
    Some(key.strip_prefix("in `")?.strip_suffix('`')?.to_owned())
}

/// serde's message without the names of Rust types, and with the nearest of the names it expected.
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

/// A message without control characters; of a long one the beginning and the end.
fn bounded(message: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let length = message.chars().count();
    if length <= 2 * MESSAGE_END_CHARS {
        return message.chars().map(printable).collect();
    }
    let begin = message.chars().take(MESSAGE_END_CHARS);
    let end = message.chars().skip(length - MESSAGE_END_CHARS);
    begin
        .chain(" ... ".chars())
        .chain(end)
        .map(printable)
        .collect()
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
        let keys = ["rate_kbps", "delay_ms", "queue_ms"];
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

    #[test]
    fn parse_errors_name_the_key() {
        let cases = [
            (
                "[inner]\nspeed = 'x'",
                "a.toml:2: inner.speed: invalid type: string \"x\", expected a number",
            ),
            (
                "[inner]\n\nsped = 1",
                "a.toml:3: inner: unknown field `sped`, expected `speed` or `ports` \
                 (did you mean `speed`?)",
            ),
            (
                "inner.ports = [\n1,\n0]",
                "a.toml:3: inner.ports: invalid value: integer `0`, \
                 expected a whole number from 1 to 65535",
            ),
            (
                "iner = 1",
                "a.toml:1: unknown field `iner`, expected `inner` (did you mean `inner`?)",
            ),
            (
                "inner = 1",
                "a.toml:1: inner: invalid type: integer `1`, expected a table",
            ),
        ];
        for (text, error) in cases {
            assert_eq!(refusal(text), error);
        }
    }

    #[test]
    fn errors_at_a_key_name_its_line_or_that_of_its_table() {
        let source = Source::new("a.toml", "x = 1\n\n[down]\n[down.gate]\nqueue = 2\n");
        let line = |key| source.error_at(key, "no").line;
        assert_eq!(line("x"), 1);
        assert_eq!(line("down"), 3);
        assert_eq!(line("down.gate.queue"), 5);
        assert_eq!(line("down.gate.closed"), 4);
        assert_eq!(line("down.x.y"), 3);
        assert_eq!(line("up"), 1);
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
            assert!(error.len() < 1200, "{} bytes", error.len());
            assert!(!error.contains(char::is_control));
        }
        let error = refusal(&format!("[inner]\n{long} = 1"));
        assert!(error.starts_with("a.toml:2: inner: unknown field `kkk"));
        assert!(error.ends_with("kkk`, expected `speed` or `ports`"));
    }
}
