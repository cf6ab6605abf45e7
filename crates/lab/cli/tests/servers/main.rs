//! Studies that name another server than commute's own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod envoy;
mod sending;

use common::study::{BASIC_NETWORK, assert_complete, counted_cells};
use common::{CommandOutput, Sandbox};
use record::{CallResult, Cell, ConnectionSettings, PacketSeries, Proof, State};

/// Every protocol with both servers; the arms' names are the default ones.
const ARMS: [(&str, &str); 4] = [
    ("hyper", "h1"),
    ("hyper", "h2"),
    ("quinn", "h3"),
    ("tonic", "grpc"),
];

const STUDY: &str = r#"
name = "servers"
question = "do both servers answer everything?"
networks = ["basic.toml"]
baseline = "hyper h1"
blocks = 1
timeout_s = 10
"#;

const STEPS: &str = r#"
[[step]]
call = "echo"
times = 2
[[step]]
get = "file"
bytes = 100000
[[step]]
put = "upload"
bytes = 100000
[[step]]
exchange = "page"
message = "api-2kB"
[[step]]
reconnect = "resume"
[[step]]
call = "echo"
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    for (name, protocol) in [("quinn", "\"h3\""), ("tonic", "\"grpc\"")] {
        sandbox.add_stack(name, protocol, &["{commute}", "driver", name]);
    }
    sandbox
}

/// Writes the manifest of the server `go`, and returns false if its program is not built.
fn add_go_server(sandbox: &Sandbox) -> bool {
    add_server(sandbox, "go", &["stacks/go/build/server"])
}

/// Writes the manifest of the servers `envoy` and `envoy-l4`, and returns false if their programs
/// are not built.
fn add_envoy(sandbox: &Sandbox) -> bool {
    let manifest =
        std::fs::read_to_string(common::repository().join("stacks/envoy/stack.toml")).unwrap();
    let built = common::repository().join("stacks/envoy/build");
    let folder = sandbox.home().join("stacks/envoy");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = manifest.replace("{stack}/build", &built.display().to_string());
    std::fs::write(folder.join("stack.toml"), manifest).unwrap();
    ["edge", "envoy"].iter().all(|p| built.join(p).exists())
}

fn add_server(sandbox: &Sandbox, name: &str, programs: &[&str]) -> bool {
    let programs: Vec<_> = programs
        .iter()
        .map(|program| common::repository().join(program))
        .collect();
    let words: Vec<_> = programs.iter().map(|p| p.display().to_string()).collect();
    let dir = sandbox.home().join("stacks").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let manifest =
        format!("[stack]\nneeds = \"Go\"\n[[server]]\nname = {name:?}\ncommand = {words:?}\n");
    std::fs::write(dir.join("stack.toml"), manifest).unwrap();
    programs.iter().all(|program| program.exists())
}

fn arms(more: &str) -> String {
    ARMS.iter()
        .map(|(stack, protocol)| {
            format!("[[arm]]\nstack = \"{stack}\"\nprotocol = \"{protocol}\"\n{more}\n")
        })
        .collect()
}

#[track_caller]
fn check(cell: &Cell, output: &CommandOutput) {
    assert!(
        cell.is_measured(),
        "{}: {:?}: {output}",
        cell.arm,
        cell.outcome
    );
    assert_eq!(cell.calls.len(), 6, "{}: {output}", cell.arm);
    for call in &cell.calls {
        assert_eq!(call.result, CallResult::Ok, "{}: {call:?}", cell.arm);
        assert_eq!(call.proof, Proof::Server, "{}: {call:?}", cell.arm);
    }
    assert_eq!(cell.connections.len(), 2, "{}", cell.arm);
    // The chain, with keys and signature beside it; 10 kB are far more than that, sent twice.
    let full = &cell.connections[0];
    let first_flight_bytes = full.first_flight_bytes.unwrap();
    assert!(
        first_flight_bytes > full.chain_bytes && first_flight_bytes < 10_000,
        "{}: {full:?}",
        cell.arm
    );
}

#[test]
fn every_protocol_is_proven_with_both_servers() {
    let sandbox = sandbox();
    if !add_go_server(&sandbox) {
        testing::skip("stacks/go is not installed");
        return;
    }
    let study = format!("{STUDY}{}{}{STEPS}", arms(""), arms("server = \"go\""));
    sandbox.write("servers.toml", &study);
    let output = sandbox
        .run(&[
            "-v",
            "run",
            "servers.toml",
            "--out",
            "run",
            "--no-self-test",
        ])
        .exits_with(0)
        .stdout_contains("quic-go 0.")
        .stdout_contains("quinn-proto 0.");
    let data = sandbox.records("run");
    assert_complete(&data);
    let libraries = [
        ("hyper h1", "hyper 1.", "cubic"),
        ("hyper h2", "hyper 1.", "cubic"),
        ("quinn h3", "quinn-proto 0.", "cubic"),
        ("tonic grpc", "tonic 0.", "cubic"),
        ("hyper h1 (go server)", "net/http 1.", "cubic"),
        ("hyper h2 (go server)", "net/http 1.", "cubic"),
        ("quinn h3 (go server)", "quic-go 0.", "reno"),
        ("tonic grpc (go server)", "grpc-go 1.", "cubic"),
    ];
    for (arm, library, congestion) in libraries {
        let cell = counted_cells(&data)
            .into_iter()
            .find(|cell| cell.arm == arm);
        let cell = cell.unwrap_or_else(|| panic!("no cell of {arm}: {output}"));
        check(cell, &output);
        assert!(cell.connections[1].resumed, "{arm}");
        for connection in &cell.connections {
            let found = connection.server_library.as_deref().unwrap();
            assert!(found.starts_with(library), "{arm}: {found}");
            assert_eq!(connection.congestion.as_deref(), Some(congestion), "{arm}");
        }
    }
}

