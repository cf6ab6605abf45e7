use super::Step;

const ONE_STEP: StepCount = StepCount {
    steps: 1,
    calls: 0,
    encoded: 0,
};
const ONE_CALL: StepCount = StepCount {
    calls: 1,
    ..ONE_STEP
};
const ONE_ENCODED: StepCount = StepCount {
    encoded: 1,
    ..ONE_CALL
};

/// How many steps a workload expands to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepCount {
    pub(crate) steps: usize,
    /// Those that make a call.
    pub(crate) calls: usize,
    /// The calls that encode a message in the arm's codec.
    pub(crate) encoded: usize,
}

impl StepCount {
    /// Counts without expanding: a small file may ask for a huge number of steps.
    pub(crate) fn of(steps: &[Step]) -> StepCount {
        let mut total = StepCount::default();
        for step in steps {
            let count = match step {
                Step::Call { times, .. } | Step::Get { times, .. } | Step::Put { times, .. } => {
                    ONE_CALL.times(*times)
                }
                Step::Exchange { times, .. }
                | Step::Submit { times, .. }
                | Step::Own { times, .. } => ONE_ENCODED.times(*times),
                Step::Stream { .. } => ONE_CALL,
                // Its steps have a limit of their own.
                Step::Load { request, .. } => StepCount::of(std::slice::from_ref(request)),
                Step::At { step, .. } => StepCount::of(std::slice::from_ref(step)),
                Step::Pause { .. } | Step::Reconnect(_) | Step::Restart => ONE_STEP,
                Step::WaitUntil { .. } => ONE_STEP.times(2),
                Step::Repeat { times, steps } => StepCount::of(steps).times(*times),
                Step::Parallel(steps) => StepCount::of(steps),
            };
            total.steps = total.steps.saturating_add(count.steps);
            total.calls = total.calls.saturating_add(count.calls);
            total.encoded = total.encoded.saturating_add(count.encoded);
        }
        total
    }

    fn times(self, times: u32) -> StepCount {
        let times = times as usize;
        StepCount {
            steps: self.steps.saturating_mul(times),
            calls: self.calls.saturating_mul(times),
            encoded: self.encoded.saturating_mul(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_repetitions_saturate_instead_of_overflowing() {
        let mut steps = vec![Step::Call {
            group: "echo".into(),
            body: "{}".into(),
            times: u32::MAX,
        }];
        for _ in 0..4 {
            steps = vec![Step::Repeat {
                times: u32::MAX,
                steps,
            }];
        }
        assert_eq!(StepCount::of(&steps).calls, usize::MAX);
    }
}
