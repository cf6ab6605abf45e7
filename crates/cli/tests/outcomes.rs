//! Arms that cannot be measured are recorded with the reason, and time-outs are shown where the number
//! would be.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::House;
use common::study::{last, whole};
use record::{CallResult, Cell, Outcome, Store};

/// Writes [`common::study::SMALL`] with one more arm.
fn add_arm(house: &House, stack: &str, protocol: &str) {
    let arm =
        format!("[[arm]]\nname = \"other\"\nstack = \"{stack}\"\nprotocol = \"{protocol}\"\n");
    let study = common::study::SMALL
        .replace("blocks = 2", "blocks = 1\nmin_clean_percent = 100")
        .replace("[[step]]", &(arm + "[[step]]"));
    house.write("other.toml", &study);
}

/// Runs the study, checks that the other arm is unsupported, and returns the reason.
fn reason(house: &House) -> String {
    let said = house
        .run(&["run", "other.toml", "--out", "run", "--no-self-test"])
        .code(3)
        .complains("threshold:")
        .prints("1 unsupported");
    let data = house.records("run");
    whole(&data);
    let mut reasons = Vec::new();
    for cell in last(&data) {
        match &cell.outcome {
            Outcome::Unsupported { reason } if cell.arm == "other" => reasons.push(reason.clone()),
            _ => assert!(cell.is_measured(), "{:?}: {said}", cell.outcome),
        }
    }
    assert_eq!(reasons.len(), 1, "{said}");
    reasons.remove(0)
}

#[test]
fn a_missing_program_is_unsupported_with_a_hint() {
    for program in ["/no/such/python3", "no-such-python3"] {
        let house = House::new();
        house.small_study();
        house.stack("snake", r#""h2""#, &[program, "driver.py"]);
        add_arm(&house, "snake", "h2");
        let reason = reason(&house);
        assert!(reason.contains("python3"), "{reason}");
        assert!(reason.ends_with(": make snake"), "{reason}");
    }
}

#[test]
fn a_driver_may_decline_an_arm() {
    let house = House::new();
    house.small_study();
    add_arm(&house, "hyper", "h3");
    let reason = reason(&house);
    assert!(reason.contains("h3"), "{reason}");
}

#[test]
fn requests_slower_than_the_timeout_are_censored() {
    let house = House::new();
    house.small_study();
    // 100 kB take 8 s here.
    let slow = common::study::GENTLE
        .replace("rate_kbps = 10000", "rate_kbps = 100")
        .replace("queue_ms = 100", "queue_ms = 1000");
    house.write("slow.toml", &slow);
    let study = common::study::SMALL
        .replace("gentle.toml", "slow.toml")
        .replace("blocks = 2", "blocks = 1")
        .replace("timeout_s = 5", "timeout_s = 1.5")
        .replace(
            "call = \"echo\"\ntimes = 2",
            "get = \"image\"\nbytes = 100000",
        );
    house.write("slow-study.toml", &study);
    let said = house
        .run(&["run", "slow-study.toml", "--out", "run", "--no-self-test"])
        .code(0);
    let data = house.records("run");
    whole(&data);
    for cell in last(&data) {
        assert!(cell.is_measured(), "{:?}: {said}", cell.outcome);
        assert_eq!(cell.calls.len(), 1);
        let call = &cell.calls[0];
        assert_eq!(call.result, CallResult::TimedOut, "{said}");
        assert!(call.end_ns >= 1_500_000_000, "given its time: {call:?}");
    }
    // The report shows the time-outs of clean cells; on a busy machine these may be noisy.
    let quiet = Store::create(house.work().join("quiet")).unwrap();
    quiet.write_run(data.run()).unwrap();
    for cell in last(&data) {
        let outcome = Outcome::Clean;
        quiet
            .write_cell(&Cell {
                outcome,
                ..cell.clone()
            })
            .unwrap();
    }
    house.run(&["report", "quiet"]).code(0).prints("timed out");
}
