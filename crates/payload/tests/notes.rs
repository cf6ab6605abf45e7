//! What is said where samples disagree, and what the schema makes of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use payload::{InferError, Sample, Schema, infer};

/// Samples named `a`, `b` and so on.
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

/// One field `x` over the samples: how it is declared, and what is said.
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
    for (values, declared, said) in [
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
                "x: integers beyond 2^53 (a); 64 bits hold them; JavaScript, and whoever keeps \
                 numbers as doubles, loses their last digits",
            ),
        ),
        (
            &["18446744073709551616", "1"],
            "double x = 1;",
            Some("x: numbers beyond 64 bits (a); double, which keeps 15 to 17 of their digits"),
        ),
    ] {
        let (is, notes) = field(values);
        assert_eq!(is, declared);
        assert_eq!(
            notes,
            said.map(str::to_owned).into_iter().collect::<Vec<_>>()
        );
    }
    // No type holds both of these: what they lose as doubles is said.
    let texts = ["{\"x\": -1}", "{\"x\": 18446744073709551615}"];
    let notes = notes(&try_schema(&texts).unwrap());
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("double, since no type of 64 bits holds both"));
}

#[test]
fn integers_at_the_edges_of_their_types_survive() {
    assert_eq!(field(&["9223372036854775807", "0"]).0, "int64 x = 1;");
    assert_eq!(
        field(&["-9223372036854775808", "9223372036854775807"]).0,
        "sint64 x = 1;"
    );
    assert!(field(&["9007199254740992"]).1.is_empty());
    assert_eq!(field(&["9007199254740993"]).1.len(), 1);
}

#[test]
fn nothings_are_explained_where_there_are_several() {
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
            "x: sometimes absent, sometimes null; Protobuf cannot tell them apart: read back as absent"
        ]
    );
    let (declared, said) = field(&["[]", "[1]", "null"]);
    assert_eq!(declared, "repeated int64 x = 1;");
    assert_eq!(
        said,
        ["x: sometimes empty, sometimes null; Protobuf cannot tell them apart: read back as empty"]
    );
    assert_eq!(field(&["null"]).0, "Null x = 1;");
    assert_eq!(field(&["[]"]).0, "repeated Null x = 1;");
}

#[test]
fn kinds_that_share_a_place_become_one_of_them() {
    let (declared, said) = field(&["\"a\"", "1", "{\"y\": []}"]);
    assert_eq!(declared, "X x = 1;");
    assert_eq!(
        said[0],
        "x: numbers in b, strings in a, objects in c; a message of which one field is set, or for \
         null none"
    );
    assert_eq!(field(&["[1, null]"]).0, "repeated XItem x = 1;");
    assert_eq!(field(&["[[1], [], [2, 3]]"]).0, "repeated XItem x = 1;");
}

#[test]
fn ids_as_keys_become_a_map() {
    let ids = |count: usize, value: &str| {
        let members: Vec<String> = (0..count)
            .map(|id| format!("\"{}\": {value}", 100 + id))
            .collect();
        format!("{{{}}}", members.join(", "))
    };
    let (declared, said) = field(&[&ids(8, "{\"n\": 1}")]);
    assert_eq!(declared, "map<string, XValue> x = 1;");
    assert_eq!(
        said,
        ["x: 8 keys that look like ids (a); a map with string keys"]
    );
    assert_eq!(field(&[&ids(7, "1")]).0, "X x = 1;");
    assert_eq!(
        field(&[&ids(8, "1"), "{}", "null"]).0,
        "map<string, int64> x = 1;"
    );
    // More keys than a message should have fields, while they are read.
    let words: Vec<String> = (0..2500)
        .map(|n| format!("\"word {n} x\": [{n}]"))
        .collect();
    let (declared, said) = field(&[&format!("{{{}}}", words.join(",")), "{\"another\": []}"]);
    assert_eq!(declared, "map<string, XValue> x = 1;");
    assert!(
        said[0].starts_with("x: more than 1000 different keys (a, b)"),
        "{said:?}"
    );
}

#[test]
fn a_list_at_the_top_is_wrapped() {
    let list = schema(&["[1, 2]", "[]"]);
    assert!(list.to_proto().contains("repeated int64 items = 1;"));
    assert_eq!(
        notes(&list),
        [
            "(top): a list and no object (a, b); a message with one repeated field, since Protobuf's \
          messages have fields"
        ]
    );
}

#[test]
fn what_cannot_be_a_message_is_refused() {
    for (texts, said) in [
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
            "a, line 1 column 19: a[].b: this key comes twice in one object",
        ),
        (
            &["{\"a\": 1"],
            "a, line 1 column 7: EOF while parsing an object: the text ends too early",
        ),
    ] {
        assert_eq!(try_schema(texts).unwrap_err().to_string(), said);
    }
    // 400 objects of 300 fields each, all in places of their own.
    let object = |inner: &dyn Fn(usize) -> String, count: usize| {
        let members: Vec<String> = (0..count)
            .map(|n| format!("\"word {n} x\": {}", inner(n)))
            .collect();
        format!("{{{}}}", members.join(","))
    };
    let wide = object(&|_| object(&|n| n.to_string(), 300), 400);
    let error = try_schema(&[&wide]).unwrap_err().to_string();
    assert!(error.ends_with("more than 100000 different fields; this is data without a schema"));
    // Also among the keys of a map, before and after it is known for one.
    for second in ["word 5 x", "word 2400 x"] {
        let mut words: Vec<String> = (0..2500).map(|n| format!("\"word {n} x\": 0")).collect();
        words.push(format!("\"{second}\": 0"));
        let error = try_schema(&[&format!("{{{}}}", words.join(","))]).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("this key comes twice in one object"),
            "{error}"
        );
    }
}

#[test]
fn a_sample_that_does_not_fit_says_where() {
    let schema = schema(&[r#"{"x": 1, "y": {"z": ["a"]}}"#]);
    for (json, said) in [
        (r#"{"x": "1"}"#, "x: a string does not fit"),
        (r#"{"x": null}"#, "x: null does not fit"),
        (
            r#"{"y": {"z": [1]}}"#,
            "y.z[]: such an integer does not fit",
        ),
        (r#"{"y": {"z": [null]}}"#, "y.z[]: null does not fit"),
        (r#"{"y": {"w": 1}}"#, "y.w: the schema has no such field"),
        (r#"{"y": []}"#, "y: a list does not fit"),
        (r#"[]"#, "(top): a list does not fit"),
        (r#"{"x": 1, "x": 1}"#, "x: this key comes twice"),
    ] {
        let sample = Sample {
            name: "new",
            json: json.as_bytes(),
        };
        let error = schema.encode(&sample).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
