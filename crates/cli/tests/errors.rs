//! Bad input and unfit machines: each message says what, where, and the way out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::process::Command;

use common::study::{GENTLE, SMALL};
use common::{House, Said};

/// What is wrong, the key that becomes so, and what it becomes.
const STUDIES: [(&str, &str, &str); 17] = [
    ("malformed TOML", "blocks = 2", "blocks = = 2"),
    ("unknown key", "blocks = 2", "blcks = 2"),
    ("negative blocks", "blocks = 2", "blocks = -2"),
    ("no blocks", "blocks = 2", "blocks = 0"),
    (
        "no networks",
        "networks = [\"gentle.toml\"]",
        "networks = []",
    ),
    ("no time", "timeout_s = 5", "timeout_s = 0"),
    ("unknown network", "gentle.toml", "true-metroo"),
    ("network's file missing", "gentle.toml", "gentler.toml"),
    ("unknown stack", "stack = \"hyper\"", "stack = \"hypr\""),
    ("unknown protocol", "protocol = \"h2\"", "protocol = \"h4\""),
    (
        "unknown baseline",
        "baseline = \"one\"",
        "baseline = \"onee\"",
    ),
    ("the same name twice", "name = \"two\"", "name = \"one\""),
    (
        "a step of two minds",
        "call = \"echo\"",
        "call = \"echo\"\nget = \"image\"",
    ),
    (
        "unknown codec",
        "protocol = \"h2\"",
        "protocol = \"h2\"\ncodec = \"jsonn\"",
    ),
    (
        "a codec and nothing to encode",
        "protocol = \"h2\"",
        "protocol = \"h2\"\ncodec = \"msgpack\"",
    ),
    (
        "unknown message",
        "call = \"echo\"",
        "exchange = \"page\"\nmessage = \"api-3kB\"",
    ),
    (
        "a range from the end",
        "call = \"echo\"",
        "exchange = \"page\"\nmessage = \"big-9..0\"",
    ),
];

/// The same of a network.
const NETWORKS: [(&str, &str, &str); 9] = [
    ("malformed TOML", "[down]", "[down"),
    ("unknown key", "delay_ms = 10", "dely_ms = 10"),
    ("negative rate", "rate_kbps = 10000", "rate_kbps = -1"),
    (
        "loss of 150 %",
        "delay_ms = 10",
        "delay_ms = 10\nloss_percent = 150",
    ),
    ("empty trace", "rate_kbps = 10000", "trace_ms = []"),
    (
        "trace out of order",
        "rate_kbps = 10000",
        "trace_ms = [1, 9, 3]",
    ),
    (
        "rate and trace",
        "queue_ms = 100",
        "queue_ms = 100\ntrace_ms = [1, 2]",
    ),
    ("rate without queue", "queue_ms = 100\n", ""),
    (
        "trace's file missing",
        "rate_kbps = 10000",
        "trace = \"train.trace\"",
    ),
];

#[test]
fn each_mistake_in_a_file_is_placed_and_explained() {
    let house = House::new();
    house.small_study();
    let mut all = String::new();
    let mut unplaced = Vec::new();
    for (wrong, from, to) in STUDIES {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{wrong} changes something");
        house.write("bad.toml", &text);
        let said = house.run(&["run", "bad.toml", "--dry-run"]).code(1);
        record(&mut all, "study", wrong, &said);
        if !placed(&said) {
            unplaced.push(format!("study, {wrong}: {}", said.err));
        }
    }
    for (wrong, from, to) in NETWORKS {
        let text = GENTLE.replacen(from, to, 1);
        assert_ne!(text, GENTLE, "{wrong} changes something");
        house.write("bad.toml", &text);
        let said = house.run(&["link", "bad.toml", "--", "true"]).code(1);
        record(&mut all, "network", wrong, &said);
        if !placed(&said) {
            unplaced.push(format!("network, {wrong}: {}", said.err));
        }
    }
    for trace in ["", "5\n3\n", "5\nsoon\n"] {
        house.write("train.trace", trace);
        let text = GENTLE.replacen("rate_kbps = 10000", "trace = \"train.trace\"", 1);
        house.write("bad.toml", &text);
        let said = house.run(&["link", "bad.toml", "--", "true"]).code(1);
        record(&mut all, "trace", &format!("{trace:?}"), &said);
    }
    testing::golden(common::golden("file-errors.txt"), &all);
    assert!(
        unplaced.is_empty(),
        "no file and line:\n{}",
        unplaced.join("\n")
    );
}

