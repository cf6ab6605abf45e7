//! `commute codec`: the matrix, the table, a user's own payload, and runners with faults.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{CommandOutput, Sandbox, repository};
use serde_json::Value;

/// A runner in plain Python that follows the protocol except for one fault, its argument.
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
        if fault == "exits": sys.exit("out of ideas")
        if fault == "garbage": out.write("what?\n"); out.flush(); continue
        value = open(request["value_file"]).read()
        reply(type="encoded", bytes=open(request["encoded_file"], "w").write(value))
    elif kind == "decode":
        value = open(request["encoded_file"]).read()
        if fault == "wrong value": value = value.replace("{\ns ", "{\ns 41", 1)
        open(request["value_file"], "w").write(value)
        reply(type="decoded")
    elif kind == "time":
        # Longer than the 0.5 ms it reports, which is therefore plausible.
        time.sleep(0.001)
        reply(type="timed", elapsed_ns=10**10 if fault == "wrong time" else 500_000, sink=0)
    else:
        break
"#;

/// Returns a sandbox with the Rust runner.
fn sandbox_with_runner() -> Sandbox {
    let sandbox = Sandbox::new();
    let text = "[stack]\nneeds = \"\"\n[[runner]]\nruntime = \"rust\"\n\
                command = [\"{commute}\", \"codec-runner\"]\n";
    add_manifest(&sandbox, "rust", text);
    sandbox
}

fn add_manifest(sandbox: &Sandbox, stack: &str, text: &str) {
    let folder = sandbox.home().join("stacks").join(stack);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("stack.toml"), text).unwrap();
}

#[test]
fn every_library_decodes_every_other_librarys_output() {
    let sandbox = sandbox_with_runner();
    let output = sandbox
        .run(&["codec", "--check", "--format", "json", "--quiet"])
        .exits_with(0);
    // Without --quiet, it has a line of progress for each step.
    assert_eq!(output.stderr, "", "{output}");
    let matrix: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(matrix["failures"], serde_json::json!([]), "{output}");
    for codec in [
        "json",
        "protobuf",
        "msgpack",
        "msgpack-old",
        "json+zstd-3",
        "flatbuffers",
    ] {
        // At least one pair of libraries per message, of which there are fifteen.
        let equal = matrix["codecs"][codec]["equal"].as_u64();
        assert!(equal >= Some(15), "{codec}: {output}");
    }
}

/// Findings are made from it, and measured again by its command.
#[test]
fn json_says_when_where_and_how_it_was_measured() {
    let sandbox = sandbox_with_runner();
    let run = |args: &[&str]| {
        let args = [&["codec", "--format", "json", "--quiet"], args].concat();
        serde_json::from_str::<serde_json::Value>(&sandbox.run(&args).exits_with(0).stdout).unwrap()
    };
    let args = "--message small --message perl-10 --runtime rust --codec json,msgpack --seed 3 --rounds 6 --budget 1 \
                --cold 0 --twice";
    let json = run(&args.split_whitespace().collect::<Vec<_>>());
    assert_eq!(json["command"], format!("commute codec {args}"));
    assert_eq!(json["commute"], env!("CARGO_PKG_VERSION"));
    assert!(json["machine"].as_str().unwrap().starts_with("Linux "));
    let started = Duration::from_nanos(json["started_unix_ns"].as_u64().unwrap());
    let age = SystemTime::now().duration_since(UNIX_EPOCH + started);
    assert!(age.unwrap() < Duration::from_secs(600));
    // The sandbox is no checkout.
    assert_eq!(json["git"], serde_json::Value::Null);
    assert!(json["rows"].as_array().unwrap().len() >= 4);
    let sized = run(&[
        "--size", "100B", "--rounds", "6", "--budget", "1", "--cold", "0",
    ]);
    let expected = "commute codec --size 100B --seed 1 --rounds 6 --budget 1 --cold 0";
    assert_eq!(sized["command"], expected);
}

