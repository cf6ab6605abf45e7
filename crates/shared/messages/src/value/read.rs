//! From a value file to serde's data model.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::ValueError;

pub(super) fn message<T: DeserializeOwned>(text: &str) -> Result<T, ValueError> {
    let mut reader = Reader {
        rest: text.split_inclusive('\n').peekable(),
        line: 0,
    };
    let message = T::deserialize(&mut reader);
    let message = message.map_err(|Invalid(problem)| ValueError {
        line: reader.line.max(1),
        problem,
    })?;
    match reader.rest.next() {
        None => Ok(message),
        Some(_) => Err(ValueError {
            line: reader.line + 1,
            problem: "there is more after the end of the message".into(),
        }),
    }
}

struct Reader<'t> {
    rest: std::iter::Peekable<std::str::SplitInclusive<'t, char>>,
    line: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Invalid(String);

impl serde::de::Error for Invalid {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl<'t> Reader<'t> {
    /// Returns the next line without its newline. A missing newline means a truncated file.
    fn next(&mut self) -> Result<&'t str, Invalid> {
        self.line += 1;
        let line = self
            .rest
            .next()
            .ok_or_else(|| Invalid("the file is incomplete".into()))?;
        line.strip_suffix('\n')
            .ok_or_else(|| Invalid("the line has no newline; the file is incomplete".into()))
    }

    /// Returns the rest of the next line, which must start with `kind`.
    fn leaf(&mut self, kind: &str) -> Result<&'t str, Invalid> {
        let line = self.next()?;
        line.strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix(' '))
            .ok_or_else(|| Invalid(format!("expected `{kind} ...`, found `{}`", excerpt(line))))
    }

    fn number<N: FromStr>(&mut self) -> Result<N, Invalid> {
        let text = self.leaf("i")?;
        text.parse().map_err(|_| {
            Invalid(format!(
                "`{}` is not an integer in this field's range",
                excerpt(text)
            ))
        })
    }

    fn bits(&mut self, kind: &str, digits: usize) -> Result<u64, Invalid> {
        let text = self.leaf(kind)?;
        let bits = u64::from_str_radix(text, 16).ok();
        bits.filter(|_| text.len() == digits)
            .ok_or_else(|| Invalid(format!("`{}` is not {digits} hex digits", excerpt(text))))
    }

    fn bytes(&mut self, kind: &str) -> Result<Vec<u8>, Invalid> {
        let text = self.leaf(kind)?.as_bytes();
        let digit = |c: &u8| char::from(*c).to_digit(16);
        let (pairs, odd) = text.as_chunks::<2>();
        let byte = |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        bytes
            .filter(|_| odd.is_empty())
            .ok_or_else(|| Invalid("not pairs of hex digits".into()))
    }

    fn exactly(&mut self, line: &str) -> Result<(), Invalid> {
        match self.next()? {
            found if found == line => Ok(()),
            found => Err(Invalid(format!(
                "expected `{line}`, found `{}`",
                excerpt(found)
            ))),
        }
    }
}

fn excerpt(line: &str) -> String {
    line.chars().take(40).collect()
}

impl<'de> Deserializer<'de> for &mut Reader<'_> {
    type Error = Invalid;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        match self.leaf("b")? {
            "0" => visitor.visit_bool(false),
            "1" => visitor.visit_bool(true),
            other => Err(Invalid(format!("`{}` is neither 0 nor 1", excerpt(other)))),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_i32(self.number()?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_i64(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_u64(self.number()?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_f32(f32::from_bits(self.bits("f", 8)? as u32))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_f64(f64::from_bits(self.bits("d", 16)?))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        let text = String::from_utf8(self.bytes("s")?);
        visitor.visit_string(text.map_err(|e| Invalid(e.to_string()))?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        visitor.visit_byte_buf(self.bytes("x")?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        if self.rest.peek() == Some(&"z\n") {
            self.next()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Invalid> {
        let remaining = self.leaf("[")?.parse();
        let remaining =
            remaining.map_err(|_| Invalid("`[` needs the number of elements".into()))?;
        visitor.visit_seq(Elements {
            reader: self,
            remaining,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Invalid> {
        self.exactly("{")?;
        let value = visitor.visit_map(Fields {
            reader: &mut *self,
            remaining: fields.iter(),
        })?;
        self.exactly("}")?;
        Ok(value)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Invalid> {
        Err(Invalid(
            "value files do not support this field's type".into(),
        ))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 u8 u16 u32 char str bytes unit unit_struct newtype_struct tuple tuple_struct map
        enum identifier ignored_any
    }
}

struct Elements<'r, 't> {
    reader: &'r mut Reader<'t>,
    remaining: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, '_> {
    type Error = Invalid;

    // No size hint: the file's count is not trusted, so memory grows with the elements read.
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Invalid> {
        if self.remaining == 0 {
            return Ok(None);
        }
        self.remaining -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// Presents fields, which the file has by position, with their names.
struct Fields<'r, 't> {
    reader: &'r mut Reader<'t>,
    remaining: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Invalid;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Invalid> {
        match self.remaining.next() {
            None => Ok(None),
            Some(name) => {
                let name: StrDeserializer<'_, Invalid> = StrDeserializer::new(name);
                seed.deserialize(name).map(Some)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Invalid> {
        seed.deserialize(&mut *self.reader)
    }
}
