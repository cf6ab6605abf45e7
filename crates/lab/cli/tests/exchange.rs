//! The step `exchange` in several codecs, from study to report.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::{CallResult, Outcome};

const STUDY: &str = r#"
name = "exchange"
question = "which codec?"
networks = ["basic.toml"]
baseline = "json"
blocks = 1
timeout_s = 5
margin_ms = 1000
[[arm]]
name = "json"
stack = "hyper"
protocol = "h1"
[[arm]]
name = "gzip"
stack = "hyper"
protocol = "h2"
codec = "json+gzip-6"
[[arm]]
name = "grpc"
stack = "tonic"
protocol = "grpc"
[[arm]]
name = "msgpack"
stack = "hyper"
protocol = "h2"
codec = "msgpack+gzip-1"
[[step]]
exchange = "record"
message = "big-0..3"
times = 6
[[step]]
exchange = "page"
message = "api-2kB"
times = 2
"#;

#[test]
fn exchange_reports_its_phases() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("tonic", r#""grpc""#, &["{commute}", "driver", "tonic"]);
    sandbox.write("exchange.toml", STUDY);
    let output = sandbox
        .run(&["run", "exchange.toml", "--out", "run", "--no-self-test"])
        .exits_with(0)
        .stdout_contains("1 unsupported");
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        if cell.arm == "msgpack" {
            let Outcome::Unsupported { reason } = &cell.outcome else {
                panic!("{:?}: {output}", cell.outcome)
            };
            let lacks = reason.contains("codec msgpack+gzip-1: hyper offers json");
            assert!(lacks, "{reason}");
            continue;
        }
        assert!(cell.is_measured(), "{:?}: {output}", cell.outcome);
        assert_eq!(cell.calls.len(), 8, "{output}");
        let sizes: Vec<u64> = cell.calls[..6].iter().map(|c| c.request_bytes).collect();
        assert_eq!(
            (sizes[0], sizes[1]),
            (sizes[4], sizes[5]),
            "the four messages are sent in order, repeatedly"
        );
        assert!(sizes[..4].is_sorted(), "{sizes:?}");
        for call in &cell.calls {
            assert_eq!(call.result, CallResult::Ok, "{output}");
            let exchange = call.exchange.as_ref().unwrap();
            assert_eq!(exchange.created_ns.is_some(), call.group == "record");
            let server_ns = exchange.server_decode_ns.unwrap() + exchange.server_encode_ns.unwrap();
            let transport_ns = exchange.received_ns.unwrap() - exchange.encoded_ns.unwrap();
            assert!(
                20_000_000 + server_ns < transport_ns,
                "less than the 20 ms round trip: {call:?}"
            );
            assert!(exchange.received_ns.unwrap() <= call.end_ns);
        }
        // Compressed JSON and Protobuf are smaller than the message's 2 kB of JSON.
        let page = &cell.calls[7];
        let is_smaller = page.request_bytes < 2_000;
        assert_eq!(is_smaller, cell.arm != "json", "{}: {page:?}", cell.arm);
    }
    let csv = sandbox
        .run(&["report", "run", "--format", "csv"])
        .exits_with(0);
    assert!(
        csv.stdout.contains(",received_ns,server_decode_ns,"),
        "{csv}"
    );
    let report = sandbox.run(&["report", "run", "-v"]).exits_with(0);
    assert!(
        report
            .stdout
            .contains("warm record requests: phases of a request"),
        "{report}"
    );
    let json = sandbox
        .run(&["report", "run", "--format", "json"])
        .exits_with(0);
    assert!(json.stdout.contains("\"transport_ns\""), "{json}");
}
