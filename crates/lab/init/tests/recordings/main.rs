//! Recordings as programs really write them: with holes, streams, other scripts and too much of everything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod groups;
mod kept_values;
mod writers;

use init::{Arms, Options, Scope, Written, from_har};
use serde_json::{Value, json};

const OPTIONS: Options<'_> = Options {
    name: "app",
    folder: Some("app"),
    keep_values: false,
    origin: None,
    arms: Arms::BuiltIn,
    scope: Scope::FULL,
};

/// Returns a request that began `at_ms` after the first and was answered after 10 ms.
fn entry(at_ms: u64, method: &str, url: &str, text: &str) -> Value {
    let at = format!(
        "2026-03-02T08:{:02}:{:02}.{:03}Z",
        at_ms / 60_000,
        at_ms / 1000 % 60,
        at_ms % 1000
    );
    json!({
        "startedDateTime": at,
        "time": 10,
        "request": {"method": method, "url": url, "headers": []},
        "response": {
            "status": 200,
            "content": {"size": text.len(), "mimeType": "application/json", "text": text},
        },
    })
}

fn post(at_ms: u64, url: &str, mime_type: &str, body: &str, response: &str) -> Value {
    let mut entry = entry(at_ms, "POST", url, response);
    entry["request"]["postData"] = json!({"mimeType": mime_type, "text": body});
    entry
}

fn har(entries: &[Value]) -> Vec<u8> {
    json!({"log": {"entries": entries}})
        .to_string()
        .into_bytes()
}

fn study(entries: &[Value]) -> Written {
    from_har(&har(entries), &OPTIONS).unwrap()
}

/// Returns the steps as tables.
fn steps(written: &Written) -> Vec<toml::Table> {
    let study: toml::Table = written.study.parse().unwrap();
    let steps = study["step"].as_array().unwrap();
    steps
        .iter()
        .map(|step| step.as_table().unwrap().clone())
        .collect()
}

/// Returns the value of this key in each step that is one call.
fn values(written: &Written, key: &str) -> Vec<String> {
    let of = |step: &toml::Table| Some(step.get(key)?.as_str()?.to_owned());
    steps(written).iter().filter_map(of).collect()
}

#[track_caller]
fn assert_noted(written: &Written, note: &str) {
    assert!(
        written.notes.iter().any(|line| line.starts_with(note)),
        "{note}: {:?}",
        written.notes
    );
}

#[test]
fn a_recording_of_nothing_says_so() {
    let error = from_har(&har(&[]), &OPTIONS).unwrap_err().to_string();
    assert_eq!(error, "it has no requests: record some before you save it");
}

/// Every later request overlaps with one that the server holds open, and would be in one parallel step.
#[test]
fn streams_of_events_and_long_polls_are_left_out() {
    let mut events = entry(0, "GET", "https://a.example/events", "");
    events["time"] = json!(60_000);
    events["response"]["content"]["mimeType"] = json!("text/event-stream;charset=utf-8");
    let mut poll = entry(100, "GET", "https://a.example/poll", "{}");
    poll["time"] = json!(30_000);
    let written = study(&[
        events,
        poll,
        entry(1000, "GET", "https://a.example/a", "{}"),
        entry(4000, "GET", "https://a.example/b", "{}"),
    ]);
    assert_eq!(values(&written, "call"), ["a", "b"]);
    assert_noted(
        &written,
        "left out: a request: its response is a stream of events",
    );
    assert_noted(&written, "left out: a long poll");
}

#[test]
fn grpc_is_left_out_and_grpc_web_is_not() {
    let written = study(&[
        post(
            0,
            "https://a.example/shop.Cart/Add",
            "application/grpc+proto",
            "x",
            "{}",
        ),
        post(
            50,
            "https://a.example/shop.Cart/Get",
            "application/grpc-web+proto",
            "x",
            "{}",
        ),
    ]);
    assert_eq!(values(&written, "call"), ["get"]);
    assert_noted(&written, "left out: a request: it is one of gRPC");
}

#[test]
fn plaintext_is_said_to_become_tls() {
    let written = study(&[entry(0, "GET", "http://a.example/a", "{}")]);
    assert_noted(&written, "note: requests to http://a.example:80 had no TLS");
}
