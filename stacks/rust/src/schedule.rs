//! Which step may start when: the start rules, without clock or network.

use std::collections::HashMap;

use driver::protocol::{Start, Step};

/// The steps of a run and what each waits for. Steps are named by their place.
///
/// Start what [`Schedule::first`] returns, then, for each step that ends, what
/// [`Schedule::ended`] returns.
#[derive(Default)]
pub struct Schedule {
    /// By place: it starts when every earlier step has ended.
    sequential: Vec<bool>,
    ended: Vec<bool>,
    /// All before this place have ended.
    prefix: usize,
    followers: HashMap<usize, Vec<usize>>,
}

/// A step that may start now, or after `delay_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Its place.
    pub place: usize,
    /// To wait first, counted from the start of the run.
    pub delay_ns: u64,
}

/// Steps that do not make a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Ids must grow.
    #[error("step {id} comes after step {before}: ids start at 1 and grow")]
    Ids {
        /// The step.
        id: u32,
        /// The one before it, or 0.
        before: u32,
    },
    /// A step may only wait for an earlier one.
    #[error("step {id} waits for step {after}, which is not an earlier step")]
    After {
        /// The step.
        id: u32,
        /// What it waits for.
        after: u32,
    },
}

impl Schedule {
    /// Checks the steps and returns those that start with the run.
    pub fn first(steps: &[Step]) -> Result<(Self, Vec<Ready>), ScheduleError> {
        let mut schedule = Self {
            sequential: vec![false; steps.len()],
            ended: vec![false; steps.len()],
            prefix: 0,
            followers: HashMap::new(),
        };
        let mut places = HashMap::new();
        let mut first = Vec::new();
        let mut before = 0;
        for (place, step) in steps.iter().enumerate() {
            let id = step.id;
            if id <= before {
                return Err(ScheduleError::Ids { id, before });
            }
            before = id;
            match step.start {
                None if place == 0 => first.push(Ready { place, delay_ns: 0 }),
                None => schedule.sequential[place] = true,
                Some(Start::After(0)) => first.push(Ready { place, delay_ns: 0 }),
                Some(Start::After(after)) => {
                    let earlier = *places
                        .get(&after)
                        .ok_or(ScheduleError::After { id, after })?;
                    schedule.followers.entry(earlier).or_default().push(place);
                }
                Some(Start::AtNs(delay_ns)) => first.push(Ready { place, delay_ns }),
            }
            places.insert(id, place);
        }
        Ok((schedule, first))
    }

    /// The step at `place` has ended; returns the places of those that may start now.
    pub fn ended(&mut self, place: usize) -> Vec<usize> {
        self.ended[place] = true;
        let mut ready = self.followers.remove(&place).unwrap_or_default();
        while self.ended.get(self.prefix) == Some(&true) {
            self.prefix += 1;
            if self.sequential.get(self.prefix) == Some(&true) {
                ready.push(self.prefix);
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
        let step = |(place, &start)| Step {
            id: place as u32 + 1,
            start,
            group: 0,
            cancel_after_ns: None,
            action: Action::Pause { ns: 0 },
        };
        starts.iter().enumerate().map(step).collect()
    }

    fn places(ready: &[Ready]) -> Vec<usize> {
        ready.iter().map(|ready| ready.place).collect()
    }

    #[test]
    fn steps_follow_each_other_by_default() {
        let (mut schedule, first) = Schedule::first(&steps(&[None, None, None])).unwrap();
        assert_eq!(places(&first), [0]);
        assert_eq!(schedule.ended(0), [1]);
        assert_eq!(schedule.ended(1), [2]);
        assert_eq!(schedule.ended(2), [0; 0]);
    }

    #[test]
    fn a_sequential_step_waits_for_all_before_it() {
        let after = Some(Start::After(1));
        let (mut schedule, first) = Schedule::first(&steps(&[None, after, after, None])).unwrap();
        assert_eq!(places(&first), [0]);
        assert_eq!(schedule.ended(0), [1, 2]);
        assert_eq!(schedule.ended(2), [0; 0]);
        assert_eq!(schedule.ended(1), [3]);
    }

    #[test]
    fn timed_and_free_steps_start_with_the_run() {
        let starts = [None, Some(Start::AtNs(5)), Some(Start::After(0)), None];
        let (mut schedule, first) = Schedule::first(&steps(&starts)).unwrap();
        assert_eq!(places(&first), [0, 1, 2]);
        assert_eq!(first[1].delay_ns, 5);
        assert_eq!(schedule.ended(2), [0; 0]);
        assert_eq!(schedule.ended(0), [0; 0]);
        assert_eq!(schedule.ended(1), [3]);
    }

    #[test]
    fn steps_that_could_never_start_are_refused() {
        let forward = steps(&[None, Some(Start::After(2))]);
        let error = Schedule::first(&forward).err();
        assert_eq!(error, Some(ScheduleError::After { id: 2, after: 2 }));
        let mut twice = steps(&[None, None]);
        twice[1].id = 1;
        let error = Schedule::first(&twice).err();
        assert_eq!(error, Some(ScheduleError::Ids { id: 1, before: 1 }));
    }

    fn starts() -> impl Strategy<Value = Vec<Option<Start>>> {
        // Zeros, earlier ids, times and sequence; what a step waits for is cut to its id.
        let rule = prop_oneof![
            Just(None),
            (0..20_u32).prop_map(|id| Some(Start::After(id))),
            any::<u64>().prop_map(|ns| Some(Start::AtNs(ns))),
        ];
        prop::collection::vec(rule, 0..20).prop_map(|rules| {
            let cut = |(place, rule)| match rule {
                Some(Start::After(id)) => Some(Start::After(id % (place as u32 + 1))),
                other => other,
            };
            rules.into_iter().enumerate().map(cut).collect()
        })
    }

    proptest! {
        /// Against the rules as they are written, with steps ending in any order.
        #[test]
        fn every_step_starts_once_and_as_soon_as_it_may(
            starts in starts(),
            luck in prop::collection::vec(any::<prop::sample::Index>(), 20),
        ) {
            let (mut schedule, first) = Schedule::first(&steps(&starts)).unwrap();
            let mut running = places(&first);
            let mut started = running.clone();
            let mut ended = vec![false; starts.len()];
            for pick in luck.iter().take(starts.len()) {
                let place = running.swap_remove(pick.index(running.len()));
                ended[place] = true;
                let ready = schedule.ended(place);
                running.extend(&ready);
                started.extend(ready);
                for (place, start) in starts.iter().enumerate() {
                    let may = match start {
                        None => ended[..place].iter().all(|ended| *ended),
                        Some(Start::After(0) | Start::AtNs(_)) => true,
                        Some(Start::After(id)) => ended[*id as usize - 1],
                    };
                    prop_assert_eq!(started.contains(&place), may, "place {}", place);
                }
            }
            started.sort_unstable();
            prop_assert_eq!(started, (0..starts.len()).collect::<Vec<_>>());
        }
    }
}