#[test]
fn csv_contains_bytes_and_times() {
    let sandbox = sandbox_with_runner();
    let output = sandbox
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
        .exits_with(0);
    let mut reader = csv::Reader::from_reader(output.stdout.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let row = |message: &str, library: &str| {
        rows.iter()
            .find(|r| &r[column("message")] == message && &r[column("library")] == library)
            .unwrap()
    };
    for (message, library, bytes) in [
        ("big-100", "serde_json", "17211"),
        ("big-100", "commute's own serialiser on rmp", "11118"),
    ] {
        let row = row(message, library);
        assert_eq!(&row[column("bytes")], bytes, "{output}");
        assert_eq!(&row[column("problem")], "", "{output}");
        for figure in ["encode_ns", "decode_ns", "cold_encode_ns", "cold_decode_ns"] {
            let ns: f64 = row[column(figure)].parse().unwrap();
            // Plausible on any machine: more than a memory access, less than a second.
            assert!((1.0..1e9).contains(&ns), "{figure}: {output}");
        }
        let interval = ["encode_low_ns", "encode_ns", "encode_high_ns"];
        let interval = interval.map(|name| row[column(name)].parse::<f64>().unwrap());
        assert!(interval.is_sorted(), "{interval:?}");
    }
    let small: u64 = row("small", "serde_json")[column("bytes")].parse().unwrap();
    assert!((2..60).contains(&small));
}

/// Sets a flag at the end of a scope.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every core has several programs to run, so that the processes of a start wait for each other in any order.
#[test]
fn runners_start_on_a_busy_machine() {
    let sandbox = sandbox_with_runner();
    let is_over = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        // Also after a panic, which would otherwise wait for the threads.
        let _end = End(&is_over);
        let cores = thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..2 * cores {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let codec = "--message small --codec json --rounds 6 --budget 0 --cold 20 --format csv";
        let args: Vec<&str> = codec.split(' ').collect();
        sandbox.run(&[&["codec"], &args[..]].concat())
    });
    let output = output.exits_with(0);
    let mut reader = csv::Reader::from_reader(output.stdout.as_bytes());
    let header = reader.headers().unwrap().clone();
    let problem = header.iter().position(|name| name == "problem").unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert!(!rows.is_empty(), "{output}");
    assert!(rows.iter().all(|row| row[problem].is_empty()), "{output}");
}

#[test]
fn reports_schema_sizes_and_predictions_for_own_payload() {
    let sandbox = Sandbox::new();
    let orders = repository().join("crates/lab/payload/tests/data/orders.json");
    let output = sandbox
        .run(&[
            "codec",
            orders.to_str().unwrap(),
            "--format",
            "json",
            "--rounds",
            "6",
        ])
        .exits_with(0);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let proto = report["proto"].as_str().unwrap();
    assert!(proto.contains("\nsyntax = \"proto3\";\n"), "{proto}");
    assert!(!report["notes"].as_array().unwrap().is_empty());
    let encodings = report["samples"][0]["encodings"].as_array().unwrap();
    let size = |codec: &str| {
        let encoding = encodings.iter().find(|e| e["codec"] == codec).unwrap();
        (
            encoding["bytes"].as_u64().unwrap(),
            encoding["h2_packets"].as_u64().unwrap(),
        )
    };
    // Bytes and packets, which do not depend on the machine.
    assert_eq!(size("json"), (4_903, 4));
    assert_eq!(size("protobuf"), (2_364, 2));
    assert!(encodings.iter().all(|e| e["runs"].as_u64() > Some(1)));
    let predicted = &encodings[0]["predicted"][0];
    assert_eq!(predicted["network"], "4g-tether");
    assert!(predicted["cold_ns"].as_u64() > predicted["warm_ns"].as_u64());
}

