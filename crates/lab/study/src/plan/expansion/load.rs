//! Steps that are bound by time: a step of the driver for every request that there may be time for.

use driver::protocol::{Start, Until};
use record::{LoadPlan, Pace};

use super::{Expansion, NOTHING};
use crate::Step;
use crate::load::{body_bytes, most_steps, requests};

/// No request takes less: what bounds the steps of a closed loop where the network does not.
const FASTEST_REQUEST_NS: u64 = 100_000;

impl Expansion {
    /// Adds the requests of a load, each as a step, whether there is time for it or not.
    pub(super) fn load(&mut self, plan: &LoadPlan, request: &Step) {
        // After all earlier steps, also where several of them are under way.
        if self.last_id() > 0 {
            self.push(None, None, NOTHING);
        }
        let before = self.last_id();
        let first = before as usize;
        let most = most_steps(self.loads, body_bytes(request));
        let number = match plan.pace {
            Pace::RatePerS(rate) => requests(plan, rate),
            Pace::Outstanding(calls) => {
                let in_turn = plan.total_ns() / self.fastest_ns.max(FASTEST_REQUEST_NS) + 1;
                in_turn.saturating_mul(u64::from(calls))
            }
        };
        // The slots of calls, access patterns and the arms' pauses are not for loads.
        let aside = std::mem::take(&mut self.slots);
        let times = number.min(most) as u32;
        self.single(&repeated(request, times), Some(Start::After(before)));
        self.slots = aside;
        for (n, step) in (0_u32..).zip(&mut self.workload.steps[first..]) {
            match plan.pace {
                Pace::Outstanding(calls) => {
                    let awaited = if n < calls { before } else { step.id - calls };
                    step.start = Some(Start::After(awaited));
                    step.until = Some(Until {
                        after: before,
                        ns: plan.total_ns(),
                    });
                }
                Pace::RatePerS(rate) => {
                    let at_ns = u64::from(n) * 1_000_000_000 / u64::from(rate);
                    step.start = Some(Start::AtNs(at_ns));
                }
            }
        }
        if let Some(group) = self.workload.group_of[first..].first().copied().flatten() {
            self.workload.groups[group].load = Some(*plan);
        }
        // What comes next waits for every request, also where its steps start at once.
        self.push(None, None, NOTHING);
    }
}

/// Returns a request's step with this many repetitions.
fn repeated(request: &Step, number: u32) -> Step {
    let mut step = request.clone();
    if let Step::Call { times, .. }
    | Step::Own { times, .. }
    | Step::Exchange { times, .. }
    | Step::Submit { times, .. }
    | Step::Get { times, .. } = &mut step
    {
        *times = number;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Behaviour;
    use crate::own::Form;
    use crate::plan::Workload;
    use crate::plan::expansion::Slots;
    use crate::plan::expansion::tests::call;

    fn load(pace: Pace) -> Step {
        let plan = LoadPlan {
            warmup_ns: 1_000_000_000,
            measured_ns: 1_000_000_000,
            pace,
        };
        let request = Box::new(call(1));
        Step::Load { plan, request }
    }

    #[test]
    fn a_closed_loop_is_as_many_chains_as_requests_in_flight() {
        let before = Step::Pause { ns: 1 };
        let behaviour = Behaviour::default();
        let file = Step::Get {
            group: "file".into(),
            bytes: 1,
            times: 1,
        };
        let steps = [before, load(Pace::Outstanding(2)), file];
        let w = Workload::of_arm(
            &steps,
            &behaviour,
            &Form::default(),
            Slots::default(),
            100_000_000,
        );
        // Two seconds hold 20 round trips of 100 ms, and one more request may start at the end.
        let first = 3;
        assert_eq!(w.call_ids().collect::<Vec<_>>()[..3], [3, 4, 5]);
        assert_eq!(w.steps.len(), 2 + 2 * 21 + 2);
        let starts: Vec<_> = w.steps[2..7].iter().map(|step| step.start).collect();
        let after = [2, 2, first, 4, 5].map(|id| Some(Start::After(id)));
        assert_eq!(starts, after);
        let until = Until {
            after: 2,
            ns: 2_000_000_000,
        };
        assert!(w.steps[2..44].iter().all(|step| step.until == Some(until)));
        assert_eq!(w.load_of(44).map(|(group, _)| group), Some(0));
        assert_eq!((w.load_of(45), w.load_of(46)), (None, None));
        assert_eq!((w.steps[45].start, w.steps[45].until), (None, None));
    }

    #[test]
    fn an_open_loop_has_a_start_for_every_request() {
        let w = Workload::expand(&[load(Pace::RatePerS(3))]);
        assert_eq!(w.call_ids().count(), 6);
        let at = |n: usize| w.steps[n].start;
        assert_eq!(at(0), Some(Start::AtNs(0)));
        assert_eq!(at(1), Some(Start::AtNs(333_333_333)));
        assert_eq!(at(5), Some(Start::AtNs(1_666_666_666)));
    }

    #[test]
    fn the_steps_of_loads_are_bounded() {
        let w = Workload::expand(&[load(Pace::Outstanding(256))]);
        assert_eq!(w.call_ids().count(), 65_536);
        let slots = Slots {
            reconnect: true,
            pause: true,
        };
        let behaviour = Behaviour::default();
        let two = [load(Pace::RatePerS(5)), load(Pace::Outstanding(256))];
        let w = Workload::of_arm(&two, &behaviour, &Form::default(), slots, 0);
        // No slot is before a request of a load.
        assert_eq!(w.call_ids().count(), 10 + 32_768);
    }
}
