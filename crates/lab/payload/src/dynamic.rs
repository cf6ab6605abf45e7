//! Encoding and decoding without code of the schema's own.

use prost_reflect::prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use serde_json::Value;

use crate::encodings::Format;
use crate::{DecodeError, Schema};

/// How to write and read a format with *dynamic* objects: a tree of JSON values, a message of
/// Protobuf's reflection.
///
/// Generated code is several times faster at Protobuf and somewhat faster at JSON.
#[derive(Clone, Debug)]
pub enum Dynamic {
    /// JSON, by serde_json.
    Json,
    /// MessagePack, by rmp-serde.
    Msgpack,
    /// CBOR, by minicbor-serde.
    Cbor,
    /// Messages of this type, by prost-reflect.
    Protobuf(MessageDescriptor),
}

/// A decoded value.
#[derive(Clone, Debug)]
pub enum Objects {
    /// Of a format that describes itself.
    Tree(Value),
    /// Of Protobuf.
    Message(DynamicMessage),
}

impl Dynamic {
    /// Returns how to write and read a format; Protobuf by this schema.
    pub fn of(format: Format, schema: &Schema) -> Dynamic {
        match format {
            Format::Json => Dynamic::Json,
            Format::Msgpack => Dynamic::Msgpack,
            Format::Cbor => Dynamic::Cbor,
            Format::Protobuf => Dynamic::Protobuf(schema.descriptor().clone()),
        }
    }

    /// Returns how to write and read Protobuf messages of a type, by its full name, which a
    /// `google.protobuf.FileDescriptorSet` describes.
    pub fn of_descriptor_set(set: &[u8], message: &str) -> Result<Dynamic, DecodeError> {
        let malformed = |problem: String| DecodeError::Malformed(problem);
        let pool = DescriptorPool::decode(set).map_err(|e| malformed(e.to_string()))?;
        let found = pool.get_message_by_name(message);
        let none = || malformed(format!("the descriptor set has no message {message:?}"));
        found.map(Dynamic::Protobuf).ok_or_else(none)
    }

    /// Encodes a value that this has decoded.
    pub fn encode(&self, objects: &Objects) -> Vec<u8> {
        match (self, objects) {
            (_, Objects::Message(message)) => message.encode_to_vec(),
            (Dynamic::Msgpack, Objects::Tree(tree)) => {
                rmp_serde::to_vec_named(tree).unwrap_or_default()
            }
            (Dynamic::Cbor, Objects::Tree(tree)) => {
                minicbor_serde::to_vec(tree).unwrap_or_default()
            }
            (Dynamic::Json | Dynamic::Protobuf(_), Objects::Tree(tree)) => {
                serde_json::to_vec(tree).unwrap_or_default()
            }
        }
    }

    /// Decodes one value.
    pub fn decode(&self, bytes: &[u8]) -> Result<Objects, DecodeError> {
        let decoded = match self {
            Dynamic::Json => serde_json::from_slice(bytes)
                .map(Objects::Tree)
                .map_err(|e| e.to_string()),
            Dynamic::Msgpack => rmp_serde::from_slice(bytes)
                .map(Objects::Tree)
                .map_err(|e| e.to_string()),
            Dynamic::Cbor => minicbor_serde::from_slice(bytes)
                .map(Objects::Tree)
                .map_err(|e| e.to_string()),
            Dynamic::Protobuf(descriptor) => DynamicMessage::decode(descriptor.clone(), bytes)
                .map(Objects::Message)
                .map_err(|e| e.to_string()),
        };
        decoded.map_err(DecodeError::Malformed)
    }
}

impl Schema {
    /// Returns the schema as an encoded `google.protobuf.FileDescriptorSet`.
    pub fn descriptor_set(&self) -> Vec<u8> {
        self.descriptor().parent_pool().encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, encodings, infer};

    const JSON: &[u8] =
        br#"{"name": "a sample", "numbers": [1, 2, 3], "price": 2.5, "none": null, "on": true}"#;

    #[test]
    fn every_format_encodes_what_it_has_decoded() {
        let sample = Sample {
            name: "s",
            json: JSON,
        };
        let schema = infer(&[sample]).unwrap();
        for encoding in encodings(&schema, &sample).unwrap() {
            if encoding.compression != messages::Compression::None {
                continue;
            }
            let dynamic = Dynamic::of(encoding.format, &schema);
            let objects = dynamic.decode(&encoding.bytes).unwrap();
            let bytes = dynamic.encode(&objects);
            assert!(dynamic.decode(&bytes).is_ok(), "{}", encoding.codec());
            let cut = dynamic.decode(&bytes[..bytes.len() - 1]);
            assert!(cut.is_err(), "{}", encoding.codec());
        }
    }

    #[test]
    fn a_descriptor_set_stands_for_the_schema() {
        let sample = Sample {
            name: "s",
            json: JSON,
        };
        let schema = infer(&[sample]).unwrap();
        let (set, message) = (schema.descriptor_set(), schema.descriptor().full_name());
        let bytes = schema.encode(&sample).unwrap();
        let dynamic = Dynamic::of_descriptor_set(&set, message).unwrap();
        let objects = dynamic.decode(&bytes).unwrap();
        assert_eq!(dynamic.encode(&objects), bytes);
        let error = Dynamic::of_descriptor_set(&set, "a.B").unwrap_err();
        assert!(error.to_string().contains("no message \"a.B\""), "{error}");
        assert!(Dynamic::of_descriptor_set(&set[1..], message).is_err());
    }
}
