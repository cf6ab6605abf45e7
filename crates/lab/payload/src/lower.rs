//! Lowers observations to messages.

mod notes;
mod number;

use std::collections::BTreeMap;

use crate::names::{self, Names, are_ids};
use crate::observed::{Array, Kind, Members, Object, Observed};
use crate::path;
use crate::schema::{Field, Label, Message, Role, Type, Unset};
use crate::{InferError, Note, Schema, descriptor};

/// Protobuf's readers (C++, Java, prost) stop at 100 nested messages; map entries count as
/// messages.
const MAX_DEPTH: u32 = 99;

/// The name of the message that is a whole sample.
const TOP: &str = "Payload";

/// Turns the observations of the samples' top level into a schema.
pub(crate) fn lower(top: Observed, samples: Vec<String>) -> Result<Schema, InferError> {
    let mut lower = Lower {
        messages: Vec::new(),
        names: Names::default(),
        null: None,
        notes: Vec::new(),
        samples,
    };
    let listed = top.array.as_ref().map(|array| array.all.samples.clone());
    let at = Position {
        path: "",
        scope: "",
        name: TOP,
        depth: 0,
    };
    let Type::Message(index) = lower.element(top, at)? else {
        unreachable!("objects and lists are messages")
    };
    if let Some(samples) = listed {
        let modelled = "a message with one repeated field, since a Protobuf message has fields";
        lower.note("", "a list, not an object", &samples, modelled);
    }
    lower.notes.sort_by(|one, other| one.path.cmp(&other.path));
    let descriptor = descriptor::build(&lower.messages, index)?;
    Ok(Schema {
        messages: lower.messages,
        top: index,
        notes: lower.notes,
        samples: lower.samples,
        descriptor,
    })
}

struct Lower {
    messages: Vec<Message>,
    names: Names,
    /// The index of the message for values that were always `null`, once it is needed.
    null: Option<usize>,
    notes: Vec<Note>,
    samples: Vec<String>,
}

/// The position of a value in the schema.
#[derive(Clone, Copy)]
struct Position<'a> {
    path: &'a str,
    /// The name of the enclosing message.
    scope: &'a str,
    /// The preferred name of a message here.
    name: &'a str,
    /// The number of enclosing messages.
    depth: u32,
}

/// A field without its names and number.
struct Shape {
    label: Label,
    ty: Type,
    unset: Unset,
}

impl Lower {
    /// Returns the type of an element of a list or a map, which is always present but may be
    /// `null`.
    fn element(&mut self, observed: Observed, at: Position<'_>) -> Result<Type, InferError> {
        match (observed.kinds().as_slice(), observed.null.seen()) {
            ([], false) => {
                // The note is on the list.
                Ok(self.null_message())
            }
            ([], true) => {
                let modelled = "a message without fields";
                self.note(at.path, "only null", &observed.null.samples, modelled);
                Ok(self.null_message())
            }
            ([kind], false) => self.single(observed, *kind, at),
            (_, _) => self.union(observed, at),
        }
    }

    /// Returns the type of values of one kind, never `null`.
    fn single(
        &mut self,
        mut observed: Observed,
        kind: Kind,
        at: Position<'_>,
    ) -> Result<Type, InferError> {
        match kind {
            Kind::Bool => Ok(Type::Bool),
            Kind::String => Ok(Type::String),
            Kind::Number => Ok(self.number(&observed, at.path)),
            Kind::Object => {
                let object = *observed.object.take().unwrap_or_default();
                match self.as_map(object, at.path) {
                    Ok(values) => self.wrap(Role::Entries, at, |lower, at| {
                        Ok((Label::Map, lower.map_value(values, at)?))
                    }),
                    Err(object) => self.object(*object, at),
                }
            }
            Kind::List => {
                let array = *observed.array.take().unwrap_or_default();
                self.wrap(Role::List, at, |lower, at| {
                    Ok((Label::Repeated, lower.items(array, at)?))
                })
            }
        }
    }

