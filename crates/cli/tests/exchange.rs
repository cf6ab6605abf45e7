//! Messages there and back in several codecs: from the study's file to the report.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::House;
use common::study::{last, whole};
use record::{CallResult, Outcome};

const STUDY: &str = r#"
name = "exchange"
question = "does it exchange?"
networks = ["gentle.toml"]
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
name = "other"
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
fn an_exchange_is_measured_in_its_parts() {
    let house = House::new();
    house.small_study();
    common::driver("commute-driver-tonic");
    house.stack("tonic", r#""grpc""#, &["{bin}/commute-driver-tonic"]);
    house.write("exchange.toml", STUDY);
    let said = house
        .run(&["run", "exchange.toml", "--out", "run", "--no-self-test"])
        .code(0)
        .prints("1 unsupported");
    let data = house.records("run");
    whole(&data);
    for cell in last(&data) {
        if cell.arm == "other" {
            let Outcome::Unsupported { reason } = &cell.outcome else {
                panic!("{:?}: {said}", cell.outcome)
            };
            assert!(
                reason.contains("codec msgpack+gzip-1: hyper offers json"),
                "{reason}"
            );
            continue;
        }
        assert!(cell.is_measured(), "{:?}: {said}", cell.outcome);
        assert_eq!(cell.calls.len(), 8, "{said}");
        let records: Vec<u64> = cell.calls[..6].iter().map(|c| c.request_bytes).collect();
        assert_eq!(
            (records[0], records[1]),
            (records[4], records[5]),
            "taken in turn"
        );
        assert!(records[..4].is_sorted(), "{records:?}");
        for call in &cell.calls {
            assert_eq!(call.result, CallResult::Ok, "{said}");
            let exchange = call.exchange.as_ref().unwrap();
            assert_eq!(exchange.created_ns.is_some(), call.group == "record");
            let server_ns = exchange.server_decode_ns.unwrap() + exchange.server_encode_ns.unwrap();
            let transport_ns = exchange.received_ns.unwrap() - exchange.encoded_ns.unwrap();
            assert!(
                20_000_000 + server_ns < transport_ns,
                "a round trip: {call:?}"
            );
            assert!(exchange.received_ns.unwrap() <= call.end_ns);
        }
        let page = &cell.calls[7];
        let shorter = page.request_bytes < 2_000;
        assert_eq!(shorter, cell.arm != "json", "{}: {page:?}", cell.arm);
    }
    let csv = house.run(&["report", "run", "--format", "csv"]).code(0);
    assert!(csv.out.contains(",received_ns,server_decode_ns,"), "{csv}");
    if last(&data)
        .iter()
        .any(|cell| cell.outcome == Outcome::Clean)
    {
        let report = house.run(&["report", "run"]).code(0);
        assert!(
            report
                .out
                .contains("record warm requests: phases of an exchange"),
            "{report}"
        );
        let json = house.run(&["report", "run", "--format", "json"]).code(0);
        assert!(json.out.contains("\"transport_ns\""), "{json}");
    }
}
