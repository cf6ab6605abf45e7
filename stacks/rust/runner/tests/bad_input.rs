//! Untrusted bytes: they are refused or decoded, and the runner survives.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod common;

use common::{Files, Runner, files};
use messages::{Codec, Compression, Kind, Message, Name};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn truncated_bytes_are_refused() {
    each_offer(|runner, files, offer| {
        let message = Name::Big { n: 3 };
        files.write("value", messages::to_value(&message.message(1)).as_bytes());
        runner.ask(&files.encode(offer, message.kind()));
        let whole = files.read("encoded");
        let cuts: &[usize] = match offer["codec"].as_str() {
            // Any prefix that ends between two fields is valid.
            Some("protobuf") => &[1],
            // The last byte is the zero after a string, which planus does not check.
            Some("flatbuffers") => &[0, 1, whole.len() / 2],
            _ => &[0, 1, whole.len() / 2, whole.len() - 1],
        };
        for &cut in cuts {
            files.write("encoded", &whole[..cut]);
            refused(runner, files, offer, message.kind());
        }
    });
}

#[test]
fn deep_nesting_does_not_crash() {
    let deep = 100_000;
    let json = |open: &str, close: &str| [open.repeat(deep), close.repeat(deep)].concat();
    let unknown = |value: String| format!("{{\"unknown\":{value},\"name\":\"a\"}}");
    let inputs: Vec<(&str, Vec<u8>)> = vec![
        ("json", json("[", "]").into()),
        ("json", json("{\"name\":", "}").into()),
        ("json", "[".repeat(deep).into()),
        ("json", unknown(json("[", "]")).into()),
        ("json", unknown(json("{\"a\":", "}")).into()),
        ("msgpack", vec![0x91; deep]),
        (
            "msgpack",
            [
                b"\x82\xa7unknown".as_slice(),
                &vec![0x91; deep],
                b"\xc0\xa4name\xa1a",
            ]
            .concat(),
        ),
        ("msgpack-array", vec![0x91; deep]),
        ("cbor", vec![0x81; deep]),
        (
            "cbor",
            [
                b"\xa2\x67unknown".as_slice(),
                &vec![0x81; deep],
                b"\xf6\x64name\x61a",
            ]
            .concat(),
        ),
        ("protobuf", vec![0x0b; deep]),
        ("flatbuffers", vec![4; deep]),
    ];
    each_offer(|runner, files, offer| {
        for (format, bytes) in &inputs {
            let codec = offer["codec"].as_str().unwrap();
            let same = codec == *format || (codec == "msgpack-old" && *format == "msgpack");
            if same {
                files.write("encoded", bytes);
                answered(runner, files, offer, Kind::Small);
            }
        }
    });
}

