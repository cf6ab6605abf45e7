//! What is refused, where and with which words; and that no text makes anything panic.

use link::{Direction, Path, PathSpec, find};
use proptest::prelude::*;

use crate::{
    common::{arrival, poll_on_time},
    networks::{HEAD, down, parse},
};

#[track_caller]
fn refused(text: &str, line: usize, words: &str) {
    let error = down(text).expect_err(text);
    assert!(
        error.starts_with(&format!("x.toml:{line}: ")),
        "{text}\n{error}"
    );
    assert!(error.contains(words), "{text}\n{error}");
}

#[test]
fn json_that_is_no_network_is_refused() {
    for spec in [
        r#"{"rate": {"trace": []}}"#,
        r#"{"rate": {"trace": [5, 4]}}"#,
        r#"{"rate": {"constant": {"bps": 0}}}"#,
        r#"{"gate": {"closed_ns": [[5, 4]], "every_ns": null, "on_close": "keep"}}"#,
        r#"{"delay_ms": 5}"#,
        r#"{"delay_ns": -5}"#,
    ] {
        assert!(serde_json::from_str::<PathSpec>(spec).is_err(), "{spec}");
    }
}

#[test]
fn values_out_of_range_are_refused_with_file_line_and_range() {
    refused(
        "rate_kbps = -5",
        5,
        "rate_kbps = -5 is out of range; write a number from 0.1",
    );
    refused("rate_kbps = 0", 5, "out of range");
    refused(
        "\nloss_percent = 150",
        6,
        "loss_percent = 150 is out of range",
    );
    refused("loss_percent = -0.1", 5, "out of range");
    refused("delay_ms = inf", 5, "out of range");
    refused("delay_ms = nan", 5, "out of range");
    refused(
        "delay_ms = '5'",
        5,
        "delay_ms is of type string; write a number",
    );
    refused("rate_kbps = 1\nqueue_packets = 0.5", 6, "out of range");
    refused(
        "rate_kbps = 1\nqueue_packets = 1.5",
        6,
        "not a whole number",
    );
    let mtu = parse(&format!("mtu = 576\n{HEAD}[up]\n[down]")).unwrap_err();
    assert!(mtu.starts_with("x.toml:1: mtu = 576 is out of range; write a number from 1280"));
}

#[test]
fn unknown_keys_are_told_the_nearest() {
    refused(
        "rate_mbps = 5",
        5,
        "unknown key \"rate_mbps\" in [down]; did you mean rate_kbps?",
    );
    refused("\n\nloss = 5", 7, "did you mean loss_percent?");
    refused(
        "[down.gilbert_eliott]\np = 1",
        5,
        "did you mean gilbert_elliott?",
    );
    refused(
        "[down.burst_loss]\ngood_ms = 1\nbad_ms = 1\nlos_percent = 1",
        8,
        "loss_percent?",
    );
    let top = parse("about = 'a'\nsource = 's'\n[up]\n[down]\n[dwn]\n").unwrap_err();
    assert_eq!(top, "x.toml:5: unknown key \"dwn\"; did you mean down?");
}

#[test]
fn what_must_be_there_is_asked_for() {
    let missing = |text: &str| parse(text).unwrap_err();
    assert!(missing("").starts_with("x.toml:1: the file has no about; write about = "));
    assert!(missing("about = 'a'").contains("no source"));
    assert!(missing(&format!("{HEAD}[up]")).contains("the file has no down; write [down]"));
    refused(
        "[down.gate]\nclosed_ms = [[1, 2]]",
        5,
        "down.gate has no queue; write queue = \"keep\"",
    );
    refused(
        "[down.gilbert_elliott]\np_percent = 1",
        5,
        "has no r_percent",
    );
    refused(
        "[down.policy]\nudp_rate_kbps = 9",
        5,
        "has no udp_burst_bytes",
    );
    refused(
        "[down.policy]\nudp_ports = [443]",
        5,
        "the policy does nothing",
    );
}

#[test]
fn contradictions_are_refused_at_the_key_that_goes_too_far() {
    let cases = [
        (
            "rate_kbps = 9\ntrace_ms = [1]\nqueue_packets = 9",
            6,
            "rate_kbps and trace_ms exclude",
        ),
        (
            "loss_percent = 1\n[down.burst_loss]\ngood_ms = 1\nbad_ms = 1",
            6,
            "exclude each other",
        ),
        (
            "delay_ms = 5\njitter_ms = 6",
            6,
            "the jitter is larger than the delay",
        ),
        ("rate_kbps = 9", 5, "no queue says how many"),
        ("queue_packets = 9", 5, "nothing ever waits in this queue"),
        ("queue_ms = 9", 5, "needs a rate"),
        (
            "rate_kbps = 100\nqueue_ms = 10",
            6,
            "the queue holds 125 bytes, less than one packet",
        ),
        (
            "rate_kbps = 100\nqueue_bytes = 999",
            6,
            "the queue holds 999 bytes",
        ),
        (
            "[down.gate]\nqueue = 'keep'\nclosed_ms = [[1, 2]]",
            5,
            "no queue says how many",
        ),
        (
            "trace_ms = [1]\nqueue_packets = 9\n[down.gate]\nqueue = 'keep'\nclosed_ms = [[1, 2]]",
            7,
            "heeds no gate",
        ),
        (
            "[down.policy]\nudp_block_after_ms = 0\nudp_rate_after_ms = 5",
            7,
            "at no rate",
        ),
    ];
    for (text, line, words) in cases {
        refused(text, line, words);
    }
    assert!(
        down("rate_kbps = 100\nqueue_bytes = 1500").is_ok(),
        "a queue of one packet is one"
    );
}

