//! Whether results depend on the machine: a planted difference is found, and one machine says nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{CompactRun, Machine, RunData};
use report::{MachineOutcome, MachineTest, Unit, summarise};

const NETWORKS: [&str; 2] = ["true-metro", "4g-tether"];
const SLOW_ARM: &str = "quinn h3";

/// Returns a run whose blocks `machines` machines measured in turn. On the second one, an arm's requests take longer on one
/// network.
fn measured_by(machines: usize, blocks: u32, slower_ns: u64) -> RunData {
    let data = data(&quickstart(), &NETWORKS, blocks, 1);
    let mut cells = data.cells().to_vec();
    for cell in &mut cells {
        let machine = cell.block as usize % machines;
        cell.machine = Some(Machine {
            boot: format!("boot {machine}"),
            kernel: "0.0.0-invented".into(),
            cpu: "Invented".into(),
            cores: 2,
        });
        let is_slow = machine == 1 && cell.arm == SLOW_ARM && cell.network == NETWORKS[1];
        if is_slow {
            cell.calls
                .iter_mut()
                .for_each(|call| call.end_ns += slower_ns);
        }
    }
    RunData::new(data.run().clone(), cells).unwrap()
}

fn test_of(data: &RunData) -> MachineTest {
    summarise(data).machines.unwrap()
}

#[test]
fn a_planted_difference_is_found_in_every_format() {
    let data = measured_by(3, 18, 60_000_000);
    let summary = summarise(&data);
    let test = summary.machines.clone().unwrap();
    assert_eq!(test.outcome, MachineOutcome::Depends, "{test:?}");
    assert!(test.p_value.unwrap() <= 0.05);
    let found = test.strongest.unwrap();
    assert_eq!(
        (found.arm.as_str(), found.network.as_str(), found.machine),
        (SLOW_ARM, NETWORKS[1], 2)
    );
    assert_eq!((found.blocks, found.difference.blocks), (18, 6));
    assert_eq!(found.difference.unit, Unit::Ns);
    let (low, high) = (
        found.difference.low.unwrap(),
        found.difference.high.unwrap(),
    );
    assert!(
        low > 30e6 && low < 60e6 && high > 60e6 && high < 90e6,
        "{found:?}"
    );
    assert_eq!(test.machines.iter().map(|m| m.blocks).sum::<usize>(), 36);
    assert_eq!(test.machines.len(), 3);
    let beginning = "Results depend on the machine in";
    for text in [
        report::human(&summary, 2_000, false),
        report::brief(&summary, 2_000, false),
        report::markdown(&summary, &data),
        report::html(&summary, &data),
        report::json(&summary),
    ] {
        assert!(text.contains(beginning), "{text}");
        assert!(text.contains("n = 18 blocks"), "{text}");
    }
    // The same for records in any order, and from the other form.
    let mut cells = data.cells().to_vec();
    cells.reverse();
    let reversed = RunData::new(data.run().clone(), cells).unwrap();
    assert_eq!(summarise(&reversed), summary);
    assert_eq!(summarise(&CompactRun::from(&reversed)), summary);
}

#[test]
fn without_a_difference_none_is_found() {
    let test = test_of(&measured_by(3, 18, 0));
    assert_eq!(test.outcome, MachineOutcome::NotFound, "{test:?}");
    assert!(test.depending == 0 && test.p_value.unwrap() > 0.05);
    let detectable_ns = test.detectable_ns.unwrap();
    assert!((1e5..1e9).contains(&detectable_ns), "{detectable_ns}");
    assert!(
        test.words
            .starts_with("No result was found to depend on the machine"),
        "{}",
        test.words
    );
}

#[test]
fn too_few_blocks_tell_nothing() {
    let test = test_of(&measured_by(3, 3, 900_000_000));
    assert_eq!(test.outcome, MachineOutcome::CannotTell, "{test:?}");
}

#[test]
fn one_machine_or_unknown_ones_say_nothing() {
    let one = measured_by(1, 12, 0);
    assert_eq!(summarise(&one).machines, None);
    let mut cells = measured_by(3, 12, 0).cells().to_vec();
    cells.iter_mut().for_each(|cell| cell.machine = None);
    let unknown = RunData::new(one.run().clone(), cells).unwrap();
    let summary = summarise(&unknown);
    assert_eq!(summary.machines, None);
    assert!(!summary.notes.iter().any(|note| note.contains("machine in")));
}

/// The cells of a block are compared with each other, so a block that two machines measured belongs to neither.
#[test]
fn blocks_of_two_machines_are_left_out() {
    let data = measured_by(2, 18, 0);
    let mut cells = data.cells().to_vec();
    let other = cells
        .iter()
        .find(|cell| cell.block == 1)
        .unwrap()
        .machine
        .clone();
    let first = cells.iter_mut().find(|cell| cell.block == 0).unwrap();
    first.machine = other;
    let test = test_of(&RunData::new(data.run().clone(), cells).unwrap());
    assert_eq!(test.machines.iter().map(|m| m.blocks).sum::<usize>(), 35);
}