#[test]
fn false_lengths_allocate_nothing() {
    let inputs: [(&str, &[u8]); 9] = [
        ("msgpack", b"\x81\xa6people\xdd\xff\xff\xff\xff"),
        ("msgpack", b"\xdf\xff\xff\xff\xff"),
        ("msgpack", b"\x81\xa6people\xdb\xff\xff\xff\xff"),
        ("msgpack-array", b"\x91\xdd\xff\xff\xff\xff"),
        (
            "cbor",
            b"\xa1\x66people\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        ),
        (
            "cbor",
            b"\xa1\x66people\x7b\x7f\xff\xff\xff\xff\xff\xff\xff",
        ),
        ("protobuf", b"\x0a\xff\xff\xff\xff\x0f"),
        ("flatbuffers", b"\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("json", b"{\"people\":[{\"name\":\"\\ud800\"}]}"),
    ];
    each_offer(|runner, files, offer| {
        for (format, bytes) in inputs {
            if offer["codec"] == format {
                files.write("encoded", bytes);
                refused(runner, files, offer, Kind::AddressBook);
            }
        }
    });
}

#[test]
fn invalid_json_is_refused() {
    each_offer(|runner, files, offer| {
        if offer["codec"] != "json" {
            return;
        }
        for bytes in [
            b"".as_slice(),
            b"null",
            b"{\"startTs\":1}",
            b"{\"start_ts\":NaN,\"padding\":\"\"}",
            b"{\"start_ts\":Infinity,\"padding\":\"\"}",
            b"{\"start_ts\":1e400,\"padding\":\"\"}",
            b"{\"start_ts\":-1,\"padding\":\"\"}",
            b"{\"start_ts\":1,\"start_ts\":2,\"padding\":\"\"}",
            b"{\"start_ts\":1,\"padding\":\"\xff\"}",
            b"{\"start_ts\":1,\"padding\":\"\"}]",
        ] {
            files.write("encoded", bytes);
            refused(runner, files, offer, Kind::Echo);
        }
        files.write(
            "encoded",
            b"{\"start_ts\":9007199254740993,\"padding\":\"\"}",
        );
        let reply = answered(runner, files, offer, Kind::Echo);
        assert_eq!(reply["type"], "decoded", "{offer}: {reply}");
        assert_eq!(files.read("decoded"), b"{\ni 9007199254740993\ns \n}\n");
    });
}

#[test]
fn compression_bombs_are_refused() {
    // Both compressions turn 70 MB of spaces into kilobytes.
    let spaces = vec![b' '; 70 << 20];
    each_offer(|runner, files, offer| {
        let Ok(codec) = offer["codec"].as_str().unwrap().parse::<Codec>() else {
            return;
        };
        if codec.compression != Compression::None {
            let bytes = messages::Compressor::new(codec.compression).compress(spaces.clone());
            files.write("encoded", &bytes);
            refused(runner, files, offer, Kind::Small);
        }
    });
}

#[test]
fn bytes_of_wires_codecs_are_read() {
    each_offer(|runner, files, offer| {
        let Ok(codec) = offer["codec"].as_str().unwrap().parse::<Codec>() else {
            return;
        };
        // zerompk declares that it rejects valid bytes.
        if offer["library"] == "zerompk" {
            return;
        }
        for name in Name::ALL {
            let message = name.message(2);
            files.write("encoded", &codec.coder().encode(&message));
            let reply = answered(runner, files, offer, name.kind());
            assert_eq!(reply["type"], "decoded", "{offer} {name}: {reply}");
            let same = files.read("decoded") == messages::to_value(&message).as_bytes();
            assert!(same, "{offer} {name} came back changed");
        }
    });
}

#[test]
fn trailing_bytes_are_refused_by_some_libraries() {
    each_offer(|runner, files, offer| {
        let name = Name::Small;
        files.write("value", messages::to_value(&name.message(1)).as_bytes());
        runner.ask(&files.encode(offer, name.kind()));
        files.write("encoded", &[files.read("encoded"), vec![1]].concat());
        match offer["codec"].as_str() {
            Some("json" | "protobuf" | "msgpack-old") => {
                refused(runner, files, offer, name.kind());
            }
            _ => {
                answered(runner, files, offer, name.kind());
            }
        }
    });
}

#[test]
fn nan_and_infinities_survive_except_in_json() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let Message::ApiPage(mut page) = Name::Api { bytes: 2_000 }.message(1) else {
            unreachable!();
        };
        page.items[0].price = odd;
        let value = messages::to_value(&page.into());
        each_offer(|runner, files, offer| {
            files.write("value", value.as_bytes());
            let encoded = runner.ask(&files.encode(offer, Kind::ApiPage));
            assert_eq!(encoded["type"], "encoded", "{offer}: {encoded}");
            if offer["codec"].as_str().unwrap().starts_with("json") {
                refused(runner, files, offer, Kind::ApiPage);
            } else {
                let reply = answered(runner, files, offer, Kind::ApiPage);
                assert_eq!(reply["type"], "decoded", "{offer}: {reply}");
                assert!(files.read("decoded") == value.as_bytes(), "{offer}");
            }
        });
    }
}

