//! Refused network files: the line and the words of each error.

use crate::networks::{HEAD, down, parse};

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
fn values_out_of_range_are_refused_with_line_key_and_range() {
    refused(
        "rate_kbps = -5",
        5,
        "down.rate_kbps: -5 is out of range; write a number from 0.1 to 100000000",
    );
    refused("rate_kbps = 0", 5, "out of range");
    refused(
        "\nloss_percent = 150",
        6,
        "down.loss_percent: 150 is out of range",
    );
    refused("loss_percent = -0.1", 5, "out of range");
    refused("delay_ms = inf", 5, "out of range");
    refused("delay_ms = nan", 5, "out of range");
    refused("jitter_ms = 60001", 5, "down.jitter_ms: 60001 is out");
    refused("rate_kbps = 1\nqueue_packets = 0", 6, "from 1 to");
    refused(
        "[down.burst_loss]\ngood_ms = 0.5\nbad_ms = 5",
        6,
        "down.burst_loss.good_ms: 0.5 is out of range; write a number from 1 to 3600000",
    );
    refused(
        "[down.reorder]\npercent = 1\njitter_ms = 0",
        7,
        "down.reorder.jitter_ms: 0 is out of range; write a number from 0.001 to 3600000",
    );
    refused(
        "[down.aqm]\nkind = 'codel'\ntarget_ms = 0",
        7,
        "down.aqm.target_ms: 0 is out of range; write a number from 0.001 to 3600000",
    );
    refused(
        "[down.aqm]\nkind = 'fq-codel'\nquantum_bytes = 255",
        7,
        "down.aqm.quantum_bytes: 255 is out of range; write a number from 256 to 65535",
    );
    refused(
        "[down.aqm]\nkind = 'red'",
        6,
        "down.aqm.kind: unknown variant `red`, expected `codel` or `fq-codel`",
    );
    refused(
        "[down.burst_loss]\ngood_ms = 9\nbad_ms = 9\nbad_length = 'constant'",
        8,
        "down.burst_loss.bad_length: unknown variant `constant`, expected `exponential` or `fixed`",
    );
    refused(
        "[down.policy]\nudp_rate_kbps = 9\nudp_burst_bytes = 1499",
        7,
        "down.policy.udp_burst_bytes: 1499 is out of range; write a number from 1500",
    );
    let mtu = parse(&format!("mtu = 576\n{HEAD}[up]\n[down]")).unwrap_err();
    assert_eq!(
        mtu,
        "x.toml:1: mtu: 576 is out of range; write a number from 1280 to 9000"
    );
}

#[test]
fn values_of_the_wrong_type_are_refused_with_line_and_key() {
    let cases = [
        (
            "delay_ms = '5'",
            5,
            "down.delay_ms: invalid value: string \"5\", expected a number of milliseconds, or text with a unit",
        ),
        (
            "rate_kbps = 1\nqueue_packets = 1.5",
            6,
            "down.queue_packets: invalid type: floating point `1.5`, expected a whole number",
        ),
        (
            "policy = 4",
            5,
            "down.policy: invalid type: integer `4`, expected a table",
        ),
        (
            "trace_ms = 4",
            5,
            "down.trace_ms: invalid type: integer `4`, expected a list",
        ),
        (
            "queue_packets = 9\ntrace_ms = [1,\n2.5]",
            7,
            "down.trace_ms: invalid type: floating point `2.5`, expected a whole number",
        ),
        (
            "[down.policy]\nudp_block_after_ms = 0\nudp_ports = [443,\n0]",
            8,
            "down.policy.udp_ports: invalid value: integer `0`, expected a whole number from 1 to 65535",
        ),
        (
            "[down.gate]\nqueue = 'burn'\nclosed_ms = [[1, 2]]",
            6,
            "down.gate.queue: unknown variant `burn`, expected `keep` or `flush`",
        ),
    ];
    for (text, line, words) in cases {
        refused(text, line, words);
    }
    let error = parse(&format!("{HEAD}down = 5")).unwrap_err();
    assert_eq!(
        error,
        "x.toml:3: down: invalid type: integer `5`, expected a table"
    );
}

