//! Tests that the report notes blocks which repeat the same packets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Cell, Move, PacketSeries, RunData};
use report::summarise;

/// Returns a run on a network without chance whose queue dropped packets of every cell.
fn repeated() -> RunData {
    let data = data(&quickstart()[..3], &["calm"], 6, 1);
    let mut run = data.run().clone();
    run.networks[0].toml = "[up]\n[down]\ndelay_ns = 25000000\njitter_ns = 0".to_owned();
    let data = RunData::new(run, data.cells().to_vec()).unwrap();
    changed(&data, |cell| {
        cell.connections[0].packets = vec![PacketSeries {
            full_size: true,
            sent: 120,
            dropped: vec![100, 101],
            ..PacketSeries::default()
        }];
    })
}

fn changed(data: &RunData, change: impl Fn(&mut Cell)) -> RunData {
    let mut cells = data.cells().to_vec();
    cells.iter_mut().for_each(change);
    RunData::new(data.run().clone(), cells).unwrap()
}

fn on(toml: &str) -> RunData {
    let data = repeated();
    let mut run = data.run().clone();
    run.networks[0].toml = toml.to_owned();
    RunData::new(run, data.cells().to_vec()).unwrap()
}

fn is_noted(data: &RunData) -> bool {
    let notes = summarise(data).notes;
    notes
        .iter()
        .any(|note| note.contains("each block on calm sends the same packets"))
}

#[test]
fn same_drops_of_a_full_queue_in_every_block_are_noted() {
    assert!(is_noted(&repeated()));
}

#[test]
fn files_of_other_lengths_in_each_block_are_not() {
    let varied = changed(&repeated(), |cell| {
        for call in &mut cell.calls {
            call.response_bytes += u64::from(cell.block);
        }
    });
    assert!(!is_noted(&varied));
}

#[test]
fn a_queue_that_drops_nothing_in_some_block_is_not() {
    let spared = changed(&repeated(), |cell| {
        if cell.block == 2 {
            cell.connections.clear();
        }
    });
    assert!(!is_noted(&spared));
}

#[test]
fn packets_that_a_move_may_have_dropped_are_not() {
    let moved = changed(&repeated(), |cell| cell.moves = vec![Move::default()]);
    assert!(!is_noted(&moved));
}

#[test]
fn networks_that_leave_something_to_chance_are_not() {
    for toml in [
        "# not known",
        "[up]\n[down]\njitter_ns = 5",
        "[up]\n[down.loss.iid]\nppb = 5",
        "[up]\n[down.rate]\ntrace = { times_ns = [1] }",
        "[up]\n[down.policy.police]\nrate_bps = 200000",
    ] {
        assert!(!is_noted(&on(toml)), "{toml}");
    }
}
