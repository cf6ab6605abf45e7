//! Tests of the output of `--dry-run`, before a run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;
use common::study::SMALL_STUDY;

#[test]
fn a_study_cannot_control_the_terminal() {
    let sandbox = Sandbox::new();
    let study = SMALL_STUDY.replacen("question = \"", "question = \"\\u001b[2J", 1);
    assert_ne!(study, SMALL_STUDY);
    sandbox.add_small_study();
    sandbox.write("small.toml", &study);
    let output = sandbox.run(&["run", "small.toml", "--dry-run"]);
    assert!(!output.stdout.contains('\u{1b}'), "{output}");
    output.exits_with(0).stdout_contains("\u{fffd}[2J");
}

#[test]
fn no_text_of_a_study_adds_a_line() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let lines = |study: &str, more: &[&str]| {
        sandbox.write("small.toml", study);
        let output = sandbox.run(&[&["run", "small.toml", "--dry-run"], more].concat());
        let output = output.exits_with(0);
        let is_forged = |line: &str| line.trim_start().starts_with("forged");
        assert!(!output.stdout.lines().any(is_forged), "{output}");
        output.stdout.lines().count()
    };
    let usual = lines(SMALL_STUDY, &[]);
    let study = SMALL_STUDY.replacen("question = \"", "question = \"a\\nforged ", 1);
    assert_eq!(lines(&study, &[]), usual);
}

#[test]
fn no_path_of_an_error_adds_a_line() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let network = "networks = [\"a\\nforged: 1\\u001b[2J.toml\", ";
    let study = SMALL_STUDY.replacen("networks = [", network, 1);
    assert_ne!(study, SMALL_STUDY);
    sandbox.write("small.toml", &study);
    let check = || {
        let output = sandbox
            .run(&["run", "small.toml", "--dry-run"])
            .exits_with(1);
        assert!(!output.stderr.contains(['\u{1b}']), "{output}");
        let mut lines = output.stderr.lines();
        assert!(!lines.any(|line| line.starts_with("forged")), "{output}");
    };
    check();
    // The file exists, but has a mistake.
    sandbox.write("a\nforged: 1\u{1b}[2J.toml", "x = 1\n");
    check();
}

#[test]
fn cells_are_listed_only_when_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let dry_run = ["run", "small.toml", "--dry-run"];
    let output = sandbox.run(&dry_run).exits_with(0);
    let lines: Vec<Vec<&str>> = (output.stdout.lines())
        .map(|line| line.split_whitespace().collect())
        .collect();
    for expected in [
        vec!["arm", "stack", "protocol"],
        vec!["one", "hyper", "h2", "baseline"],
        vec![
            "two", "hyper", "h2", "A/A:", "a", "copy", "of", "the", "baseline",
        ],
        vec!["group", "requests", "per", "cell", "each"],
        vec!["echo", "2", "POST", "/echo", "26", "B"],
        vec![
            "compared:",
            "first",
            "request,",
            "warm",
            "requests;",
            "also",
            "shown:",
            "both",
            "requests",
        ],
    ] {
        assert!(lines.contains(&expected), "{expected:?}: {output}");
    }
    assert!(
        output.stdout.contains("\n4 of 4 cells, seed 3, about "),
        "{output}"
    );
    assert!(!output.stdout.contains("basic_"), "{output}");
    let verbose = sandbox.run(&[&dry_run[..], &["-v"]].concat()).exits_with(0);
    let cells = verbose
        .stdout
        .lines()
        .filter(|line| line.starts_with("basic_"));
    assert_eq!(cells.count(), 4, "{verbose}");
}

#[test]
fn plans_that_will_not_measure_are_warned_of() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("absent", "\"h2\"", &["{stack}/no-such-driver"]);
    sandbox.add_stack("old", "\"h2\"", &["{commute}", "driver", "hyper"]);
    let manifest = sandbox.home().join("stacks/old/stack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text + "certificate = \"rsa-2048\"\n").unwrap();
    let study = SMALL_STUDY.replace(
        "[[step]]\n",
        "[[arm]]\nstack = \"absent\"\nprotocol = \"h3\"\n\
         [[arm]]\nstack = \"old\"\nprotocol = \"h2\"\nkey = \"p256\"\n[[step]]\n\
         call = \"other\"\nbody = '{\"user\":1}'\n[[step]]\n",
    );
    sandbox.write("doubtful.toml", &study);
    let output = sandbox
        .run(&["run", "doubtful.toml", "--dry-run"])
        .exits_with(0);
    for warning in [
        "warning: this study will not be run: no arm can be compared with the baseline; ",
        "\n  arm `absent h3`: not installed (",
        "; absent does not offer h3\n",
        "\n  arm `old h2`: key p256: old accepts rsa-2048 only\n",
        "warning: group `other`: its body is not the echo message",
        "2 planned; too few for any verdict",
    ] {
        assert!(output.stdout.contains(warning), "{warning}: {output}");
    }
}

#[test]
fn settings_in_which_arms_differ_have_a_column() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let more = "[[arm]]\nname = \"other\"\nstack = \"hyper\"\nprotocol = \"h2\"\nauth = \"jwt\"\n\
                connections = \"per-request\"\n[[step]]";
    let study = SMALL_STUDY
        .replace("[[step]]", more)
        .replace("blocks = 2", "blocks = 2\nwarmup_calls = 5");
    sandbox.write("differing.toml", &study);
    let output = sandbox
        .run(&["run", "differing.toml", "--dry-run"])
        .exits_with(0);
    let lines: Vec<Vec<&str>> = (output.stdout.lines())
        .map(|line| line.split_whitespace().collect())
        .collect();
    for expected in [
        vec!["arm", "stack", "protocol", "auth", "connections"],
        vec!["one", "hyper", "h2", "-", "-", "baseline"],
        vec!["other", "hyper", "h2", "jwt", "per-request"],
        vec!["every", "arm:", "warmup_calls", "5"],
    ] {
        assert!(lines.contains(&expected), "{expected:?}: {output}");
    }
}

/// A recording repeats its requests, with pauses between them.
#[test]
fn requests_that_come_again_are_described_once() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let step = "[[step]]\ncall = \"orders\"\npath = \"/a\"\nresponse_bytes = 5\n";
    let steps = [step, "[[step]]\npause_ms = 10\n", step].concat();
    let study = SMALL_STUDY.replace("[[step]]\ncall = \"echo\"\ntimes = 2\n", &steps);
    sandbox.write("again.toml", &study);
    let output = sandbox
        .run(&["run", "again.toml", "--dry-run"])
        .exits_with(0);
    let line = output
        .stdout
        .lines()
        .find(|line| line.starts_with(" orders "));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(
        words,
        ["orders", "2", "GET", "/a,", "answered", "with", "5", "B"],
        "{output}"
    );
}

#[test]
fn what_the_run_would_refuse_is_refused_before() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let study = SMALL_STUDY.replacen("networks = [", "networks = [\"lan\", ", 1);
    assert_ne!(study, SMALL_STUDY);
    sandbox.write("small.toml", &study);
    sandbox
        .run(&["run", "small.toml", "--jobs", "2", "--dry-run"])
        .exits_with(2)
        .stderr_contains("network lan is too fast to be measured in parallel");
    sandbox
        .run(&["run", "small.toml", "--dry-run"])
        .exits_with(0);
}
