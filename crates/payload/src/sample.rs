//! What the user hands in.

use serde::de::DeserializeSeed;
use serde_json::error::Category;

/// The largest sample that is read: beyond it nothing is a response any more, and the encodings
/// of a sample, which are kept side by side, would no longer fit small machines.
pub const MAX_SAMPLE_BYTES: usize = 256 << 20;

/// One JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// What messages call it, such as the name of its file.
    pub name: &'a str,
    /// The text as it came: UTF-8, one value.
    pub json: &'a [u8],
}

/// Why a sample cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// Nothing in it but white space.
    #[error("{name} is empty; it must hold one JSON value")]
    Empty {
        /// The sample.
        name: String,
    },
    /// It exceeds [`MAX_SAMPLE_BYTES`].
    #[error("{name} has {bytes} bytes, and {MAX_SAMPLE_BYTES} are the most that is read; cut it")]
    TooBig {
        /// The sample.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// It is no JSON, or none that can be held.
    #[error("{name}, line {line} column {column}: {why}")]
    Json {
        /// The sample.
        name: String,
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong.
        why: String,
    },
}

impl<'a> Sample<'a> {
    /// Reads the text as a stream into `seed`.
    pub(crate) fn read<S: DeserializeSeed<'a>>(&self, seed: S) -> Result<S::Value, SampleError> {
        let json = self.text()?;
        let mut reader = serde_json::Deserializer::from_slice(json);
        let value = seed.deserialize(&mut reader);
        let value = value.and_then(|value| reader.end().map(|()| value));
        value.map_err(|error| self.error(&error))
    }

    /// The text without the mark that some editors put before it.
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
                why: "this is UTF-16; save it as UTF-8".to_owned(),
            });
        }
        Ok(json)
    }

    fn error(&self, error: &serde_json::Error) -> SampleError {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let text = text.strip_suffix(&place).unwrap_or(&text);
        let why = if text.starts_with("recursion limit") {
            "nested deeper than 127 levels".to_owned()
        } else if error.classify() == Category::Eof {
            format!("{text}: the text ends too early")
        } else if text == "trailing characters" {
            "more follows after the value; a sample is one value".to_owned()
        } else {
            text.to_owned()
        };
        SampleError::Json {
            name: self.name.to_owned(),
            line: error.line(),
            column: error.column(),
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;
    use std::marker::PhantomData;

    fn why(json: &[u8]) -> String {
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
    fn what_is_no_json_is_named_with_its_place() {
        for (json, said) in [
            (&b""[..], "a.json is empty; it must hold one JSON value"),
            (b" \n", "a.json is empty; it must hold one JSON value"),
            (
                b"{\n \"a\": NaN}",
                "a.json, line 2 column 7: expected value",
            ),
            (
                b"{\"a\": [1, 2",
                "a.json, line 1 column 11: EOF while parsing a list: the text ends too early",
            ),
            (
                b"{\"a\": \"\xff\"}",
                "a.json, line 1 column 8: invalid unicode code point",
            ),
            (
                b"{}\n{}",
                "a.json, line 2 column 1: more follows after the value; a sample is one value",
            ),
            (
                b"\xff\xfe{\0}\0",
                "a.json, line 1 column 1: this is UTF-16; save it as UTF-8",
            ),
        ] {
            assert_eq!(why(json), said);
        }
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let deep = "[".repeat(100_000);
        assert!(why(deep.as_bytes()).ends_with("nested deeper than 127 levels"));
        let big = vec![b' '; MAX_SAMPLE_BYTES + 1];
        assert!(why(&big).contains("has 268435457 bytes"));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_value() {
        let json = b"\xef\xbb\xbf{}";
        let sample = Sample { name: "a", json };
        sample.read(PhantomData::<IgnoredAny>).unwrap();
        assert_eq!(sample.text(), Ok(&b"{}"[..]));
    }
}
