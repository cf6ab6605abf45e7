//! Moves of the phone: the clients that were notified of them, and the groups with requests under way.

use std::collections::BTreeMap;

use record::{CompactCall, CompactCell, Run};

use crate::figures::cells::CellIndex;
use crate::words::number::count;

/// The measured cells of an arm in which the phone moved.
struct Moved<'a> {
    arm: &'a str,
    cells: Vec<&'a CompactCell>,
}

/// Returns notes if the phone moved to other addresses: one names the arms whose client was notified, another the groups
/// that have a request under way during a move in some cells only.
pub(crate) fn notes(run: &Run, cells: &CellIndex<'_>) -> Vec<String> {
    let moved = run.arms.iter().map(|arm| {
        let networks = run.networks.iter();
        let all = networks.flat_map(|network| cells.first(&network.name, &arm.name).into_values());
        let has_moved = |cell: &&CompactCell| cell.is_measured() && !cell.moves.is_empty();
        Moved {
            arm: &arm.name,
            cells: all.filter(has_moved).collect(),
        }
    });
    let moved: Vec<Moved<'_>> = moved.filter(|moved| !moved.cells.is_empty()).collect();
    if moved.is_empty() {
        return Vec::new();
    }
    let under_way = under_way(&moved);
    [notified(&moved)].into_iter().chain(under_way).collect()
}

/// Names the arms by whether their clients were notified.
fn notified(moved: &[Moved<'_>]) -> String {
    let (mut all, mut some, mut none) = (Vec::new(), Vec::new(), Vec::new());
    for of in moved {
        let mut moves = of.cells.iter().flat_map(|cell| &cell.moves);
        let group = if moves.clone().all(|of| of.signalled) {
            &mut all
        } else if moves.any(|of| of.signalled) {
            &mut some
        } else {
            &mut none
        };
        group.push(of.arm);
    }
    let names = |names: &[&str]| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let some = match some.is_empty() {
        true => String::new(),
        false => format!("; of some moves: {}", names(&some)),
    };
    format!(
        "The phone moved to other addresses. Clients that were notified: {}{some}; that were not: {}.",
        names(&all),
        names(&none)
    )
}

/// Names the groups that have a request under way during a move in some cells, and in others not: these compare a
/// request during a move with one beside it. Arms that fall short are named if most cells have one.
fn under_way(moved: &[Moved<'_>]) -> Option<String> {
    let of_cells = moved.iter().map(|of| of.cells.len()).sum();
    let mut by_group: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, of) in moved.iter().enumerate() {
        for group in of.cells.iter().flat_map(|cell| groups_under_way(cell)) {
            by_group
                .entry(group)
                .or_insert_with(|| vec![0; moved.len()])[index] += 1;
        }
    }
    if by_group.is_empty() {
        return Some("No request was under way during a move.".to_owned());
    }
    let described = |(group, by_arm): (&&str, &Vec<usize>)| {
        let cells: usize = by_arm.iter().sum();
        let short = moved
            .iter()
            .zip(by_arm)
            .filter(|(of, cells)| **cells < of.cells.len());
        let short = short.map(|(of, cells)| format!("{} {cells} of {}", of.arm, of.cells.len()));
        let short: Vec<String> = short.collect();
        let arms = match 2 * cells >= of_cells {
            true => format!(" ({})", short.join(", ")),
            false => String::new(),
        };
        (cells < of_cells)
            .then(|| format!("{group} in {cells} of {}{arms}", count(of_cells, "cell")))
    };
    let found: Vec<String> = by_group.iter().filter_map(described).collect();
    (!found.is_empty()).then(|| {
        format!(
            "Some groups have a request under way during a move in part of their cells only: {}.",
            found.join("; ")
        )
    })
}

/// Returns the groups of the calls during which the phone moved, each once.
fn groups_under_way(cell: &CompactCell) -> Vec<&str> {
    let is_under_way = |call: &CompactCall<'_>| {
        let during = call.start_ns()..=call.ended_ns();
        cell.moves.iter().any(|of| during.contains(&of.at_ns))
    };
    let calls = cell.calls.iter().filter(is_under_way);
    let mut groups: Vec<&str> = calls.map(CompactCall::group).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}
