//! `commute run --pcap --keylog --qlog --explain`: what is kept of a run can be decrypted and read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::Sandbox;

const STUDY: &str = r#"
name = "kept"
question = "can it be decrypted?"
networks = ["basic.toml"]
baseline = "hyper h2"
blocks = 1
timeout_s = 10
[[arm]]
stack = "hyper"
protocol = "h2"
[[arm]]
stack = "quinn"
protocol = "h3"
[[step]]
call = "echo"
times = 2
"#;

/// Decodes a capture with the secrets and returns one field of every packet that has it.
fn tshark(capture: &Path, keys: &Path, field: &str) -> String {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(capture)
        .args(["-o", &format!("tls.keylog_file:{}", keys.display())])
        .args(["-d", "tcp.port==8443,tls", "-d", "udp.port==8443,quic"])
        .args(["-Y", field, "-T", "fields", "-e", field])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn kept_packets_are_decrypted_with_the_kept_secrets() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", "\"h3\"", &["{commute}", "driver", "quinn"]);
    sandbox.write("kept.toml", STUDY);
    let run = ["run", "kept.toml", "--out", "run", "--no-self-test"];
    let output = sandbox
        .run(&[&run[..], &["--pcap", "--keylog", "--qlog"]].concat())
        .exits_with(0);
    let data = sandbox.records("run");
    let of = |kind: &str, protocol: &str| {
        let wanted = |cell: &&record::Cell| cell.arm.ends_with(protocol) && cell.attempt == 1;
        let cell = data.cells().iter().find(wanted).unwrap();
        sandbox.work().join(format!("run/{kind}/{}.1", cell.id))
    };
    let keys = of("keylog", "h2").join("keys.log");
    let secrets = fs::read_to_string(&keys).unwrap();
    assert!(secrets.contains("SERVER_TRAFFIC_SECRET_0 "), "{output}");
    // QUIC: one connection, and its qlog has whole lines, the header first.
    let qlogs = common::file_names(&of("qlog", "h3"));
    assert_eq!(qlogs.len(), 1, "{qlogs:?}: {output}");
    let qlog = fs::read_to_string(of("qlog", "h3").join(&qlogs[0])).unwrap();
    let mut records = 0;
    for record in qlog.split('\u{1e}').filter(|record| !record.is_empty()) {
        serde_json::from_str::<serde_json::Value>(record).unwrap();
        records += 1;
    }
    assert!(records > 10 && qlog.contains("packet_sent"), "{qlog}");
    assert!(!of("qlog", "h2").exists(), "{output}");
    if common::find_program("tshark").is_none() {
        return testing::skip("tshark is missing: apt-get install tshark");
    }
    let paths = tshark(
        &of("pcap", "h2").join("server.pcapng"),
        &keys,
        "http2.headers.path",
    );
    assert_eq!(paths.matches("/echo").count(), 2, "{paths}");
    let keys = of("keylog", "h3").join("keys.log");
    let streams = tshark(
        &of("pcap", "h3").join("server.pcapng"),
        &keys,
        "quic.stream.stream_id",
    );
    assert!(!streams.is_empty());
}

#[test]
fn kept_paths_are_printed_and_sum_to_the_parts() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", "\"h3\"", &["{commute}", "driver", "quinn"]);
    sandbox.write("kept.toml", STUDY);
    let run = ["run", "kept.toml", "--no-self-test"];
    let (with, without) = (&["--out", "run", "--explain"][..], &["--out", "bare"][..]);
    sandbox.run(&[&run[..], with].concat()).exits_with(0);
    sandbox.run(&[&run[..], without].concat()).exits_with(0);
    for cell in sandbox.records("run").cells() {
        for call in &cell.calls {
            let steps = &call.path.as_ref().unwrap().steps;
            let mut parts = std::collections::BTreeMap::new();
            for step in steps {
                *parts.entry(step.part.clone()).or_default() += step.to_ns - step.from_ns;
            }
            assert_eq!(parts, call.parts);
            assert!(steps.iter().any(|step| step.packet.is_some()));
        }
    }
    let why = sandbox.run(&["why", "run"]).exits_with(0);
    assert!(why.stdout.contains("  TCP handshake: at most "), "{why}");
    let path = ["--path", "1", "--arm", "hyper h2"];
    let output = sandbox
        .run(&[&["why", "run"], &path[..]].concat())
        .exits_with(0);
    assert!(output.stdout.contains("TCP handshake"), "{output}");
    assert!(output.stdout.contains("up, SYN"), "{output}");
    let bare = sandbox
        .run(&[&["why", "bare"], &path[..]].concat())
        .exits_with(2);
    bare.stderr_contains("measure again with --explain: commute run kept.toml --blocks 1 --seed ");
}

#[test]
fn remedies_of_a_stack_are_checked_and_given() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.write(
        "one.toml",
        &STUDY.replace("[[arm]]\nstack = \"quinn\"\nprotocol = \"h3\"\n", ""),
    );
    let run = ["run", "one.toml", "--no-self-test", "--out", "run"];
    sandbox.run(&run).exits_with(0);
    let file = sandbox.home().join("stacks/hyper/remedies.toml");
    let entry = "[[remedy]]\nparts = ['exchange']\ndrivers = ['hyper']\nat = 'client'\n\
                 advice = 'Invented.'\nsource = 'RFC 1149'\n";
    fs::write(&file, entry).unwrap();
    let why = sandbox.run(&["why", "run"]).exits_with(0);
    assert!(
        why.stdout.contains("  Request and response: at most "),
        "{why}"
    );
    assert!(why.stdout.contains("client: Invented. RFC 1149"), "{why}");
    fs::write(&file, entry.replace("exchange", "exchanges")).unwrap();
    let why = sandbox.run(&["why", "run"]).exits_with(1);
    why.stderr_contains(
        "remedies.toml:2:9: parts: no part is named `exchanges` (did you mean `exchange`?)",
    );
}