#[test]
fn unknown_keys_get_their_table_and_the_nearest_key() {
    refused(
        "rate_mbps = 5",
        5,
        "down: unknown field `rate_mbps`, expected one of `rate_kbps`, `trace`, ",
    );
    refused("rate_mbps = 5", 5, "(did you mean `rate_kbps`?)");
    refused("\n\nloss = 5", 7, "(did you mean `loss_percent`?)");
    refused(
        "[down.gilbert_eliott]\np = 1",
        5,
        "(did you mean `gilbert_elliott`?)",
    );
    refused(
        "[down.burst_loss]\ngood_ms = 1\nbad_ms = 1\nlos_percent = 1",
        8,
        "down.burst_loss: unknown field `los_percent`, expected one of `good_ms`, `bad_ms`, \
         `bad_length`, `loss_percent` (did you mean `loss_percent`?)",
    );
    let top = parse("about = 'a'\nsource = 's'\n[up]\n[down]\n[dwn]\n").unwrap_err();
    assert_eq!(
        top,
        "x.toml:5: unknown field `dwn`, expected one of `about`, `source`, `basis`, `mtu`, `up`, \
         `down`, `nat`, `radio`, `handover` (did you mean `down`?)"
    );
}

#[test]
fn a_nat_that_drops_nothing_is_refused() {
    let nat = |text: &str| parse(&format!("{HEAD}[up]\n[down]\n[nat]\n{text}")).unwrap_err();
    let nothing = "x.toml:5: nat: the NAT drops nothing; write rebind_at_ms, udp_idle_ms or \
                   tcp_idle_ms";
    assert_eq!(nat(""), nothing);
    assert_eq!(nat("rebind_at_ms = []"), nothing);
    assert!(nat("rebind_at_ms = [5, -1]").contains("x.toml:6: nat.rebind_at_ms: -1 is out of"));
    assert!(nat("tcp_idle_ms = 0").contains("x.toml:6: nat.tcp_idle_ms: 0 is out of range"));
    assert!(nat("udp_idle_s = 5").contains("(did you mean `udp_idle_ms`?)"));
}

#[test]
fn missing_keys_are_shown_by_example() {
    let missing = |text: &str| parse(text).unwrap_err();
    assert_eq!(
        missing(""),
        "x.toml:1: `about` is missing; write about = \"one line of description\""
    );
    assert!(missing("about = 'a'").contains("`source` is missing; write source = "));
    assert!(missing(&format!("{HEAD}[up]")).contains("`down` is missing; write [down], with"));
    refused(
        "[down.aqm]\ntarget_ms = 5",
        5,
        "down.aqm: `kind` is missing; write kind = \"codel\" or kind = \"fq-codel\"",
    );
    refused(
        "[down.gate]\nclosed_ms = [[1, 2]]",
        5,
        "down.gate: `queue` is missing; write queue = \"keep\" or queue = \"flush\"",
    );
    refused(
        "[down.gate]\nqueue = 'keep'",
        5,
        "down.gate: `closed_ms` is missing; write closed_ms = [[1000, 1050]]",
    );
    refused(
        "[down.gilbert_elliott]\np_percent = 1",
        5,
        "down.gilbert_elliott: `r_percent` is missing; write r_percent = 20, the chance to turn",
    );
    refused(
        "[down.reorder]\npercent = 1",
        5,
        "down.reorder: `extra_ms` is missing; write extra_ms = 5, or jitter_ms = 8",
    );
    refused(
        "[down.reorder]\nextra_ms = 5",
        5,
        "down.reorder: `percent` is missing; write percent = 1",
    );
    refused(
        "[down.policy]\nudp_rate_kbps = 9",
        5,
        "down.policy: `udp_burst_bytes` is missing",
    );
    refused(
        "[down.policy]\nudp_ports = [443]",
        5,
        "down.policy: the policy does nothing; write udp_block_after_ms or udp_rate_kbps",
    );
}

