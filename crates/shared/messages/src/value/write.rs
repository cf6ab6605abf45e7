//! From serde's data model to a value file.

use std::fmt::{self, Display, Write};

use serde::ser::{Error as _, Impossible, Serialize, SerializeSeq, SerializeStruct, Serializer};

use crate::hex;

#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsupported(String);

impl serde::ser::Error for Unsupported {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Writer {
    fn line(&mut self, line: fmt::Arguments<'_>) -> Result<(), Unsupported> {
        self.text.write_fmt(line).map_err(Unsupported::custom)?;
        self.text.push('\n');
        Ok(())
    }
}

macro_rules! unsupported {
    ($($method:ident($($type:ty),*) -> $ok:ty;)*) => {
        $(fn $method(self, $(_: $type),*) -> Result<$ok, Unsupported> {
            Err(Unsupported::custom(stringify!($method)))
        })*
    };
}

impl Serializer for &mut Writer {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Self;
    type SerializeStruct = Self;
    type SerializeTuple = Impossible<(), Unsupported>;
    type SerializeTupleStruct = Impossible<(), Unsupported>;
    type SerializeTupleVariant = Impossible<(), Unsupported>;
    type SerializeMap = Impossible<(), Unsupported>;
    type SerializeStructVariant = Impossible<(), Unsupported>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, v: bool) -> Result<(), Unsupported> {
        self.line(format_args!("b {}", u8::from(v)))
    }

    fn serialize_i32(self, v: i32) -> Result<(), Unsupported> {
        self.line(format_args!("i {v}"))
    }

    fn serialize_i64(self, v: i64) -> Result<(), Unsupported> {
        self.line(format_args!("i {v}"))
    }

    fn serialize_u64(self, v: u64) -> Result<(), Unsupported> {
        self.line(format_args!("i {v}"))
    }

    fn serialize_f32(self, v: f32) -> Result<(), Unsupported> {
        self.line(format_args!("f {:08x}", v.to_bits()))
    }

    fn serialize_f64(self, v: f64) -> Result<(), Unsupported> {
        self.line(format_args!("d {:016x}", v.to_bits()))
    }

    fn serialize_str(self, v: &str) -> Result<(), Unsupported> {
        self.line(format_args!("s {}", hex(v.as_bytes())))
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), Unsupported> {
        self.line(format_args!("x {}", hex(v)))
    }

    fn serialize_none(self) -> Result<(), Unsupported> {
        self.line(format_args!("z"))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unsupported> {
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self, Unsupported> {
        let len = len.ok_or_else(|| Unsupported::custom("a sequence of unknown length"))?;
        self.line(format_args!("[ {len}"))?;
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unsupported> {
        self.line(format_args!("{{"))?;
        Ok(self)
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

impl SerializeSeq for &mut Writer {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Unsupported> {
        Ok(())
    }
}

impl SerializeStruct for &mut Writer {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Unsupported> {
        self.line(format_args!("}}"))
    }
}
