//! Streams JSON to Protobuf: only the output is kept.
//!
//! Written by hand because prost-reflect's `DynamicMessage` holds the whole sample as a tree, writes
//! map entries in random order and drops -0.0.

mod writer;

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::observe::{DUPLICATE_KEY, Key};
use crate::path::Path;
use crate::schema::{Field, Label, Message, Role, Type};
use crate::{Sample, SampleError, Schema};
use writer::{WireValue, Writer};

const HINT: &str = "infer the schema from this sample too";

impl Schema {
    /// Encodes a sample as Protobuf. The samples that the schema was inferred from always fit; for
    /// another one that does not, the error names the path.
    pub fn encode(&self, sample: &Sample<'_>) -> Result<Vec<u8>, SampleError> {
        let mut encoder = Encoder {
            schema: self,
            writer: Writer::default(),
            path: Path::default(),
        };
        sample.read(EncodeValue {
            encoder: &mut encoder,
            slot: Slot::Whole(self.top),
        })?;
        Ok(encoder.writer.into_bytes())
    }
}

/// The state of one encoding.
struct Encoder<'s> {
    schema: &'s Schema,
    writer: Writer,
    path: Path,
}

/// Where a value goes.
#[derive(Clone, Copy)]
enum Slot<'s> {
    /// The whole output, a message.
    Whole(usize),
    /// A field of an object.
    Field(&'s Field),
    /// An element of a list, a value of a map or the choice of a union: written even when it has
    /// the default value.
    Element(u32, Type),
    /// An element of a packed list, which has no tag of its own.
    Packed(Type),
}

/// What a slot can hold.
enum Expected<'s> {
    Scalar(Type),
    Message(&'s Message),
    Items(&'s Field),
    Entries(&'s Field),
}

/// Encodes one value into its slot.
struct EncodeValue<'e, 's> {
    encoder: &'e mut Encoder<'s>,
    slot: Slot<'s>,
}

impl<'s> EncodeValue<'_, 's> {
    fn expected(&self) -> Expected<'s> {
        let ty = match self.slot {
            Slot::Field(field) if field.label == Label::Repeated => return Expected::Items(field),
            Slot::Field(field) if field.label == Label::Map => return Expected::Entries(field),
            Slot::Field(field) => field.ty,
            Slot::Whole(index) => Type::Message(index),
            Slot::Element(_, ty) | Slot::Packed(ty) => ty,
        };
        match ty {
            Type::Message(index) => Expected::Message(&self.encoder.schema.messages[index]),
            scalar => Expected::Scalar(scalar),
        }
    }

    fn number(&self) -> Option<u32> {
        match self.slot {
            Slot::Field(field) => Some(field.number),
            Slot::Element(number, _) => Some(number),
            Slot::Whole(_) | Slot::Packed(_) => None,
        }
    }

    /// Writes a message into this slot; `write` writes its fields.
    fn message<E>(self, write: impl FnOnce(&mut Encoder<'s>) -> Result<(), E>) -> Result<(), E> {
        let Some(number) = self.number() else {
            return write(self.encoder);
        };
        let start = self.encoder.writer.begin(number);
        write(self.encoder)?;
        self.encoder.writer.finish(start);
        Ok(())
    }

    /// Writes a scalar. `as_type` returns it in the form of a type, or `None` if it does not fit.
    fn scalar<'v, E: Error>(
        self,
        what: &str,
        as_type: impl Fn(Type) -> Option<WireValue<'v>>,
    ) -> Result<(), E> {
        match self.expected() {
            Expected::Scalar(ty) => {
                let Some(value) = as_type(ty) else {
                    return Err(self.mismatch(what));
                };
                let unset = match self.slot {
                    Slot::Field(field) => field.label == Label::Plain && value.is_default(),
                    _ => false,
                };
                if !unset {
                    self.encoder.writer.value(self.number(), &value);
                }
                Ok(())
            }
            Expected::Message(union) if union.role == Role::Union => {
                let Some(slot) = choice(union, |ty| as_type(ty).is_some()) else {
                    return Err(self.mismatch(what));
                };
                self.message(|encoder| EncodeValue { encoder, slot }.scalar(what, as_type))
            }
            _ => Err(self.mismatch(what)),
        }
    }

    /// Returns the choice of a union for a message with one of these roles.
    fn message_choice(&self, union: &'s Message, roles: &[Role]) -> Option<Slot<'s>> {
        let messages = &self.encoder.schema.messages;
        choice(union, |ty| match ty {
            Type::Message(index) => roles.contains(&messages[index].role),
            _ => false,
        })
    }

    fn mismatch<E: Error>(&self, what: &str) -> E {
        let path = self.encoder.path.display();
        E::custom(format!("{path}: {what} does not fit the schema; {HINT}"))
    }
}

/// Returns the first choice of a union whose type fits.
fn choice<'s>(union: &'s Message, fits: impl Fn(Type) -> bool) -> Option<Slot<'s>> {
    let mut fields = union.fields.iter();
    let field = fields.find(|field| union.role == Role::Union && fits(field.ty))?;
    Some(Slot::Element(field.number, field.ty))
}