#[test]
fn contradictions_are_refused_at_the_later_key() {
    let cases = [
        (
            "rate_kbps = 9\ntrace_ms = [1]\nqueue_packets = 9",
            6,
            "down.trace_ms: cannot be combined with rate_kbps; keep one of them",
        ),
        (
            "loss_percent = 1\n[down.burst_loss]\ngood_ms = 1\nbad_ms = 1",
            6,
            "down.burst_loss: cannot be combined with loss_percent",
        ),
        (
            "delay_ms = 5\njitter_ms = 6",
            6,
            "down: the jitter is larger than the delay",
        ),
        (
            "rate_kbps = 9",
            5,
            "a rate makes packets wait, so it needs a queue",
        ),
        (
            "trace_ms = [9]",
            5,
            "a rate makes packets wait, so it needs a queue",
        ),
        ("queue_packets = 9", 5, "nothing ever waits in this queue"),
        ("queue_bytes = 9000", 5, "nothing ever waits in this queue"),
        ("queue_ms = 9", 5, "needs a rate"),
        (
            "[down.aqm]\nkind = 'codel'",
            5,
            "down: nothing ever waits; write rate_kbps and a queue too, or remove aqm",
        ),
        (
            "rate_kbps = 9\naqm = { kind = 'codel' }",
            5,
            "a rate makes packets wait, so it needs a queue",
        ),
        (
            "rate_kbps = 9\nqueue_packets = 9\naqm = { kind = 'codel', target_ms = 50, interval_ms = 50 }",
            7,
            "down: the target of 50 ms is no shorter than the interval of 50 ms; RFC 8289 has 5 and 100",
        ),
        (
            "rate_kbps = 9\nqueue_packets = 9\n[down.aqm]\nkind = 'codel'\nquantum_bytes = 1500",
            9,
            "down.aqm.quantum_bytes: flows take no turns in one queue; write kind = \"fq-codel\"",
        ),
        (
            "rate_kbps = 100\nqueue_ms = 10",
            6,
            "the queue holds 125 bytes, less than one packet of 1500",
        ),
        (
            "rate_kbps = 100\nqueue_bytes = 999",
            6,
            "the queue holds 999 bytes",
        ),
        (
            "[down.gate]\nqueue = 'keep'\nclosed_ms = [[1, 2]]",
            5,
            "a gate makes packets wait, so it needs a queue",
        ),
        (
            "trace_ms = [1]\nqueue_packets = 9\n[down.gate]\nqueue = 'keep'\nclosed_ms = [[1, 2]]",
            7,
            "so it takes no gate and no handovers",
        ),
        (
            "[down.policy]\nudp_block_after_ms = 0\nudp_rate_after_ms = 5",
            7,
            "down.policy.udp_rate_after_ms: there is no rate to police; write udp_rate_kbps too",
        ),
        (
            "[down.policy]\nudp_block_after_ms = 0\nudp_burst_bytes = 5000",
            7,
            "down.policy.udp_burst_bytes: there is no rate to police",
        ),
    ];
    for (text, line, words) in cases {
        refused(text, line, words);
    }
    assert!(
        down("rate_kbps = 100\nqueue_bytes = 1500").is_ok(),
        "a queue of one packet is valid"
    );
}

#[test]
fn invalid_gates_and_traces_are_refused() {
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
        &gate("[[1, 2],\n[1]]"),
        8,
        "down.gate.closed_ms: write [from, to] in milliseconds, from 0 to 3600000",
    );
    refused(&gate("[[1, 2, 3]]"), 7, "write [from, to]");
    refused(&gate("[[1, 1e300]]"), 7, "write [from, to]");
    refused(&gate("[5, 6]"), 7, "integer `5`, expected a list");
    refused(
        "queue_packets = 9\ntrace_ms = []",
        6,
        "down.trace_ms: the trace is empty",
    );
    refused("queue_packets = 9\ntrace_ms = [0]", 6, "has no length");
    refused(
        "queue_packets = 9\ntrace_ms = [5,\n1595325560]",
        6,
        "down.trace_ms: entry 2 of the trace comes more than 10 minutes after the one before",
    );
    refused(
        "queue_packets = 9\ntrace_ms = [5, 4]",
        6,
        "put the times in order",
    );
}

#[test]
fn hostile_text_gives_short_messages() {
    let long = "k".repeat(1 << 20);
    for text in [
        format!("{long} = 1"),
        format!("delay_ms = '{long}'"),
        format!("[down.{long}]\nx = 1"),
        format!("trace = '{long}'"),
        format!("[down.gate]\nqueue = '{long}'"),
    ] {
        let error = down(&text).unwrap_err();
        assert!(error.len() < 1200, "{} bytes", error.len());
    }
}
