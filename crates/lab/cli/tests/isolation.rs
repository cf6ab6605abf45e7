//! Drivers that attack the lab: what they can reach, fill or leave behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;

use common::Sandbox;
use common::study::{assert_complete, counted_cells};
use record::{Cell, Outcome};

/// Runs a study of one block with an arm for each of these attacks, after an honest one.
fn attack(sandbox: &Sandbox, attacks: &[&str]) -> (Vec<Cell>, String) {
    sandbox.add_small_study();
    let hostile = testing::example("commute-driver-hostile");
    let mut study = String::from(
        "name = \"attacks\"\nquestion = \"which driver gets through?\"\nnetworks = [\"basic.toml\"]\n\
         baseline = \"honest\"\nblocks = 2\ntimeout_s = 5\n\
         [[arm]]\nname = \"honest\"\nstack = \"hyper\"\nprotocol = \"h2\"\n",
    );
    for attack in attacks {
        let program = [hostile.to_str().unwrap(), attack];
        sandbox.add_stack(attack, r#""h2""#, &program);
        write!(
            study,
            "[[arm]]\nname = \"{attack}\"\nstack = \"{attack}\"\nprotocol = \"h2\"\n"
        )
        .unwrap();
    }
    study += "[[step]]\ncall = \"echo\"\ntimes = 2\n";
    sandbox.write("attacks.toml", &study);
    // 3 where an attack fails every cell of its arm.
    let output = sandbox.run(&["run", "attacks.toml", "--out", "run", "--no-self-test"]);
    let data = sandbox.records("run");
    assert_complete(&data);
    let cells = counted_cells(&data).into_iter().cloned().collect();
    (cells, output.to_string())
}

#[track_caller]
fn failure(cells: &[Cell], arm: &str) -> String {
    let cell = cells.iter().find(|c| c.arm == arm).unwrap();
    match &cell.outcome {
        Outcome::Failed { reason } => reason.clone(),
        other => panic!("{arm}: {other:?}"),
    }
}

#[track_caller]
fn assert_measured(cells: &[Cell], arm: &str) {
    for cell in cells.iter().filter(|c| c.arm == arm) {
        assert!(cell.is_measured(), "{arm}: {:?}", cell.outcome);
    }
}

#[test]
fn a_process_left_behind_fails_its_cell_and_no_other() {
    let sandbox = Sandbox::new();
    let (cells, _) = attack(&sandbox, &["leaves-a-process"]);
    let reason = failure(&cells, "leaves-a-process");
    assert!(reason.contains("left processes behind: sleep"), "{reason}");
    assert_measured(&cells, "honest");
}

#[test]
fn a_log_can_neither_fill_the_lab_nor_control_the_terminal() {
    let sandbox = Sandbox::new();
    let (cells, output) = attack(&sandbox, &["escape-codes", "long-log"]);
    let reason = failure(&cells, "escape-codes");
    assert!(reason.contains("all cells are clean"), "{reason}");
    assert!(!reason.contains('\u{1b}') && !output.contains('\u{1b}'));
    assert_measured(&cells, "long-log");
}

#[test]
fn a_driver_of_root_reaches_nothing_of_the_lab() {
    if !common::is_root() {
        return testing::skip("only root can run drivers as another user");
    }
    let sandbox = Sandbox::new();
    let (cells, output) = attack(&sandbox, &["reaches-out"]);
    assert_measured(&cells, "honest");
    let reached = cells.iter().filter(|c| !c.is_measured()).count();
    assert_eq!(reached, 0, "{output}");
}
