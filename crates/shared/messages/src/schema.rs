//! The bench's schema as JSON, for runtimes without classes.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{FieldDescriptorProto, FileDescriptorSet};
use serde::Serialize;

const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bench.fds"));

/// Returns the schema of the bench's messages as JSON, as described in `docs/codec-runner.md`.
pub fn schema_json() -> String {
    let messages = descriptors()
        .file
        .into_iter()
        // Not the envelopes of submissions.
        .filter(|file| file.name().ends_with("bench.proto"))
        .flat_map(|file| file.message_type)
        .map(|message| {
            let mut fields: Vec<Field> = message.field.iter().map(Field::new).collect();
            fields.sort_by_key(|field| field.number);
            (message.name().to_owned(), fields)
        })
        .collect();
    let schema = Schema { messages };
    serde_json::to_string(&schema).expect("text and numbers always serialise")
}

fn descriptors() -> FileDescriptorSet {
    FileDescriptorSet::decode(DESCRIPTORS).expect("protoc wrote it in this build")
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
            // The only optional fields of the schema are those that are never set.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn every_kind_can_be_exchanged_over_grpc() {
        let mut services = descriptors().file.into_iter().flat_map(|file| file.service);
        let path = |service: &prost_types::ServiceDescriptorProto| {
            format!("/commute.bench.v1.{}", service.name())
        };
        let exchange = services.find(|service| path(service) == crate::EXCHANGE);
        let exchange = exchange.unwrap();
        assert!(services.any(|service| path(&service) == crate::SUBMIT));
        let methods = exchange.method.iter().map(|method| {
            let kind = format!(".commute.bench.v1.{}", method.name());
            assert_eq!(
                (method.input_type(), method.output_type()),
                (&*kind, &*kind)
            );
            method.name()
        });
        let kinds: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(methods.collect::<Vec<_>>(), kinds);
    }
}