#[test]
fn payload_as_a_page() {
    let sandbox = Sandbox::new();
    let orders = repository().join("crates/lab/payload/tests/data/orders.json");
    fs::copy(orders, sandbox.work().join("orders.json")).unwrap();
    let args = [
        "codec",
        "orders.json",
        "--rounds",
        "6",
        "--html",
        "page.html",
    ];
    sandbox.run(&args).exits_with(0);
    let page = fs::read_to_string(sandbox.work().join("page.html")).unwrap();
    for shown in [
        "<figcaption>orders.json: on this machine</figcaption>",
        "<figcaption>orders.json: 4g-tether h2, predicted</figcaption>",
        "orders.json: predicted times, ms",
        "syntax = ",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    testing::check_page("payload", &page);
}

#[test]
fn errors_name_the_problem_and_the_place() {
    let sandbox = sandbox_with_runner();
    let deep = "[".repeat(100_000);
    let samples: [(&str, &[u8]); 9] = [
        ("empty.json", b""),
        ("truncated.json", b"{\"a\": [1, 2"),
        ("nan.json", b"{\"a\": NaN}"),
        ("infinity.json", b"{\"a\": 1e999}"),
        ("duplicate.json", b"{\"a\": 1, \"a\": 2}"),
        ("latin1.json", b"{\"a\": \"\xe9\"}"),
        ("scalar.json", b"42"),
        ("two-values.json", b"{} {}"),
        ("deep.json", deep.as_bytes()),
    ];
    let mut errors = String::new();
    let mut add = |args: &[&str], output: &CommandOutput| {
        assert_eq!(
            output.stdout, "",
            "errors belong on standard error: {output}"
        );
        writeln!(errors, "# commute {}\n{}", args.join(" "), output.stderr).unwrap();
    };
    for (name, bytes) in samples {
        fs::write(sandbox.work().join(name), bytes).unwrap();
        let args = ["codec", name];
        add(&args, &sandbox.run(&args).exits_with(1));
    }
    // Rejected by its size before it is read; the file is sparse.
    let huge = fs::File::create(sandbox.work().join("huge.json")).unwrap();
    huge.set_len(300 << 20).unwrap();
    fs::create_dir(sandbox.work().join("folder.json")).unwrap();
    for (args, code) in [
        (vec!["codec", "huge.json"], 1),
        (vec!["codec", "folder.json"], 2),
        (vec!["codec", "missing.json"], 2),
        // Standard input is empty.
        (vec!["codec", "-"], 1),
        (vec!["codec", "--message", "big-nine"], 2),
        (vec!["codec", "--runtime", "cobol"], 2),
        (vec!["codec", "--runtime", "ruts"], 2),
        (vec!["codec", "--codec", "xml"], 2),
        (vec!["codec", "--codec", "protobuff"], 2),
        (vec!["codec", "--rounds", "3"], 2),
    ] {
        add(&args, &sandbox.run(&args).exits_with(code));
    }
    testing::golden(common::golden_path("codec-errors.txt"), &errors);
}

#[test]
fn faulty_runners_are_reported() {
    let expected = [
        ("no fault", None),
        ("wrong value", Some("came back as `s 41")),
        (
            "wrong time",
            Some("claims 10000000000 ns, longer than the whole request took"),
        ),
        (
            "exits",
            Some("closed its pipe before sending encoded; its log ends: out of ideas"),
        ),
        ("garbage", Some("sent an invalid reply")),
    ];
    for (fault, problem) in expected {
        let sandbox = Sandbox::new();
        let script = sandbox.home().join("runner.py");
        fs::write(&script, EXTERNAL_RUNNER).unwrap();
        let text = format!(
            "[stack]\nneeds = \"\"\n[[runner]]\nruntime = \"external\"\n\
             command = [\"/usr/bin/python3\", \"-I\", {:?}, \"{fault}\"]\n",
            script.to_str().unwrap()
        );
        add_manifest(&sandbox, "external", &text);
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
        let output = sandbox.run(&args).exits_with(0);
        match problem {
            None => assert!(output.stdout.contains("its own 1"), "{fault}: {output}"),
            Some(problem) => assert!(output.stdout.contains(problem), "{fault}: {output}"),
        }
    }
}
