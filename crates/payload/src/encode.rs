//! From JSON to Protobuf, as a stream: nothing is kept but what is written.

mod writer;

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::path::Path;
use crate::read::{Key, TWICE};
use crate::schema::{Field, Form, Label, Message, Type};
use crate::{Sample, SampleError, Schema};
use writer::{Wire, Writer};

impl Schema {
    /// A sample as Protobuf. It is one of those that the schema was inferred from, or is like
    /// them.
    pub fn encode(&self, sample: &Sample<'_>) -> Result<Vec<u8>, SampleError> {
        let mut walk = Walk {
            schema: self,
            writer: Writer::default(),
            path: Path::default(),
        };
        sample.read(Put {
            walk: &mut walk,
            slot: Slot::Whole(self.top),
        })?;
        Ok(walk.writer.into_bytes())
    }
}

/// The way through a sample.
struct Walk<'s> {
    schema: &'s Schema,
    writer: Writer,
    path: Path,
}

/// Where a value is written to.
#[derive(Clone, Copy)]
enum Slot<'s> {
    /// A message that is the whole output.
    Whole(usize),
    /// A field of an object.
    Field(&'s Field),
    /// An element of a list, a value of a map or the choice of a union: present in any case.
    Element(u32, Type),
    /// An element that shares the tag of its list.
    Packed(Type),
}

/// What a slot takes.
enum Takes<'s> {
    Scalar(Type),
    Message(&'s Message),
    Items(&'s Field),
    Entries(&'s Field),
}

/// Writes one value.
struct Put<'w, 's> {
    walk: &'w mut Walk<'s>,
    slot: Slot<'s>,
}

impl<'s> Put<'_, 's> {
    fn takes(&self) -> Takes<'s> {
        let ty = match self.slot {
            Slot::Field(field) if field.label == Label::Repeated => return Takes::Items(field),
            Slot::Field(field) if field.label == Label::Map => return Takes::Entries(field),
            Slot::Field(field) => field.ty,
            Slot::Whole(index) => Type::Message(index),
            Slot::Element(_, ty) | Slot::Packed(ty) => ty,
        };
        match ty {
            Type::Message(index) => Takes::Message(&self.walk.schema.messages[index]),
            scalar => Takes::Scalar(scalar),
        }
    }

    fn number(&self) -> Option<u32> {
        match self.slot {
            Slot::Field(field) => Some(field.number),
            Slot::Element(number, _) => Some(number),
            Slot::Whole(_) | Slot::Packed(_) => None,
        }
    }

    /// Writes what is inside the message of this slot.
    fn inside<E>(self, write: impl FnOnce(&mut Walk<'s>) -> Result<(), E>) -> Result<(), E> {
        let Some(number) = self.number() else {
            return write(self.walk);
        };
        let open = self.walk.writer.open(number);
        write(self.walk)?;
        self.walk.writer.close(open);
        Ok(())
    }

    /// Writes a scalar, for which `wire` knows the form that a type gives it.
    fn scalar<'v, E: Error>(
        self,
        what: &str,
        wire: impl Fn(Type) -> Option<Wire<'v>>,
    ) -> Result<(), E> {
        match self.takes() {
            Takes::Scalar(ty) => {
                let Some(value) = wire(ty) else {
                    return Err(self.stranger(what));
                };
                let unset = match self.slot {
                    Slot::Field(field) => field.label == Label::Plain && value.is_default(),
                    _ => false,
                };
                if !unset {
                    self.walk.writer.value(self.number(), &value);
                }
                Ok(())
            }
            Takes::Message(union) if union.form == Form::Union => {
                let Some(slot) = choice(union, |ty| wire(ty).is_some()) else {
                    return Err(self.stranger(what));
                };
                self.inside(|walk| Put { walk, slot }.scalar(what, wire))
            }
            _ => Err(self.stranger(what)),
        }
    }

    /// The choice of a union for a message of a form.
    fn choice_of(&self, union: &'s Message, forms: &[Form]) -> Option<Slot<'s>> {
        let messages = &self.walk.schema.messages;
        choice(union, |ty| match ty {
            Type::Message(index) => forms.contains(&messages[index].form),
            _ => false,
        })
    }

    fn stranger<E: Error>(&self, what: &str) -> E {
        let path = self.walk.path.shown();
        E::custom(format!(
            "{path}: {what} does not fit the schema here; {WAY_OUT}"
        ))
    }
}

/// The choice of a union whose type `fits`, to be written inside it.
fn choice<'s>(union: &'s Message, fits: impl Fn(Type) -> bool) -> Option<Slot<'s>> {
    let mut fields = union.fields.iter();
    let field = fields.find(|field| union.form == Form::Union && fits(field.ty))?;
    Some(Slot::Element(field.number, field.ty))
}

