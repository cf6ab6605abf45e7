//! The published schema is the types', and the golden transcripts keep to both.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use driver::protocol::{Message, Reply, Request};
use schemars::JsonSchema;
use serde_json::Value;

const SCHEMA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/driver-protocol.schema.json"
);

#[test]
fn the_published_schema_is_that_of_the_types() {
    let mut schema = schemars::schema_for!(Message);
    schema.insert(
        "title".into(),
        "A line of commute's driver protocol, version 2".into(),
    );
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    testing::golden(SCHEMA, &text);
}

#[test]
fn every_message_is_in_the_schema() {
    assert_eq!(Message::schema_name(), "Message");
    let published: Value = serde_json::from_str(&std::fs::read_to_string(SCHEMA).unwrap()).unwrap();
    let tags = |name: &str| {
        let variants = published["$defs"][name]["oneOf"].as_array().unwrap();
        let tag = |variant: &Value| {
            variant["properties"]["type"]["const"]
                .as_str()
                .map(str::to_owned)
        };
        variants.iter().filter_map(tag).collect::<Vec<_>>()
    };
    assert_eq!(tags("Request"), ["hello", "setup", "run", "close"]);
    assert_eq!(
        tags("Reply"),
        ["hello", "ready", "unsupported", "row", "done", "failed"]
    );
}

/// A transcript alternates: `> ` what the lab says, `< ` what the driver says.
fn check(transcript: &str) {
    for line in transcript.lines().filter(|line| !line.starts_with('#')) {
        match line.split_at(2) {
            ("> ", text) => {
                let request = Request::parse(text).unwrap();
                same(text, &serde_json::to_value(request).unwrap());
            }
            ("< ", text) => {
                let reply: Reply = serde_json::from_str(text).unwrap();
                same(text, &serde_json::to_value(reply).unwrap());
            }
            _ => panic!("neither > nor <: {line}"),
        }
    }
}

/// Nothing is lost and nothing added in a round trip, defaults aside.
#[track_caller]
fn same(text: &str, again: &Value) {
    let mut golden: Value = serde_json::from_str(text).unwrap();
    if golden["type"] == "row" {
        for (key, default) in [
            ("connection", Value::from(0)),
            ("request_bytes", Value::from(0)),
            ("response_bytes", Value::from(0)),
            ("attempts", Value::from(0)),
            ("reused", Value::from(false)),
            ("resumed", Value::from(false)),
            ("early_data", Value::from(false)),
        ] {
            golden
                .as_object_mut()
                .unwrap()
                .entry(key)
                .or_insert(default);
        }
    }
    assert_eq!(golden, *again);
}

#[test]
fn golden_transcripts_parse_and_come_back() {
    check(include_str!("golden/calls-over-h2.ndjson"));
    check(include_str!("golden/early-data-over-h3.ndjson"));
    check(include_str!("golden/exchanges-over-h1.ndjson"));
    check(include_str!("golden/failures-and-refusals.ndjson"));
    check(include_str!("golden/grpc-stream-with-mtls.ndjson"));
}
