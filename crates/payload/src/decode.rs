//! From Protobuf back to JSON, by reflection.

use prost_reflect::{DynamicMessage, MapKey, Value as Proto};
use serde_json::{Map, Number, Value};

use crate::Schema;
use crate::schema::{Field, Form, Label, Type, Unset};

/// Why bytes are none of this schema's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They are no Protobuf, or not of these types.
    #[error("these bytes are no such message: {0}")]
    Malformed(String),
    /// JSON has no word for a value.
    #[error("{0}: JSON has no number for infinity or what is none")]
    NotFinite(String),
}

impl Schema {
    /// What bytes of this schema say, as JSON. It takes memory for every value in them.
    pub fn decode(&self, protobuf: &[u8]) -> Result<Value, DecodeError> {
        let message = DynamicMessage::decode(self.descriptor.clone(), protobuf)
            .map_err(|error| DecodeError::Malformed(error.to_string()))?;
        self.message_value(self.top, &message)
    }

    fn message_value(&self, index: usize, message: &DynamicMessage) -> Result<Value, DecodeError> {
        let described = &self.messages[index];
        match described.form {
            Form::Null => Ok(Value::Null),
            Form::List | Form::Entries => {
                let field = &described.fields[0];
                Ok(self.field_value(field, message)?.unwrap_or_default())
            }
            Form::Union => {
                for field in &described.fields {
                    if let Some(value) = self.field_value(field, message)? {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Form::Object => {
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
        // A scalar that is always there is left out on the wire when it is 0.
        let always = field.label == Label::Plain && !matches!(field.ty, Type::Message(_));
        if !always && !message.has_field_by_number(field.number) {
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
            _ => unreachable!("no schema here has other types"),
        })
    }
}
