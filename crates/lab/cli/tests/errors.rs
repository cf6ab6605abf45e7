//! Messages for bad input and unsuitable machines: each names the problem, the place and a fix.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::process::Command;

use common::study::{BASIC_NETWORK, SMALL_STUDY};
use common::{CommandOutput, Sandbox, User};

/// Mistakes in [`SMALL_STUDY`]: a description, the text to replace and its replacement.
const STUDY_MISTAKES: [(&str, &str, &str); 20] = [
    ("malformed TOML", "blocks = 2", "blocks = = 2"),
    ("unknown key", "blocks = 2", "blcks = 2"),
    ("negative blocks", "blocks = 2", "blocks = -2"),
    ("zero blocks", "blocks = 2", "blocks = 0"),
    (
        "no networks",
        "networks = [\"basic.toml\"]",
        "networks = []",
    ),
    ("zero timeout", "timeout_s = 5", "timeout_s = 0"),
    ("unknown network", "basic.toml", "true-metroo"),
    ("network file missing", "basic.toml", "missing.toml"),
    ("unknown stack", "stack = \"hyper\"", "stack = \"hypr\""),
    ("unknown protocol", "protocol = \"h2\"", "protocol = \"h4\""),
    (
        "unknown baseline",
        "baseline = \"one\"",
        "baseline = \"onee\"",
    ),
    ("duplicate arm name", "name = \"two\"", "name = \"one\""),
    (
        "step with two actions",
        "call = \"echo\"",
        "call = \"echo\"\nget = \"image\"",
    ),
    (
        "unknown codec",
        "protocol = \"h2\"",
        "protocol = \"h2\"\ncodec = \"jsonn\"",
    ),
    (
        "codec without an exchange",
        "protocol = \"h2\"",
        "protocol = \"h2\"\ncodec = \"msgpack\"",
    ),
    (
        "unknown message",
        "call = \"echo\"",
        "exchange = \"page\"\nmessage = \"api-3kB\"",
    ),
    (
        "file as a message",
        "call = \"echo\"",
        "exchange = \"page\"\nmessage = \"orders.json\"",
    ),
    (
        "URL of a study",
        "blocks = 2",
        "blocks = 2\nurl = \"https://app.example\"",
    ),
    (
        "URL of a step",
        "call = \"echo\"",
        "call = \"echo\"\nurl = \"https://app.example\"",
    ),
    (
        "reversed range",
        "call = \"echo\"",
        "exchange = \"page\"\nmessage = \"big-9..0\"",
    ),
];

/// Mistakes in [`BASIC_NETWORK`], likewise.
const NETWORK_MISTAKES: [(&str, &str, &str); 9] = [
    ("malformed TOML", "[down]", "[down"),
    ("unknown key", "delay_ms = 10", "dely_ms = 10"),
    ("negative rate", "rate_kbps = 10000", "rate_kbps = -1"),
    (
        "loss above 100 %",
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
        "both rate and trace",
        "queue_ms = 100",
        "queue_ms = 100\ntrace_ms = [1, 2]",
    ),
    ("rate without queue", "queue_ms = 100\n", ""),
    (
        "trace file missing",
        "rate_kbps = 10000",
        "trace = \"train.trace\"",
    ),
];

#[test]
fn errors_in_files_name_the_place_and_a_fix() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let mut errors = Errors::default();
    for (mistake, from, to) in STUDY_MISTAKES {
        let text = SMALL_STUDY.replacen(from, to, 1);
        assert_ne!(text, SMALL_STUDY, "{mistake} changes nothing");
        sandbox.write("bad.toml", &text);
        let output = sandbox.run(&["run", "bad.toml", "--dry-run"]);
        errors.add("study", mistake, &output.exits_with(1));
    }
    for (mistake, from, to) in NETWORK_MISTAKES {
        let text = BASIC_NETWORK.replacen(from, to, 1);
        assert_ne!(text, BASIC_NETWORK, "{mistake} changes nothing");
        sandbox.write("bad.toml", &text);
        let output = sandbox.run(&["link", "bad.toml", "--", "true"]);
        errors.add("network", mistake, &output.exits_with(125));
    }
    for trace in ["", "5\n3\n", "5\nsoon\n"] {
        sandbox.write("train.trace", trace);
        let text = BASIC_NETWORK.replacen("rate_kbps = 10000", "trace = \"train.trace\"", 1);
        sandbox.write("bad.toml", &text);
        let output = sandbox.run(&["link", "bad.toml", "--", "true"]);
        errors.add("trace", &format!("{trace:?}"), &output.exits_with(125));
    }
    testing::golden(common::golden_path("file-errors.txt"), &errors.text);
    assert!(
        errors.without_line.is_empty(),
        "no file and line:\n{}",
        errors.without_line.join("\n")
    );
}

