//! The user's JSON.

use serde::de::DeserializeSeed;
use serde_json::error::Category;

/// The largest sample that is read, in bytes. Larger bodies are hardly responses, and the
/// encodings of a sample, all in memory at once, would not fit on small machines.
pub const MAX_SAMPLE_BYTES: usize = 256 << 20;

/// One JSON text and its name.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The name in messages, e.g. a file name.
    pub name: &'a str,
    /// The text: one JSON value in UTF-8.
    pub json: &'a [u8],
}

/// Why a sample cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// The sample has nothing but white space.
    #[error("{name} is empty; it must hold one JSON value")]
    Empty {
        /// The sample's name.
        name: String,
    },
    /// The sample exceeds [`MAX_SAMPLE_BYTES`].
    #[error("{name} has {bytes} bytes; the limit is {MAX_SAMPLE_BYTES}")]
    TooBig {
        /// The sample's name.
        name: String,
        /// The size in bytes.
        bytes: usize,
    },
    /// The sample is not JSON, or not JSON that a schema can hold.
    #[error("{name}, line {line} column {column}: {reason}")]
    Json {
        /// The sample's name.
        name: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// The parser's error, or why the value is refused.
        reason: String,
    },
}

impl<'a> Sample<'a> {
    /// Streams the text into `seed`.
    pub(crate) fn read<S: DeserializeSeed<'a>>(&self, seed: S) -> Result<S::Value, SampleError> {
        let json = self.text()?;
        let mut reader = serde_json::Deserializer::from_slice(json);
        let value = seed.deserialize(&mut reader);
        let value = value.and_then(|value| reader.end().map(|()| value));
        value.map_err(|error| self.error(&error))
    }

    /// Returns the text without its byte order mark.
    pub(crate) fn text(&self) -> Result<&'a [u8], SampleError> {
        let name = || self.name.to_owned();
        if self.json.len() > MAX_SAMPLE_BYTES {
            return Err(SampleError::TooBig {
                name: name(),
                bytes: self.json.len(),
            });
        }
        let json = self.json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.json);
        if json.iter().all(u8::is_ascii_whitespace) {
            return Err(SampleError::Empty { name: name() });
        }
        if json.starts_with(b"\xff\xfe") || json.starts_with(b"\xfe\xff") {
            return Err(SampleError::Json {
                name: name(),
                line: 1,
                column: 1,
                reason: "this is UTF-16; save it as UTF-8".to_owned(),
            });
        }
        Ok(json)
    }

    fn error(&self, error: &serde_json::Error) -> SampleError {
        let position = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let text = text.strip_suffix(&position).unwrap_or(&text);
        let reason = if text.starts_with("recursion limit") {
            "nested deeper than 127 levels".to_owned()
        } else if error.classify() == Category::Eof {
            format!("{text}; the text is incomplete")
        } else if text == "trailing characters" {
            "there is more after the value; a sample is one value".to_owned()
        } else if text.contains("hex escape") {
            "an escape like \\ud83d is half a character, because the text was cut; write \\ufffd instead".to_owned()
        } else {
            text.to_owned()
        };
        SampleError::Json {
            name: self.name.to_owned(),
            line: error.line(),
            column: error.column(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;
    use std::marker::PhantomData;

    fn error(json: &[u8]) -> String {
        let sample = Sample {
            name: "a.json",
            json,
        };
        sample
            .read(PhantomData::<serde_json::Value>)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn invalid_json_is_reported_with_its_position() {
        for (json, message) in [
            (&b""[..], "a.json is empty; it must hold one JSON value"),
            (b" \n", "a.json is empty; it must hold one JSON value"),
            (
                b"{\n \"a\": NaN}",
                "a.json, line 2 column 7: expected value",
            ),
            (
                b"{\"a\": [1, 2",
                "a.json, line 1 column 11: EOF while parsing a list; the text is incomplete",
            ),
            (
                b"{\"a\": \"\xff\"}",
                "a.json, line 1 column 8: invalid unicode code point",
            ),
            (
                b"{}\n{}",
                "a.json, line 2 column 1: there is more after the value; a sample is one value",
            ),
            (
                b"\"\\ud83d\"",
                "a.json, line 1 column 8: an escape like \\ud83d is half a character, because the text was cut; write \
                 \\ufffd instead",
            ),
            (
                b"\xff\xfe{\0}\0",
                "a.json, line 1 column 1: this is UTF-16; save it as UTF-8",
            ),
        ] {
            assert_eq!(error(json), message);
        }
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let deep = "[".repeat(100_000);
        assert!(error(deep.as_bytes()).ends_with("nested deeper than 127 levels"));
        let big = vec![b' '; MAX_SAMPLE_BYTES + 1];
        assert!(error(&big).contains("has 268435457 bytes"));
    }

    #[test]
    fn byte_order_mark_is_skipped() {
        let json = b"\xef\xbb\xbf{}";
        let sample = Sample { name: "a", json };
        sample.read(PhantomData::<IgnoredAny>).unwrap();
        assert_eq!(sample.text(), Ok(&b"{}"[..]));
    }
}
