//! Messages to bytes and back, as an app would: the library that its language's users ship,
//! called as its authors advise.

mod compression;
mod media;
mod msgpack_old;

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use compression::{Compression, Compressor, DecompressError};
pub use media::MediaError;

use crate::{Kind, Message};

/// A form and what is done to its bytes, named as `json+gzip-6`.
///
/// ```
/// let codec: wire::Codec = "json+gzip-6".parse().unwrap();
/// let message = "api-2kB".parse::<wire::Name>().unwrap().message(1);
/// let mut coder = codec.coder();
/// let bytes = coder.encode(&message);
/// assert!(bytes.len() < 1_500);
/// assert_eq!(coder.decode(message.kind(), &bytes).unwrap(), message);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Codec {
    /// How the message is written.
    pub form: Form,
    /// How that is made shorter.
    pub compression: Compression,
}

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// JSON by serde_json: the schema's JSON names, no white space.
    Json,
    /// Protobuf by prost.
    Protobuf,
    /// MessagePack by rmp-serde, maps with names.
    Msgpack,
    /// MessagePack by rmp-serde, fields by position.
    MsgpackArray,
    /// Study 4's MessagePack, after the specification before 2013: signed integers only, raw
    /// instead of str and bin. By a serializer of our own on rmp.
    MsgpackOld,
}

/// No codec has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no codec is named `{0}`; a codec is json, protobuf, msgpack, msgpack-array or msgpack-old, \
     perhaps followed by +gzip-1, +gzip-6 or +zstd-3"
)]
pub struct CodecError(String);

/// Bytes that do not hold such a message.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// What was around them could not be taken off.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// The form is broken, or of another message.
    #[error("no {} in {form}: {problem}", kind.name())]
    Form {
        /// What was asked for.
        kind: Kind,
        /// In which form.
        form: Form,
        /// The library's words.
        problem: String,
    },
}

impl Codec {
    /// A form without compression.
    pub const fn plain(form: Form) -> Self {
        let compression = Compression::None;
        Self { form, compression }
    }

    /// Takes up the work with fresh contexts.
    pub fn coder(self) -> Coder {
        Coder {
            form: self.form,
            compressor: Compressor::new(self.compression),
        }
    }
}

/// A codec at work; compression contexts are kept from message to message.
pub struct Coder {
    form: Form,
    compressor: Compressor,
}

impl Coder {
    /// Encodes into a fresh buffer.
    pub fn encode(&mut self, message: &Message) -> Vec<u8> {
        let bytes = with_message!(message, m => self.form.encode(m));
        self.compressor.compress(bytes)
    }

    /// Decodes what should be a message of `kind`.
    pub fn decode(&mut self, kind: Kind, bytes: &[u8]) -> Result<Message, DecodeError> {
        self.decode_within(kind, bytes, SIZE_LIMIT_BYTES)
    }

    /// The same, of bytes that may unfold to at most `limit`.
    pub fn decode_within(
        &mut self,
        kind: Kind,
        bytes: &[u8],
        limit: usize,
    ) -> Result<Message, DecodeError> {
        let bytes = self.compressor.decompress(bytes, limit)?;
        with_kind!(kind, T => match self.form.decode::<T>(&bytes) {
            Ok(message) => Ok(message.into()),
            Err(problem) => Err(DecodeError::Form { kind, form: self.form, problem }),
        })
    }
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Json,
        Self::Protobuf,
        Self::Msgpack,
        Self::MsgpackArray,
        Self::MsgpackOld,
    ];

    /// Its name in studies and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
            Self::Msgpack => "msgpack",
            Self::MsgpackArray => "msgpack-array",
            Self::MsgpackOld => "msgpack-old",
        }
    }

    /// Encodes into a fresh buffer.
    pub fn encode<T: Serialize + prost::Message>(self, message: &T) -> Vec<u8> {
        // Buffers in memory do not fail, and every message is of the schema.
        const WHY: &str = "every message of the schema has every form";
        match self {
            Self::Json => serde_json::to_vec(message).expect(WHY),
            Self::Protobuf => message.encode_to_vec(),
            Self::Msgpack => rmp_serde::to_vec_named(message).expect(WHY),
            Self::MsgpackArray => rmp_serde::to_vec(message).expect(WHY),
            Self::MsgpackOld => msgpack_old::to_vec(message).expect(WHY),
        }
    }

    /// Decodes; an error is the library's words.
    pub fn decode<T: DeserializeOwned + prost::Message + Default>(
        self,
        bytes: &[u8],
    ) -> Result<T, String> {
        match self {
            Self::Json => serde_json::from_slice(bytes).map_err(|e| e.to_string()),
            Self::Protobuf => T::decode(bytes).map_err(|e| e.to_string()),
            Self::Msgpack | Self::MsgpackArray | Self::MsgpackOld => from_msgpack(bytes),
        }
    }
}

fn from_msgpack<T: DeserializeOwned>(mut bytes: &[u8]) -> Result<T, String> {
    let message = rmp_serde::from_read(&mut bytes).map_err(|e| e.to_string())?;
    match bytes.len() {
        0 => Ok(message),
        left => Err(format!("{left} bytes follow the message")),
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.compression.codec_name(self.form.name()))
    }
}

impl FromStr for Codec {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Self, CodecError> {
        let every = Form::ALL
            .into_iter()
            .flat_map(|form| Compression::ALL.map(|compression| Self { form, compression }));
        let mut every = every;
        every
            .find(|codec| codec.to_string() == text)
            .ok_or_else(|| CodecError(text.to_owned()))
    }
}

/// Bytes fields: base64 where people may read it, bytes elsewhere.
pub(crate) mod base64_or_bytes {
    use std::fmt;

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            to.serialize_str(&BASE64_STANDARD.encode(bytes))
        } else {
            to.serialize_bytes(bytes)
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        if from.is_human_readable() {
            from.deserialize_str(Base64)
        } else {
            from.deserialize_byte_buf(Bytes)
        }
    }

    struct Base64;

    impl Visitor<'_> for Base64 {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("base64")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
            BASE64_STANDARD.decode(text).map_err(E::custom)
        }
    }

    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }

        // The old MessagePack has one kind for both.
        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
            Ok(text.as_bytes().to_vec())
        }
    }
}

/// Nothing decodes to more: bound of what a small input may unfold to.
pub const SIZE_LIMIT_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests;