    fn object(&mut self, object: Object, at: Position<'_>) -> Result<Type, InferError> {
        let Members::Fields(members) = object.members else {
            unreachable!("as_map has taken the members of maps")
        };
        let index = self.message(Role::Object, at)?;
        let name = self.messages[index].name.clone();
        let (mut fields, mut by_key) = (Vec::new(), BTreeMap::new());
        let (mut names, mut json_names) = (Names::default(), Names::default());
        for (number, (key, member)) in (1..).zip(members) {
            let path = path::member(at.path, &key);
            let message = names::pascal(&key);
            let inner = Position {
                path: &path,
                scope: &name,
                name: &message,
                depth: at.depth + 1,
            };
            let absent = member.observed.count() < object.all.count;
            let Shape { label, ty, unset } = self.field(member.observed, absent, inner)?;
            let field_name = names.field(&key, number);
            let json = json_names.json(&key);
            if json != key {
                let modelled = format!("ProtoJSON calls it {json:?}");
                self.note(
                    &path,
                    "a key that protoc rejects as a json_name",
                    &[],
                    &modelled,
                );
            }
            by_key.insert(key.clone(), fields.len());
            fields.push(Field {
                path,
                key,
                json_name: (json != names::default_json(&field_name)).then_some(json),
                name: field_name,
                number,
                label,
                ty,
                unset,
            });
        }
        let message = &mut self.messages[index];
        (message.fields, message.by_key) = (fields, by_key);
        Ok(Type::Message(index))
    }

    /// Returns the shape of an object's member.
    fn field(
        &mut self,
        mut observed: Observed,
        absent: bool,
        at: Position<'_>,
    ) -> Result<Shape, InferError> {
        let null = std::mem::take(&mut observed.null);
        let missing = absent || null.seen();
        let (label, ty, empty) = match observed.kinds().as_slice() {
            [] => {
                let modelled =
                    "a message without fields, never set; give it its type if you know it";
                self.note(at.path, "only null", &null.samples, modelled);
                (Label::Plain, self.null_message(), false)
            }
            [Kind::List] => {
                let array = *observed.array.take().unwrap_or_default();
                let empty = array.empty.seen();
                (Label::Repeated, self.items(array, at)?, empty)
            }
            [Kind::Object] => {
                let object = *observed.object.take().unwrap_or_default();
                let empty = object.empty.seen();
                match self.as_map(object, at.path) {
                    Ok(values) => (Label::Map, self.map_value(values, at)?, empty),
                    // A message field distinguishes an empty message from an absent one.
                    Err(object) => (Label::Plain, self.object(*object, at)?, false),
                }
            }
            [kind] if missing => (Label::Optional, self.single(observed, *kind, at)?, false),
            [kind] => (Label::Plain, self.single(observed, *kind, at)?, false),
            _ => (Label::Plain, self.union(observed, at)?, false),
        };
        let unset = self.unset(absent, null.seen(), empty, at.path);
        Ok(Shape { label, ty, unset })
    }

    /// Returns the type of a list's elements.
    fn items(&mut self, array: Array, at: Position<'_>) -> Result<Type, InferError> {
        let path = format!("{}[]", at.path);
        let name = format!("{}Item", at.name);
        if array.element.count() == 0 {
            let modelled = "a list of messages without fields; give it its type if you know it";
            let samples = &array.all.samples;
            self.note(at.path, "a list that is always empty", samples, modelled);
        }
        if let Some(inner) = &array.element.array {
            let modelled = "each inner list is a message with one repeated field, since repeated \
                            fields do not nest";
            self.note(&path, "lists in a list", &inner.all.samples, modelled);
        }
        let at = Position {
            path: &path,
            name: &name,
            ..at
        };
        self.element(array.element, at)
    }

    /// Returns the type of a map's values.
    fn map_value(&mut self, values: Observed, at: Position<'_>) -> Result<Type, InferError> {
        let path = format!("{}{{}}", at.path);
        let name = format!("{}Value", at.name);
        let at = Position {
            path: &path,
            name: &name,
            depth: at.depth + 1,
            ..at
        };
        self.element(values, at)
    }

