//! The rules by which steps start or are left out, without a clock or a network.

use std::collections::HashMap;

use driver::protocol::{Start, Step, Until};

/// The steps of a run and what each of them waits for. Steps are identified by their index.
///
/// Start the steps that [`Schedule::new`] returns, then, for each step that ends, those that
/// [`Schedule::step_ended`] returns.
#[derive(Default)]
pub struct Schedule {
    /// By index: whether the step starts when every earlier step has ended.
    sequential: Vec<bool>,
    /// By index: when the step ended, in nanoseconds after the start of the run.
    ended_ns: Vec<Option<u64>>,
    indices: HashMap<u32, usize>,
    /// Every step before this index has ended.
    ended_prefix: usize,
    /// By index: the steps that start as soon as this one has ended.
    followers: HashMap<usize, Vec<usize>>,
}

/// A step that may start now, or after `delay_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Index of the step.
    pub index: usize,
    /// Delay from the start of the run, in nanoseconds.
    pub delay_ns: u64,
}

/// Why a list of steps is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Ids do not increase.
    #[error("step {id} comes after step {previous}: ids start at 1 and increase")]
    Ids {
        /// Id of the step.
        id: u32,
        /// Id of the step before it, or 0.
        previous: u32,
    },
    /// A step waits for one that is not earlier, or has a limit after it.
    #[error("step {id} waits for step {after}, which is not an earlier step")]
    After {
        /// Id of the step.
        id: u32,
        /// Id of the step that it waits for.
        after: u32,
    },
}

impl Schedule {
    /// Checks the steps and returns their schedule and the steps that start with the run.
    pub fn new(steps: &[Step]) -> Result<(Self, Vec<Ready>), ScheduleError> {
        let mut schedule = Self {
            sequential: vec![false; steps.len()],
            ended_ns: vec![None; steps.len()],
            indices: HashMap::new(),
            ended_prefix: 0,
            followers: HashMap::new(),
        };
        let mut first = Vec::new();
        let mut previous = 0;
        for (index, step) in steps.iter().enumerate() {
            let id = step.id;
            if id <= previous {
                return Err(ScheduleError::Ids { id, previous });
            }
            previous = id;
            match step.start {
                None if index == 0 => first.push(Ready { index, delay_ns: 0 }),
                None => schedule.sequential[index] = true,
                Some(Start::After(0)) => first.push(Ready { index, delay_ns: 0 }),
                Some(Start::After(after)) => {
                    let earlier = schedule.earlier(id, after)?;
                    schedule.followers.entry(earlier).or_default().push(index);
                }
                Some(Start::AtNs(delay_ns)) => first.push(Ready { index, delay_ns }),
            }
            if let Some(Until { after, .. }) = step.until
                && after != 0
            {
                schedule.earlier(id, after)?;
            }
            schedule.indices.insert(id, index);
        }
        Ok((schedule, first))
    }

    fn earlier(&self, id: u32, after: u32) -> Result<usize, ScheduleError> {
        let earlier = self.indices.get(&after).copied();
        earlier.ok_or(ScheduleError::After { id, after })
    }

    /// Reports whether it is too late, `now_ns` after the start of the run, for a step with this limit.
    pub fn is_past(&self, until: Until, now_ns: u64) -> bool {
        let since_ns = match until.after {
            0 => Some(0),
            id => self
                .indices
                .get(&id)
                .and_then(|&index| self.ended_ns[index]),
        };
        since_ns.is_some_and(|since_ns| now_ns > since_ns.saturating_add(until.ns))
    }

