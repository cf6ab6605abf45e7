//! `commute codec`: the matrix, the table, the user's own payload, and runners that lie.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::fs;

use common::{House, Said, checkout};
use serde_json::Value;

/// A house with the Rust runner installed.
fn house() -> House {
    let house = House::new();
    let text = "[stack]\nneeds = \"\"\n[[runner]]\nruntime = \"rust\"\n\
                command = [\"{bin}/commute-runner\"]\n";
    stack(&house, "rust", text);
    house
}

fn stack(house: &House, folder: &str, text: &str) {
    let folder = house.home().join("stacks").join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("stack.toml"), text).unwrap();
}

#[test]
fn every_library_reads_what_every_other_writes() {
    let house = house();
    let said = house.run(&["codec", "--check", "--format", "json"]).code(0);
    let matrix: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(matrix["failures"], serde_json::json!([]), "{said}");
    for codec in [
        "json",
        "protobuf",
        "msgpack",
        "msgpack-old",
        "json+zstd-3",
        "flatbuffers",
    ] {
        // At least one pair for each of the fifteen messages.
        let equal = matrix["codecs"][codec]["equal"].as_u64();
        assert!(equal >= Some(15), "{codec}: {said}");
    }
}

#[test]
fn csv_has_bytes_and_times() {
    let house = house();
    let said = house
        .run(&[
            "codec",
            "--message",
            "small",
            "--message",
            "big-100",
            "--codec",
            "json,msgpack-old",
            "--rounds",
            "6",
            "--budget",
            "1",
            "--cold",
            "1",
            "--format",
            "csv",
        ])
        .code(0);
    let mut reader = csv::Reader::from_reader(said.out.as_bytes());
    let head = reader.headers().unwrap().clone();
    let at = |name: &str| head.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let row = |message: &str, library: &str| {
        rows.iter()
            .find(|r| &r[at("message")] == message && &r[at("library")] == library)
            .unwrap()
    };
    for (message, library, bytes) in [
        ("big-100", "serde_json", "17211"),
        ("big-100", "commute's own serialiser on rmp", "11118"),
    ] {
        let row = row(message, library);
        assert_eq!(&row[at("bytes")], bytes, "{said}");
        for figure in ["encode_ns", "decode_ns", "cold_encode_ns", "cold_decode_ns"] {
            let ns: f64 = row[at(figure)].parse().unwrap();
            // On any machine: between a memory access and a second.
            assert!((1.0..1e9).contains(&ns), "{figure}: {said}");
        }
        let ends = ["encode_low_ns", "encode_ns", "encode_high_ns"];
        let ends = ends.map(|end| row[at(end)].parse::<f64>().unwrap());
        assert!(ends.is_sorted(), "{ends:?}");
    }
    let small: u64 = row("small", "serde_json")[at("bytes")].parse().unwrap();
    assert!((2..60).contains(&small));
}

#[test]
fn own_payload_gets_schema_sizes_and_predictions() {
    let house = House::new();
    let orders = checkout().join("crates/payload/tests/data/orders.json");
    let said = house
        .run(&[
            "codec",
            orders.to_str().unwrap(),
            "--format",
            "json",
            "--rounds",
            "6",
        ])
        .code(0);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let proto = report["proto"].as_str().unwrap();
    assert!(proto.contains("\nsyntax = \"proto3\";\n"), "{proto}");
    assert!(!report["notes"].as_array().unwrap().is_empty());
    let encodings = report["samples"][0]["encodings"].as_array().unwrap();
    let bytes = |codec: &str| {
        let encoding = encodings.iter().find(|e| e["codec"] == codec).unwrap();
        (
            encoding["bytes"].as_u64().unwrap(),
            encoding["h2_packets"].as_u64().unwrap(),
        )
    };
    // These do not depend on the machine.
    assert_eq!(bytes("json"), (4_903, 4));
    assert_eq!(bytes("protobuf"), (2_364, 2));
    let predicted = &encodings[0]["predicted"][0];
    assert_eq!(predicted["network"], "4g-tether");
    assert!(predicted["cold_ns"].as_u64() > predicted["warm_ns"].as_u64());
}

