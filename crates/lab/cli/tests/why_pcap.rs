//! `commute why --pcap`: captures of real traffic show what the lab's own record does, and one capture names no wrong
//! cause.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;

use common::Sandbox;
use common::study::counted_cells;
use record::{Call, Cell};
use serde_json::Value;

const DIRECTION: &str = "rate_kbps = 20000\nqueue_ms = 400\ndelay_ms = 25\n";
const STUDY: &str = r#"
name = "captured"
question = "is it the same?"
networks = ["clean.toml", "lossy.toml"]
baseline = "hyper h1"
blocks = 1
seed = 7
timeout_s = 20
server = "slow"
[[arm]]
stack = "hyper"
protocol = "h1"
[[arm]]
stack = "hyper"
protocol = "h2"
[[step]]
call = "echo"
times = 2
[[step]]
get = "file"
bytes = 160000
[[step]]
put = "file"
bytes = 160000
"#;
/// Two programs that read the same clock differ in so much, e.g. by when a call returns.
const APART_NS: u64 = 2_000_000;
/// A packet that a busy machine delivers late is link busy to a capture, and part of a round trip to the record, which
/// knows the link's rate. It is so much of a call's time at most.
const LATE: u64 = 50;

/// Measures on a clean network and a lossy one, with a server that pauses in its third response, and keeps the captures.
fn measured() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let servers = sandbox.home().join("stacks/servers");
    std::fs::create_dir_all(&servers).unwrap();
    let server = "[stack]\nneeds = \"nothing\"\n[[server]]\nname = \"slow\"\n\
        command = [\"sh\", \"{stack}/serve\", \"{commute}\"]\n";
    std::fs::write(servers.join("stack.toml"), server).unwrap();
    // The server is asked for gRPC, which it has on the port of HTTP/2.
    let serve = "commute=$1; shift; for argument; do shift; \
        [ \"$argument\" = --grpc ] || set -- \"$@\" \"$argument\"; done; \
        exec \"$commute\" serve --inject=3=slow \"$@\"\n";
    std::fs::write(servers.join("serve"), serve).unwrap();
    for (name, loss) in [("clean", ""), ("lossy", "loss_percent = 4\n")] {
        let network = format!(
            "about = \"a\"\nsource = \"made up, for tests\"\n[down]\n{DIRECTION}{loss}[up]\n{DIRECTION}{loss}"
        );
        sandbox.write(&format!("{name}.toml"), &network);
    }
    sandbox.write("captured.toml", STUDY);
    let run = [
        "run",
        "captured.toml",
        "--out",
        "run",
        "--no-self-test",
        "--pcap",
    ];
    sandbox.run(&run).exits_with(0);
    sandbox
}

/// Returns the paths of a cell's captures, at the client and at the server.
fn captures(cell: &Cell) -> [String; 2] {
    let folder = format!("run/pcap/{}.{}", cell.id, cell.attempt);
    ["client", "server"].map(|end| format!("{folder}/{end}.pcapng"))
}

fn why(sandbox: &Sandbox, files: &[&str]) -> Value {
    let args = [&["why", "--format", "json", "--pcap"], files].concat();
    serde_json::from_str(&sandbox.run(&args).exits_with(0).stdout).unwrap()
}

/// Returns how far a part of a capture may be from the record's.
fn tolerance(call: &Call) -> i64 {
    APART_NS.max(call.end_ns / LATE) as i64
}

/// Returns the parts of a call with its waits as one: after a loss, which of two waits at the same time the path takes
/// depends on microseconds, which a capture on a busy machine sees differently.
fn waits_together(parts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut together = BTreeMap::new();
    for (part, ns) in parts {
        let name = match part.as_str() {
            "loss_fast" | "loss_timer" | "congestion_window" | "window_after_loss"
            | "delayed_ack" | "link_busy" | "link_busy_copies" => "waits",
            other => other,
        };
        *together.entry(name.to_owned()).or_default() += ns;
    }
    together
}

fn has_loss(parts: &BTreeMap<String, u64>) -> bool {
    parts.contains_key("loss_fast") || parts.contains_key("loss_timer")
}

/// Returns the parts of each exchange.
fn exchanges(why: &Value) -> Vec<BTreeMap<String, u64>> {
    let connections = why["connections"].as_array().unwrap().iter();
    let exchanges = connections.flat_map(|connection| connection["exchanges"].as_array().unwrap());
    let parts = exchanges.map(|exchange| {
        let parts = exchange["parts"].as_array().unwrap().iter();
        parts
            .map(|time| {
                (
                    time["part"].as_str().unwrap().to_owned(),
                    time["ns"].as_u64().unwrap(),
                )
            })
            .collect()
    });
    parts.collect()
}