    /// Marks the step at `index` as ended `now_ns` after the start of the run. Returns the indices of
    /// the steps that may start now.
    pub fn step_ended(&mut self, index: usize, now_ns: u64) -> Vec<usize> {
        self.ended_ns[index] = Some(now_ns);
        let mut ready = self.followers.remove(&index).unwrap_or_default();
        while let Some(Some(_)) = self.ended_ns.get(self.ended_prefix) {
            self.ended_prefix += 1;
            if self.sequential.get(self.ended_prefix) == Some(&true) {
                ready.push(self.ended_prefix);
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use driver::protocol::Action;
    use proptest::prelude::*;

    fn steps(starts: &[Option<Start>]) -> Vec<Step> {
        let step = |(index, &start)| Step {
            id: index as u32 + 1,
            start,
            group: 0,
            until: None,
            cancel_after_ns: None,
            origin: None,
            action: Action::Pause { ns: 0 },
        };
        starts.iter().enumerate().map(step).collect()
    }

    fn indices(ready: &[Ready]) -> Vec<usize> {
        ready.iter().map(|ready| ready.index).collect()
    }

    #[test]
    fn steps_run_in_sequence_by_default() {
        let (mut schedule, first) = Schedule::new(&steps(&[None, None, None])).unwrap();
        assert_eq!(indices(&first), [0]);
        assert_eq!(schedule.step_ended(0, 0), [1]);
        assert_eq!(schedule.step_ended(1, 0), [2]);
        assert_eq!(schedule.step_ended(2, 0), [0; 0]);
    }

    #[test]
    fn sequential_step_waits_for_every_earlier_step() {
        let after = Some(Start::After(1));
        let (mut schedule, first) = Schedule::new(&steps(&[None, after, after, None])).unwrap();
        assert_eq!(indices(&first), [0]);
        assert_eq!(schedule.step_ended(0, 0), [1, 2]);
        assert_eq!(schedule.step_ended(2, 0), [0; 0]);
        assert_eq!(schedule.step_ended(1, 0), [3]);
    }

    #[test]
    fn timed_and_independent_steps_start_with_the_run() {
        let starts = [None, Some(Start::AtNs(5)), Some(Start::After(0)), None];
        let (mut schedule, first) = Schedule::new(&steps(&starts)).unwrap();
        assert_eq!(indices(&first), [0, 1, 2]);
        assert_eq!(first[1].delay_ns, 5);
        assert_eq!(schedule.step_ended(2, 0), [0; 0]);
        assert_eq!(schedule.step_ended(0, 0), [0; 0]);
        assert_eq!(schedule.step_ended(1, 0), [3]);
    }

    #[test]
    fn steps_that_could_never_start_are_rejected() {
        let forward = steps(&[None, Some(Start::After(2))]);
        let error = Schedule::new(&forward).err();
        assert_eq!(error, Some(ScheduleError::After { id: 2, after: 2 }));
        let mut repeated = steps(&[None, None]);
        repeated[1].id = 1;
        let error = Schedule::new(&repeated).err();
        assert_eq!(error, Some(ScheduleError::Ids { id: 1, previous: 1 }));
    }

    #[test]
    fn a_limit_counts_from_the_end_of_its_step() {
        let (mut schedule, _) = Schedule::new(&steps(&[None, None, None])).unwrap();
        let since = |after| Until { after, ns: 10 };
        assert!(!schedule.is_past(since(0), 10) && schedule.is_past(since(0), 11));
        // The step has not ended yet.
        assert!(!schedule.is_past(since(1), 1_000));
        schedule.step_ended(0, 500);
        assert!(!schedule.is_past(since(1), 510) && schedule.is_past(since(1), 511));
        let endless = Until {
            after: 1,
            ns: u64::MAX,
        };
        assert!(!schedule.is_past(endless, u64::MAX));
        let mut forward = steps(&[None, None]);
        forward[0].until = Some(since(2));
        let error = Schedule::new(&forward).err();
        assert_eq!(error, Some(ScheduleError::After { id: 1, after: 2 }));
    }

    fn starts() -> impl Strategy<Value = Vec<Option<Start>>> {
        // The id that a step waits for is reduced so that it is 0 or that of an earlier step.
        let rule = prop_oneof![
            Just(None),
            (0..20_u32).prop_map(|id| Some(Start::After(id))),
            any::<u64>().prop_map(|ns| Some(Start::AtNs(ns))),
        ];
        prop::collection::vec(rule, 0..20).prop_map(|rules| {
            let reduce = |(index, rule)| match rule {
                Some(Start::After(id)) => Some(Start::After(id % (index as u32 + 1))),
                other => other,
            };
            rules.into_iter().enumerate().map(reduce).collect()
        })
    }

    proptest! {
        /// Compares the schedule with the rules of the protocol; steps end in any order.
        #[test]
        fn every_step_starts_once_and_as_soon_as_allowed(
            starts in starts(),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 20),
        ) {
            let (mut schedule, first) = Schedule::new(&steps(&starts)).unwrap();
            let mut running = indices(&first);
            let mut started = running.clone();
            let mut ended = vec![false; starts.len()];
            for pick in picks.iter().take(starts.len()) {
                let index = running.swap_remove(pick.index(running.len()));
                ended[index] = true;
                let ready = schedule.step_ended(index, 0);
                running.extend(&ready);
                started.extend(ready);
                for (index, start) in starts.iter().enumerate() {
                    let allowed = match start {
                        None => ended[..index].iter().all(|ended| *ended),
                        Some(Start::After(0) | Start::AtNs(_)) => true,
                        Some(Start::After(id)) => ended[*id as usize - 1],
                    };
                    prop_assert_eq!(started.contains(&index), allowed, "step {}", index);
                }
            }
            started.sort_unstable();
            prop_assert_eq!(started, (0..starts.len()).collect::<Vec<_>>());
        }
    }
}