#[test]
fn mistakes_are_explained() {
    let house = house();
    let deep = "[".repeat(100_000);
    let samples: [(&str, &[u8]); 9] = [
        ("empty.json", b""),
        ("cut.json", b"{\"a\": [1, 2"),
        ("nan.json", b"{\"a\": NaN}"),
        ("infinity.json", b"{\"a\": 1e999}"),
        ("twice.json", b"{\"a\": 1, \"a\": 2}"),
        ("latin.json", b"{\"a\": \"\xe9\"}"),
        ("scalar.json", b"42"),
        ("more.json", b"{} {}"),
        ("deep.json", deep.as_bytes()),
    ];
    let mut all = String::new();
    let mut record = |args: &[&str], said: &Said| {
        assert_eq!(said.out, "", "errors belong on standard error: {said}");
        writeln!(all, "# commute {}\n{}", args.join(" "), said.err).unwrap();
    };
    for (name, bytes) in samples {
        fs::write(house.work().join(name), bytes).unwrap();
        let args = ["codec", name];
        record(&args, &house.run(&args).code(1));
    }
    // Refused by its size before it is read; the file is sparse.
    let huge = fs::File::create(house.work().join("huge.json")).unwrap();
    huge.set_len(300 << 20).unwrap();
    fs::create_dir(house.work().join("folder.json")).unwrap();
    for (args, code) in [
        (vec!["codec", "huge.json"], 1),
        (vec!["codec", "folder.json"], 1),
        (vec!["codec", "missing.json"], 1),
        (vec!["codec", "--message", "big-nine"], 2),
        (vec!["codec", "--runtime", "cobol"], 1),
        (vec!["codec", "--codec", "xml"], 1),
        (vec!["codec", "--rounds", "3"], 2),
    ] {
        record(&args, &house.run(&args).code(code));
    }
    testing::golden(common::golden("codec-errors.txt"), &all);
}

/// A runner in Python's standard library that follows the contract, except for one fault.
const EXTERNAL_RUNNER: &str = r#"
import json, os, sys, time
fault = sys.argv[1]
lines, out = open(os.environ["COMMUTE_IN"]), open(os.environ["COMMUTE_OUT"], "w")
def reply(**fields):
    print(json.dumps(fields), file=out, flush=True)
for line in lines:
    request = json.loads(line)
    kind = request["type"]
    if kind == "hello":
        reply(type="hello", version=2, runtime="external", runtime_version="1", codecs=[
            dict(codec="json", library="its own", library_version="1", parts=["encode", "decode"])])
    elif kind == "setup":
        reply(type="ready")
    elif kind == "encode":
        if fault == "dies": sys.exit("I cannot go on")
        if fault == "garbage": out.write("what?\n"); out.flush(); continue
        value = open(request["value_file"]).read()
        reply(type="encoded", bytes=open(request["encoded_file"], "w").write(value))
    elif kind == "decode":
        value = open(request["encoded_file"]).read()
        if fault == "forges": value = value.replace("{\ns ", "{\ns 41", 1)
        open(request["value_file"], "w").write(value)
        reply(type="decoded")
    elif kind == "time":
        time.sleep(0.001)
        reply(type="timed", elapsed_ns=10**10 if fault == "boasts" else 500_000, sink=0)
    else:
        break
"#;

#[test]
fn runners_are_not_trusted() {
    let expected = [
        ("none", None),
        ("forges", Some("came back as `s 41")),
        (
            "boasts",
            Some("claims 10000000000 ns, longer than the whole request took"),
        ),
        (
            "dies",
            Some("closed its pipe before sending encoded; its log ends: I cannot go on"),
        ),
        ("garbage", Some("sent an invalid reply")),
    ];
    for (fault, problem) in expected {
        let house = House::new();
        let script = house.home().join("runner.py");
        fs::write(&script, EXTERNAL_RUNNER).unwrap();
        let text = format!(
            "[stack]\nneeds = \"\"\n[[runner]]\nruntime = \"external\"\n\
             command = [\"/usr/bin/python3\", \"-I\", {:?}, \"{fault}\"]\n",
            script.to_str().unwrap()
        );
        stack(&house, "external", &text);
        let args = [
            "codec",
            "--message",
            "small",
            "--rounds",
            "6",
            "--budget",
            "1",
            "--cold",
            "0",
        ];
        let said = house.run(&args).code(0);
        match problem {
            None => assert!(said.out.contains("its own 1"), "{fault}: {said}"),
            Some(problem) => assert!(said.out.contains(problem), "{fault}: {said}"),
        }
    }
}