impl<'de> DeserializeSeed<'de> for EncodeValue<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EncodeValue<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match (self.slot, self.expected()) {
            (Slot::Field(field), Expected::Scalar(_)) if field.label == Label::Plain => {
                Err(self.mismatch("null"))
            }
            (Slot::Field(_), _) => Ok(()),
            (_, Expected::Message(message)) if matches!(message.role, Role::Union | Role::Null) => {
                self.message(|_| Ok(()))
            }
            _ => Err(self.mismatch("null")),
        }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar("a boolean", |ty| {
            (ty == Type::Bool).then_some(WireValue::Varint(value.into()))
        })
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar("a negative integer", |ty| match ty {
            Type::Int64 => Some(WireValue::Varint(value.cast_unsigned())),
            Type::Sint64 => Some(WireValue::zigzag(value)),
            Type::Double => Some(WireValue::double(value as f64)),
            _ => None,
        })
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let signed = i64::try_from(value).ok();
        self.scalar("an integer of this size", |ty| match ty {
            Type::Int64 => signed.map(|_| WireValue::Varint(value)),
            Type::Sint64 => signed.map(WireValue::zigzag),
            Type::Uint64 => Some(WireValue::Varint(value)),
            Type::Double => Some(WireValue::double(value as f64)),
            _ => None,
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar("a fraction", |ty| {
            (ty == Type::Double).then_some(WireValue::double(value))
        })
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.scalar("a string", |ty| {
            (ty == Type::String).then_some(WireValue::Text(value))
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        match self.expected() {
            Expected::Items(field) => self.encoder.items(field, list),
            Expected::Message(message) => {
                if message.role == Role::List {
                    return self.message(|encoder| encoder.items(&message.fields[0], list));
                }
                let Some(slot) = self.message_choice(message, &[Role::List]) else {
                    return Err(self.mismatch("a list"));
                };
                self.message(|encoder| EncodeValue { encoder, slot }.visit_seq(list))
            }
            _ => Err(self.mismatch("a list")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.expected() {
            Expected::Entries(field) => self.encoder.entries(field, map),
            Expected::Message(message) => match message.role {
                Role::Entries => self.message(|encoder| encoder.entries(&message.fields[0], map)),
                Role::Object => self.message(|encoder| encoder.object(message, map)),
                _ => {
                    let roles = [Role::Object, Role::Entries];
                    let Some(slot) = self.message_choice(message, &roles) else {
                        return Err(self.mismatch("an object"));
                    };
                    self.message(|encoder| EncodeValue { encoder, slot }.visit_map(map))
                }
            },
            _ => Err(self.mismatch("an object")),
        }
    }
}

impl<'s> Encoder<'s> {
    fn items<'de, A: SeqAccess<'de>>(
        &mut self,
        field: &'s Field,
        mut list: A,
    ) -> Result<(), A::Error> {
        let before = self.path.enter_list();
        let packed = field
            .ty
            .is_packed()
            .then(|| self.writer.begin(field.number));
        let slot = match packed {
            Some(_) => Slot::Packed(field.ty),
            None => Slot::Element(field.number, field.ty),
        };
        let mut any = false;
        while let Some(()) = list.next_element_seed(EncodeValue {
            encoder: self,
            slot,
        })? {
            any = true;
        }
        if let Some(start) = packed {
            if any {
                self.writer.finish(start);
            } else {
                self.writer.discard(start);
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
            let start = self.writer.begin(field.number);
            self.writer.value(Some(1), &WireValue::Text(&key));
            let slot = Slot::Element(2, field.ty);
            map.next_value_seed(EncodeValue {
                encoder: self,
                slot,
            })?;
            self.writer.finish(start);
            if !keys.insert(key.into_owned()) {
                return Err(self.refuse(DUPLICATE_KEY));
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
                return Err(self.refuse(&format!("the schema has no such field; {HINT}")));
            };
            if std::mem::replace(&mut seen[index], true) {
                return Err(self.refuse(DUPLICATE_KEY));
            }
            let slot = Slot::Field(&message.fields[index]);
            map.next_value_seed(EncodeValue {
                encoder: self,
                slot,
            })?;
            self.path.leave(before);
        }
        Ok(())
    }

    fn refuse<E: Error>(&self, reason: &str) -> E {
        E::custom(format!("{}: {reason}", self.path.display()))
    }
}
