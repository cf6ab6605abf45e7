//! Everything that a plan says of a call, in one value per call.

use std::collections::BTreeMap;

use driver::protocol::{Start, Step as DriverStep};
use record::{Group, PlannedCall, Position};

use super::calls::planned_calls;
use super::own::SentRequest;
use super::workload::{Workload, encoded_message};

/// The steps of a workload that make a call, by id, which is the order of the plan.
pub type PlannedSteps<'a> = BTreeMap<u32, PlannedStep<'a>>;

/// A step that makes a call, and what the plan says of the call.
#[derive(Clone, Copy, Debug)]
pub struct PlannedStep<'a> {
    /// The step that the driver was sent.
    pub step: &'a DriverStep,
    /// The group of the call.
    pub group: &'a Group,
    /// The index of the group among those of the workload.
    pub group_index: usize,
    /// The number of the driver's process that follows the step, from 0.
    pub process: usize,
    /// The call whose end it awaits, with the pauses between them. `None` where it awaits all earlier ones, or none.
    pub awaits: Option<u32>,
    /// What the call may find open.
    pub position: Position,
    /// The request of the study's own that the call makes, if it makes one.
    pub own: Option<&'a SentRequest>,
}

impl PlannedStep<'_> {
    /// Reports whether the call sends a message in the arm's codec.
    pub fn encodes(&self) -> bool {
        encoded_message(self.step).is_some()
    }

    /// Reports whether the call starts by itself, when every earlier call has ended.
    pub fn starts_alone(&self) -> bool {
        self.step.start.is_none()
    }
}

impl Workload {
    /// Returns the step of every call.
    pub fn planned_steps(&self) -> PlannedSteps<'_> {
        let steps = self.steps.iter().zip(&self.group_of);
        let steps = steps.filter_map(|(step, group)| Some((step, (*group)?)));
        let planned = |(call, (step, group_index)): (PlannedCall, (_, usize))| {
            let step: &DriverStep = step;
            let planned = PlannedStep {
                step,
                group: &self.groups[group_index],
                group_index,
                process: self.process_of(step.id),
                awaits: self.awaited_by(step),
                position: call.position,
                own: self.own.of(&step.action),
            };
            (step.id, planned)
        };
        // Both have every call, in order of id.
        planned_calls(self)
            .into_iter()
            .zip(steps)
            .map(planned)
            .collect()
    }

    /// Returns the call that a step follows, whatever pauses are between them.
    fn awaited_by(&self, step: &DriverStep) -> Option<u32> {
        let mut step = step;
        loop {
            let Some(Start::After(id)) = step.start else {
                return None;
            };
            // Steps are numbered from 1.
            let place = usize::try_from(id).ok()?.checked_sub(1)?;
            step = self
                .steps
                .get(place)
                .filter(|awaited| awaited.id < step.id)?;
            if step.action.is_call() {
                return Some(step.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Step;

    use super::*;

    fn call(group: &str) -> Step {
        Step::Call {
            group: group.into(),
            body: "{}".into(),
            times: 1,
        }
    }

    #[test]
    fn a_call_awaits_another_through_the_pauses_between_them() {
        let inner = Step::Repeat {
            times: 2,
            steps: vec![Step::Pause { ns: 1 }, Step::Pause { ns: 2 }, call("b")],
        };
        let parallel = Step::Parallel(vec![call("c"), inner]);
        let workload = Workload::expand(&[call("a"), parallel, call("a")]);
        let steps = workload.planned_steps();
        let awaits: Vec<_> = steps.iter().map(|(id, step)| (*id, step.awaits)).collect();
        assert_eq!(
            awaits,
            [
                (1, None),
                (2, Some(1)),
                (5, Some(1)),
                (8, Some(5)),
                (9, None)
            ]
        );
    }

    #[test]
    fn every_call_has_its_step_group_process_and_position() {
        let workload = Workload::expand(&[
            call("a"),
            Step::Pause { ns: 1 },
            Step::Parallel(vec![call("b"), call("a")]),
            Step::Restart,
            call("b"),
        ]);
        let steps = workload.planned_steps();
        let said: Vec<_> = (steps.iter())
            .map(|(id, planned)| {
                assert_eq!(*id, planned.step.id);
                (*id, planned.group.name.as_str(), planned.group_index)
            })
            .collect();
        assert_eq!(said, [(1, "a", 0), (3, "b", 1), (4, "a", 0), (6, "b", 1)]);
        let processes: Vec<_> = steps.values().map(|planned| planned.process).collect();
        assert_eq!(processes, [0, 0, 0, 1]);
        let alone: Vec<_> = steps.values().map(PlannedStep::starts_alone).collect();
        assert_eq!(alone, [true, false, false, true]);
        use Position::{ColdProcess, Warm};
        let positions: Vec<_> = steps.values().map(|planned| planned.position).collect();
        assert_eq!(positions, [ColdProcess, Warm, Warm, ColdProcess]);
    }
}
