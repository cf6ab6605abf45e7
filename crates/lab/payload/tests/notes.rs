//! How the schema models disagreeing samples, and the notes on it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use payload::{InferError, Sample, Schema, infer};

/// Returns the schema of samples named `a`, `b`, `c`, and asserts that all survive it.
fn schema(texts: &[&str]) -> Schema {
    let schema = try_schema(texts).unwrap();
    for (name, json) in NAMES.iter().zip(texts) {
        let json = json.as_bytes();
        assert_eq!(schema.check(&Sample { name, json }), Ok(()), "{name}");
    }
    schema
}

fn try_schema(texts: &[&str]) -> Result<Schema, InferError> {
    let samples: Vec<Sample> = NAMES
        .iter()
        .zip(texts)
        .map(|(name, text)| Sample {
            name,
            json: text.as_bytes(),
        })
        .collect();
    infer(&samples)
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn notes(schema: &Schema) -> Vec<String> {
    schema.notes().iter().map(ToString::to_string).collect()
}

/// Returns the declaration of one field `x` with these values, and the notes.
fn field(values: &[&str]) -> (String, Vec<String>) {
    let texts: Vec<String> = values
        .iter()
        .map(|value| format!("{{\"x\": {value}}}"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let schema = schema(&texts);
    let proto = schema.to_proto();
    let declared = proto
        .lines()
        .find(|line| line.ends_with(" x = 1;"))
        .unwrap();
    (declared.trim().to_owned(), notes(&schema))
}

#[test]
fn numbers_take_the_narrowest_type_that_holds_them() {
    for (values, declared, note) in [
        (&["1", "2"][..], "int64 x = 1;", None),
        (&["1", "-2"], "sint64 x = 1;", None),
        (&["0.5"], "double x = 1;", None),
        (
            &["1", "0.5"],
            "double x = 1;",
            Some("x: integers in a, fractions in b; double for both"),
        ),
        (
            &["18446744073709551615"],
            "uint64 x = 1;",
            Some(
                "x: integers beyond 2^53 (a); 64 bits hold them, but JavaScript and other readers \
                 that use doubles lose their last digits",
            ),
        ),
        (
            &["18446744073709551616", "1"],
            "double x = 1;",
            Some("x: numbers beyond 64 bits (a); double, which keeps 15 to 17 digits"),
        ),
    ] {
        let (declaration, notes) = field(values);
        assert_eq!(declaration, declared);
        assert_eq!(
            notes,
            note.map(str::to_owned).into_iter().collect::<Vec<_>>()
        );
    }
    // No 64-bit type holds both of these; a note says what they lose as doubles.
    let texts = ["{\"x\": -1}", "{\"x\": 18446744073709551615}"];
    let notes = notes(&try_schema(&texts).unwrap());
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("double, since no 64-bit type holds both"));
}

#[test]
fn integers_at_type_limits_survive() {
    assert_eq!(field(&["9223372036854775807", "0"]).0, "int64 x = 1;");
    assert_eq!(
        field(&["-9223372036854775808", "9223372036854775807"]).0,
        "sint64 x = 1;"
    );
    assert!(field(&["9007199254740992"]).1.is_empty());
    assert_eq!(field(&["9007199254740993"]).1.len(), 1);
}

#[test]
fn several_kinds_of_nothing_are_noted() {
    assert_eq!(
        field(&["1", "null"]),
        ("optional int64 x = 1;".to_owned(), vec![])
    );
    let absent = schema(&[r#"{"x": ""}"#, "{}"]);
    assert!(absent.to_proto().contains("optional string x = 1;"));
    let both = schema(&[r#"{"x": ""}"#, "{}", r#"{"x": null}"#]);
    assert_eq!(
        notes(&both),
        [
            "x: sometimes absent, sometimes null; Protobuf cannot tell them apart, so it reads back as absent"
        ]
    );
    let (declared, notes) = field(&["[]", "[1]", "null"]);
    assert_eq!(declared, "repeated int64 x = 1;");
    assert_eq!(
        notes,
        [
            "x: sometimes empty, sometimes null; Protobuf cannot tell them apart, so it reads back as empty"
        ]
    );
    assert_eq!(field(&["null"]).0, "Null x = 1;");
    assert_eq!(field(&["[]"]).0, "repeated Null x = 1;");
}

#[test]
fn mixed_kinds_become_a_union() {
    let (declared, notes) = field(&["\"a\"", "1", "{\"y\": []}"]);
    assert_eq!(declared, "X x = 1;");
    assert_eq!(
        notes[0],
        "x: numbers in b, strings in a, objects in c; a message with one field set, or none for null"
    );
    assert_eq!(field(&["[1, null]"]).0, "repeated XItem x = 1;");
    assert_eq!(field(&["[[1], [], [2, 3]]"]).0, "repeated XItem x = 1;");
}

#[test]
fn id_like_keys_become_a_map() {
    let ids = |count: usize, value: &str| {
        let members: Vec<String> = (0..count)
            .map(|id| format!("\"{}\": {value}", 100 + id))
            .collect();
        format!("{{{}}}", members.join(", "))
    };
    let (declared, notes) = field(&[&ids(8, "{\"n\": 1}")]);
    assert_eq!(declared, "map<string, XValue> x = 1;");
    assert_eq!(
        notes,
        ["x: 8 keys that look like ids (a); a map with string keys"]
    );
    assert_eq!(field(&[&ids(7, "1")]).0, "X x = 1;");
    assert_eq!(
        field(&[&ids(8, "1"), "{}", "null"]).0,
        "map<string, int64> x = 1;"
    );
    // More keys than fields are allowed, noticed while they are read.
    let words: Vec<String> = (0..2500)
        .map(|n| format!("\"word {n} x\": [{n}]"))
        .collect();
    let (declared, notes) = field(&[&format!("{{{}}}", words.join(",")), "{\"another\": []}"]);
    assert_eq!(declared, "map<string, XValue> x = 1;");
    assert!(
        notes[0].starts_with("x: more than 1000 different keys (a, b)"),
        "{notes:?}"
    );
}

#[test]
fn top_level_list_is_wrapped() {
    let list = schema(&["[1, 2]", "[]"]);
    assert!(list.to_proto().contains("repeated int64 items = 1;"));
    assert_eq!(
        notes(&list),
        [
            "(top): a list, not an object (a, b); a message with one repeated field, since a Protobuf \
             message has fields"
        ]
    );
}

#[test]
fn samples_without_a_schema_are_refused() {
    for (texts, message) in [
        (&[][..], "no sample was given; give at least one"),
        (
            &["{}", "12"],
            "b is a single number; a message is an object or a list",
        ),
        (
            &["null"],
            "a is a single null; a message is an object or a list",
        ),
        (
            &["{\"a\": [{\"b\": 1, \"b\": 2}]}"],
            "a, line 1 column 19: a[].b: duplicate key in one object",
        ),
        (
            &["{\"a\": 1"],
            "a, line 1 column 7: EOF while parsing an object; the text is incomplete",
        ),
    ] {
        assert_eq!(try_schema(texts).unwrap_err().to_string(), message);
    }
    // 400 objects of 300 fields each, all at different paths.
    let object = |inner: &dyn Fn(usize) -> String, count: usize| {
        let members: Vec<String> = (0..count)
            .map(|n| format!("\"word {n} x\": {}", inner(n)))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    let wide = object(&|_| object(&|n| n.to_string(), 300), 400);
    let error = try_schema(&[&wide]).unwrap_err().to_string();
    assert!(error.ends_with("more than 100000 different fields; this is data without a schema"));
    // Duplicates among the keys of a map, before and after it is recognised as one.
    for second in ["word 5 x", "word 2400 x"] {
        let mut words: Vec<String> = (0..2500).map(|n| format!("\"word {n} x\": 0")).collect();
        words.push(format!("\"{second}\": 0"));
        let error = try_schema(&[&format!("{{{}}}", words.join(","))]).unwrap_err();
        assert!(
            error.to_string().ends_with("duplicate key in one object"),
            "{error}"
        );
    }
}

#[test]
fn mismatch_with_the_schema_names_the_path() {
    let schema = schema(&[r#"{"x": 1, "y": {"z": ["a"]}}"#]);
    for (json, message) in [
        (r#"{"x": "1"}"#, "x: a string does not fit"),
        (r#"{"x": null}"#, "x: null does not fit"),
        (
            r#"{"y": {"z": [1]}}"#,
            "y.z[]: an integer of this size does not fit",
        ),
        (r#"{"y": {"z": [null]}}"#, "y.z[]: null does not fit"),
        (r#"{"y": {"w": 1}}"#, "y.w: the schema has no such field"),
        (r#"{"y": []}"#, "y: a list does not fit"),
        (r#"[]"#, "(top): a list does not fit"),
        (r#"{"x": 1, "x": 1}"#, "x: duplicate key"),
    ] {
        let sample = Sample {
            name: "new",
            json: json.as_bytes(),
        };
        let error = schema.encode(&sample).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn lists_and_maps_of_nothing_are_noted() {
    let (declared, notes) = field(&["[null, null]"]);
    assert_eq!(declared, "repeated Null x = 1;");
    assert_eq!(notes, ["x[]: only null (a); a message without fields"]);
    let (declared, notes) = field(&["[]", "[]"]);
    assert_eq!(declared, "repeated Null x = 1;");
    assert_eq!(
        notes,
        [
            "x: a list that is always empty (a, b); a list of messages without fields; give it its \
             type if you know it"
        ]
    );
    let (_, notes) = field(&["[[], [1]]"]);
    assert_eq!(
        notes,
        [
            "x[]: lists in a list (a); each inner list is a message with one repeated field, since \
             repeated fields do not nest"
        ]
    );
}

#[test]
fn doubles_that_lose_integers_are_noted() {
    let (declared, notes) = field(&["9007199254740993.0", "9007199254740993"]);
    assert_eq!(declared, "double x = 1;");
    assert_eq!(
        notes,
        [
            "x: integers in b, fractions in a; double for both",
            "x: integers beyond 2^53 in a double field (b); they lose their last digits"
        ]
    );
}

#[test]
fn rejected_keys_are_noted() {
    let keys = schema(&[r#"{"[a]": 1, "b\u0000": 2}"#]);
    assert_eq!(
        notes(&keys),
        [
            r#"["[a]"]: a key that protoc rejects as a json_name; ProtoJSON calls it "key [a]""#,
            r#"["b\0"]: a key that protoc rejects as a json_name; ProtoJSON calls it "key b�""#,
        ]
    );
}

#[test]
fn objects_with_a_million_keys_are_refused() {
    let members: Vec<String> = (0..=1_000_000).map(|n| format!("\"k{n}\":0")).collect();
    let error = try_schema(&[&format!("{{{}}}", members.join(","))]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.ends_with("more than 1000000 keys in one object"),
        "{error}"
    );
}
