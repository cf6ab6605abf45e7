//! Derives from a workload's steps what the plan says of each call. What an arm then does, e.g.
//! open a second connection, is its result and never moves a call to another population.

use std::collections::BTreeMap;

use driver::protocol::{Action, Start, Step as DriverStep};
use record::{PlannedCall, Position};

use super::expansion::NOTHING;
use super::workload::Workload;

/// What the calls made so far leave behind.
struct State {
    /// The position of the next call, as far as it depends on earlier steps.
    next: Position,
    /// The batch that each group of the latest calls belongs to; empty after a pause or a
    /// reconnect.
    open: BTreeMap<usize, u32>,
    batches: u32,
}

/// Returns every planned call, in order of id.
///
/// Calls that start at once share a position: without a connection, all of them wait for a
/// handshake, whether they share one (HTTP/2 and HTTP/3) or open one each (HTTP/1.1). On an open
/// connection they are all warm, and a client that opens more pays for it there. They also share
/// one batch per group.
pub fn planned_calls(workload: &Workload) -> Vec<PlannedCall> {
    let mut state = State {
        next: Position::ColdProcess,
        open: BTreeMap::new(),
        batches: 0,
    };
    let mut calls = Vec::new();
    let steps: Vec<_> = workload.steps.iter().zip(&workload.group_of).collect();
    for at_once in steps.chunk_by(|(a, _), (b, _)| start_at_once(a, b)) {
        let groups: Vec<(u32, usize)> = at_once
            .iter()
            .filter_map(|(step, group)| Some((step.id, (**group)?)))
            .collect();
        if groups.is_empty() {
            let step = at_once[0].0;
            match workload.restarts.contains(&step.id) {
                true => state.restart(),
                false => state.interrupt(&step.action),
            }
            continue;
        }
        state.batch(groups.iter().map(|(_, group)| *group));
        calls.extend(groups.iter().map(|(id, group)| PlannedCall {
            id: *id,
            group: workload.groups[*group].name.clone(),
            position: state.next,
            parallel: groups.len() > 1,
            batch: state.open[group],
        }));
        state.next = Position::Warm;
    }
    calls
}

impl State {
    /// Ends the batch at a pause or a reconnect.
    fn interrupt(&mut self, action: &Action) {
        // An empty slot, in which other arms reconnect or pause.
        if *action == NOTHING {
            return;
        }
        self.open.clear();
        if matches!(action, Action::Reconnect { .. }) && self.next == Position::Warm {
            self.next = Position::First;
        }
    }

    /// Forgets all connections: another process has none.
    fn restart(&mut self) {
        self.open.clear();
        self.next = Position::ColdProcess;
    }

    /// Continues the open batches if these calls are of the same groups, else begins new ones.
    fn batch(&mut self, groups: impl Iterator<Item = usize>) {
        let groups: std::collections::BTreeSet<usize> = groups.collect();
        if groups.iter().ne(self.open.keys()) {
            let numbers = self.batches + 1..;
            self.open = groups.into_iter().zip(numbers).collect();
            self.batches += self.open.len() as u32;
        }
    }
}

/// Returns whether two neighbouring steps belong to the same parallel step.
pub(crate) fn start_at_once(a: &DriverStep, b: &DriverStep) -> bool {
    matches!((a.start, b.start), (Some(Start::After(x)), Some(Start::After(y))) if x == y)
}

#[cfg(test)]
mod tests {
    use driver::protocol::Reconnect;

    use super::*;
    use crate::Step;

    fn call(group: &str, times: u32) -> Step {
        Step::Call {
            group: group.into(),
            body: "{}".into(),
            times,
        }
    }

    fn planned(steps: &[Step]) -> Vec<(u32, Position, u32)> {
        let calls = planned_calls(&Workload::expand(steps));
        calls.iter().map(|c| (c.id, c.position, c.batch)).collect()
    }

    const COLD: Step = Step::Reconnect(Reconnect::Cold);
    use Position::{ColdProcess, First, Warm};

    #[test]
    fn a_reconnect_makes_the_next_call_a_first_one() {
        let round = Step::Repeat {
            times: 2,
            steps: vec![COLD, call("echo", 3)],
        };
        assert_eq!(
            planned(&[round]),
            [
                (2, ColdProcess, 1),
                (3, Warm, 1),
                (4, Warm, 1),
                (6, First, 2),
                (7, Warm, 2),
                (8, Warm, 2),
            ]
        );
    }

    #[test]
    fn a_restart_makes_the_next_call_the_first_of_a_process() {
        let steps = [call("echo", 2), Step::Restart, call("echo", 2)];
        assert_eq!(
            planned(&steps),
            [
                (1, ColdProcess, 1),
                (2, Warm, 1),
                (4, ColdProcess, 2),
                (5, Warm, 2)
            ]
        );
    }

    #[test]
    fn calls_that_start_at_once_share_position_and_batch() {
        let images = Step::Parallel(vec![call("image", 2), call("style", 1)]);
        let steps = [images.clone(), images.clone(), COLD, images];
        assert_eq!(
            planned(&steps),
            [
                (1, ColdProcess, 1),
                (2, ColdProcess, 1),
                (3, ColdProcess, 2),
                (4, Warm, 1),
                (5, Warm, 1),
                (6, Warm, 2),
                (8, First, 3),
                (9, First, 3),
                (10, First, 4),
            ]
        );
    }

    #[test]
    fn other_groups_pauses_and_reconnects_end_a_batch() {
        let steps = [
            call("a", 2),
            Step::Pause { ns: 1 },
            call("a", 1),
            call("b", 1),
            call("a", 1),
            Step::Parallel(vec![call("a", 2)]),
        ];
        let batches: Vec<u32> = planned(&steps).iter().map(|c| c.2).collect();
        assert_eq!(batches, [1, 1, 2, 3, 4, 4, 4]);
        assert!(planned(&steps).iter().skip(1).all(|c| c.1 == Warm));
    }

    #[test]
    fn only_calls_that_start_at_once_are_parallel() {
        let steps = [call("a", 2), Step::Parallel(vec![call("a", 2)])];
        let calls = planned_calls(&Workload::expand(&steps));
        let parallel: Vec<bool> = calls.iter().map(|c| c.parallel).collect();
        assert_eq!(parallel, [false, false, true, true]);
    }

    #[test]
    fn groups_are_named() {
        let calls = planned_calls(&Workload::expand(&[call("a", 1), call("b", 1)]));
        let groups: Vec<_> = calls.iter().map(|c| c.group.as_str()).collect();
        assert_eq!(groups, ["a", "b"]);
    }
}
