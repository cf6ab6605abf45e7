//! `commute run --server URL`: studies against a server that the lab does not start.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod answering;
mod refused;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::Ordering;

use answering::{Answering, make_credentials};
use common::command::{Running, wait_until};
use common::server::Server;
use common::study::{assert_complete, counted_cells, record_count};
use common::{CommandOutput, Sandbox, User, users};
use record::{CallResult, Proof};

/// What clients know the server by.
const NAME: &str = "my.test";

/// Any port of this host.
const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

const HEAD: &str = r#"
name = "mine"
question = "does it reach a server outside?"
networks = ["basic.toml"]
baseline = "hyper h1"
timeout_s = 5
"#;

const ARMS: &str = r#"
[[arm]]
stack = "hyper"
protocol = "h1"
[[arm]]
stack = "hyper"
protocol = "h2"
[[arm]]
stack = "quinn"
protocol = "h3"
"#;

const ONE_ARM: &str = "[[arm]]\nstack = \"hyper\"\nprotocol = \"h1\"\n";

const STEPS: &str = r#"
[[step]]
call = "page"
path = "/bytes/20000"
times = 3
[[step]]
reconnect = "cold"
[[step]]
call = "page"
path = "/bytes/20000"
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    for (name, protocol) in [("quinn", "\"h3\""), ("tonic", "\"grpc\"")] {
        sandbox.add_stack(name, protocol, &["{commute}", "driver", name]);
    }
    sandbox
}

/// Returns a study whose server is at an address of this host.
fn study(blocks: u32, address: SocketAddr, arms: &str, steps: &str) -> String {
    format!(
        "{HEAD}blocks = {blocks}\n[server]\nurl = \"https://{NAME}:9443\"\naddress = \"{address}\"\n\
         ca = \"ca.pem\"\n{arms}{steps}"
    )
}

/// Runs the study with the consent to its server.
fn run(sandbox: &Sandbox, user: User, more: &[&str]) -> CommandOutput {
    run_unasked(sandbox, user, &[more, &["--yes"]].concat())
}

/// Runs the study without a terminal to ask on.
fn run_unasked(sandbox: &Sandbox, user: User, more: &[&str]) -> CommandOutput {
    let run = ["run", "mine.toml", "--out", "run", "--no-self-test"];
    CommandOutput::of(sandbox.commute_as(user, &[&run[..], more].concat()))
}

/// Runs a study against a program that takes the arguments of `commute serve`, over every protocol.
fn reaches(user: User, program: &[&str]) {
    let sandbox = sandbox();
    let server = Server::start_program(&sandbox, program, "127.0.0.1:0", NAME);
    sandbox.write("mine.toml", &study(1, server.address, ARMS, STEPS));
    let output = run(&sandbox, user, &["-v"])
        .exits_with(0)
        .stderr_contains("gets up to 12 requests (more where blocks are run again) in 3 cells")
        .stdout_contains(&format!(
            "your own, https://{NAME}:9443 at {}",
            server.address
        ))
        .stdout_contains("protocol verified from packets only");
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let shown = format!("{}: {:?}: {output}", cell.arm, cell.outcome);
        assert_eq!(cell.calls.len(), 4, "{shown}");
        for call in &cell.calls {
            assert_eq!(call.result, CallResult::Ok, "{shown}");
            assert_eq!(
                (call.proof, call.response_bytes),
                (Proof::Wire, 20_000),
                "{shown}"
            );
        }
        let first: Vec<bool> = cell.calls.iter().map(|call| call.first).collect();
        assert_eq!(first, [true, false, false, true], "{shown}");
        let relay = cell.relay.as_ref().unwrap();
        assert_eq!(relay.address, server.address.to_string());
        assert_eq!(relay.connect_ns.len(), lab::PROBES_PER_CELL);
        assert_eq!(cell.connections.len(), 2, "{shown}");
        let (transport, alpn) = match cell.arm.as_str() {
            "hyper h1" => ("tcp", "http/1.1"),
            "hyper h2" => ("tcp", "h2"),
            _ => ("quic", ""),
        };
        for connection in &cell.connections {
            assert_eq!(
                (connection.transport.as_str(), connection.alpn.as_str()),
                (transport, alpn)
            );
            let sends = connection.congestion.as_deref();
            assert_eq!(sends, (transport == "tcp").then_some("cubic"), "{shown}");
        }
    }
}

