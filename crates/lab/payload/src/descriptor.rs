//! The schema as a Protobuf descriptor, for reflection.

use prost_reflect::prost_types::field_descriptor_proto::{Label as ProtoLabel, Type as ProtoType};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, MessageOptions,
    OneofDescriptorProto,
};
use prost_reflect::{DescriptorPool, MessageDescriptor};

use crate::InferError;
use crate::names::{default_json, pascal};
use crate::schema::{Field, Label, Message, Role, Type};

/// The package of all inferred messages.
pub(crate) const PACKAGE: &str = "payload";

/// The name of a union's oneof.
pub(crate) const ONEOF: &str = "value";

/// Builds the descriptors of all messages and returns the one at `top`.
pub(crate) fn build(messages: &[Message], top: usize) -> Result<MessageDescriptor, InferError> {
    let invalid = |error: &dyn std::fmt::Display| InferError::Invalid {
        reason: error.to_string(),
    };
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_proto(file(messages))
        .map_err(|error| invalid(&error))?;
    let name = format!("{PACKAGE}.{}", messages[top].name);
    pool.get_message_by_name(&name)
        .ok_or_else(|| invalid(&format!("there is no {name}")))
}

/// Describes the file that [`Schema::to_proto`](crate::Schema::to_proto) prints.
pub(crate) fn file(messages: &[Message]) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some("payload.proto".to_owned()),
        package: Some(PACKAGE.to_owned()),
        syntax: Some("proto3".to_owned()),
        message_type: messages
            .iter()
            .map(|message| describe(message, messages))
            .collect(),
        ..FileDescriptorProto::default()
    }
}

fn describe(message: &Message, messages: &[Message]) -> DescriptorProto {
    let mut described = DescriptorProto {
        name: Some(message.name.clone()),
        ..DescriptorProto::default()
    };
    if message.role == Role::Union {
        described.oneof_decl.push(oneof(ONEOF));
    }
    for field in &message.fields {
        let mut proto = value_field(&field.name, field.number, field.ty, messages);
        proto.json_name = Some(json_name(field));
        match field.label {
            Label::Plain => {}
            Label::Choice => proto.oneof_index = Some(0),
            Label::Repeated => proto.label = Some(ProtoLabel::Repeated.into()),
            Label::Optional => {
                proto.proto3_optional = Some(true);
                proto.oneof_index = i32::try_from(described.oneof_decl.len()).ok();
                described
                    .oneof_decl
                    .push(oneof(&format!("_{}", field.name)));
            }
            Label::Map => {
                let entry = entry(field, messages);
                proto.label = Some(ProtoLabel::Repeated.into());
                proto.r#type = Some(ProtoType::Message.into());
                proto.type_name = Some(format!(".{PACKAGE}.{}.{}", message.name, entry.name()));
                described.nested_type.push(entry);
            }
        }
        described.field.push(proto);
    }
    described
}

/// Describes the message that each entry of a map is on the wire.
fn entry(field: &Field, messages: &[Message]) -> DescriptorProto {
    let mut fields = vec![
        value_field("key", 1, Type::String, messages),
        value_field("value", 2, field.ty, messages),
    ];
    for field in &mut fields {
        field.json_name = field.name.clone();
    }
    DescriptorProto {
        name: Some(format!("{}Entry", pascal(&field.name))),
        field: fields,
        options: Some(MessageOptions {
            map_entry: Some(true),
            ..MessageOptions::default()
        }),
        ..DescriptorProto::default()
    }
}

fn value_field(name: &str, number: u32, ty: Type, messages: &[Message]) -> FieldDescriptorProto {
    let (kind, type_name) = match ty {
        Type::Bool => (ProtoType::Bool, None),
        Type::Int64 => (ProtoType::Int64, None),
        Type::Sint64 => (ProtoType::Sint64, None),
        Type::Uint64 => (ProtoType::Uint64, None),
        Type::Double => (ProtoType::Double, None),
        Type::String => (ProtoType::String, None),
        Type::Message(index) => {
            let name = format!(".{PACKAGE}.{}", messages[index].name);
            (ProtoType::Message, Some(name))
        }
    };
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: i32::try_from(number).ok(),
        label: Some(ProtoLabel::Optional.into()),
        r#type: Some(kind.into()),
        type_name,
        ..FieldDescriptorProto::default()
    }
}

fn oneof(name: &str) -> OneofDescriptorProto {
    OneofDescriptorProto {
        name: Some(name.to_owned()),
        ..OneofDescriptorProto::default()
    }
}

fn json_name(field: &Field) -> String {
    let default = || default_json(&field.name);
    field.json_name.clone().unwrap_or_else(default)
}
