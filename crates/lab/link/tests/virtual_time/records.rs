//! Refused networks and specs of JSON, as records and messages have them.

use link::{Network, PathSpec, find};
use serde_json::{Value, json};

#[test]
fn invalid_json_specs_are_refused() {
    for spec in [
        r#"{"rate": {"trace": []}}"#,
        r#"{"rate": {"trace": [5, 4]}}"#,
        r#"{"rate": {"constant": {"bps": 0}}}"#,
        r#"{"gate": {"closed_ns": [[5, 4]], "every_ns": null, "on_close": "keep"}}"#,
        r#"{"radio": {"begins": "idle", "states": []}}"#,
        r#"{"radio": {"begins": "idle", "states": [{"name": "on"}, {"name": "off", "after_ns": 5}]}}"#,
        r#"{"radio": {"begins": "idle", "states": [{"name": "on"},
            {"name": "off", "after_ns": 5, "promotion_ns": 5, "promotion_jitter_ns": 6}]}}"#,
        r#"{"radio": {"begins": "idle", "states": [{"name": "on"},
            {"name": "off", "after_ns": 5, "promotion_ns": 18446744073709551615}]}}"#,
        r#"{"radio": {"begins": "idle", "states": [{"name": "on"},
            {"name": "off", "after_ns": 5, "down_cycle_ns": 18446744073709551615}]}}"#,
        r#"{"handovers": {"every_ns": null, "stations": []}}"#,
        r#"{"handovers": {"every_ns": 9, "stations": [{"at_ns": 5, "interruption_ns": 6, "queue": "keep"}]}}"#,
        r#"{"delay_ms": 5}"#,
        r#"{"delay_ns": -5}"#,
    ] {
        assert!(serde_json::from_str::<PathSpec>(spec).is_err(), "{spec}");
    }
}

/// A record or a message was not read from a file, and says no more than a file can.
#[test]
fn specs_of_json_that_contradict_themselves_are_refused() {
    let trace_and_gate = r#"{"rate": {"trace": [5]}, "queue": {"packets": 9},
        "gate": {"closed_ns": [[5, 6]], "every_ns": null, "on_close": "keep"}}"#;
    let trace_and_handover = r#"{"rate": {"trace": [5]}, "queue": {"packets": 9}, "handovers": {"every_ns": null,
        "stations": [{"at_ns": 5, "interruption_ns": 6, "queue": "flush"}]}}"#;
    let both = r#"{"gate": {"closed_ns": [[5, 6]], "every_ns": null, "on_close": "flush"}, "handovers":
        {"every_ns": null, "stations": [{"at_ns": 5, "interruption_ns": 6, "queue": "flush"}]}}"#;
    let aqm = |kind: &str, target_ns: u64, interval_ns: u64, quantum: Option<u32>, mtu: u32| {
        let aqm = json!({"kind": kind, "target_ns": target_ns, "interval_ns": interval_ns,
            "quantum_bytes": quantum, "mtu": mtu});
        let rate = json!({"constant": {"bps": 8000}});
        json!({"rate": rate, "queue": {"packets": 9}, "aqm": aqm}).to_string()
    };
    let hour_ns = 3_600_000_000_000;
    assert!(serde_json::from_str::<PathSpec>(&aqm("codel", 1_000, hour_ns, None, 1280)).is_ok());
    let no_quantum = aqm("fq-codel", 5_000, 6_000, Some(0), 1500);
    let no_turns = aqm("codel", 5_000, 6_000, Some(1500), 1500);
    let no_target = aqm("codel", 0, 6_000, None, 1500);
    let long = aqm("codel", 5_000, hour_ns + 1, None, 1500);
    let no_mtu = aqm("codel", 5_000, 6_000, None, 0);
    for (spec, words) in [
        (
            r#"{"rate": {"constant": {"bps": 8000}}}"#,
            "rate_kbps: a rate makes packets wait",
        ),
        (
            r#"{"jitter_ns": 5}"#,
            "jitter_ms: the jitter is larger than the delay",
        ),
        (trace_and_gate, "gate: a trace has its own outages"),
        (trace_and_handover, "gate: a trace has its own outages"),
        (both, "gate: a gate cannot be combined with handovers"),
        (&no_quantum, "aqm: a quantum has 256 to 65535 bytes"),
        (&no_turns, "aqm: codel has one queue, so no quantum"),
        (&no_target, "aqm: the target is 0.001 to 3600000 ms"),
        (&long, "aqm: the interval is 0.001 to 3600000 ms"),
        (&no_mtu, "aqm: mtu: 0 is out of range, 1280 to 9000"),
    ] {
        let error = serde_json::from_str::<PathSpec>(spec)
            .expect_err(spec)
            .to_string();
        assert!(error.starts_with(words), "{error}");
    }
}

#[test]
fn networks_of_json_that_no_file_can_say_are_refused() {
    let network = |name: &str| serde_json::to_value(find(name).unwrap()).unwrap();
    let refused = |network: Value, words: &str| {
        let error = serde_json::from_value::<Network>(network)
            .expect_err(words)
            .to_string();
        assert!(error.starts_with(words), "{error}");
    };
    assert!(serde_json::from_value::<Network>(network("3g-umts")).is_ok());
    let mut other = network("true-metro");
    other["mtu"] = json!(576);
    refused(
        other,
        "network `true-metro`: mtu: 576 is out of range, 1280 to 9000",
    );
    let mut other = network("true-metro");
    other["up"]["jitter_ns"] = json!(61_500_001);
    refused(
        other,
        "network `true-metro`: up.jitter_ms: the jitter is larger",
    );
    // 4800 bytes in 100 ms at 384 kbit/s.
    let mut other = network("3g-umts");
    other["mtu"] = json!(4801);
    refused(
        other,
        "network `3g-umts`: up.queue_ms: the queue holds 4800 bytes, less than one",
    );
    let mut other = network("3g-umts");
    for direction in ["up", "down"] {
        other[direction]["radio"]["states"][1]["small_down_bytes"] = json!(1500);
    }
    refused(
        other,
        "network `3g-umts`: up.radio: a packet of the MTU, 1500 bytes, is small",
    );
    let mut other = network("bufferbloat-codel");
    other["mtu"] = json!(1400);
    let error = serde_json::from_value::<Network>(other).unwrap_err();
    let words = "aqm: its mtu is 1500, not 1400";
    assert!(error.to_string().ends_with(words), "{error}");
    let mut other = network("lte");
    other["up"]["radio"]["begins"] = json!("connected");
    refused(other, "network `lte`: up.radio and down.radio differ");
    let mut other = network("lte-train");
    other["up"]["handovers"]["every_ns"] = json!(null);
    refused(
        other,
        "network `lte-train`: up.handovers and down.handovers differ",
    );
}
