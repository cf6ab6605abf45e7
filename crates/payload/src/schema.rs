//! Messages that hold samples.

use std::collections::BTreeMap;

use prost_reflect::MessageDescriptor;

use crate::Note;

/// Messages that hold the samples it was inferred from.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) messages: Vec<Message>,
    /// The message of a whole sample.
    pub(crate) top: usize,
    pub(crate) notes: Vec<Note>,
    pub(crate) samples: Vec<String>,
    pub(crate) descriptor: MessageDescriptor,
}

impl Schema {
    /// What the user should know of the schema, top first.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The message of a whole sample, for Protobuf's reflection; its pool has the others.
    pub fn descriptor(&self) -> &MessageDescriptor {
        &self.descriptor
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) name: String,
    /// Where it was found first.
    pub(crate) path: String,
    pub(crate) form: Form,
    pub(crate) fields: Vec<Field>,
    /// Of an object, the index of the field of each key.
    pub(crate) by_key: BTreeMap<String, usize>,
}

/// What of JSON a message stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An object: its fields are the object's.
    Object,
    /// An object whose keys are data: one field, a map. Only where a map cannot stand itself.
    Entries,
    /// A list: one field, the elements. Only where `repeated` cannot stand itself.
    List,
    /// One of several kinds: a field for each, of which one is set; none is `null`.
    Union,
    /// `null`, and nothing else was ever seen.
    Null,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) path: String,
    /// The key in JSON, when it is a field of an object.
    pub(crate) key: String,
    pub(crate) name: String,
    /// The name in Protobuf's own JSON, where it is not what Protobuf makes of the name.
    pub(crate) json_name: Option<String>,
    pub(crate) number: u32,
    pub(crate) label: Label,
    pub(crate) ty: Type,
    pub(crate) unset: Unset,
}

/// How often a field has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// Always, or it is a message, which can be absent by itself.
    Plain,
    /// Perhaps not.
    Optional,
    /// Many times.
    Repeated,
    /// Many times, by key.
    Map,
    /// As one choice of a union.
    Choice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Int64,
    /// Where samples are below 0: an `int64` spends ten bytes on those.
    Sint64,
    Uint64,
    Double,
    String,
    Message(usize),
}

/// What a field reads back as that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unset {
    Absent,
    Null,
    Empty,
}

impl Type {
    /// The name in a .proto, but for messages.
    pub(crate) fn word(self) -> Option<&'static str> {
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

    /// Whether a list of these shares one tag.
    pub(crate) fn packs(self) -> bool {
        !matches!(self, Type::String | Type::Message(_))
    }
}
