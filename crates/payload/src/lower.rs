//! From what stood in the samples to messages.

mod notes;
mod number;

use std::collections::BTreeMap;

use crate::names::{self, Names, are_ids};
use crate::path;
use crate::place::{Array, Kind, Members, Object, Place};
use crate::schema::{Field, Form, Label, Message, Type, Unset};
use crate::{InferError, Note, Schema, descriptor};

/// Protobuf's readers stop at 100 messages inside each other (C++, Java, prost), the entries of a
/// map being messages too.
const MAX_DEPTH: u32 = 99;

/// The name of the message of a whole sample.
const TOP: &str = "Payload";

pub(crate) fn lower(top: Place, samples: Vec<String>) -> Result<Schema, InferError> {
    let mut lower = Lower {
        messages: Vec::new(),
        names: Names::default(),
        null: None,
        notes: Vec::new(),
        samples,
    };
    let listed = top.array.as_ref().map(|array| array.all.samples.clone());
    let at = At {
        path: "",
        scope: "",
        name: TOP,
        depth: 0,
    };
    let Type::Message(index) = lower.element(top, at)? else {
        unreachable!("objects and lists are messages")
    };
    if let Some(samples) = listed {
        let modelled = "a message with one repeated field, since Protobuf's messages have fields";
        lower.note("", "a list and no object", &samples, modelled);
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
    /// The one message that stands for nothing but nulls.
    null: Option<usize>,
    notes: Vec<Note>,
    samples: Vec<String>,
}

/// Where a place is, and what a message there is to be called.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    /// The name of the message around.
    scope: &'a str,
    name: &'a str,
    depth: u32,
}

/// A field without its names.
struct Shape {
    label: Label,
    ty: Type,
    unset: Unset,
}

impl Lower {
    /// The type of an element of a list or a map: it is always there, but may be `null`.
    fn element(&mut self, place: Place, at: At<'_>) -> Result<Type, InferError> {
        match (place.kinds().as_slice(), place.null.seen()) {
            ([], false) => {
                // The list itself is explained where it stands.
                Ok(self.null_message())
            }
            ([], true) => {
                let modelled = "a message without fields";
                self.note(at.path, "only null", &place.null.samples, modelled);
                Ok(self.null_message())
            }
            ([kind], false) => self.one(place, *kind, at),
            (_, _) => self.union(place, at),
        }
    }

    /// The type of a place that has seen one kind and no `null`.
    fn one(&mut self, mut place: Place, kind: Kind, at: At<'_>) -> Result<Type, InferError> {
        match kind {
            Kind::Bool => Ok(Type::Bool),
            Kind::String => Ok(Type::String),
            Kind::Number => Ok(self.number(&place, at.path)),
            Kind::Object => {
                let object = *place.object.take().unwrap_or_default();
                match self.map_of(object, at.path) {
                    Ok(values) => self.wrap(Form::Entries, at, |lower, at| {
                        Ok((Label::Map, lower.map_value(values, at)?))
                    }),
                    Err(object) => self.object(*object, at),
                }
            }
            Kind::List => {
                let array = *place.array.take().unwrap_or_default();
                self.wrap(Form::List, at, |lower, at| {
                    Ok((Label::Repeated, lower.items(array, at)?))
                })
            }
        }
    }