#[test]
fn captures_show_what_the_record_does() {
    let sandbox = measured();
    let data = sandbox.records("run");
    let cells = counted_cells(&data);
    assert_eq!(cells.len(), 4);
    let (mut lost, mut repaired, mut ends) = (0, 0, 0);
    for cell in cells {
        let [client, server] = captures(cell);
        let both = why(&sandbox, &[&server, &client]);
        lost += both["connections"][0]["lost"].as_u64().unwrap();
        assert_eq!(both["connections"][0]["missed"], serde_json::json!([0, 0]));
        let found = exchanges(&both);
        assert_eq!(found.len(), cell.calls.len(), "{both:#}");
        for (call, parts) in cell.calls.iter().zip(&found) {
            let [mut recorded, mut captured] = [call.parts.clone(), parts.clone()];
            let are_lossy = [&recorded, &captured].map(has_loss);
            repaired += usize::from(are_lossy == [true, true]);
            if cell.id.starts_with("lossy") && are_lossy.contains(&true) {
                [recorded, captured] = [waits_together(&recorded), waits_together(&captured)];
            }
            for part in recorded.keys().chain(captured.keys()) {
                let [expected, ns] =
                    [&recorded, &captured].map(|of| of.get(part).copied().unwrap_or(0) as i64);
                // A capture cannot see what the client did before its first packet.
                let is_equal =
                    (ns - expected).abs() < tolerance(call) || part == "client" && ns < expected;
                assert!(
                    is_equal,
                    "{} call {}: {parts:?} of {:?}",
                    cell.id, call.id, call.parts
                );
            }
        }
        for (end, own) in [(&client, "client"), (&server, "server")] {
            let one = why(&sandbox, &[end]);
            // On a busy machine a host may answer so late that it does not look like one.
            if one["connections"][0]["captured_at"] == "unknown" {
                continue;
            }
            ends += 1;
            assert_eq!(one["connections"][0]["captured_at"], own);
            let found = exchanges(&one);
            assert_eq!(found.len(), cell.calls.len(), "{one:#}");
            for (call, parts) in cell.calls.iter().zip(&found) {
                let known = ["tcp_handshake", "tls_handshake", "exchange", "nagle", own];
                for (part, &ns) in parts.iter().filter(|(part, _)| *part != "unexplained") {
                    // Without the losses, a delayed acknowledgement can look like the end's own time.
                    let delayed = Some("delayed_ack").filter(|_| *part == own);
                    let of_record = [Some(&**part), delayed].into_iter().flatten();
                    let expected: u64 = of_record.filter_map(|part| call.parts.get(part)).sum();
                    let is_right =
                        known.contains(&&**part) && (ns as i64) < expected as i64 + tolerance(call);
                    assert!(
                        is_right,
                        "{end} call {}: {parts:?} of {:?}",
                        call.id, call.parts
                    );
                }
            }
        }
    }
    assert!(lost > 0, "the lossy network lost nothing");
    assert!(repaired > 0, "no capture shows a repair of the record's");
    assert!(ends >= 4, "the ends of {ends} captures were found");
    formats(&sandbox, &captures(counted_cells(&data)[0]));
}

fn formats(sandbox: &Sandbox, [client, server]: &[String; 2]) {
    let run = |args: &[&str]| sandbox.run(&[&["why", "--pcap", client, server], args].concat());
    let human = run(&[]).exits_with(0);
    assert!(human.stdout.contains("captured at both ends"), "{human}");
    assert!(human.stdout.contains("TCP handshake 50."), "{human}");
    let path = run(&["--request", "1"]).exits_with(0);
    assert!(path.stdout.contains("up, SYN (1/1)"), "{path}");
    let markdown = run(&["--format", "markdown"]).exits_with(0);
    assert!(markdown.stdout.contains("| 4 | "), "{markdown}");
    let csv = run(&["--format", "csv"]).exits_with(0);
    assert!(
        csv.stdout.starts_with("client,server,exchange,start_ns,"),
        "{csv}"
    );
    let csv = run(&["--request", "1", "--format", "csv"]).exits_with(0);
    assert!(
        csv.stdout.starts_with("client,server,exchange,from_ns,"),
        "{csv}"
    );
    let markdown = run(&["--request", "1", "--format", "markdown"]).exits_with(0);
    assert!(markdown.stdout.contains("up, SYN (1/1)"), "{markdown}");
    let json = run(&["--request", "1", "--format", "json"]).exits_with(0);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let exchanges = &json["connections"][0]["exchanges"];
    assert_eq!(exchanges[0]["path"]["steps"][0]["from_ns"], 0);
    assert_eq!(exchanges[1]["path"], Value::Null);
    for format in ["human", "json", "csv", "markdown"] {
        run(&["--request", "5", "--format", format])
            .exits_with(2)
            .stderr_contains("there is no exchange 5: the captures have 4 exchanges");
    }
    run(&["--network", "clean"])
        .exits_with(2)
        .stderr_contains("cannot be used with");
    let missing = sandbox
        .run(&["why", "--pcap", "missing.pcap"])
        .exits_with(2);
    missing.stderr_contains("cannot read missing.pcap: ");
    let other = sandbox
        .run(&["why", "--pcap", "captured.toml"])
        .exits_with(1);
    other.stderr_contains("captured.toml: at byte 0: neither pcap nor pcapng");
    let none = sandbox.run(&["why"]).exits_with(2);
    none.stderr_contains("<RUN>");
}
