//! The runner as the bench sees it: a process at the other end of two pipes.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{Runner, files};
use messages::{Codec, Format, Kind, Name, to_value};
use serde_json::json;

const EMPTY: &str = "empty";

#[test]
fn every_message_survives_every_codec() {
    let mut runner = Runner::start();
    let files = files();
    for offer in runner.offers() {
        for name in Name::ALL {
            let message = name.message(1);
            let value = to_value(&message);
            files.write("value", value.as_bytes());
            let encoded = runner.ask(&files.encode(&offer, name.kind()));
            assert_eq!(encoded["type"], "encoded", "{offer} {name}: {encoded}");
            let bytes = files.read("encoded");
            assert_eq!(encoded["bytes"], bytes.len(), "{offer} {name}");
            if let Ok(codec) = offer["codec"].as_str().unwrap().parse::<Codec>() {
                let mut other = codec.coder();
                let read = other.decode(name.kind(), &bytes);
                assert!(
                    read.unwrap() == message,
                    "{offer} {name} decodes to another message"
                );
                // MessagePack has several encodings of an integer, so only JSON is compared.
                if codec.format == Format::Json {
                    assert!(bytes == other.encode(&message), "{offer} {name}");
                }
            }
            if offer["codec"] == EMPTY {
                continue;
            }
            let decoded = runner.ask(&files.decode(&offer, name.kind()));
            assert_eq!(
                decoded,
                json!({"type": "decoded"}),
                "{offer} {name}: {decoded}"
            );
            let again = files.read("decoded");
            assert!(
                again == value.as_bytes(),
                "{offer} {name} came back changed"
            );
        }
    }
    runner.close();
}

#[test]
fn every_part_is_timed() {
    let mut runner = Runner::start();
    let files = files();
    let name = Name::Api { bytes: 2_000 };
    files.write("value", to_value(&name.message(1)).as_bytes());
    for offer in runner.offers() {
        for part in offer["parts"].as_array().unwrap() {
            let timed = runner.ask(&files.time(&offer, name.kind(), part, 3));
            assert_eq!(timed["type"], "timed", "{offer} {part}: {timed}");
            assert!(timed["elapsed_ns"].as_u64().unwrap() > 0, "{timed}");
            let heap = timed["heap_bytes"].as_u64().unwrap();
            assert_eq!(heap > 0, offer["codec"] != EMPTY, "{offer} {part}: {timed}");
            let sink = timed["sink"].as_u64().unwrap();
            assert_eq!(
                sink > 0,
                offer["codec"] != EMPTY || part == "decode",
                "{timed}"
            );
        }
    }
    runner.close();
}

#[test]
fn values_are_kept_until_read_again() {
    let mut runner = Runner::start();
    let files = files();
    let offer = json!({"codec": "json", "library": "serde_json"});
    let sink = |runner: &mut Runner| {
        runner.ask(&files.time(&offer, Kind::Big, &json!("encode"), 1))["sink"].clone()
    };
    files.write(
        "value",
        to_value(&Name::Big { n: 100 }.message(1)).as_bytes(),
    );
    // The size that the unity-msgpack study published.
    assert_eq!(sink(&mut runner), 17_211);
    files.write("value", to_value(&Name::Big { n: 0 }.message(1)).as_bytes());
    assert_eq!(sink(&mut runner), 17_211);
    assert_eq!(
        runner.ask(&files.encode(&offer, Kind::Big))["type"],
        "encoded"
    );
    assert!(sink(&mut runner).as_u64().unwrap() < 1_000);
    runner.close();
}

#[test]
fn unknown_words_are_unsupported() {
    let mut runner = Runner::start();
    let files = files();
    files.write("value", to_value(&Name::Small.message(1)).as_bytes());
    let ask = |codec: &str, library: &str, message: &str, part: &str| {
        json!({
            "type": "time", "codec": codec, "library": library, "message": message,
            "part": part, "iterations": 1, "value_file": files.path("value"), "later": true,
        })
    };
    for (request, what) in [
        (json!({"type": "levitate"}), "request levitate"),
        (ask("bson", "serde_json", "Small", "encode"), "codec bson"),
        (ask("json", "jackson", "Small", "encode"), "library jackson"),
        (ask("json", "prost", "Small", "encode"), "library prost"),
        (
            ask("json", "serde_json", "Smell", "encode"),
            "message Smell",
        ),
        (
            ask("json", "serde_json", "Small", "convert"),
            "part convert",
        ),
        (ask("json", "serde_json", "Small", "fly"), "part fly"),
    ] {
        let reply = runner.ask(&request);
        assert_eq!(reply["type"], "unsupported", "{reply}");
        assert_eq!(reply["what"], what);
        assert!(!reply["reason"].as_str().unwrap().is_empty());
    }
    let timed = runner.ask(&ask("json", "serde_json", "Small", "encode"));
    assert_eq!(timed["type"], "timed", "{timed}");
    runner.close();
}

#[test]
fn runner_goes_on_after_a_failed_request() {
    let mut runner = Runner::start();
    let files = files();
    let offer = json!({"codec": "json", "library": "serde_json"});
    let failed = |reply: serde_json::Value| {
        assert_eq!(reply["type"], "failed", "{reply}");
        reply["reason"].as_str().unwrap().to_owned()
    };
    assert!(failed(runner.ask(&files.encode(&offer, Kind::Small))).contains("No such file"));
    files.write("value", b"{\ni 7\n}\n");
    assert!(failed(runner.ask(&files.encode(&offer, Kind::Small))).contains("line 2"));
    files.write("value", b"{\ns \xff\n}\n");
    failed(runner.ask(&files.encode(&offer, Kind::Small)));
    files.write("value", to_value(&Name::Small.message(1)).as_bytes());
    failed(runner.ask(&files.time(&offer, Kind::Small, &json!("encode"), 0)));
    failed(runner.ask(&json!({"type": "encode"})));
    failed(runner.ask(&json!({"no": "type"})));
    failed(runner.ask_line(b"not json"));
    failed(runner.ask_line(b"\xff\xfe"));
    failed(runner.ask_line("[".repeat(100_000).as_bytes()));
    let encoded = runner.ask(&files.encode(&offer, Kind::Small));
    assert_eq!(encoded["type"], "encoded", "{encoded}");
    runner.close();
}

#[test]
fn hello_lists_libraries_with_versions() {
    let mut runner = Runner::start();
    let hello = runner.ask(&json!({"type": "hello", "version": 2}));
    assert_eq!(
        (&hello["version"], &hello["runtime"]),
        (&json!(2), &json!("rust"))
    );
    assert!(
        hello["runtime_version"]
            .as_str()
            .unwrap()
            .starts_with("rustc 1.")
    );
    let mut seen = std::collections::HashSet::new();
    for offer in hello["codecs"].as_array().unwrap() {
        let key = (offer["codec"].to_string(), offer["library"].to_string());
        assert!(seen.insert(key), "duplicate {offer}");
        let version = offer["library_version"].as_str().unwrap();
        assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{offer}");
    }
    assert!(hello.to_string().len() < 65_536);
    runner.close();
}
