//! The inferred messages.

use std::collections::BTreeMap;

use prost_reflect::MessageDescriptor;

use crate::Note;

/// Protobuf messages that hold the samples they were inferred from.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) messages: Vec<Message>,
    /// The index of the message that is a whole sample.
    pub(crate) top: usize,
    pub(crate) notes: Vec<Note>,
    /// The samples' names.
    pub(crate) samples: Vec<String>,
    pub(crate) descriptor: MessageDescriptor,
}

impl Schema {
    /// Returns the notes on this schema, sorted by path.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the descriptor of the message that is a whole sample; its pool has the others.
    pub fn descriptor(&self) -> &MessageDescriptor {
        &self.descriptor
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) name: String,
    /// The path where it was first found.
    pub(crate) path: String,
    pub(crate) role: Role,
    pub(crate) fields: Vec<Field>,
    /// For an object, the index in `fields` of each key.
    pub(crate) by_key: BTreeMap<String, usize>,
}

/// The JSON value that a message stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An object, with the object's fields.
    Object,
    /// An object whose keys are data, with one map field. Only where Protobuf allows no map.
    Entries,
    /// A list, with one repeated field. Only where Protobuf allows no `repeated`.
    List,
    /// A value of one of several kinds. It has a field per kind: one is set, or none for `null`.
    Union,
    /// A value that was always `null`.
    Null,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) path: String,
    /// The key in JSON; empty unless the message is an object.
    pub(crate) key: String,
    pub(crate) name: String,
    /// The `json_name` option, where Protobuf's default is not the key.
    pub(crate) json_name: Option<String>,
    pub(crate) number: u32,
    pub(crate) label: Label,
    pub(crate) ty: Type,
    pub(crate) unset: Unset,
}

/// How many values a field has, and whether it can be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// A scalar that is always present, or a message, which can be absent without a label.
    Plain,
    /// A scalar that can be absent.
    Optional,
    /// The elements of a list.
    Repeated,
    /// The entries of a map.
    Map,
    /// A member of a union's oneof.
    Choice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Int64,
    /// Used where samples have negative numbers, which take ten bytes as `int64`.
    Sint64,
    Uint64,
    Double,
    String,
    /// A message, by index.
    Message(usize),
}

/// The JSON that an unset field reads back as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unset {
    /// No such key.
    Absent,
    Null,
    /// An empty list or map.
    Empty,
}

impl Type {
    /// Returns the scalar's name in a .proto; `None` for messages.
    pub(crate) fn scalar_name(self) -> Option<&'static str> {
        Some(match self {
            Type::Bool => "bool",
            Type::Int64 => "int64",
            Type::Sint64 => "sint64",
            Type::Uint64 => "uint64",
            Type::Double => "double",
            Type::String => "string",
            Type::Message(_) => return None,
        })
    }

    /// Returns whether the elements of a list of this type are packed behind one tag.
    pub(crate) fn is_packed(self) -> bool {
        !matches!(self, Type::String | Type::Message(_))
    }
}
