//! MessagePack as it was before 2013, in the dialect of study 4's library: integers take the
//! smallest *signed* form, text and bytes are both "raw", and raw has no 8-bit length.

use std::fmt::Display;
use std::io;

use rmp::Marker;
use rmp::encode::{
    write_array_len, write_bool, write_f32, write_f64, write_i8, write_i16, write_i32, write_i64,
    write_map_len, write_nfix, write_nil, write_pfix, write_u64,
};
use serde::ser::{Error as _, Impossible, Serialize, SerializeSeq, SerializeStruct, Serializer};

/// Encodes into a fresh buffer. Messages of the schema need nothing but what is here.
pub(super) fn to_vec<T: Serialize>(message: &T) -> Result<Vec<u8>, Unwritable> {
    let mut out = Vec::new();
    message.serialize(Old { out: &mut out })?;
    Ok(out)
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unwritable(String);

impl serde::ser::Error for Unwritable {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

struct Old<'o> {
    out: &'o mut Vec<u8>,
}

impl Old<'_> {
    fn integer(self, v: i64) -> Result<(), Unwritable> {
        let out = self.out;
        done(match v {
            0..=127 => write_pfix(out, v as u8),
            -32..0 => write_nfix(out, v as i8),
            _ => match (i8::try_from(v), i16::try_from(v), i32::try_from(v)) {
                (Ok(v), _, _) => write_i8(out, v).map_err(io::Error::from),
                (_, Ok(v), _) => write_i16(out, v).map_err(io::Error::from),
                (_, _, Ok(v)) => write_i32(out, v).map_err(io::Error::from),
                _ => write_i64(out, v).map_err(io::Error::from),
            },
        })
    }

    fn raw(self, bytes: &[u8]) -> Result<(), Unwritable> {
        match bytes.len() {
            n @ ..32 => self.out.push(Marker::FixStr(n as u8).to_u8()),
            n => match (u16::try_from(n), u32::try_from(n)) {
                (Ok(n), _) => {
                    self.out.push(Marker::Str16.to_u8());
                    self.out.extend_from_slice(&n.to_be_bytes());
                }
                (_, Ok(n)) => {
                    self.out.push(Marker::Str32.to_u8());
                    self.out.extend_from_slice(&n.to_be_bytes());
                }
                _ => return Err(Unwritable::custom("longer than 4 GiB")),
            },
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

/// Lengths above 2^32 apart, writing to memory does not fail.
fn done<T>(result: io::Result<T>) -> Result<(), Unwritable> {
    result.map(drop).map_err(Unwritable::custom)
}

fn length(n: usize) -> Result<u32, Unwritable> {
    u32::try_from(n).map_err(Unwritable::custom)
}

macro_rules! not_in_the_schema {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $type),*) -> Result<$ok, Unwritable> {
            Err(Unwritable::custom(stringify!($method)))
        })*
    };
}

impl<'o> Serializer for Old<'o> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Many<'o>;
    type SerializeStruct = Many<'o>;
    type SerializeTuple = Impossible<(), Unwritable>;
    type SerializeTupleStruct = Impossible<(), Unwritable>;
    type SerializeTupleVariant = Impossible<(), Unwritable>;
    type SerializeMap = Impossible<(), Unwritable>;
    type SerializeStructVariant = Impossible<(), Unwritable>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, v: bool) -> Result<(), Unwritable> {
        done(write_bool(self.out, v))
    }

    fn serialize_i32(self, v: i32) -> Result<(), Unwritable> {
        self.integer(v.into())
    }

    fn serialize_i64(self, v: i64) -> Result<(), Unwritable> {
        self.integer(v)
    }

    fn serialize_u64(self, v: u64) -> Result<(), Unwritable> {
        match i64::try_from(v) {
            Ok(v) => self.integer(v),
            Err(_) => done(write_u64(self.out, v).map_err(io::Error::from)),
        }
    }

    fn serialize_f32(self, v: f32) -> Result<(), Unwritable> {
        done(write_f32(self.out, v).map_err(io::Error::from))
    }

    fn serialize_f64(self, v: f64) -> Result<(), Unwritable> {
        done(write_f64(self.out, v).map_err(io::Error::from))
    }

    fn serialize_str(self, v: &str) -> Result<(), Unwritable> {
        self.raw(v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), Unwritable> {
        self.raw(v)
    }

    fn serialize_none(self) -> Result<(), Unwritable> {
        done(write_nil(self.out))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unwritable> {
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Many<'o>, Unwritable> {
        let len = len.ok_or_else(|| Unwritable::custom("a sequence of unknown length"))?;
        done(write_array_len(self.out, length(len)?).map_err(io::Error::from))?;
        Ok(Many { out: self.out })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Many<'o>, Unwritable> {
        done(write_map_len(self.out, length(len)?).map_err(io::Error::from))?;
        Ok(Many { out: self.out })
    }

    not_in_the_schema! {
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_char(char) -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unwritable> {
        Err(Unwritable::custom("serialize_newtype_struct"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unwritable> {
        Err(Unwritable::custom("serialize_newtype_variant"))
    }
}

struct Many<'o> {
    out: &'o mut Vec<u8>,
}

impl SerializeSeq for Many<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unwritable> {
        value.serialize(Old { out: self.out })
    }

    fn end(self) -> Result<(), Unwritable> {
        Ok(())
    }
}

impl SerializeStruct for Many<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unwritable> {
        Old { out: self.out }.raw(name.as_bytes())?;
        value.serialize(Old { out: self.out })
    }

    fn end(self) -> Result<(), Unwritable> {
        Ok(())
    }
}
