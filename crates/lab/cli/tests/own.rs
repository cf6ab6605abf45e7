//! Requests of a study's own, from the study's files to proven records.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::{CallResult, Cell, Outcome, Proof};

const ORDER: &str = r#"{"customer": "c-1", "items": [{"sku": "TEA", "quantity": 2}]}"#;

const STUDY: &str = r#"
name = "own"
question = "which transport for this request?"
networks = ["basic.toml"]
baseline = "h1"
blocks = 1
timeout_s = 5
[[arm]]
name = "h1"
stack = "hyper"
protocol = "h1"
[[arm]]
name = "h2"
stack = "hyper"
protocol = "h2"
auth = "hmac"
[[arm]]
name = "h2 protobuf"
stack = "hyper"
protocol = "h2"
codec = "protobuf+gzip-6"
[[arm]]
name = "h3"
stack = "quinn"
protocol = "h3"
[[arm]]
name = "auto"
stack = "client"
protocol = "auto"
[[arm]]
name = "grpc"
stack = "tonic"
protocol = "grpc"
auth = "hmac"
[[step]]
call = "order"
path = "/v1/orders?page=2"
request = "own/order.json"
response_bytes = 20000
headers = { Accept = "application/json", x-app = "a; b=c" }
times = 2
[[step]]
call = "image"
path = "/a%20b"
response = "own/image.webp"
[[step]]
call = "delete"
method = "DELETE"
path = "/v1/orders/7"
"#;

