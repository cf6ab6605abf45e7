//! The studies of whole recordings and commands, as they are written.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::PathBuf;

use init::{Arms, Options, Scope, Written, from_curl, from_har, template};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::golden;

const OPTIONS: Options<'_> = Options {
    name: "shop",
    folder: Some("shop"),
    keep_values: false,
    origin: None,
    arms: Arms::Apps,
    scope: Scope::FULL,
};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

const SHOP: &[u8] = include_bytes!("shop.har");

/// Formats the study, its files and its notes as one text.
fn whole(written: &Written) -> String {
    let mut text = written.study.clone();
    for (path, content) in &written.files {
        write!(text, "\n--- {path}\n{content}\n").unwrap();
    }
    write!(text, "\n--- notes\n{}\n", written.notes.join("\n")).unwrap();
    text
}

/// Reads a study as `commute run` does.
fn parse(written: &Written) -> Result<study::Study, String> {
    let read = |path: &str, _limit: u64| {
        let file = written.files.iter().find(|(known, _)| known == path);
        let text = file.map(|(_, text)| text.clone().into_bytes());
        text.ok_or(std::io::ErrorKind::NotFound.into())
    };
    let parsed = study::Study::parse_with("study.toml", &written.study, &read);
    let study = parsed.map_err(|e| e.to_string())?;
    match &study.not_for_lab {
        Some(refused) => Err(refused.to_string()),
        None => Ok(study),
    }
}

#[test]
fn a_recording_becomes_a_study() {
    let written = from_har(SHOP, &OPTIONS).unwrap();
    assert_eq!(parse(&written).map(|study| study.arms.len()), Ok(3));
    golden(file("golden/har.txt"), &whole(&written));
}

#[test]
fn a_curl_command_becomes_a_study() {
    let command = "curl -X PATCH 'https://app.example/v1/users/jo%40b.example?lang=th' \
                   -H 'accept: application/json' -H 'x-client: app 4.2' -H 'authorization: Bearer abc' \
                   --json '{\"name\": \"Jo Smith\", \"age\": 42}'";
    let written = from_curl(command, &OPTIONS, &|_| Err("no file".to_owned())).unwrap();
    assert_eq!(parse(&written).map(|study| study.arms.len()), Ok(3));
    golden(file("golden/curl.txt"), &whole(&written));
}

#[test]
fn the_template_is_a_study() {
    let text = template("study", Arms::Apps);
    golden(file("golden/template.toml"), &text);
    let study = study::Study::parse("study.toml", &text).unwrap();
    assert_eq!(study.name, "study");
}

/// A study gives no answer without its baseline, so the arms must be those that can run.
#[test]
fn the_arms_are_those_of_the_stacks_that_were_asked_for() {
    for arms in [Arms::Apps, Arms::BuiltIn] {
        let options = Options { arms, ..OPTIONS };
        for text in [
            template("study", arms),
            from_har(SHOP, &options).unwrap().study,
        ] {
            let study: toml::Table = text.parse().unwrap();
            let mut stacks: Vec<&str> = study["arm"]
                .as_array()
                .unwrap()
                .iter()
                .map(|arm| arm["stack"].as_str().unwrap())
                .collect();
            stacks.dedup();
            assert_eq!(stacks, arms.stacks());
        }
    }
}

/// Words of the recording that must not be in what is written from it.
#[test]
fn nothing_private_is_written() {
    let recording = String::from_utf8(SHOP.to_vec()).unwrap();
    let text = whole(&from_har(SHOP, &OPTIONS).unwrap());
    for private in [
        "9f8e7d6c5b4a",
        "eyJ",
        "pixel-8",
        "a1b2c3",
        "mail.example",
        "Jo Smith",
        "for Jo",
        "jacket",
        "880017",
        "5003",
        "3f2504e0",
        "c3RhcnQ",
        "4000 0000",
    ] {
        assert!(
            recording.contains(private),
            "{private} is not in the recording"
        );
        assert!(!text.contains(private), "{private}:\n{text}");
    }
}

#[test]
fn values_stay_if_they_are_to() {
    let keep = Options {
        keep_values: true,
        ..OPTIONS
    };
    let text = whole(&from_har(SHOP, &keep).unwrap());
    assert!(text.contains("Jo Smith") && text.contains("pixel-8-of-jo"));
    for credential in ["9f8e7d6c5b4a", "eyJ", "a1b2c3"] {
        assert!(!text.contains(credential), "{credential}");
    }
}

#[test]
fn without_a_folder_bodies_are_sizes() {
    let sizes = Options {
        folder: None,
        ..OPTIONS
    };
    let written = from_har(SHOP, &sizes).unwrap();
    assert!(written.files.is_empty());
    assert!(!written.study.contains(".json\""), "{}", written.study);
    let with_files = from_har(SHOP, &OPTIONS).unwrap();
    for (path, content) in &with_files.files {
        let bytes = format!("_bytes = {}", content.len());
        assert!(
            written.study.contains(&bytes),
            "{path}: {bytes}\n{}",
            written.study
        );
    }
}