#[test]
fn a_server_outside_is_reached_and_proven_by_packets() {
    for user in users() {
        reaches(user, &[env!("CARGO_BIN_EXE_commute"), "serve"]);
    }
}

#[test]
fn a_server_of_other_libraries_is_reached() {
    let program = common::repository().join("stacks/go/build/server");
    if !program.exists() {
        return testing::skip("stacks/go is not installed");
    }
    reaches(User::Caller, &[program.to_str().unwrap()]);
}

#[test]
fn the_version_of_http_is_the_word_of_a_client_that_offers_both() {
    let sandbox = sandbox();
    let client = ["{commute}", "driver", "client"];
    sandbox.add_stack("client", "\"h2\", \"h3\"", &client);
    let server = Server::start(&sandbox, &[], "127.0.0.1:0", NAME);
    // It offers HTTP/1.1 beside HTTP/2, as OkHttp does; over QUIC there is only HTTP/3.
    let arms = ["h2", "h3"].map(|p| format!("[[arm]]\nstack = \"client\"\nprotocol = \"{p}\"\n"));
    let arms = format!("{ONE_ARM}{}", arms.concat());
    sandbox.write("mine.toml", &study(1, server.address, &arms, STEPS));
    let output = run(&sandbox, User::Caller, &[]).exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let proof = match cell.arm.as_str() {
            "client h2" => Proof::Client,
            _ => Proof::Wire,
        };
        let is_right = |call: &record::Call| (call.proof, &call.result) == (proof, &CallResult::Ok);
        assert!(cell.is_measured(), "{:?}: {output}", cell.outcome);
        assert!(cell.calls.iter().all(is_right), "{cell:?}: {output}");
    }
}

#[test]
fn the_command_line_names_the_server_and_resuming_keeps_it() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[], "127.0.0.1:0", NAME);
    // The lab's servers have a route there, and one response for each path.
    let steps = format!("{STEPS}response_bytes = 7\n");
    sandbox.write("mine.toml", &format!("{HEAD}blocks = 1\n{ONE_ARM}{steps}"));
    run(&sandbox, User::Caller, &[])
        .exits_with(1)
        .stderr_contains("commute's server has a route of its own there");
    let (url, address) = (format!("https://{NAME}"), server.address.to_string());
    let named = [
        "--server",
        &url,
        "--server-address",
        &address,
        "--ca",
        "ca.pem",
    ];
    // Whoever names the server consents.
    run_unasked(&sandbox, User::Caller, &named).exits_with(0);
    let report = std::fs::read_to_string(sandbox.work().join("run/report.json")).unwrap();
    let repeat = format!(
        "commute run mine.toml --blocks 1 --seed 1 --server {url} --server-address {address} --ca ca.pem"
    );
    assert!(report.contains(&repeat), "{repeat}: {report}");
    // The authority is part of the record.
    std::fs::remove_file(&server.ca).unwrap();
    sandbox
        .run(&["run", "--resume", "run", "--blocks", "2", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    let calls: Vec<_> = counted_cells(&data)
        .iter()
        .flat_map(|cell| &cell.calls)
        .collect();
    assert_eq!(calls.len(), 8);
    assert!(calls.iter().all(|call| call.proof == Proof::Wire));
}

#[test]
fn records_have_no_credentials() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[], "127.0.0.1:0", NAME);
    let steps = STEPS.replace(
        "path = \"/bytes/20000\"",
        "path = \"/bytes/20000?access_token=SECRET2&page=1\"\nheaders = { authorization = \"Bearer SECRET1\" }",
    );
    let text = study(1, server.address, ONE_ARM, &steps);
    assert!(
        text.contains("SECRET1") && text.contains("SECRET2"),
        "{text}"
    );
    sandbox.write("mine.toml", &text);
    run(&sandbox, User::Caller, &[]);
    for file in ["run/run.json", "run/report.json", "run/report.html"] {
        let content = std::fs::read_to_string(sandbox.work().join(file)).unwrap();
        assert!(!content.contains("SECRET"), "{file}: {content}");
    }
    let record = std::fs::read_to_string(sandbox.work().join("run/run.json")).unwrap();
    assert!(record.contains("access_token=…&page=…"), "{record}");
    sandbox.write("mine.toml", &format!("{text}\n# changed\n"));
    sandbox
        .run(&["run", "--resume", "run", "--blocks", "2", "--no-self-test"])
        .exits_with(1)
        .stderr_contains("only the hash of a study for a server of your own");
}

