//! Drivers that lie: each fails its own cell, with the exact reason, and affects no other.

mod common;

use std::fmt::Write as _;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::Outcome;

/// The lie, the arm's protocol, and a part of the recorded reason.
const LIES: [(&str, &str, &str); 17] = [
    (
        "claims-h3-over-h2",
        "h3",
        "the driver claims h3, the server saw h2",
    ),
    (
        "claims-reuse",
        "h2",
        "the driver claims a reused connection, but no call that opened it",
    ),
    ("claims-0rtt", "h2", "early data"),
    (
        "wrong-digest",
        "h2",
        "wrong digest: the driver got 00000000",
    ),
    (
        "other-request",
        "h2",
        "should be POST /echo, the server saw GET /bytes/1",
    ),
    ("other-body", "h2", "the server got 14 B"),
    (
        "short-upload",
        "h1",
        "claims to have sent 100000 B of body, the server got 10 B",
    ),
    (
        "short-download",
        "h1",
        "should be GET /bytes/100000, the server saw GET /bytes/10",
    ),
    (
        "starts-late",
        "h2",
        "whose first packet, packet 0, crossed the link",
    ),
    ("ends-early", "h2", "ends after"),
    ("time-before-start", "h2", "ns before the run was sent"),
    (
        "same-id-twice",
        "h2",
        "the driver sent the row of step 1 twice",
    ),
    (
        "unknown-id",
        "h2",
        "the driver sent a row for step 1000001, which was never asked for",
    ),
    (
        "long-line",
        "h2",
        "the driver sent a line of more than 65536 bytes",
    ),
    ("no-newline", "h2", "bytes without a newline"),
    ("silence", "h2", "the driver timed out: no row"),
    ("death", "h2", "the driver exited or closed its pipe before"),
];

#[test]
fn lying_drivers_fail_only_their_own_cells() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let hostile = testing::example("commute-driver-hostile");
    let mut study = String::from(
        "name = \"hostile\"\nquestion = \"which driver lies?\"\nnetworks = [\"basic.toml\"]\n\
         baseline = \"honest\"\nblocks = 1\ntimeout_s = 0.5\n\
         [[arm]]\nname = \"honest\"\nstack = \"hyper\"\nprotocol = \"h2\"\n",
    );
    // Not a lie: the driver prints a banner on standard output, which must be ignored.
    let banner = ("banner", "h2", "");
    for (lie, protocol, _) in LIES.iter().chain([&banner]) {
        let program = [hostile.to_str().unwrap(), lie];
        sandbox.add_stack(lie, r#""h1", "h2", "h3""#, &program);
        write!(
            study,
            "[[arm]]\nname = \"{lie}\"\nstack = \"{lie}\"\nprotocol = \"{protocol}\"\n"
        )
        .unwrap();
    }
    study += "[[step]]\ncall = \"echo\"\ntimes = 2\n[[step]]\nget = \"down\"\nbytes = 100000\n[[step]]\nput = \"up\"\nbytes = 100000\n";
    sandbox.write("hostile.toml", &study);

    let output = sandbox
        .run(&[
            "run",
            "hostile.toml",
            "--out",
            "run",
            "--no-self-test",
            "--jobs",
            "2",
        ])
        .exits_with(3);
    let data = sandbox.records("run");
    assert_complete(&data);
    let cell_of = |arm: &str| {
        let cells = counted_cells(&data);
        let cell = cells.into_iter().find(|c| c.arm == arm);
        cell.unwrap_or_else(|| panic!("no cell of {arm}: {output}"))
    };
    let mut unexpected = Vec::new();
    for (lie, _, reason) in LIES {
        match &cell_of(lie).outcome {
            Outcome::Failed { reason: recorded } if recorded.contains(reason) => {}
            other => unexpected.push(format!("{lie}: {other:?} does not contain {reason:?}")),
        }
    }
    for arm in ["honest", "banner"] {
        let cell = cell_of(arm);
        if !cell.is_measured() || cell.calls.len() != 4 {
            unexpected.push(format!("{arm} is not measured: {:?}", cell.outcome));
        }
    }
    assert!(unexpected.is_empty(), "{}\n{output}", unexpected.join("\n"));
    output.stdout_contains("17 failed");
}
