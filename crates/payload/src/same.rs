//! Whether what was read back is what was written.

use std::marker::PhantomData;

use serde_json::{Map, Value};

use crate::path::{field, shown};
use crate::{DecodeError, Sample, SampleError, Schema};

/// Why a sample does not survive the way to Protobuf and back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// It is no JSON, or does not fit the schema.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// What was written cannot be read.
    #[error("what was written cannot be read: {0}")]
    Decode(#[from] DecodeError),
    /// What was read is not what was written.
    #[error("{path} came back as another value")]
    Differs {
        /// The first place that differs.
        path: String,
    },
}

impl Schema {
    /// Encodes a sample, decodes it and compares, but for what Protobuf cannot tell (see the head
    /// of the crate); a number that has become a double is compared as one. Both values are held as trees: about ten times the sample in memory.
    pub fn check(&self, sample: &Sample<'_>) -> Result<(), CheckError> {
        let back = self.decode(&self.encode(sample)?)?;
        let value: Value = sample.read(PhantomData)?;
        match difference(&value, &back, "") {
            None => Ok(()),
            Some(path) => Err(CheckError::Differs {
                path: shown(&path).to_owned(),
            }),
        }
    }
}

/// The first place where two values differ in more than nothings and the form of numbers.
pub(crate) fn difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a != b => {
            let whole = a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64());
            (!whole).then(|| path.to_owned())
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let path = format!("{path}[]");
            let mut pairs = a.iter().zip(b);
            pairs.find_map(|(a, b)| difference(a, b, &path))
        }
        (Value::Object(a), Value::Object(b)) => members(a, b, path).or_else(|| members(b, a, path)),
        (one, other) => (one != other).then(|| path.to_owned()),
    }
}

fn members(one: &Map<String, Value>, other: &Map<String, Value>, path: &str) -> Option<String> {
    one.iter().find_map(|(key, value)| {
        let path = field(path, key);
        match other.get(key) {
            Some(other) if nothing(value) && nothing(other) => None,
            Some(other) => difference(value, other, &path),
            None if nothing(value) => None,
            None => Some(path),
        }
    })
}

fn nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothings_are_one_in_fields_and_differ_in_lists() {
        let same = |a: Value, b: Value| assert_eq!(difference(&a, &b, ""), None);
        same(json!({"a": null, "b": 1}), json!({"b": 1.0}));
        same(json!({"a": []}), json!({"a": null}));
        let differ = |a: Value, b: Value, path: &str| {
            assert_eq!(difference(&a, &b, "").as_deref(), Some(path));
        };
        differ(json!({"a": [null]}), json!({"a": [[]]}), "a[]");
        differ(json!({"a": 0}), json!({}), "a");
        differ(json!({}), json!({"a": {"b": ""}}), "a");
        differ(json!([1]), json!([1, 1]), "");
        differ(json!(9007199254740993_u64), json!(9007199254740992_u64), "");
    }
}