fn record(all: &mut String, of: &str, wrong: &str, said: &Said) {
    assert_eq!(said.out, "", "an error is no result: {said}");
    writeln!(all, "# {of}: {wrong}\n{}", said.err).unwrap();
}

/// `bad.toml:12: ...`.
fn placed(said: &Said) -> bool {
    let Some((_, after)) = said.err.split_once("bad.toml:") else {
        return false;
    };
    after.starts_with(|c: char| c.is_ascii_digit())
}

#[test]
fn files_that_cannot_be_are_named_before_anything_runs() {
    let house = House::new();
    house.small_study();
    house
        .run(&["run", "none.toml"])
        .code(1)
        .complains("none.toml");
    house.run(&["report", "none"]).code(1).complains("none");
    // A file where a folder must be: not even root can write there.
    house
        .run(&["run", "small.toml", "--out", "small.toml/run"])
        .code(1)
        .complains("small.toml/run");
    let elsewhere = house.work().join("empty");
    std::fs::create_dir(&elsewhere).unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    house
        .run(&["run", "small.toml", "--home", elsewhere])
        .code(1)
        .complains("name it with --home or COMMUTE_HOME");
    house
        .run(&["run", "small.toml", "--shard", "3/2"])
        .code(2)
        .complains("write I/N with I from 1 to N");
    let fast = SMALL.replace("gentle.toml", "lan");
    house.write("fast.toml", &fast);
    house
        .run(&["run", "fast.toml", "--jobs", "2", "--no-self-test"])
        .code(1)
        .complains("network lan is too fast");
}

#[test]
fn a_port_in_use_is_named() {
    let house = House::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    house
        .run(&["serve", "--listen", &address])
        .code(1)
        .complains(&address)
        .complains("in use")
        .complains("is another server running there?");
}

#[test]
fn a_full_disk_ends_the_run_and_is_named() {
    let house = House::new();
    if !common::is_root() {
        return testing::skip("only root can make a small disk");
    }
    house.small_study();
    let disk = house.work().join("disk");
    std::fs::create_dir(&disk).unwrap();
    // A mount in a namespace of its own ends with it. Room for the head and few cells.
    let script = "mount -t tmpfs -o size=32k none disk && \
        \"$0\" run small.toml --blocks 40 --out disk/run --no-self-test; code=$?; \
        ls disk/run/cells; exit $code";
    let mut small = Command::new("unshare");
    small
        .args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_commute")])
        .current_dir(house.work())
        .env("TMPDIR", house.dir().join("tmp"))
        .env("COMMUTE_HOME", house.home());
    Said::of(small)
        .code(1)
        .complains("disk/run")
        .complains("No space left on device");
}

#[test]
fn forbidden_user_namespaces_are_named_with_the_setting() {
    let house = House::new();
    // A namespace of its own, which forbids further ones to what has no capability in it.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \
        \"$0\" link lan -- true";
    let allowed = Command::new("unshare")
        .args(["-Ur", "setpriv", "true"])
        .status();
    if !allowed.is_ok_and(|status| status.success()) {
        return testing::skip("unshare and setpriv cannot forbid user namespaces here");
    }
    let mut forbidden = Command::new("unshare");
    forbidden
        .args(["-Ur", "sh", "-c", script, env!("CARGO_BIN_EXE_commute")])
        .current_dir(house.work());
    Said::of(forbidden)
        .code(4)
        .complains("sysctl user.max_user_namespaces=");
}