#[test]
fn unknown_fields_are_ignored() {
    let unknown = br#"{"padding":"a","unknown":[{"b":null}],"start_ts":7}"#;
    each_offer(|runner, files, offer| {
        let bytes = match offer["codec"].as_str() {
            Some("json") => unknown.to_vec(),
            Some("msgpack") => {
                b"\x83\xa7padding\xa1a\xa7unknown\x91\x81\xa1b\xc0\xa8start_ts\x07".to_vec()
            }
            Some("cbor") => {
                b"\xa3\x67padding\x61a\x67unknown\x81\xa1\x61b\xf6\x68start_ts\x07".to_vec()
            }
            Some("protobuf") => b"\x08\x07\x12\x01a\x1a\x02\x08\x01".to_vec(),
            _ => return,
        };
        files.write("encoded", &bytes);
        let reply = answered(runner, files, offer, Kind::Echo);
        assert_eq!(reply["type"], "decoded", "{offer}: {reply}");
        assert_eq!(files.read("decoded"), b"{\ni 7\ns 61\n}\n", "{offer}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runner_survives_damaged_bytes(
        name in proptest::sample::select(vec![
            Name::Small, Name::AddressBook, Name::Big { n: 3 }, Name::Perl { rows: 2 },
            Name::Api { bytes: 2_000 },
        ]),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        each_offer(|runner, files, offer| {
            files.write("encoded", &noise);
            answered(runner, files, offer, name.kind());
            files.write("value", messages::to_value(&name.message(1)).as_bytes());
            runner.ask(&files.encode(offer, name.kind()));
            let mut bytes = files.read("encoded");
            for (at, with) in &damage {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] ^= with;
                }
            }
            files.write("encoded", &bytes);
            answered(runner, files, offer, name.kind());
        });
    }

    #[test]
    fn runner_survives_noise_as_requests(
        lines in proptest::collection::vec("\\PC{0,60}", 0..5),
        types in proptest::collection::vec("\"(hello|time|encode|decode|setup)?\"", 0..3),
        rest in "[\\[{}\\]:,\"a-z0-9 ]{0,60}",
    ) {
        let mut runner = Runner::start();
        for line in lines {
            runner.ask_line(line.as_bytes());
        }
        for kind in types {
            runner.ask_line(format!("{{\"type\":{kind},{rest}}}").as_bytes());
        }
        runner.close();
    }

    #[test]
    fn runner_survives_damaged_value_files(
        lines in proptest::collection::vec("[ifdbsxz\\[{} 0-9a-f-]{0,20}", 0..30),
        kind in proptest::sample::select(Kind::ALL),
    ) {
        let mut runner = Runner::start();
        let files = files();
        files.write("value", lines.join("\n").as_bytes());
        let offer = json!({"codec": "json", "library": "serde_json"});
        let reply = runner.ask(&files.encode(&offer, kind));
        prop_assert!(reply["type"] == "failed" || reply["type"] == "encoded", "{}", reply);
        runner.close();
    }
}

fn each_offer(test: impl Fn(&mut Runner, &Files, &Value)) {
    let mut runner = Runner::start();
    let files = files();
    for offer in runner.offers() {
        if offer["codec"] != "empty" {
            test(&mut runner, &files, &offer);
        }
    }
    runner.close();
}

fn answered(runner: &mut Runner, files: &Files, offer: &Value, kind: Kind) -> Value {
    let reply = runner.ask(&files.decode(offer, kind));
    let decided = reply["type"] == "decoded" || reply["type"] == "refused";
    assert!(decided, "{offer}: {reply}");
    reply
}

fn refused(runner: &mut Runner, files: &Files, offer: &Value, kind: Kind) {
    let reply = answered(runner, files, offer, kind);
    assert_eq!(reply["type"], "refused", "{offer}: {reply}");
    assert!(!reply["error"].as_str().unwrap().is_empty());
}