    /// Returns the values of an object that is a map, or else the object.
    fn as_map(&mut self, object: Object, path: &str) -> Result<Observed, Box<Object>> {
        let found = match &object.members {
            Members::Entries(_) => "more than 1000 different keys".to_owned(),
            Members::Fields(fields)
                if are_ids(&fields.keys().map(String::as_str).collect::<Vec<_>>()) =>
            {
                let mut kinds = fields.values().flat_map(|member| member.observed.kinds());
                let first = kinds.next();
                if kinds.any(|kind| Some(kind) != first) {
                    return Err(Box::new(object));
                }
                format!("{} keys that look like ids", fields.len())
            }
            Members::Fields(_) => return Err(Box::new(object)),
        };
        self.note(path, &found, &object.all.samples, "a map with string keys");
        Ok(object.members.into_entries())
    }

    /// Adds a message for values of several kinds, or of one kind and `null` in a list.
    fn union(&mut self, mut observed: Observed, at: Position<'_>) -> Result<Type, InferError> {
        let kinds = observed.kinds();
        self.note_union(&observed, &kinds, at.path);
        let index = self.message(Role::Union, at)?;
        let scope = self.messages[index].name.clone();
        let mut fields = Vec::new();
        for (number, kind) in (1..).zip(kinds) {
            let (field, suffix) = choice_names(kind);
            let name = format!("{}{suffix}", at.name);
            let inner = Position {
                scope: &scope,
                name: &name,
                depth: at.depth + 1,
                ..at
            };
            let ty = self.single(observed.take(kind), kind, inner)?;
            fields.push(unkeyed_field(at.path, field, number, Label::Choice, ty));
        }
        self.messages[index].fields = fields;
        Ok(Type::Message(index))
    }

    /// Adds a message around one field, for a list or a map where Protobuf allows only a message.
    fn wrap(
        &mut self,
        role: Role,
        at: Position<'_>,
        inside: impl FnOnce(&mut Lower, Position<'_>) -> Result<(Label, Type), InferError>,
    ) -> Result<Type, InferError> {
        let index = self.message(role, at)?;
        let scope = self.messages[index].name.clone();
        let inner = Position {
            scope: &scope,
            depth: at.depth + 1,
            ..at
        };
        let (label, ty) = inside(self, inner)?;
        let name = match role {
            Role::Entries => "entries",
            _ => "items",
        };
        self.messages[index].fields = vec![unkeyed_field(at.path, name, 1, label, ty)];
        Ok(Type::Message(index))
    }

    fn null_message(&mut self) -> Type {
        let index = *self.null.get_or_insert_with(|| {
            self.messages.push(Message {
                name: self.names.message("", "Null"),
                path: String::new(),
                role: Role::Null,
                fields: Vec::new(),
                by_key: BTreeMap::new(),
            });
            self.messages.len() - 1
        });
        Type::Message(index)
    }

    /// Adds a message, without fields as yet.
    fn message(&mut self, role: Role, at: Position<'_>) -> Result<usize, InferError> {
        if at.depth > MAX_DEPTH {
            let path = path::display(at.path).to_owned();
            return Err(InferError::TooDeep { path });
        }
        self.messages.push(Message {
            name: self.names.message(at.scope, at.name),
            path: at.path.to_owned(),
            role,
            fields: Vec::new(),
            by_key: BTreeMap::new(),
        });
        Ok(self.messages.len() - 1)
    }
}

/// Makes a field that is not a member of an object.
fn unkeyed_field(path: &str, name: &str, number: u32, label: Label, ty: Type) -> Field {
    Field {
        path: path.to_owned(),
        key: String::new(),
        name: name.to_owned(),
        json_name: None,
        number,
        label,
        ty,
        unset: Unset::Empty,
    }
}

/// Returns the name of a kind's field in a union, and the suffix of its message's name.
fn choice_names(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Bool => ("bool_value", ""),
        Kind::Number => ("number_value", ""),
        Kind::String => ("string_value", ""),
        Kind::Object => ("object_value", "Object"),
        Kind::List => ("list_value", "List"),
    }
}