/// Bytes sent and received, without those of codecs other than JSON.
const SIZES: [(u64, u64); 4] = [(61, 20_000), (61, 20_000), (0, 5_000), (0, 0)];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    for (name, protocols) in [
        ("quinn", r#""h3""#),
        ("tonic", r#""grpc""#),
        ("client", r#""h2", "h3", "auto""#),
    ] {
        sandbox.add_stack(name, protocols, &["{commute}", "driver", name]);
    }
    std::fs::create_dir(sandbox.work().join("own")).unwrap();
    sandbox.write("own/order.json", ORDER);
    sandbox.write("own/image.webp", &"w".repeat(5_000));
    sandbox
}

fn sizes(cell: &Cell) -> Vec<(u64, u64)> {
    let calls = cell.calls.iter();
    calls
        .map(|call| (call.request_bytes, call.response_bytes))
        .collect()
}

#[test]
fn own_requests_are_sent_and_answered_byte_for_byte() {
    let sandbox = sandbox();
    // Codecs are for JSON, and these bodies are none.
    let refused = STUDY.replace("+gzip-6", "");
    sandbox.write("own.toml", &refused);
    let output = sandbox.run(&["run", "own.toml", "--dry-run"]).exits_with(1);
    let reason = "own.toml:17:1: arm `h2 protobuf`: codec = \"protobuf\" is for JSON, and a body of \
                  made-up bytes is application/octet-stream; leave `codec` out";
    assert!(output.stderr.contains(reason), "{output}");
    let study = STUDY.replace("codec = \"protobuf+gzip-6\"\n", "");
    sandbox.write("own.toml", &study);
    let output = sandbox
        .run(&["run", "own.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    assert_eq!(ORDER.len(), 61);
    for cell in counted_cells(&data) {
        assert!(cell.is_measured(), "{}: {:?}", cell.arm, cell.outcome);
        // Only the order is JSON.
        let is_coded: Vec<bool> = (cell.calls.iter())
            .map(|call| call.exchange.is_some())
            .collect();
        assert_eq!(is_coded, [true, true, false, false], "{}", cell.arm);
        let is_proven = |c: &record::Call| c.result == CallResult::Ok && c.proof == Proof::Server;
        assert!(cell.calls.iter().all(is_proven), "{}: {output}", cell.arm);
        let expected = match cell.arm.as_str() {
            // Protobuf is shorter than JSON, a field of bytes has a tag and its length.
            "grpc" => {
                let order = cell.calls[0].request_bytes;
                assert!(order > 0 && order < 40, "{order}");
                vec![(order, 20_004), (order, 20_004), (0, 5_003), (0, 0)]
            }
            _ => SIZES.to_vec(),
        };
        assert_eq!(sizes(cell), expected, "{}", cell.arm);
    }
    let about: Vec<&str> = data.run().groups.iter().map(|g| g.about.as_str()).collect();
    assert_eq!(
        about,
        [
            "POST /v1/orders?page=2 61 B, answered with 20000 B",
            "GET /a%20b, answered with 5000 B",
            "DELETE /v1/orders/7, answered with 0 B",
        ]
    );
    // First and warm requests apart.
    let report = sandbox.run(&["report", "run", "-v"]).exits_with(0);
    for line in ["first", "warm"] {
        assert!(report.stdout.contains(line), "{report}");
    }
    assert!(report.stdout.contains("by reflection"), "{report}");
}

#[test]
fn a_dry_run_lists_the_bytes_of_each_codec() {
    let sandbox = sandbox();
    let step = STUDY.find("[[step]]\ncall = \"image\"").unwrap();
    let study = STUDY[..step].replace("response_bytes = 20000", "response = \"own/order.json\"");
    sandbox.write("own.toml", &study);
    let output = sandbox.run(&["run", "own.toml", "--dry-run"]).exits_with(0);
    let line = "  POST /v1/orders?page=2 61 B, answered with 61 B; protobuf+gzip-6: ";
    let found = output.stdout.lines().find(|l| l.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("{output}"));
    assert!(found.contains("; over gRPC: "), "{found}");
    let manifest = sandbox.home().join("stacks/quinn/stack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap() + "limits = { own = \"it cannot\" }\n";
    std::fs::write(manifest, text).unwrap();
    let output = sandbox.run(&["run", "own.toml", "--dry-run"]).exits_with(0);
    output.stdout_contains("warning: arm `h3`: it cannot");
}

#[test]
fn json_is_sent_in_the_arms_codec() {
    let sandbox = sandbox();
    let step = STUDY.find("[[step]]\ncall = \"image\"").unwrap();
    let study = STUDY[..step].replace("response_bytes = 20000", "response = \"own/order.json\"");
    sandbox.write("own.toml", &study);
    sandbox
        .run(&["run", "own.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        assert!(cell.is_measured(), "{}: {:?}", cell.arm, cell.outcome);
        for (sent, received) in sizes(cell) {
            assert_eq!(sent, received, "{}", cell.arm);
            let is_json = !["grpc", "h2 protobuf"].contains(&cell.arm.as_str());
            assert_eq!(sent == 61, is_json, "{}: {sent}", cell.arm);
        }
        for call in &cell.calls {
            let parts = call.exchange.as_ref().unwrap();
            let encoded = parts.encoded_ns.unwrap();
            let received = parts.received_ns.unwrap();
            let sent = call.request_sent_ns.unwrap_or(received);
            assert!(0 < encoded && encoded <= sent, "{}: {call:?}", cell.arm);
            assert!(received < call.end_ns, "{}: {call:?}", cell.arm);
        }
    }
    let report = sandbox.run(&["report", "run", "-v"]).exits_with(0);
    report.stdout_contains("create + encode + transport + decode");
}

#[test]
fn a_resumed_run_has_the_files_of_its_beginning() {
    let sandbox = sandbox();
    let arms = STUDY.find("[[arm]]\nname = \"h2\"").unwrap();
    let steps = STUDY.find("[[step]]").unwrap();
    let study = format!("{}{}", &STUDY[..arms], &STUDY[steps..]);
    sandbox.write("own.toml", &study);
    let run = ["run", "own.toml", "--out", "run", "--no-self-test"];
    sandbox.run(&run).exits_with(0);
    std::fs::remove_dir_all(sandbox.work().join("own")).unwrap();
    let more = ["run", "--resume", "run", "--blocks", "2", "--no-self-test"];
    sandbox.run(&more).exits_with(0);
    let data = sandbox.records("run");
    let cells = counted_cells(&data);
    assert_eq!(cells.len(), 2);
    assert!(cells.iter().all(|cell| sizes(cell) == SIZES));
    let payloads = sandbox.work().join("run/payloads");
    let changed = common::file_names(&payloads).pop().unwrap();
    std::fs::write(payloads.join(changed), "other").unwrap();
    let output = sandbox.run(&["run", "--resume", "run", "--blocks", "3", "--no-self-test"]);
    let output = output.exits_with(1);
    let reason = "its copy in the run's folder was changed";
    assert!(output.stderr.contains(reason), "{output}");
}

#[test]
fn a_driver_that_only_claims_to_send_them_fails() {
    let sandbox = sandbox();
    let hostile = testing::example("commute-driver-hostile");
    let arms = STUDY.find("[[arm]]\nname = \"h2\"").unwrap();
    let steps = STUDY.find("[[step]]").unwrap();
    let mut study = STUDY[..arms].to_owned();
    let lies = [
        (
            "own-request-unsent",
            "should be POST /v1/orders?page=2, the server saw GET /bytes/1",
        ),
        (
            "other-fields",
            "the server saw other header fields than the step has",
        ),
        ("wrong-digest", "wrong digest"),
    ];
    for (lie, _) in lies {
        let program = [hostile.to_str().unwrap(), lie];
        sandbox.add_stack(lie, r#""h1", "h2", "h3""#, &program);
        study += &format!("[[arm]]\nname = \"{lie}\"\nstack = \"{lie}\"\nprotocol = \"h2\"\n");
    }
    sandbox.write("own.toml", &format!("{study}{}", &STUDY[steps..]));
    let output = sandbox
        .run(&["run", "own.toml", "--out", "run", "--no-self-test"])
        .exits_with(3);
    let data = sandbox.records("run");
    for cell in counted_cells(&data) {
        match lies.iter().find(|(lie, _)| *lie == cell.arm) {
            None => assert!(cell.is_measured(), "{output}"),
            Some((_, reason)) => match &cell.outcome {
                Outcome::Failed { reason: recorded } if recorded.contains(reason) => {}
                other => panic!("{other:?} does not contain {reason:?}"),
            },
        }
    }
}
