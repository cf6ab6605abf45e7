//! Checks that a sample survives Protobuf.

use std::marker::PhantomData;

use serde_json::{Map, Value};

use crate::path::{display, member};
use crate::{DecodeError, Sample, SampleError, Schema};

/// Why a sample does not survive encoding and decoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The sample is not JSON, or does not fit the schema.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The encoded sample cannot be decoded.
    #[error("its own Protobuf cannot be decoded: {0}")]
    Decode(#[from] DecodeError),
    /// The decoded sample differs from the original.
    #[error("{path} came back as another value")]
    Differs {
        /// The first path that differs.
        path: String,
    },
}

impl Schema {
    /// Encodes a sample, decodes it and compares the two, apart from what Protobuf cannot express
    /// (see the head of the crate). A number that has become a double is compared as one.
    ///
    /// Both values are in memory as trees: about ten times the sample.
    pub fn check(&self, sample: &Sample<'_>) -> Result<(), CheckError> {
        let back = self.decode(&self.encode(sample)?)?;
        let value: Value = sample.read(PhantomData)?;
        match difference(&value, &back, "") {
            None => Ok(()),
            Some(path) => Err(CheckError::Differs {
                path: display(&path).to_owned(),
            }),
        }
    }
}

/// Returns the first path where two values differ, ignoring the kind of "nothing" in fields and the
/// form of numbers.
pub(crate) fn difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a != b => {
            let same_double = a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64());
            (!same_double).then(|| path.to_owned())
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let path = format!("{path}[]");
            let mut pairs = a.iter().zip(b);
            pairs.find_map(|(a, b)| difference(a, b, &path))
        }
        (Value::Object(a), Value::Object(b)) => {
            member_difference(a, b, path).or_else(|| first_added(a, b, path))
        }
        (one, other) => (one != other).then(|| path.to_owned()),
    }
}

fn member_difference(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    path: &str,
) -> Option<String> {
    one.iter().find_map(|(key, value)| {
        let path = member(path, key);
        match other.get(key) {
            Some(other) if is_nothing(value) && is_nothing(other) => None,
            Some(other) => difference(value, other, &path),
            None if is_nothing(value) => None,
            None => Some(path),
        }
    })
}

/// Returns the path of the first member that only the other has. Members of both are compared once: comparing twice at
/// every level would double the time with each.
fn first_added(one: &Map<String, Value>, other: &Map<String, Value>, path: &str) -> Option<String> {
    let is_added = |(key, value): &(&String, &Value)| !one.contains_key(*key) && !is_nothing(value);
    let (key, _) = other.iter().find(is_added)?;
    Some(member(path, key))
}

fn is_nothing(value: &Value) -> bool {
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
    fn nothings_are_equal_in_fields_and_distinct_in_lists() {
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

    #[test]
    fn nested_objects_are_compared_once_at_each_level() {
        let nested = |leaf: Value| (0..100).fold(leaf, |inner, _| json!({"a": inner, "b": 1}));
        assert_eq!(difference(&nested(json!(1)), &nested(json!(1)), ""), None);
        let path = difference(&nested(json!({})), &nested(json!({"c": 1})), "");
        assert!(path.is_some_and(|path| path.ends_with(".c")));
    }
}
