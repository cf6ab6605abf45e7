//! A page of orders as an API answers it: its schema is kept beside it, and Google's own protoc
//! agrees with it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "protoc reads and writes files")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use payload::{Sample, Schema, infer};
use prost_reflect::prost::Message;
use prost_reflect::prost_types::FileDescriptorSet;

const ORDERS: Sample<'_> = Sample {
    name: "orders.json",
    json: include_bytes!("data/orders.json"),
};

fn schema() -> Schema {
    infer(&[ORDERS]).unwrap()
}

/// Runs protoc on the schema, kept in a folder, with `input` to read.
fn protoc(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path().unwrap())
        .arg("-I")
        .arg(folder)
        .args(arguments)
        .arg("payload.proto")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    protoc.stdin.take().unwrap().write_all(input).unwrap();
    let output = protoc.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn folder_with(proto: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("payload.proto"), proto).unwrap();
    folder
}

/// `UPDATE_GOLDEN=1 cargo test -p commute-payload` writes the file anew.
#[test]
fn the_schema_is_the_golden_one() {
    let proto = schema().to_proto();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/orders.proto");
        fs::write(file, &proto).unwrap();
    } else {
        assert_eq!(proto, include_str!("data/orders.proto"));
    }
}

#[test]
fn the_sample_survives() {
    assert_eq!(schema().check(&ORDERS), Ok(()));
}

#[test]
fn protoc_reads_what_was_encoded_and_writes_it_as_short() {
    let schema = schema();
    let folder = folder_with(&schema.to_proto());
    let encoded = schema.encode(&ORDERS).unwrap();
    let text = protoc(folder.path(), &["--decode=payload.Payload"], &encoded);
    let text = String::from_utf8(text).unwrap();
    for line in [
        "number: \"2026-1180\"",
        "id: 1790000000000000000",
        "balance_cents: -",
        "engraving",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let unknown = |line: &str| line.trim().starts_with(|c: char| c.is_ascii_digit());
    assert!(!text.lines().any(unknown), "unknown fields in\n{text}");
    let again = protoc(
        folder.path(),
        &["--encode=payload.Payload", "--deterministic_output"],
        text.as_bytes(),
    );
    assert_eq!(again.len(), encoded.len());
    let value = schema.decode(&encoded).unwrap();
    assert_eq!(schema.decode(&again).unwrap(), value);
}

/// What protoc makes of the text is what reflection works with here.
fn assert_protoc_agrees(schema: &Schema) {
    let folder = folder_with(&schema.to_proto());
    let set = folder.path().join("set");
    let out = format!("--descriptor_set_out={}", set.display());
    protoc(folder.path(), &[&out], &[]);
    let compiled = FileDescriptorSet::decode(&fs::read(&set).unwrap()[..]).unwrap();
    let built = schema
        .descriptor()
        .parent_file()
        .file_descriptor_proto()
        .clone();
    let mut built_messages = built.message_type;
    built_messages.sort_by(|one, other| one.name.cmp(&other.name));
    let mut messages = compiled.file[0].message_type.clone();
    messages.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(built_messages, messages);
}

#[test]
fn text_and_descriptor_are_one_schema() {
    assert_protoc_agrees(&schema());
}

#[test]
fn protoc_takes_keys_that_are_no_names() {
    let json = br#"{"": 1, "[a]": 2, "a\u0000b": 3, "userId": 4, "user_id": 5, "UserID": 6,
        "\u65e5\u672c": 7, "\"\\\n\u007f7": 8, "message": 9, "2fa": 10, "*/": 11, "reserved": null,
        "users": {"1":{}, "2":{}, "3":{}, "4":{}, "5":{}, "6":{}, "7":{}, "8":{}},
        "users_entry": {"x": {"x": []}}, "value": [null, "a", 1, [true], {"value": -1}],
        "key [a]": 12, "Payload": {}, "string": {"optional": [[0.5], [[]]]}}"#;
    let sample = Sample {
        name: "odd\n\"name\".json",
        json,
    };
    let schema = infer(&[sample]).unwrap();
    assert_eq!(schema.check(&sample), Ok(()));
    assert_protoc_agrees(&schema);
}

#[test]
fn protoc_takes_a_list_at_the_top_and_one_beside_an_object() {
    let list = Sample {
        name: "list.json",
        json: b"[{\"id\": 1}, {\"id\": null}]",
    };
    let object = Sample {
        name: "object.json",
        json: b"{\"error\": \"none\"}",
    };
    for samples in [&[list][..], &[list, object]] {
        let schema = infer(samples).unwrap();
        assert_protoc_agrees(&schema);
        for sample in samples {
            assert_eq!(schema.check(sample), Ok(()));
        }
    }
}