#[test]
fn gates_and_traces_that_are_none_are_refused() {
    let gate = |closed: &str| format!("[down.gate]\nqueue = 'flush'\nclosed_ms = {closed}");
    refused(&gate("[]"), 7, "at least one closed interval");
    refused(
        &gate("[[5, 5]]"),
        7,
        "interval 1 does not end after it starts",
    );
    refused(
        &gate("[[1, 5], [4, 6]]"),
        7,
        "interval 2 touches the one before",
    );
    refused(&gate("[[1, 5]]\nevery_ms = 5"), 7, "make it longer");
    refused(
        &gate("[[1]]"),
        7,
        "entry 1 of closed_ms is wrong; write [from, to]",
    );
    refused(&gate("[5, 6]"), 7, "write [from, to]");
    refused(
        "[down.gate]\nqueue = 'burn'\nclosed_ms = [[1, 2]]",
        6,
        "write \"keep\" or \"flush\"",
    );
    refused("queue_packets = 9\ntrace_ms = []", 6, "the trace is empty");
    refused("queue_packets = 9\ntrace_ms = [0]", 6, "has no length");
    refused(
        "queue_packets = 9\ntrace_ms = [5, 4]",
        6,
        "put the times in order",
    );
    refused(
        "queue_packets = 9\ntrace_ms = [1,\n2.5]",
        7,
        "entry 2 of trace_ms is wrong",
    );
}

/// Pieces of networks, so that random texts get past the first line.
fn pieces() -> impl Strategy<Value = String> {
    let keys = [
        "about",
        "source",
        "mtu",
        "up",
        "down",
        "rate_kbps",
        "trace",
        "trace_ms",
        "queue_ms",
        "queue_bytes",
        "queue_packets",
        "delay_ms",
        "jitter_ms",
        "loss_percent",
        "burst_loss",
        "good_ms",
        "bad_ms",
        "gilbert_elliott",
        "p_percent",
        "r_percent",
        "policy",
        "udp_ports",
        "udp_rate_kbps",
        "udp_burst_bytes",
        "gate",
        "closed_ms",
        "every_ms",
        "queue",
        "reorder",
        "percent",
        "extra_ms",
    ];
    let values = [
        "0",
        "1",
        "-1",
        "1500",
        "1e308",
        "-1e308",
        "nan",
        "inf",
        "0x10",
        "9223372036854775807",
        "99999999999999999999",
        "'keep'",
        "'flush'",
        "''",
        "true",
        "[]",
        "[1]",
        "[[1, 2]]",
        "[[1, 2], [3, 4]]",
        "[[1e9, 1e300]]",
        "{}",
        "1979-05-27",
        "[0, 0]",
        "[1, 2, 3]",
    ];
    let key = prop::sample::select(keys.to_vec());
    let line = prop_oneof![
        4 => (key.clone(), prop::sample::select(values.to_vec())).prop_map(|(k, v)| format!("{k} = {v}\n")),
        1 => key.clone().prop_map(|k| format!("[{k}]\n")),
        1 => (prop::sample::select(vec!["up", "down"]), key).prop_map(|(d, k)| format!("[{d}.{k}]\n")),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
        prop_assert!(parse(&text).is_err());
    }

    #[test]
    fn no_pieces_of_networks_make_anything_panic(rest in pieces(), head: bool) {
        let text = if head { format!("{HEAD}[up]\n[down]\n{rest}") } else { rest };
        match parse(&text) {
            Err(error) => prop_assert!(error.starts_with("x.toml:"), "{error}"),
            Ok(network) => {
                network.numbers();
                let mut path = Path::new(&network.down, Direction::Down, 1);
                let packets: Vec<_> = (0..20).map(|i| arrival(i * 100, i, 1500, 1)).collect();
                poll_on_time(&mut path, &packets);
                prop_assert_eq!(path.counters().queued, 0);
            }
        }
    }

    #[test]
    fn no_override_makes_anything_panic(name in "\\PC{0,10}", value in "\\PC{0,20}", digits in "[0-9.]{1,30}(ms|%|Mbit|s|kbit/s|)") {
        let mut overrides = link::Overrides::default();
        prop_assert!(overrides.set(&name, &value).is_err());
        for setting in ["down", "up", "rtt", "jitter", "loss", "queue", "mtu"] {
            if overrides.set(setting, &digits).is_ok()
                && let Ok(network) = find("true-metro").unwrap().with_overrides(&overrides)
            {
                network.numbers();
                Path::new(&network.up, Direction::Up, 1);
            }
        }
    }
}
