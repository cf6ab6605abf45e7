//! Decodes Protobuf to JSON, by reflection.

use prost_reflect::{DynamicMessage, MapKey, Value as Proto};
use serde_json::{Map, Number, Value};

use crate::Schema;
use crate::schema::{Field, Label, Role, Type, Unset};

/// Why bytes cannot be decoded by this schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not Protobuf, or not of these types. The library's error.
    #[error("the bytes are not such a message: {0}")]
    Malformed(String),
    /// The double at this path is not finite, so JSON cannot hold it.
    #[error("{0}: JSON cannot hold NaN or an infinity")]
    NotFinite(String),
}

impl Schema {
    /// Decodes bytes of this schema to JSON. Memory grows with the number of values.
    pub fn decode(&self, protobuf: &[u8]) -> Result<Value, DecodeError> {
        let message = DynamicMessage::decode(self.descriptor.clone(), protobuf)
            .map_err(|error| DecodeError::Malformed(error.to_string()))?;
        self.message_value(self.top, &message)
    }

    fn message_value(&self, index: usize, message: &DynamicMessage) -> Result<Value, DecodeError> {
        let described = &self.messages[index];
        match described.role {
            Role::Null => Ok(Value::Null),
            Role::List | Role::Entries => {
                let field = &described.fields[0];
                Ok(self.field_value(field, message)?.unwrap_or_default())
            }
            Role::Union => {
                for field in &described.fields {
                    if let Some(value) = self.field_value(field, message)? {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Role::Object => {
                let mut object = Map::new();
                for field in &described.fields {
                    if let Some(value) = self.field_value(field, message)? {
                        object.insert(field.key.clone(), value);
                    }
                }
                Ok(Value::Object(object))
            }
        }
    }

    fn field_value(
        &self,
        field: &Field,
        message: &DynamicMessage,
    ) -> Result<Option<Value>, DecodeError> {
        // A plain scalar is left out on the wire when it has the default value.
        let plain_scalar = field.label == Label::Plain && !matches!(field.ty, Type::Message(_));
        if !plain_scalar && !message.has_field_by_number(field.number) {
            return Ok(match (field.unset, field.label) {
                (_, Label::Choice) | (Unset::Absent, _) => None,
                (Unset::Null, _) => Some(Value::Null),
                (Unset::Empty, Label::Map) => Some(Value::Object(Map::new())),
                (Unset::Empty, _) => Some(Value::Array(Vec::new())),
            });
        }
        let Some(value) = message.get_field_by_number(field.number) else {
            return Ok(None);
        };
        self.proto_value(field, &value).map(Some)
    }

    fn proto_value(&self, field: &Field, value: &Proto) -> Result<Value, DecodeError> {
        Ok(match value {
            Proto::Bool(value) => Value::Bool(*value),
            Proto::I64(value) => (*value).into(),
            Proto::U64(value) => (*value).into(),
            Proto::F64(value) => {
                let not_finite = || DecodeError::NotFinite(field.path.clone());
                Value::Number(Number::from_f64(*value).ok_or_else(not_finite)?)
            }
            Proto::String(value) => Value::String(value.clone()),
            Proto::List(values) => {
                let values = values.iter().map(|value| self.proto_value(field, value));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            Proto::Map(entries) => {
                let mut object = Map::new();
                for (key, value) in entries {
                    if let MapKey::String(key) = key {
                        object.insert(key.clone(), self.proto_value(field, value)?);
                    }
                }
                Value::Object(object)
            }
            Proto::Message(message) => {
                let Type::Message(index) = field.ty else {
                    unreachable!("the descriptor was built from this schema")
                };
                self.message_value(index, message)?
            }
            _ => unreachable!("inferred schemas have no other types"),
        })
    }
}
