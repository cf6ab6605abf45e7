//! MessagePack as specified before 2013, as the unity-msgpack study's library writes it: integers
//! take the smallest *signed* format, text and bytes are both "raw", and raw has no 8-bit length.
//!
//! Written by hand because rmp-serde writes the present format only.

use std::fmt::Display;
use std::io;

use rmp::Marker;
use rmp::encode::{
    write_array_len, write_bool, write_f32, write_f64, write_i8, write_i16, write_i32, write_i64,
    write_map_len, write_nfix, write_nil, write_pfix, write_u64,
};
use serde::ser::{Error as _, Impossible, Serialize, SerializeSeq, SerializeStruct, Serializer};

/// Encodes into a fresh buffer. Supports the types in the schema, and no others.
pub(super) fn to_vec<T: Serialize>(message: &T) -> Result<Vec<u8>, Unsupported> {
    let mut out = Vec::new();
    message.serialize(Serialiser { out: &mut out })?;
    Ok(out)
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsupported(String);

impl serde::ser::Error for Unsupported {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

struct Serialiser<'o> {
    out: &'o mut Vec<u8>,
}

impl Serialiser<'_> {
    fn integer(self, v: i64) -> Result<(), Unsupported> {
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

    fn raw(self, bytes: &[u8]) -> Result<(), Unsupported> {
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
                _ => return Err(Unsupported::custom("longer than 4 GiB")),
            },
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

/// Converts an error that does not happen: writing to memory does not fail.
fn done<T>(result: io::Result<T>) -> Result<(), Unsupported> {
    result.map(drop).map_err(Unsupported::custom)
}

fn length(n: usize) -> Result<u32, Unsupported> {
    u32::try_from(n).map_err(Unsupported::custom)
}

macro_rules! unsupported {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $type),*) -> Result<$ok, Unsupported> {
            Err(Unsupported::custom(stringify!($method)))
        })*
    };
}

impl<'o> Serializer for Serialiser<'o> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Compound<'o>;
    type SerializeStruct = Compound<'o>;
    type SerializeTuple = Impossible<(), Unsupported>;
    type SerializeTupleStruct = Impossible<(), Unsupported>;
    type SerializeTupleVariant = Impossible<(), Unsupported>;
    type SerializeMap = Impossible<(), Unsupported>;
    type SerializeStructVariant = Impossible<(), Unsupported>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, v: bool) -> Result<(), Unsupported> {
        done(write_bool(self.out, v))
    }

    fn serialize_i32(self, v: i32) -> Result<(), Unsupported> {
        self.integer(v.into())
    }

    fn serialize_i64(self, v: i64) -> Result<(), Unsupported> {
        self.integer(v)
    }

    fn serialize_u64(self, v: u64) -> Result<(), Unsupported> {
        match i64::try_from(v) {
            Ok(v) => self.integer(v),
            Err(_) => done(write_u64(self.out, v).map_err(io::Error::from)),
        }
    }

    fn serialize_f32(self, v: f32) -> Result<(), Unsupported> {
        done(write_f32(self.out, v).map_err(io::Error::from))
    }

    fn serialize_f64(self, v: f64) -> Result<(), Unsupported> {
        done(write_f64(self.out, v).map_err(io::Error::from))
    }

    fn serialize_str(self, v: &str) -> Result<(), Unsupported> {
        self.raw(v.as_bytes())
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), Unsupported> {
        self.raw(v)
    }

    fn serialize_none(self) -> Result<(), Unsupported> {
        done(write_nil(self.out))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unsupported> {
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'o>, Unsupported> {
        let len = len.ok_or_else(|| Unsupported::custom("a sequence of unknown length"))?;
        done(write_array_len(self.out, length(len)?).map_err(io::Error::from))?;
        Ok(Compound { out: self.out })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Compound<'o>, Unsupported> {
        done(write_map_len(self.out, length(len)?).map_err(io::Error::from))?;
        Ok(Compound { out: self.out })
    }

    unsupported! {
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
    ) -> Result<(), Unsupported> {
        Err(Unsupported::custom("serialize_newtype_struct"))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Unsupported> {
        Err(Unsupported::custom("serialize_newtype_variant"))
    }
}

struct Compound<'o> {
    out: &'o mut Vec<u8>,
}

impl SerializeSeq for Compound<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        value.serialize(Serialiser { out: self.out })
    }

    fn end(self) -> Result<(), Unsupported> {
        Ok(())
    }
}

impl SerializeStruct for Compound<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        Serialiser { out: self.out }.raw(name.as_bytes())?;
        value.serialize(Serialiser { out: self.out })
    }

    fn end(self) -> Result<(), Unsupported> {
        Ok(())
    }
}
