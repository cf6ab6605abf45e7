//! The bench's schema as JSON, for runtimes that have no classes.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{FieldDescriptorProto, FileDescriptorSet};
use serde::Serialize;

/// The schema of the bench's messages, in the form `docs/codec-runner.md` describes.
pub fn schema_json() -> String {
    let set = FileDescriptorSet::decode(DESCRIPTORS).expect("protoc wrote it for this build");
    let messages = set
        .file
        .into_iter()
        .flat_map(|file| file.message_type)
        .map(|message| {
            let mut fields: Vec<Field> = message.field.iter().map(Field::new).collect();
            fields.sort_by_key(|field| field.number);
            (message.name().to_owned(), fields)
        })
        .collect();
    let schema = Schema { messages };
    serde_json::to_string(&schema).expect("text and numbers always have a JSON form")
}

#[derive(Serialize)]
struct Schema {
    messages: BTreeMap<String, Vec<Field>>,
}

#[derive(Serialize)]
struct Field {
    name: String,
    json: String,
    number: i32,
    kind: &'static str,
    r#type: Option<String>,
    repeated: bool,
}

impl Field {
    fn new(field: &FieldDescriptorProto) -> Self {
        let kind = match field.r#type() {
            // The one optional field of the schema is there never to be set.
            _ if field.proto3_optional() => "null",
            Type::Int32 => "int32",
            Type::Int64 => "int64",
            Type::Uint64 => "uint64",
            Type::Float => "float",
            Type::Double => "double",
            Type::Bool => "bool",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Message => "message",
            other => unreachable!("the schema has no {other:?}"),
        };
        let r#type = (kind == "message").then(|| {
            let full = field.type_name();
            full.rsplit('.').next().unwrap_or(full).to_owned()
        });
        Self {
            name: field.name().to_owned(),
            json: field.json_name().to_owned(),
            number: field.number(),
            kind,
            r#type,
            repeated: field.label() == Label::Repeated,
        }
    }
}

const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bench.fds"));
