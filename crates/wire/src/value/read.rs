//! Lines to serde's data model.

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
    let message = message.map_err(|Broken(problem)| ValueError {
        line: reader.line.max(1),
        problem,
    })?;
    match reader.rest.next() {
        None => Ok(message),
        Some(_) => Err(ValueError {
            line: reader.line + 1,
            problem: "the message has ended; nothing may follow".into(),
        }),
    }
}

struct Reader<'t> {
    rest: std::iter::Peekable<std::str::SplitInclusive<'t, char>>,
    line: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Broken(String);

impl serde::de::Error for Broken {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl<'t> Reader<'t> {
    /// The next line without its end; a line that does not end is a file cut short.
    fn next(&mut self) -> Result<&'t str, Broken> {
        self.line += 1;
        let line = self
            .rest
            .next()
            .ok_or_else(|| Broken("the file ends too early".into()))?;
        line.strip_suffix('\n')
            .ok_or_else(|| Broken("the line has no end: the file was cut short".into()))
    }

    /// What follows `kind` on the next line.
    fn leaf(&mut self, kind: &str) -> Result<&'t str, Broken> {
        let line = self.next()?;
        line.strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix(' '))
            .ok_or_else(|| Broken(format!("`{}` where `{kind} ...` belongs", shown(line))))
    }

    fn number<N: FromStr>(&mut self) -> Result<N, Broken> {
        let text = self.leaf("i")?;
        text.parse()
            .map_err(|_| Broken(format!("`{}` is no integer of this field", shown(text))))
    }

    fn bits(&mut self, kind: &str, digits: usize) -> Result<u64, Broken> {
        let text = self.leaf(kind)?;
        let bits = u64::from_str_radix(text, 16).ok();
        bits.filter(|_| text.len() == digits)
            .ok_or_else(|| Broken(format!("`{}` is not {digits} hex digits", shown(text))))
    }

    fn bytes(&mut self, kind: &str) -> Result<Vec<u8>, Broken> {
        let text = self.leaf(kind)?.as_bytes();
        let digit = |c: &u8| char::from(*c).to_digit(16);
        let (pairs, odd) = text.as_chunks::<2>();
        let byte = |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        bytes
            .filter(|_| odd.is_empty())
            .ok_or_else(|| Broken("not pairs of hex digits".into()))
    }

    fn exactly(&mut self, line: &str) -> Result<(), Broken> {
        match self.next()? {
            found if found == line => Ok(()),
            found => Err(Broken(format!("`{}` where `{line}` belongs", shown(found)))),
        }
    }
}

fn shown(line: &str) -> String {
    line.chars().take(40).collect()
}

impl<'de> Deserializer<'de> for &mut Reader<'_> {
    type Error = Broken;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        match self.leaf("b")? {
            "0" => visitor.visit_bool(false),
            "1" => visitor.visit_bool(true),
            other => Err(Broken(format!("`{}` is neither 0 nor 1", shown(other)))),
        }
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_i32(self.number()?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_i64(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_u64(self.number()?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_f32(f32::from_bits(self.bits("f", 8)? as u32))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_f64(f64::from_bits(self.bits("d", 16)?))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        let text = String::from_utf8(self.bytes("s")?);
        visitor.visit_string(text.map_err(|e| Broken(e.to_string()))?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        visitor.visit_byte_buf(self.bytes("x")?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        if self.rest.peek() == Some(&"z\n") {
            self.next()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Broken> {
        let left = self.leaf("[")?.parse();
        let left = left.map_err(|_| Broken("`[` wants the number of elements".into()))?;
        visitor.visit_seq(Elements { reader: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Broken> {
        self.exactly("{")?;
        let value = visitor.visit_map(Fields {
            reader: &mut *self,
            left: fields.iter(),
        })?;
        self.exactly("}")?;
        Ok(value)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Broken> {
        Err(Broken(
            "a field of a kind that value files do not know".into(),
        ))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 u8 u16 u32 char str bytes unit unit_struct newtype_struct tuple tuple_struct map
        enum identifier ignored_any
    }
}

struct Elements<'r, 't> {
    reader: &'r mut Reader<'t>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, '_> {
    type Error = Broken;

    // No size hint: the count is the file's word, and memory follows what is there.
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Broken> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

/// Fields by position, presented under their names.
struct Fields<'r, 't> {
    reader: &'r mut Reader<'t>,
    left: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Broken;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Broken> {
        match self.left.next() {
            None => Ok(None),
            Some(name) => {
                let name: StrDeserializer<'_, Broken> = StrDeserializer::new(name);
                seed.deserialize(name).map(Some)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Broken> {
        seed.deserialize(&mut *self.reader)
    }
}
