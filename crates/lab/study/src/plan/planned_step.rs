//! Everything that a plan says of a call, in one value per call.

use std::collections::BTreeMap;

use driver::protocol::Step as DriverStep;
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
