//! Generates, from the schema, the types of libraries that need their own, and the conversions
//! between them and the bench's types.

use std::fmt::Write;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto};

const INFALLIBLE: &str = "writing to a string does not fail";

/// Generates two sets of structs with zerompk's derives, `named` and `positional`, and their
/// conversions.
pub(crate) fn zerompk(messages: &[DescriptorProto]) -> String {
    let mut out = String::new();
    for (module, attribute) in [
        ("named", "map, allow_unknown_fields"),
        ("positional", "array"),
    ] {
        writeln!(out, "mod {module} {{ use super::Own;").expect(INFALLIBLE);
        for message in messages {
            let fields: String = message
                .field
                .iter()
                .enumerate()
                .map(|(position, field)| zerompk_field(field, module == "named", position))
                .collect();
            writeln!(
                out,
                "#[derive(::zerompk::FromMessagePack, ::zerompk::ToMessagePack)]\n\
                 #[msgpack({attribute})]\n\
                 pub(crate) struct {} {{ {fields} }}",
                message.name()
            )
            .expect(INFALLIBLE);
            out += &conversions(message, Style::Same);
        }
        out += "}\n";
    }
    for message in messages {
        let name = message.name();
        writeln!(
            out,
            "impl Mirrored for ::messages::bench::{name} {{\n\
                 type Named = named::{name};\n\
                 type Positional = positional::{name};\n\
             }}"
        )
        .expect(INFALLIBLE);
    }
    out
}

/// Generates the conversions of planus's types, where strings, vectors and tables are optional.
pub(crate) fn flat(messages: &[DescriptorProto]) -> String {
    let mut out = String::new();
    for message in messages {
        out += &conversions(message, Style::Optional);
        let name = message.name();
        writeln!(
            out,
            "impl Tabled for ::messages::bench::{name} {{ type Table = {name}; }}\n\
             impl Table for {name} {{\n\
                 fn write(&self, builder: &mut ::planus::Builder) -> Vec<u8> {{\n\
                     builder.finish(self, None).to_vec()\n\
                 }}\n\
                 fn read(bytes: &[u8]) -> ::planus::Result<Self> {{\n\
                     {name}Ref::read_as_root(bytes)?.try_into()\n\
                 }}\n\
             }}"
        )
        .expect(INFALLIBLE);
    }
    out
}

fn zerompk_field(field: &FieldDescriptorProto, named: bool, position: usize) -> String {
    let plain = match field.r#type() {
        Type::Int32 => "i32",
        Type::Int64 => "i64",
        Type::Uint64 => "u64",
        Type::Float => "f32",
        Type::Double => "f64",
        Type::Bool => "bool",
        Type::String => "String",
        Type::Bytes => "Vec<u8>",
        Type::Message => type_name(field),
        other => unreachable!("the schema has no {other:?}"),
    };
    let kind = match () {
        () if repeated(field) => format!("Vec<{plain}>"),
        // As in prost's structs: messages, and the field that is never set.
        () if optional(field) => format!("Option<{plain}>"),
        () => plain.to_owned(),
    };
    let key = if named {
        format!("{:?}", field.json_name())
    } else {
        position.to_string()
    };
    format!(
        "#[msgpack(key = {key})] pub(crate) {}: {kind}, ",
        Style::Same.name(field)
    )
}

/// How a library's types differ from the bench's.
#[derive(Clone, Copy)]
enum Style {
    /// Not at all.
    Same,
    /// Strings, vectors and messages are `Option`s.
    Optional,
}

impl Style {
    /// Returns the field's name in Rust, where `type` is a keyword.
    fn name(self, field: &FieldDescriptorProto) -> &str {
        match (field.name(), self) {
            ("type", Self::Same) => "r#type",
            ("type", Self::Optional) => "type_",
            (name, _) => name,
        }
    }
}

/// Generates the conversions between the bench's type and the library's of the same name.
fn conversions(message: &DescriptorProto, style: Style) -> String {
    let name = message.name();
    let (mut populated, mut converted) = (String::new(), String::new());
    for field in &message.field {
        let (theirs, plain) = (style.name(field), Style::Same.name(field));
        let value = populate(field, style, &format!("it.{plain}"));
        write!(populated, "{theirs}: {value}, ").expect(INFALLIBLE);
        let value = convert(field, style, &format!("self.{theirs}"));
        write!(converted, "{plain}: {value}, ").expect(INFALLIBLE);
    }
    format!(
        "impl Own<::messages::bench::{name}> for {name} {{\n\
             fn populate(it: &::messages::bench::{name}) -> Self {{ Self {{ {populated} }} }}\n\
             fn convert(&self) -> ::messages::bench::{name} {{ ::messages::bench::{name} {{ {converted} }} }}\n\
         }}\n"
    )
}

fn populate(field: &FieldDescriptorProto, style: Style, it: &str) -> String {
    match (class(field), style) {
        (Class::Scalar, _) => it.to_owned(),
        (Class::Text, Style::Same) => format!("{it}.clone()"),
        (Class::Text, Style::Optional) => format!("Some({it}.clone())"),
        (Class::Message, Style::Same) => format!("{it}.as_ref().map(Own::populate)"),
        (Class::Message, Style::Optional) => {
            format!("{it}.as_ref().map(|it| Box::new(Own::populate(it)))")
        }
        (Class::Messages, Style::Same) => format!("{it}.iter().map(Own::populate).collect()"),
        (Class::Messages, Style::Optional) => {
            format!("Some({it}.iter().map(Own::populate).collect())")
        }
    }
}

fn convert(field: &FieldDescriptorProto, style: Style, it: &str) -> String {
    match (class(field), style) {
        (Class::Scalar, _) => it.to_owned(),
        (Class::Text, Style::Same) => format!("{it}.clone()"),
        (Class::Text, Style::Optional) => format!("{it}.clone().unwrap_or_default()"),
        (Class::Message, Style::Same) => format!("{it}.as_ref().map(Own::convert)"),
        (Class::Message, Style::Optional) => format!("{it}.as_deref().map(Own::convert)"),
        (Class::Messages, Style::Same) => format!("{it}.iter().map(Own::convert).collect()"),
        (Class::Messages, Style::Optional) => {
            format!("{it}.iter().flatten().map(Own::convert).collect()")
        }
    }
}

enum Class {
    /// Copied: numbers and booleans.
    Scalar,
    /// Cloned: strings, bytes and vectors of anything but messages.
    Text,
    Message,
    Messages,
}

fn class(field: &FieldDescriptorProto) -> Class {
    match (field.r#type(), repeated(field)) {
        (Type::Message, true) => Class::Messages,
        (Type::Message, false) => Class::Message,
        (Type::String | Type::Bytes, _) | (_, true) => Class::Text,
        _ => Class::Scalar,
    }
}

fn repeated(field: &FieldDescriptorProto) -> bool {
    field.label() == Label::Repeated
}

fn optional(field: &FieldDescriptorProto) -> bool {
    field.proto3_optional() || field.r#type() == Type::Message
}

fn type_name(field: &FieldDescriptorProto) -> &str {
    field.type_name().rsplit('.').next().unwrap_or_default()
}