#[test]
fn files_that_are_no_toml_are_answered_with_what_they_are_for() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.write("orders.json", "{\"page\": 1}");
    sandbox.write("field.csv", "network,arm,protocol,block,end_ns\n");
    sandbox.write("study.toml", "name = \"orders\"\n");
    std::fs::create_dir(sandbox.work().join("folder")).unwrap();
    for (args, answer) in [
        (
            &["run", "orders.json"][..],
            "orders.json: JSON; a study is a TOML file; `commute init --har FILE`",
        ),
        (
            &["run", "https://app.example/orders"],
            "https://app.example/orders: a URL; a study is a TOML file; `commute init --curl",
        ),
        (
            &["run", "field.csv"],
            "field.csv: CSV; a study is a TOML file; `commute import FILE`",
        ),
        (
            &["run", "folder"],
            "folder is a folder; name the TOML file of a study",
        ),
        (
            &["run", "none.toml"],
            "there is no file none.toml; commute's own studies are in",
        ),
        (
            &["networks", "check", "orders.json"],
            "orders.json: JSON; name a network's TOML file",
        ),
        (
            &["networks", "check", "5g"],
            "; or the path of your own, FILE.toml",
        ),
        (
            &["report", "study.toml"],
            "study.toml contains no run.json: name a folder",
        ),
        (
            &["codec", "study.toml"],
            "study.toml is TOML, and `commute codec` takes JSON; `commute run study.toml --dry-run`",
        ),
    ] {
        let output = sandbox.run(args);
        assert_eq!(output.stdout, "", "results in spite of an error: {output}");
        output.stderr_contains(answer);
    }
}

#[derive(Default)]
struct Errors {
    /// All messages, for the golden file.
    text: String,
    /// The messages that do not name file and line.
    without_line: Vec<String>,
}

impl Errors {
    fn add(&mut self, kind: &str, mistake: &str, output: &CommandOutput) {
        assert_eq!(output.stdout, "", "results in spite of an error: {output}");
        writeln!(self.text, "# {kind}: {mistake}\n{}", output.stderr).unwrap();
        // `bad.toml:12: ...`.
        let after = output
            .stderr
            .split_once("bad.toml:")
            .map(|(_, after)| after);
        if !after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit())) {
            let message = format!("{kind}, {mistake}: {}", output.stderr);
            self.without_line.push(message);
        }
    }
}

#[test]
fn unusable_files_and_arguments_are_reported_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let empty = sandbox.work().join("empty");
    std::fs::create_dir(&empty).unwrap();
    sandbox
        .run(&["run", "small.toml", "--home", empty.to_str().unwrap()])
        .exits_with(2)
        .stderr_contains("name a checkout of commute with --home or COMMUTE_HOME");
    let fast = SMALL_STUDY.replace("basic.toml", "lan");
    sandbox.write("fast.toml", &fast);
    sandbox
        .run(&["run", "fast.toml", "--jobs", "2", "--no-self-test"])
        .exits_with(2)
        .stderr_contains("network lan is too fast");
}

#[test]
fn port_in_use_is_reported() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    sandbox
        .run(&["serve", "--listen", &address])
        .exits_with(1)
        .stderr_contains(&address)
        .stderr_contains("in use")
        .stderr_contains("is another server running there?");
}

#[test]
fn full_disk_ends_the_run_with_an_error() {
    let sandbox = Sandbox::new();
    if !common::is_root() {
        return testing::skip("only root can mount a small disk");
    }
    sandbox.add_small_study();
    std::fs::create_dir(sandbox.work().join("disk")).unwrap();
    // The mount disappears with its mount namespace. 32 KiB are enough for run.json and a few
    // cells.
    let script = "mount -t tmpfs -o size=32k none disk && \
        \"$0\" run small.toml --blocks 40 --out disk/run --no-self-test; code=$?; \
        ls disk/run/cells; exit $code";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_commute")]);
    sandbox.configure(&mut command, User::Caller);
    CommandOutput::of(command)
        .exits_with(1)
        .stderr_contains("disk/run")
        .stderr_contains("No space left on device");
}

#[test]
fn error_names_the_sysctl_that_forbids_user_namespaces() {
    let sandbox = Sandbox::new();
    let allowed = Command::new("unshare")
        .args(["-Ur", "setpriv", "true"])
        .status();
    if !allowed.is_ok_and(|status| status.success()) {
        return testing::skip("unshare and setpriv cannot forbid user namespaces here");
    }
    // Within a new user namespace, forbids further ones and drops all capabilities.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \
        \"$0\" link lan -- true";
    let mut command = Command::new("unshare");
    command
        .args(["-Ur", "sh", "-c", script, env!("CARGO_BIN_EXE_commute")])
        .current_dir(sandbox.work());
    CommandOutput::of(command)
        .exits_with(125)
        .stderr_contains("sysctl user.max_user_namespaces=");
}

#[test]
fn missing_hosts_file_is_named() {
    let sandbox = Sandbox::new();
    if !common::is_root() {
        return testing::skip("only root can hide /etc");
    }
    let script = "mount -t tmpfs none /etc && exec \"$0\" link lan -- true";
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_commute")])
        .current_dir(sandbox.work());
    let output = CommandOutput::of(command).stderr_contains("/etc/hosts");
    assert!(!output.status.success(), "{output}");
}
