//! A page of orders from an API, with its schema as a golden file. Google's protoc agrees with it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use payload::{Sample, Schema, infer};

mod protoc;

const ORDERS: Sample<'_> = Sample {
    name: "orders.json",
    json: include_bytes!("data/orders.json"),
};

fn schema() -> Schema {
    infer(&[ORDERS]).unwrap()
}

#[test]
fn schema_matches_the_golden_file() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/orders.proto");
    testing::golden(file, &schema().to_proto());
}

#[test]
fn sample_survives() {
    assert_eq!(schema().check(&ORDERS), Ok(()));
}

#[test]
fn protoc_decodes_and_reencodes_to_the_same_length() {
    let schema = schema();
    let folder = protoc::folder_with(&schema.to_proto());
    let encoded = schema.encode(&ORDERS).unwrap();
    let text = protoc::run(folder.path(), &["--decode=payload.Payload"], &encoded);
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
    let again = protoc::run(
        folder.path(),
        &["--encode=payload.Payload", "--deterministic_output"],
        text.as_bytes(),
    );
    assert_eq!(again.len(), encoded.len());
    let value = schema.decode(&encoded).unwrap();
    assert_eq!(schema.decode(&again).unwrap(), value);
}

#[test]
fn proto_text_and_descriptor_agree() {
    protoc::assert_agrees(&schema());
}

#[test]
fn protoc_accepts_keys_that_are_not_names() {
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
    protoc::assert_agrees(&schema);
}

#[test]
fn protoc_accepts_a_top_level_list() {
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
        protoc::assert_agrees(&schema);
        for sample in samples {
            assert_eq!(schema.check(sample), Ok(()));
        }
    }
}
