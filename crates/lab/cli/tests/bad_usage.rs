//! Wrong command lines: each exits with 2 and says what is wrong and what would be right. Mistakes in
//! files are in `errors.rs`, those in payloads in `codec.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;

/// A command line, and what standard error must contain.
type Case = (&'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    (&["runn"], &["'run'"]),
    (
        &["run", "nofile.toml"],
        &["there is no file nofile.toml", "studies are in"],
    ),
    (
        &["run", "quickstrat.toml"],
        &["did you mean `quickstart.toml`?"],
    ),
    (&["run", "."], &[". is a folder", "TOML file of a study"]),
    (&["run", "small.toml", "--block", "5"], &["'--blocks'"]),
    (&["run", "small.toml", "--blocks", "0"], &["1..=100000"]),
    (
        &["run", "small.toml", "--shard", "5/4"],
        &["write I/N with I from 1 to N"],
    ),
    (
        &["run", "small.toml", "--quick", "--blocks", "3"],
        &["cannot be used with"],
    ),
    (
        &["run", "small.toml", "--server", "nginx"],
        &["no server is named `nginx`", "known: commute"],
    ),
    (
        &["run", "--resume", "none"],
        &["none contains no run.json", "`commute run` wrote"],
    ),
    // The parent is a file, so that not even root can create the folder.
    (
        &["run", "small.toml", "--out", "small.toml/run"],
        &["small.toml/run", "Not a directory"],
    ),
    (&["report"], &["<DIR|PREFIX>"]),
    (
        &[
            "report",
            "none",
            "--regret",
            "a",
            "--oracle",
            "b",
            "--fail-if",
            "errors > 1%",
        ],
        &["'--regret <ARM>' cannot be used with"],
    ),
    (
        &[
            "report", "none", "--regret", "a", "--oracle", "b", "--html", "a.html",
        ],
        &["'--regret <ARM>' cannot be used with"],
    ),
    (
        &[
            "report", "none", "--regret", "a", "--oracle", "b", "--format", "json",
        ],
        &["'--regret <ARM>' cannot be used with"],
    ),
    (
        &["report", "none", "--html", "-", "--card", "-"],
        &["--html - and --card - both write", "name a file"],
    ),
    (
        &["codec", "my.json", "--codec", "json"],
        &["cannot be used with"],
    ),
    (&["report", "none"], &["none contains no run.json"]),
    (&["report", "."], &[". contains no run.json"]),
    (&["report", "small.toml"], &["small.toml"]),
    (
        &["networks", "check", "5g"],
        &["no network is named `5g`", "true-metro", "FILE.toml"],
    ),
    (&["networks", "5g"], &["no network is named `5g`"]),
    (&["compare", "none", "none"], &["none contains no run.json"]),
    (
        &["run", "small.toml", "--fail-if", "frist > 1s"],
        &["`frist` is neither a measure (first,"],
    ),
    (
        &["run", "small.toml", "--fail-if", "three/first > 1s"],
        &["no arm is named `three`; known: one, two"],
    ),
    (
        &["networks", "check", "none.toml"],
        &["none.toml", "there is no such file"],
    ),
    (
        &["link", "true-metroo", "--", "true"],
        &["did you mean `true-metro`?"],
    ),
    (
        &["link", "curl", "https://far"],
        &["no network is named `curl`"],
    ),
    (&["link", "lan"], &["<CMD>"]),
    (&["link", "lan", "--los", "2%", "true"], &["'--loss'"]),
    (
        &["link", "lan", "--loss", "2", "--", "true"],
        &["--loss", "write 2%"],
    ),
    (
        &["link", "lan", "--rtt", "80", "--", "true"],
        &["--rtt", "write 80ms"],
    ),
    (
        &["link", "lan", "--forward", "8443", "--", "true"],
        &["write PORT=HOST:PORT"],
    ),
    (
        &["link", "lan", "--forward", "8443=no host:443", "--", "true"],
        &["cannot look up `no host:443`"],
    ),
    (
        &["serve", "--listen", "8443"],
        &["write ADDRESS:PORT, e.g. 127.0.0.1:8443"],
    ),
    (
        &["codec", "--message", "api-3kB"],
        &["no message is named `api-3kB`", "api-2kB"],
    ),
    (&["codec", "--size", "3kB"], &["known: 100B, 2kB"]),
    (
        &["import", "none.csv", "--out", "run"],
        &["cannot read none.csv"],
    ),
    (&["doctor", "--only", "roundtrips"], &["'round-trips'"]),
    (&["stacks", "check", "hyperr"], &["did you mean `hyper`?"]),
    (&["stacks", "check", "./none"], &["./none", "No such file"]),
];

#[test]
fn wrong_usage_exits_with_2_and_says_what_is_right() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let studies = sandbox.home().join("studies");
    std::fs::create_dir(&studies).unwrap();
    std::fs::write(studies.join("quickstart.toml"), "").unwrap();
    for (args, texts) in CASES {
        let mut output = sandbox.run(args).exits_with(2);
        assert_eq!(output.stdout, "", "{args:?}: {output}");
        for text in *texts {
            output = output.stderr_contains(text);
        }
    }
}

#[test]
fn a_format_that_was_right_is_not_explained() {
    let sandbox = Sandbox::new();
    let forward = ["link", "lan", "--forward", "8443=no host:443", "--", "true"];
    let output = sandbox.run(&forward).exits_with(2);
    assert!(!output.stderr.contains("write PORT="), "{output}");
    // 198.51.100.0/24 is reserved for documentation (RFC 5737).
    let output = sandbox
        .run(&["serve", "--listen", "198.51.100.1:8443"])
        .exits_with(1)
        .stderr_contains("give an address of this machine");
    assert!(!output.stderr.contains("another server"), "{output}");
}
