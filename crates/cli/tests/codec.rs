//! `commute codec`: the matrix, the table, the user's own payload, and runners that lie.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::fs;

use common::{House, Said, checkout};
use serde_json::Value;

/// A house with the Rust runner.
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
        // All fifteen messages at least, once.
        let equal = matrix["codecs"][codec]["equal"].as_u64();
        assert!(equal >= Some(15), "{codec}: {said}");
    }
}

#[test]
fn a_table_has_bytes_and_times_together() {
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
        ("big-100", "our own serializer on rmp", "11118"),
    ] {
        let row = row(message, library);
        assert_eq!(&row[at("bytes")], bytes, "{said}");
        for figure in ["encode_ns", "decode_ns", "cold_encode_ns", "cold_decode_ns"] {
            let ns: f64 = row[at(figure)].parse().unwrap();
            // Any machine: from a memory access to a second.
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
fn a_users_payload_gets_its_schema_and_its_sizes() {
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
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let proto = told["proto"].as_str().unwrap();
    assert!(proto.contains("\nsyntax = \"proto3\";\n"), "{proto}");
    assert!(!told["notes"].as_array().unwrap().is_empty());
    let forms = told["samples"][0]["forms"].as_array().unwrap();
    let bytes = |codec: &str| {
        let form = forms.iter().find(|f| f["codec"] == codec).unwrap();
        (
            form["bytes"].as_u64().unwrap(),
            form["h2_packets"].as_u64().unwrap(),
        )
    };
    // The same for every machine and every time.
    assert_eq!(bytes("json"), (4_903, 4));
    assert_eq!(bytes("protobuf"), (2_364, 2));
    let predicted = &forms[0]["predicted"][0];
    assert_eq!(predicted["network"], "4g-tether");
    assert!(predicted["cold_ns"].as_u64() > predicted["warm_ns"].as_u64());
}

#[test]
fn each_mistake_is_explained() {
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
    let mut hold = |args: &[&str], said: &Said| {
        assert_eq!(said.out, "", "an error is no result: {said}");
        writeln!(all, "# commute {}\n{}", args.join(" "), said.err).unwrap();
    };
    for (name, bytes) in samples {
        fs::write(house.work().join(name), bytes).unwrap();
        let args = ["codec", name];
        hold(&args, &house.run(&args).code(1));
    }
    // Refused by its size, before it is read: the file has no blocks on the disk.
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
        hold(&args, &house.run(&args).code(code));
    }
    testing::golden(common::golden("codec-mistakes.txt"), &all);
}

/// A runner in Python's standard library that follows the contract but for one thing.
const STRANGER: &str = r#"
import json, os, sys, time
sin = sys.argv[1]
lines, out = open(os.environ["COMMUTE_IN"]), open(os.environ["COMMUTE_OUT"], "w")
def say(**words):
    print(json.dumps(words), file=out, flush=True)
for line in lines:
    ask = json.loads(line)
    kind = ask["type"]
    if kind == "hello":
        say(type="hello", version=2, runtime="stranger", runtime_version="1", codecs=[
            dict(codec="json", library="its own", library_version="1", parts=["encode", "decode"])])
    elif kind == "setup":
        say(type="ready")
    elif kind == "encode":
        if sin == "dies": sys.exit("I cannot go on")
        if sin == "babbles": out.write("what?\n"); out.flush(); continue
        value = open(ask["value_file"]).read()
        say(type="encoded", bytes=open(ask["encoded_file"], "w").write(value))
    elif kind == "decode":
        value = open(ask["encoded_file"]).read()
        if sin == "forges": value = value.replace("{\ns ", "{\ns 41", 1)
        open(ask["value_file"], "w").write(value)
        say(type="decoded")
    elif kind == "time":
        time.sleep(0.001)
        say(type="timed", elapsed_ns=10**10 if sin == "boasts" else 500_000, sink=0)
    else:
        break
"#;

#[test]
fn runners_are_not_trusted() {
    let expected = [
        ("follows", None),
        ("forges", Some("came back as `s 41")),
        ("boasts", Some("claims 10000000000 ns, more than it had")),
        (
            "dies",
            Some("exited or closed its pipe before sending encoded; its log ends: I cannot go on"),
        ),
        ("babbles", Some("sent an invalid reply")),
    ];
    for (sin, problem) in expected {
        let house = House::new();
        let script = house.home().join("stranger.py");
        fs::write(&script, STRANGER).unwrap();
        let text = format!(
            "[stack]\nneeds = \"\"\n[[runner]]\nruntime = \"stranger\"\n\
             command = [\"/usr/bin/python3\", \"-I\", {:?}, \"{sin}\"]\n",
            script.to_str().unwrap()
        );
        stack(&house, "stranger", &text);
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
            None => assert!(said.out.contains("its own 1"), "{sin}: {said}"),
            Some(problem) => assert!(said.out.contains(problem), "{sin}: {said}"),
        }
    }
}