#[test]
fn what_is_no_har_is_refused_with_the_reason() {
    let refusal = |har: &str| from_har(har.as_bytes(), &OPTIONS).unwrap_err().to_string();
    assert!(refusal("{}").starts_with("not a HAR 1.2: missing field `log`"));
    assert!(refusal("log").starts_with("not JSON, and so not a HAR: expected value at line 1"));
    let nothing = refusal(r#"{"log": {"entries": []}}"#);
    assert!(nothing.starts_with("it has no requests"), "{nothing}");
    let socket = json!({"log": {"entries": [entry("GET", "wss://a/b", 101, "")]}}).to_string();
    assert!(refusal(&socket).contains("it opened a WebSocket"));
}

#[test]
fn six_origins_are_one_too_many() {
    let entries: Vec<Value> = (0..6)
        .map(|n| entry("GET", &format!("https://h{n}.example/"), 200, "{}"))
        .collect();
    let har = json!({"log": {"entries": entries}}).to_string();
    let Written { study, notes, .. } = from_har(har.as_bytes(), &OPTIONS).unwrap();
    let text: toml::Table = study.parse().unwrap();
    assert_eq!(text["origins"].as_table().unwrap().len(), 4);
    assert!(
        notes[0].starts_with("left out: a request to https://h5.example:443"),
        "{notes:?}"
    );
}

/// The server of the lab knows a request by its method and path.
#[test]
fn equal_paths_of_two_origins_are_told_apart() {
    let entries = [
        entry("GET", "https://a.example/x", 200, "{}"),
        entry("GET", "https://b.example/x", 200, "{\"a\": 1}"),
    ];
    let har = json!({"log": {"entries": entries}}).to_string();
    let study = from_har(har.as_bytes(), &OPTIONS).unwrap().study;
    assert!(study.contains("path = \"/x\"") && study.contains("path = \"/x?at=b-example\""));
}

fn entry(method: &str, url: &str, status: u64, text: &str) -> Value {
    json!({
        "startedDateTime": "2026-03-02T08:00:00.000Z",
        "time": 10,
        "request": {"method": method, "url": url, "headers": []},
        "response": {
            "status": status,
            "content": {"size": text.len(), "mimeType": "application/json", "text": text},
        },
    })
}

/// Generates entries with the types of a HAR and values of any kind.
fn any_entry() -> impl Strategy<Value = Value> {
    let method = prop_oneof![Just("GET".to_owned()), Just("POST".to_owned()), ".{0,8}"];
    let url = prop_oneof![
        "https://[ab]\\.example/[a-z0-9/.%@]{0,20}(\\?[a-z=&%]{0,12})?",
        "https?://.{0,30}",
        ".{0,20}",
    ];
    let time = prop_oneof![
        (0_u32..60, 0_u32..60).prop_map(|(m, s)| format!("2026-03-02T08:{m:02}:{s:02}.5Z")),
        ".{0,12}",
    ];
    let field = ("[a-zA-Z:-]{0,12}|.{0,8}", ".{0,12}")
        .prop_map(|(name, value)| json!({"name": name, "value": value}));
    let mime = prop_oneof![
        Just("application/json".to_owned()),
        Just("image/png".to_owned()),
        ".{0,12}"
    ];
    let text = prop_oneof![Just("{\"a\": [1, \"b\"]}".to_owned()), ".{0,20}"];
    let fields = prop::collection::vec(field, 0..4);
    (
        method,
        url,
        time,
        fields,
        mime,
        text,
        any::<f64>(),
        any::<i64>(),
        0..3_i64,
    )
        .prop_map(
            |(method, url, time, fields, mime, text, took, size, answer)| {
                let status = [200, 404, size][answer as usize];
                json!({
                    "startedDateTime": time,
                    "time": if took.is_finite() { took } else { 1.0 },
                    "connection": answer,
                    "request": {
                        "method": method, "url": url, "headers": fields, "bodySize": size,
                        "postData": {"mimeType": mime, "text": text},
                    },
                    "response": {
                        "status": status, "headers": fields, "bodySize": size,
                        "content": {"size": size, "mimeType": mime, "text": text},
                    },
                })
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_har_gives_a_study_or_an_error(entries in prop::collection::vec(any_entry(), 0..12)) {
        let har = json!({"log": {"entries": entries}}).to_string();
        if let Ok(written) = from_har(har.as_bytes(), &OPTIONS) {
            let study = parse(&written);
            prop_assert!(study.is_ok(), "{}\n{}", study.unwrap_err(), written.study);
        }
    }
}
