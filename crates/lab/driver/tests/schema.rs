//! The published schema matches the types, and the golden transcripts match both.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use driver::protocol::{
    Capability, Clock, Discovery, ErrorKind, Message, Protocol, Reconnect, Reply, Request,
};
use schemars::JsonSchema;
use serde_json::Value;

const SCHEMA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../docs/driver-protocol.schema.json"
);

#[test]
fn published_schema_matches_the_types() {
    let mut schema = schemars::schema_for!(Message);
    schema.insert(
        "title".into(),
        "A line of commute's driver protocol, version 2".into(),
    );
    let mut value = schema.to_value();
    // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
    value.sort_all_objects();
    let schema = schemars::Schema::try_from(value).unwrap();
    let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    testing::golden(SCHEMA, &text);
}

#[test]
fn schema_has_every_message_type() {
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
    assert_eq!(
        tags("Request"),
        ["hello", "setup", "run", "network", "close"]
    );
    assert_eq!(
        tags("Reply"),
        ["hello", "ready", "unsupported", "row", "done", "failed"]
    );
}

/// Parses every line of a transcript: `> ` is from the lab, `< ` from the driver, `#` a comment.
fn check(transcript: &str) {
    for line in transcript.lines().filter(|line| !line.starts_with('#')) {
        match line.split_at(2) {
            ("> ", text) => {
                let request = Request::parse(text).unwrap();
                assert_same(text, &serde_json::to_value(request).unwrap());
            }
            ("< ", text) => {
                let reply: Reply = serde_json::from_str(text).unwrap();
                assert_same(text, &serde_json::to_value(reply).unwrap());
            }
            _ => panic!("neither > nor <: {line}"),
        }
    }
}

/// Asserts that a round trip adds nothing but defaults and loses nothing.
#[track_caller]
fn assert_same(text: &str, serialised: &Value) {
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
    assert_eq!(golden, *serialised);
}

#[test]
fn golden_transcripts_survive_a_round_trip() {
    check(include_str!("golden/calls-over-h2.ndjson"));
    check(include_str!("golden/early-data-over-h3.ndjson"));
    check(include_str!("golden/exchanges-over-h1.ndjson"));
    check(include_str!("golden/failures-and-unsupported.ndjson"));
    check(include_str!("golden/grpc-stream-with-mtls.ndjson"));
    check(include_str!("golden/own-requests-over-h2.ndjson"));
    check(include_str!("golden/two-origins-over-h2.ndjson"));
}

/// Asserts that each value serialises to its name.
fn check_names<T: serde::Serialize + Copy>(values: &[T], name: impl Fn(T) -> &'static str) {
    for &value in values {
        assert_eq!(serde_json::to_value(value).unwrap(), name(value));
    }
}

#[test]
fn names_are_those_in_the_json() {
    use {Capability as Can, ErrorKind as Kind, Protocol as P, Reconnect as Mode};
    check_names(&[P::H1, P::H2, P::H3, P::Grpc], P::name);
    check_names(&[Clock::Monotonic, Clock::Own], Clock::name);
    check_names(&[Discovery::AltSvc], Discovery::name);
    check_names(&[Mode::Cold, Mode::Resume, Mode::EarlyData], Mode::name);
    check_names(
        &[
            Can::Mtls,
            Can::Resume,
            Can::EarlyData,
            Can::Stream,
            Can::Parallel,
            Can::Protobuf,
            Can::Congestion,
            Can::Cancel,
            Can::Observe,
            Can::AltSvc,
            Can::Origins,
        ],
        Can::name,
    );
    check_names(
        &[
            Kind::Dns,
            Kind::Connect,
            Kind::Tls,
            Kind::Timeout,
            Kind::Cancelled,
            Kind::Reset,
            Kind::Protocol,
            Kind::Status,
            Kind::Other,
        ],
        Kind::name,
    );
}