#[test]
fn early_data_is_accepted_by_both_servers() {
    let sandbox = sandbox();
    let go = add_go_server(&sandbox);
    let arm = "[[arm]]\nstack = \"quinn\"\nprotocol = \"h3\"\n";
    let of_go = if go {
        format!("{arm}server = \"go\"\n")
    } else {
        String::new()
    };
    let head = STUDY.replace("hyper h1", "quinn h3");
    // Two calls: the session ticket may arrive after the first answer.
    let steps = "[[step]]\ncall = \"echo\"\ntimes = 2\n[[step]]\nreconnect = \"early_data\"\n\
                 [[step]]\nget = \"file\"\nbytes = 100\n";
    sandbox.write("early.toml", &format!("{head}{arm}{of_go}{steps}"));
    let output = sandbox
        .run(&["run", "early.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let states: Vec<State> = cell.calls.iter().map(|call| call.state).collect();
        assert_eq!(
            states,
            [State::ColdProcess, State::Warm, State::EarlyData],
            "{}: {output}",
            cell.arm
        );
    }
    if !go {
        testing::skip("stacks/go is not installed");
    }
}

#[test]
fn keys_are_of_the_kind_that_the_arm_asks_for() {
    let sandbox = sandbox();
    let head = STUDY.replace("blocks = 1", "blocks = 1\nkey = \"rsa-2048\"");
    let other = |stack: &str, protocol: &str| {
        let arm = format!("[[arm]]\nstack = \"{stack}\"\nprotocol = \"{protocol}\"\n");
        format!("{arm}name = \"{protocol} p256\"\nkey = \"p256\"\n")
    };
    let (arms, h2, h3) = (arms(""), other("hyper", "h2"), other("quinn", "h3"));
    let step = "[[step]]\ncall = \"echo\"\n";
    sandbox.write("keys.toml", &format!("{head}{arms}{h2}{h3}{step}"));
    let output = sandbox
        .run(&["run", "keys.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let expected = match cell.arm.contains("p256") {
            true => "p256",
            false => "rsa-2048",
        };
        assert_eq!(cell.calls[0].result, CallResult::Ok, "{output}");
        assert_eq!(cell.connections[0].certificate, expected, "{}", cell.arm);
    }
}

#[test]
fn another_server_for_all_arms_is_kept_when_the_run_is_extended() {
    let sandbox = sandbox();
    if !add_go_server(&sandbox) {
        testing::skip("stacks/go is not installed");
        return;
    }
    let run = [
        "run",
        "small.toml",
        "--out",
        "run",
        "--no-self-test",
        "--blocks",
        "1",
    ];
    sandbox
        .run(&[&run[..], &["--server", "go"]].concat())
        .exits_with(0);
    sandbox
        .run(&["run", "--resume", "run", "--blocks", "2", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    let connections = data.cells().iter().flat_map(|cell| &cell.connections);
    for connection in connections {
        let library = connection.server_library.as_deref();
        assert!(
            library.is_some_and(|l| l.starts_with("net/http")),
            "{connection:?}"
        );
    }
}

#[test]
fn servers_that_cannot_serve_the_study_are_refused() {
    let sandbox = sandbox();
    add_go_server(&sandbox);
    add_envoy(&sandbox);
    let study = format!("{STUDY}{}{STEPS}", arms(""));
    sandbox.write("plain.toml", &study);
    sandbox.write(
        "bbr.toml",
        &study.replace("\"h3\"", "\"h3\"\ncongestion = \"bbr\""),
    );
    let both = format!("{study}[[arm]]\nstack = \"quinn\"\nprotocol = \"h3\"\nserver = \"go\"\n");
    sandbox.write("both.toml", &both);
    for (file, server, message) in [
        (
            "plain.toml",
            "goo",
            "commute: no server is named `goo` (did you mean `go`?)",
        ),
        (
            "bbr.toml",
            "go",
            "arm `quinn h3`: the go server does not support `congestion` over HTTP/3",
        ),
        (
            "plain.toml",
            "envoy-l4",
            "arm `quinn h3`: the envoy-l4 server does not serve h3",
        ),
        ("both.toml", "go", "this study compares servers"),
    ] {
        let output = sandbox.run(&["run", file, "--dry-run", "--server", server]);
        assert_ne!(output.status.code(), Some(0), "{output}");
        output.stderr_contains(message);
    }
}
