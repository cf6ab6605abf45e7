//! One driver for each lie: each cell fails with its exact reason, and harms nothing else.

mod common;

use std::fmt::Write as _;

use common::study::{last, whole};
use common::{House, driver};
use record::Outcome;

/// The lie, the protocol it is told over, and what the record says of it.
const LIES: [(&str, &str, &str); 11] = [
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
fn each_lie_fails_its_own_cell_and_no_other() {
    let house = House::new();
    house.small_study();
    driver("examples/commute-driver-hostile");
    let mut study = String::from(
        "name = \"hostile\"\nquestion = \"who lies?\"\nnetworks = [\"gentle.toml\"]\n\
         baseline = \"honest\"\nblocks = 1\ntimeout_s = 0.5\n\
         [[arm]]\nname = \"honest\"\nstack = \"hyper\"\nprotocol = \"h2\"\n",
    );
    let banner = ("banner", "h2", "");
    for (lie, protocol, _) in LIES.iter().chain([&banner]) {
        let program = ["{bin}/examples/commute-driver-hostile", lie];
        house.stack(lie, r#""h2", "h3""#, &program);
        write!(
            study,
            "[[arm]]\nname = \"{lie}\"\nstack = \"{lie}\"\nprotocol = \"{protocol}\"\n"
        )
        .unwrap();
    }
    study += "[[step]]\ncall = \"echo\"\ntimes = 2\n";
    house.write("hostile.toml", &study);

    let said = house
        .run(&["run", "hostile.toml", "--out", "run", "--no-self-test"])
        .code(0);
    let data = house.records("run");
    whole(&data);
    let outcome = |arm: &str| {
        let cells = last(&data);
        let cell = cells.into_iter().find(|c| c.arm == arm);
        cell.unwrap_or_else(|| panic!("no cell of {arm}: {said}"))
    };
    let mut wrong = Vec::new();
    for (lie, _, reason) in LIES {
        match &outcome(lie).outcome {
            Outcome::Failed { reason: got } if got.contains(reason) => {}
            other => wrong.push(format!("{lie}: {other:?} should say {reason:?}")),
        }
    }
    for arm in ["honest", "banner"] {
        let cell = outcome(arm);
        if !cell.is_measured() || cell.calls.len() != 2 {
            wrong.push(format!("{arm} should be measured: {:?}", cell.outcome));
        }
    }
    assert!(wrong.is_empty(), "{}\n{said}", wrong.join("\n"));
    assert!(
        said.out.contains("11 failed"),
        "the report counts them: {said}"
    );
}