    fn object(&mut self, object: Object, at: At<'_>) -> Result<Type, InferError> {
        let Members::Fields(members) = object.members else {
            unreachable!("the members of a map were taken by map_of")
        };
        let index = self.message(Form::Object, at)?;
        let name = self.messages[index].name.clone();
        let (mut fields, mut by_key) = (Vec::new(), BTreeMap::new());
        let (mut names, mut json_names) = (Names::default(), Names::default());
        for (number, (key, member)) in (1..).zip(members) {
            let path = path::field(at.path, &key);
            let message = names::pascal(&key);
            let inner = At {
                path: &path,
                scope: &name,
                name: &message,
                depth: at.depth + 1,
            };
            let absent = member.place.count() < object.all.count;
            let Shape { label, ty, unset } = self.field(member.place, absent, inner)?;
            let field_name = names.field(&key, number);
            let json = json_names.json(&key);
            if json != key {
                let modelled = format!("Protobuf's own JSON calls it {json:?}");
                self.note(&path, "a key that protoc refuses", &[], &modelled);
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

    /// A field of an object, which may be absent.
    fn field(&mut self, mut place: Place, absent: bool, at: At<'_>) -> Result<Shape, InferError> {
        let null = std::mem::take(&mut place.null);
        let missing = absent || null.seen();
        let (label, ty, empty) = match place.kinds().as_slice() {
            [] => {
                let modelled = "a message without fields, never set: give it a type when you know";
                self.note(at.path, "only null", &null.samples, modelled);
                (Label::Plain, self.null_message(), false)
            }
            [Kind::List] => {
                let array = *place.array.take().unwrap_or_default();
                let empty = array.empty.seen();
                (Label::Repeated, self.items(array, at)?, empty)
            }
            [Kind::Object] => {
                let object = *place.object.take().unwrap_or_default();
                let empty = object.empty.seen();
                match self.map_of(object, at.path) {
                    Ok(values) => (Label::Map, self.map_value(values, at)?, empty),
                    // A message can be set and empty, and so tells itself.
                    Err(object) => (Label::Plain, self.object(*object, at)?, false),
                }
            }
            [kind] if missing => (Label::Optional, self.one(place, *kind, at)?, false),
            [kind] => (Label::Plain, self.one(place, *kind, at)?, false),
            _ => (Label::Plain, self.union(place, at)?, false),
        };
        let unset = self.unset(absent, null.seen(), empty, at.path);
        Ok(Shape { label, ty, unset })
    }

    /// The elements of a list.
    fn items(&mut self, array: Array, at: At<'_>) -> Result<Type, InferError> {
        let path = format!("{}[]", at.path);
        let name = format!("{}Item", at.name);
        if array.element.count() == 0 {
            let modelled = "a list of messages without fields: give it a type when you know";
            let samples = &array.all.samples;
            self.note(at.path, "a list that is always empty", samples, modelled);
        }
        if let Some(inner) = &array.element.array {
            let modelled = "each inner list is a message with one repeated field, since Protobuf's \
                            lists do not nest";
            self.note(&path, "lists in a list", &inner.all.samples, modelled);
        }
        let at = At {
            path: &path,
            name: &name,
            ..at
        };
        self.element(array.element, at)
    }

    fn map_value(&mut self, values: Place, at: At<'_>) -> Result<Type, InferError> {
        let path = format!("{}{{}}", at.path);
        let name = format!("{}Value", at.name);
        let at = At {
            path: &path,
            name: &name,
            depth: at.depth + 1,
            ..at
        };
        self.element(values, at)
    }

    /// The values of an object that is a map, or the object.
    fn map_of(&mut self, object: Object, path: &str) -> Result<Place, Box<Object>> {
        let found = match &object.members {
            Members::Entries(_) => "more than 1000 different keys".to_owned(),
            Members::Fields(fields)
                if are_ids(&fields.keys().map(String::as_str).collect::<Vec<_>>()) =>
            {
                let mut kinds = fields.values().flat_map(|member| member.place.kinds());
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

    /// A message for a place where several kinds stood, or one kind and `null` in a list.
    fn union(&mut self, mut place: Place, at: At<'_>) -> Result<Type, InferError> {
        let kinds = place.kinds();
        self.note_union(&place, &kinds, at.path);
        let index = self.message(Form::Union, at)?;
        let scope = self.messages[index].name.clone();
        let mut fields = Vec::new();
        for (number, kind) in (1..).zip(kinds) {
            let (word, suffix) = choice_words(kind);
            let name = format!("{}{suffix}", at.name);
            let inner = At {
                scope: &scope,
                name: &name,
                depth: at.depth + 1,
                ..at
            };
            let ty = self.one(place.take(kind), kind, inner)?;
            fields.push(helper_field(at.path, word, number, Label::Choice, ty));
        }
        self.messages[index].fields = fields;
        Ok(Type::Message(index))
    }

    /// A message with one field, for what cannot stand by itself where it stands.
    fn wrap(
        &mut self,
        form: Form,
        at: At<'_>,
        inside: impl FnOnce(&mut Lower, At<'_>) -> Result<(Label, Type), InferError>,
    ) -> Result<Type, InferError> {
        let index = self.message(form, at)?;
        let scope = self.messages[index].name.clone();
        let inner = At {
            scope: &scope,
            depth: at.depth + 1,
            ..at
        };
        let (label, ty) = inside(self, inner)?;
        let name = match form {
            Form::Entries => "entries",
            _ => "items",
        };
        self.messages[index].fields = vec![helper_field(at.path, name, 1, label, ty)];
        Ok(Type::Message(index))
    }

    fn null_message(&mut self) -> Type {
        let index = *self.null.get_or_insert_with(|| {
            self.messages.push(Message {
                name: self.names.message("", "Null"),
                path: String::new(),
                form: Form::Null,
                fields: Vec::new(),
                by_key: BTreeMap::new(),
            });
            self.messages.len() - 1
        });
        Type::Message(index)
    }

    /// A new message, still without fields.
    fn message(&mut self, form: Form, at: At<'_>) -> Result<usize, InferError> {
        if at.depth > MAX_DEPTH {
            let path = path::shown(at.path).to_owned();
            return Err(InferError::TooDeep { path });
        }
        self.messages.push(Message {
            name: self.names.message(at.scope, at.name),
            path: at.path.to_owned(),
            form,
            fields: Vec::new(),
            by_key: BTreeMap::new(),
        });
        Ok(self.messages.len() - 1)
    }
}

fn helper_field(path: &str, name: &str, number: u32, label: Label, ty: Type) -> Field {
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

/// The field of a union for a kind, and what its message's name ends in.
fn choice_words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Bool => ("bool_value", ""),
        Kind::Number => ("number_value", ""),
        Kind::String => ("string_value", ""),
        Kind::Object => ("object_value", "Object"),
        Kind::List => ("list_value", "List"),
    }
}
