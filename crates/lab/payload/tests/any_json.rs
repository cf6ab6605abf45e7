//! Properties of schemas inferred from arbitrary JSON.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use payload::{Sample, Schema, infer};
use proptest::prelude::*;
use prost_reflect::DynamicMessage;
use prost_reflect::prost::Message;
use serde_json::{Map, Number, Value, json};

mod protoc;

/// Generates keys that are valid names, that are not, that map to the same name, and that look like
/// ids.
fn key() -> impl Strategy<Value = String> {
    const KEYS: &[&str] = &[
        "id",
        "userId",
        "user_id",
        "UserID",
        "user id",
        "",
        "1st",
        "[a]",
        "a\0b",
        "message",
        "日本",
        "\"quoted\\",
        "users_entry",
        "users",
        "value",
        "items",
        "key",
        "_x",
        "x_",
        "a.b",
        "\u{7f}\n",
    ];
    prop_oneof![
        6 => proptest::sample::select(KEYS).prop_map(str::to_owned),
        2 => (100..112_u32).prop_map(|id| id.to_string()),
        1 => ".{0,4}",
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        3 => any::<i32>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        2 => any::<f64>().prop_filter_map("JSON cannot hold this number", |number| {
            Number::from_f64(number).map(Value::Number)
        }),
        3 => ".{0,8}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 64, 12, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::btree_map(key(), inner, 0..12)
        .prop_map(|members: BTreeMap<String, Value>| Value::Object(Map::from_iter(members)))
}

/// Generates a scalar or a list of scalars.
fn flat() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => scalar(),
        1 => proptest::collection::vec(scalar(), 0..4).prop_map(Value::Array),
    ]
}

fn top() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => object(value()),
        1 => proptest::collection::vec(value(), 0..6).prop_map(Value::Array),
    ]
}

/// Returns the schema as a descriptor, without the notes.
fn file(schema: &Schema) -> prost_reflect::prost_types::FileDescriptorProto {
    schema
        .descriptor()
        .parent_file()
        .file_descriptor_proto()
        .clone()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn samples_survive_their_own_schema(values in proptest::collection::vec(top(), 1..4)) {
        let texts: Vec<String> = values.iter().map(Value::to_string).collect();
        let samples: Vec<Sample> = texts
            .iter()
            .map(|text| Sample { name: "any.json", json: text.as_bytes() })
            .collect();
        let schema = infer(&samples).unwrap();
        for sample in &samples {
            prop_assert_eq!(schema.check(sample), Ok(()));
            payload::encodings(&schema, sample).unwrap();
        }
        prop_assert!(schema.to_proto().contains("message Payload"));
    }

    #[test]
    fn encoding_is_as_short_as_by_reflection(value in top()) {
        // prost-reflect takes -0.0 for the default, and drops it.
        let text = value.to_string().replace("-0.0", "0.5");
        let sample = Sample { name: "any.json", json: text.as_bytes() };
        let schema = infer(&[sample]).unwrap();
        let bytes = schema.encode(&sample).unwrap();
        let message = DynamicMessage::decode(schema.descriptor().clone(), &bytes[..]).unwrap();
        prop_assert_eq!(message.unknown_fields().count(), 0);
        let again = message.encode_to_vec();
        prop_assert_eq!(again.len(), bytes.len());
        prop_assert_eq!(schema.decode(&again), schema.decode(&bytes));
    }

    #[test]
    fn repeating_a_sample_changes_no_message(value in top()) {
        let text = value.to_string();
        let sample = Sample { name: "any.json", json: text.as_bytes() };
        let (once, twice) = (infer(&[sample]).unwrap(), infer(&[sample, sample]).unwrap());
        prop_assert_eq!(file(&once), file(&twice));
    }

    #[test]
    fn order_of_samples_does_not_change_a_fields_type(
        mut values in proptest::collection::vec(flat(), 1..5),
    ) {
        let declared = |values: &[Value]| {
            let texts: Vec<String> = values.iter().map(|x| json!({ "x": x }).to_string()).collect();
            let samples: Vec<Sample> = texts
                .iter()
                .map(|text| Sample { name: "any.json", json: text.as_bytes() })
                .collect();
            file(&infer(&samples).unwrap())
        };
        let forward = declared(&values);
        values.reverse();
        prop_assert_eq!(forward, declared(&values));
    }

    #[test]
    fn every_note_is_one_comment_line_of_the_proto(values in proptest::collection::vec(top(), 1..4)) {
        let texts: Vec<String> = values.iter().map(Value::to_string).collect();
        let samples: Vec<Sample> = texts
            .iter()
            .map(|text| Sample { name: "any\n.json", json: text.as_bytes() })
            .collect();
        let schema = infer(&samples).unwrap();
        let proto = schema.to_proto();
        for note in schema.notes() {
            let comment = format!("// {note}");
            prop_assert!(proto.lines().any(|line| line.trim_start() == comment), "{}", comment);
        }
    }

    #[test]
    fn damaged_bytes_decode_or_fail_without_panic(value in top(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let text = value.to_string();
        let sample = Sample { name: "any.json", json: text.as_bytes() };
        let schema = infer(&[sample]).unwrap();
        let bytes = schema.encode(&sample).unwrap();
        for end in 0..bytes.len() {
            drop(schema.decode(&bytes[..end]));
        }
        if !bytes.is_empty() {
            let mut flipped = bytes.clone();
            flipped[at.index(bytes.len())] ^= 1_u8 << bit;
            drop(schema.decode(&flipped));
        }
    }

    #[test]
    fn damaged_json_parses_or_fails_with_its_name(value in top(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut json = value.to_string().into_bytes();
        let index = at.index(json.len());
        json[index] ^= 1_u8 << bit;
        match infer(&[Sample { name: "any.json", json: &json }]) {
            Ok(_) => {}
            Err(error) => prop_assert!(error.to_string().starts_with("any.json"), "{}", error),
        }
    }
}

#[test]
fn nesting_stops_at_the_readers_limit() {
    // Each level of lists in lists is a message.
    let nested = |depth: usize, inner: &str| {
        let json = format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
        let sample = Sample {
            name: "deep.json",
            json: json.as_bytes(),
        };
        infer(&[sample]).map(|schema| assert_eq!(schema.check(&sample), Ok(())))
    };
    assert_eq!(nested(100, "1"), Ok(()));
    let error = nested(101, "1").unwrap_err().to_string();
    assert!(
        error.ends_with("deeper than the 100 levels that Protobuf's readers accept"),
        "{error}"
    );
}

#[test]
fn empty_objects_survive() {
    let json = json!({"a": [{}, {"x": 1}], "b": {}}).to_string();
    let sample = Sample {
        name: "s",
        json: json.as_bytes(),
    };
    let schema = infer(&[sample]).unwrap();
    let back = schema.decode(&schema.encode(&sample).unwrap()).unwrap();
    assert_eq!(back, json!({"a": [{}, {"x": 1}], "b": {}}));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn protoc_agrees_with_any_schema(value in top()) {
        let text = value.to_string();
        let schema = infer(&[Sample { name: "any.json", json: text.as_bytes() }]).unwrap();
        protoc::assert_agrees(&schema);
    }
}