#[test]
fn another_authority_makes_the_report_invalid() {
    let sandbox = sandbox();
    drop(Server::start(&sandbox, &[], "127.0.0.1:0", NAME));
    let other = std::fs::read(sandbox.work().join("ca.pem")).unwrap();
    std::fs::remove_dir_all(sandbox.work().join("credentials")).unwrap();
    let server = Server::start(&sandbox, &[], "127.0.0.1:0", NAME);
    std::fs::write(&server.ca, other).unwrap();
    sandbox.write("mine.toml", &study(1, server.address, ONE_ARM, STEPS));
    run(&sandbox, User::Caller, &[])
        .exits_with(3)
        .stdout_contains("No answer: 4 of 4 requests of hyper h1 failed")
        .stdout_contains("tls");
}

#[test]
fn a_closed_port_is_reported_before_anything_runs() {
    let sandbox = sandbox();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    sandbox.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    sandbox.write("mine.toml", &study(1, address, ONE_ARM, STEPS));
    run(&sandbox, User::Caller, &[])
        .exits_with(1)
        .stderr_contains(&format!("https://{NAME}:9443: no connection to {address}"));
    assert!(!sandbox.work().join("run").exists());
}

#[test]
fn errors_and_redirects_are_counted_and_not_followed() {
    let sandbox = sandbox();
    let redirect = format!(
        "HTTP/1.1 301 Moved\r\nlocation: https://{NAME}:9443/x\r\ncontent-length: 0\r\n\r\n"
    );
    let config = make_credentials(&sandbox);
    for (response, reason) in [
        ("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", "status 500"),
        (&redirect, "status 301"),
    ] {
        let server = Answering::start(&config, ANY, response);
        sandbox.write("mine.toml", &study(1, server.address, ONE_ARM, STEPS));
        let output = run(&sandbox, User::Caller, &[])
            .exits_with(3)
            .stdout_contains("No answer: 4 of 4 requests of hyper h1 failed")
            .stdout_contains(reason);
        let attempts = std::fs::read_dir(sandbox.work().join("run/cells"))
            .unwrap()
            .count();
        // A noisy cell is run again.
        assert_eq!(
            server.requests.load(Ordering::Relaxed),
            4 * attempts,
            "{output}"
        );
        std::fs::remove_dir_all(sandbox.work().join("run")).unwrap();
        server.end();
    }
}

#[test]
fn a_server_that_ends_stops_the_run_until_it_is_back() {
    let sandbox = sandbox();
    let config = make_credentials(&sandbox);
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let server = Answering::start(&config, ANY, ok);
    let address = server.address;
    sandbox.write("mine.toml", &study(4, address, ONE_ARM, STEPS));
    let command = [
        "run",
        "mine.toml",
        "--out",
        "run",
        "--no-self-test",
        "--yes",
    ];
    let running = Running::start(sandbox.commute(&command));
    wait_until("a record", || record_count(&sandbox.work().join("run")) > 0);
    server.end();
    let output = running
        .finish()
        .exits_with(1)
        .stderr_contains(&format!("no connection to {address}"))
        .stderr_contains("--resume");
    let before = record_count(&sandbox.work().join("run"));
    assert!((1..4).contains(&before), "{output}");
    let back = Answering::start(&config, address, ok);
    sandbox
        .run(&["run", "--resume", "run", "--no-self-test", "--yes"])
        .exits_with(0);
    assert_complete(&sandbox.records("run"));
    back.end();
}

/// Studies such as `own` have an arm over gRPC for the lab's servers, and are worth running without it.
#[test]
fn arms_over_grpc_are_unsupported_and_others_measured() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[], "127.0.0.1:0", NAME);
    let arms = format!("{ONE_ARM}[[arm]]\nstack = \"tonic\"\nprotocol = \"grpc\"\n{ARMS}")
        .replacen("[[arm]]\nstack = \"hyper\"\nprotocol = \"h1\"\n", "", 1);
    sandbox.write("mine.toml", &study(1, server.address, &arms, STEPS));
    let output = run(&sandbox, User::Caller, &[])
        .exits_with(0)
        .stderr_contains("warning: arm `tonic grpc`: gRPC to a server of your own")
        .stdout_contains("Not measured (unsupported here): tonic grpc.");
    let data = sandbox.records("run");
    for cell in counted_cells(&data) {
        assert_eq!(
            cell.is_measured(),
            cell.arm != "tonic grpc",
            "{}: {output}",
            cell.arm
        );
    }
}
