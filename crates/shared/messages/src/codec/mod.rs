//! Codecs as an app would use them: the libraries that Rust users ship, called as their authors
//! advise.

mod compression;
mod elements;
mod media;
mod msgpack_old;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use compression::{Compression, Compressor, DecompressError};
pub use media::MediaTypeError;

use crate::{Kind, Message};

/// The largest decompressed size in bytes, so that a small input cannot expand without limit.
pub const SIZE_LIMIT_BYTES: usize = 64 << 20;
/// Buffers in memory do not fail, and all messages are of the schema.
const ENCODABLE: &str = "every message of the schema has every format";

/// A format and a compression, named e.g. `json+gzip-6`.
///
/// ```
/// let codec: messages::Codec = "json+gzip-6".parse().unwrap();
/// let message = "api-2kB".parse::<messages::Name>().unwrap().message(1);
/// let mut coder = codec.coder();
/// let bytes = coder.encode(&message);
/// assert!(bytes.len() < 1_500);
/// assert_eq!(coder.decode(message.kind(), &bytes).unwrap(), message);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Codec {
    /// The serialisation format.
    pub format: Format,
    /// The compression applied to it.
    pub compression: Compression,
}

/// A serialisation format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON by serde_json, with the schema's JSON names and without white space.
    Json,
    /// Protobuf by prost.
    Protobuf,
    /// MessagePack by rmp-serde, messages as maps with names.
    Msgpack,
    /// MessagePack by rmp-serde, messages as arrays of fields.
    MsgpackArray,
    /// The unity-msgpack study's MessagePack, as specified before 2013: signed integers only, raw
    /// instead of str and bin. By a serialiser of our own on rmp.
    MsgpackOld,
}

/// The error for a name that no codec has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no codec is named `{0}`; known: json, protobuf, msgpack, msgpack-array and msgpack-old, each \
     also with +gzip-1, +gzip-6 or +zstd-3"
)]
pub struct CodecError(String);

/// Why bytes do not decode to the wanted message.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes cannot be decompressed.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// The bytes are malformed, or of another message.
    #[error("cannot decode {} from {format}: {problem}", kind.name())]
    Malformed {
        /// The wanted kind of message.
        kind: Kind,
        /// The wanted format.
        format: Format,
        /// The library's error.
        problem: String,
    },
    /// The message has too many elements.
    #[error("more than {limit} messages, lists and strings")]
    TooManyElements {
        /// The limit.
        limit: usize,
    },
}

impl Codec {
    /// Creates a codec without compression.
    pub const fn plain(format: Format) -> Self {
        let compression = Compression::None;
        Self {
            format,
            compression,
        }
    }

    /// Creates a coder with fresh contexts.
    pub fn coder(self) -> Coder {
        Coder {
            format: self.format,
            compressor: Compressor::new(self.compression),
        }
    }
}

/// Encodes and decodes messages; compression contexts are reused from message to message.
pub struct Coder {
    format: Format,
    compressor: Compressor,
}

impl Coder {
    /// Encodes into a fresh buffer.
    pub fn encode(&mut self, message: &Message) -> Vec<u8> {
        let bytes = with_message!(message, m => self.format.encode(m));
        self.compressor.compress(bytes)
    }

    /// Decodes a message of `kind`, of at most [`SIZE_LIMIT_BYTES`] when decompressed.
    pub fn decode(&mut self, kind: Kind, bytes: &[u8]) -> Result<Message, DecodeError> {
        let bytes = self.decompress(bytes, SIZE_LIMIT_BYTES)?;
        self.format.decode_message(kind, &bytes)
    }

    /// Decompresses to at most `limit` bytes.
    pub fn decompress<'b>(
        &mut self,
        bytes: &'b [u8],
        limit: usize,
    ) -> Result<Cow<'b, [u8]>, DecodeError> {
        Ok(self.compressor.decompress(bytes, limit)?)
    }
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Json,
        Self::Protobuf,
        Self::Msgpack,
        Self::MsgpackArray,
        Self::MsgpackOld,
    ];

    /// Returns the name in studies and tables.
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
        match self {
            Self::Json => serde_json::to_vec(message).expect(ENCODABLE),
            Self::Protobuf => message.encode_to_vec(),
            Self::Msgpack => rmp_serde::to_vec_named(message).expect(ENCODABLE),
            Self::MsgpackArray => rmp_serde::to_vec(message).expect(ENCODABLE),
            Self::MsgpackOld => msgpack_old::to_vec(message).expect(ENCODABLE),
        }
    }

    /// Decodes untrusted bytes to a message of `kind`.
    pub fn decode_message(self, kind: Kind, bytes: &[u8]) -> Result<Message, DecodeError> {
        with_kind!(kind, T => match self.decode::<T>(bytes) {
            Ok(message) => Ok(message.into()),
            Err(problem) => Err(DecodeError::Malformed { kind, format: self, problem }),
        })
    }

    /// Refuses bytes that may decode to more than `limit` messages, lists and strings in all, so
    /// that a small message cannot take much memory.
    pub fn check_elements(self, bytes: &[u8], limit: usize) -> Result<(), DecodeError> {
        // An element has at least a byte.
        if bytes.len() <= limit || elements::count(self, bytes) <= limit {
            Ok(())
        } else {
            Err(DecodeError::TooManyElements { limit })
        }
    }

    /// Decodes untrusted bytes. The error is the library's text.
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
        rest => Err(format!("{rest} bytes follow the message")),
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.compression.codec_name(self.format.name()))
    }
}

impl FromStr for Codec {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Self, CodecError> {
        let with_compressions = |format| {
            Compression::ALL.map(|compression| Self {
                format,
                compression,
            })
        };
        let mut all = Format::ALL.into_iter().flat_map(with_compressions);
        all.find(|codec| codec.to_string() == text)
            .ok_or_else(|| CodecError(text.to_owned()))
    }
}

/// Serialises bytes fields as base64 in human-readable formats, as bytes elsewhere.
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

        // The old MessagePack has one type for both.
        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
            Ok(text.as_bytes().to_vec())
        }
    }
}

#[cfg(test)]
mod tests;