impl<'de> DeserializeSeed<'de> for Put<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Put<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match (self.slot, self.takes()) {
            (Slot::Field(field), Takes::Scalar(_)) if field.label == Label::Plain => {
                Err(self.stranger("null"))
            }
            (Slot::Field(_), _) => Ok(()),
            (_, Takes::Message(message)) if matches!(message.form, Form::Union | Form::Null) => {
                self.inside(|_| Ok(()))
            }
            _ => Err(self.stranger("null")),
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar("a boolean", |ty| {
            (ty == Type::Bool).then_some(Wire::Varint(value.into()))
        })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar("an integer below 0", |ty| match ty {
            Type::Int64 => Some(Wire::Varint(value.cast_unsigned())),
            Type::Sint64 => Some(Wire::zigzag(value)),
            Type::Double => Some(Wire::double(value as f64)),
            _ => None,
        })
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let signed = i64::try_from(value).ok();
        self.scalar("such an integer", |ty| match ty {
            Type::Int64 => signed.map(|_| Wire::Varint(value)),
            Type::Sint64 => signed.map(Wire::zigzag),
            Type::Uint64 => Some(Wire::Varint(value)),
            Type::Double => Some(Wire::double(value as f64)),
            _ => None,
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar("a fraction", |ty| {
            (ty == Type::Double).then_some(Wire::double(value))
        })
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.scalar("a string", |ty| {
            (ty == Type::String).then_some(Wire::Text(value))
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        match self.takes() {
            Takes::Items(field) => self.walk.items(field, list),
            Takes::Message(message) => {
                if message.form == Form::List {
                    return self.inside(|walk| walk.items(&message.fields[0], list));
                }
                let Some(slot) = self.choice_of(message, &[Form::List]) else {
                    return Err(self.stranger("a list"));
                };
                self.inside(|walk| Put { walk, slot }.visit_seq(list))
            }
            _ => Err(self.stranger("a list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.takes() {
            Takes::Entries(field) => self.walk.entries(field, map),
            Takes::Message(message) => match message.form {
                Form::Entries => self.inside(|walk| walk.entries(&message.fields[0], map)),
                Form::Object => self.inside(|walk| walk.object(message, map)),
                _ => {
                    let forms = [Form::Object, Form::Entries];
                    let Some(slot) = self.choice_of(message, &forms) else {
                        return Err(self.stranger("an object"));
                    };
                    self.inside(|walk| Put { walk, slot }.visit_map(map))
                }
            },
            _ => Err(self.stranger("an object")),
        }
    }
}

impl<'s> Walk<'s> {
    fn items<'de, A: SeqAccess<'de>>(
        &mut self,
        field: &'s Field,
        mut list: A,
    ) -> Result<(), A::Error> {
        let before = self.path.enter_list();
        let packed = field.ty.packs().then(|| self.writer.open(field.number));
        let slot = match packed {
            Some(_) => Slot::Packed(field.ty),
            None => Slot::Element(field.number, field.ty),
        };
        let mut any = false;
        while let Some(()) = list.next_element_seed(Put { walk: self, slot })? {
            any = true;
        }
        if let Some(open) = packed {
            if any {
                self.writer.close(open);
            } else {
                self.writer.undo(open);
            }
        }
        self.path.leave(before);
        Ok(())
    }

    fn entries<'de, A: MapAccess<'de>>(
        &mut self,
        field: &'s Field,
        mut map: A,
    ) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(Key(key)) = map.next_key()? {
            let before = self.path.enter_key(&key);
            let open = self.writer.open(field.number);
            self.writer.value(Some(1), &Wire::Text(&key));
            let slot = Slot::Element(2, field.ty);
            map.next_value_seed(Put { walk: self, slot })?;
            self.writer.close(open);
            if !keys.insert(key.into_owned()) {
                return Err(self.refuse(TWICE));
            }
            self.path.leave(before);
        }
        Ok(())
    }

    fn object<'de, A: MapAccess<'de>>(
        &mut self,
        message: &'s Message,
        mut map: A,
    ) -> Result<(), A::Error> {
        let mut seen = vec![false; message.fields.len()];
        while let Some(Key(key)) = map.next_key()? {
            let before = self.path.enter_key(&key);
            let Some(&index) = message.by_key.get(&*key) else {
                return Err(self.refuse(&format!("the schema has no such field; {WAY_OUT}")));
            };
            if std::mem::replace(&mut seen[index], true) {
                return Err(self.refuse(TWICE));
            }
            let slot = Slot::Field(&message.fields[index]);
            map.next_value_seed(Put { walk: self, slot })?;
            self.path.leave(before);
        }
        Ok(())
    }

    fn refuse<E: Error>(&self, why: &str) -> E {
        E::custom(format!("{}: {why}", self.path.shown()))
    }
}

const WAY_OUT: &str = "infer the schema from this sample too";
