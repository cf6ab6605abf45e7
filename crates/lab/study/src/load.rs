//! Steps that are bound by time: their limits, and where in a workload they can stand.

use std::collections::BTreeSet;

use record::{LoadPlan, Pace};

use super::Step;

/// The most steps that all loads of a workload expand to. A driver receives them in one message and
/// prepares every request before the run.
pub(crate) const MAX_LOAD_STEPS: u64 = 65_536;
/// The most bytes that the bodies of a load's steps have together, for the same reason.
const MAX_LOAD_BYTES: u64 = 32 << 20;
/// The longest time of a load, warm-up included, in seconds.
const MAX_S: f64 = 600.0;
/// Each is a connection of its own over HTTP/1.1.
const MAX_OUTSTANDING: u32 = 256;

/// Returns the plan of a load, or what is wrong with its settings.
pub(super) fn check(for_s: f64, warmup_s: f64, pace: Pace) -> Result<LoadPlan, String> {
    if !(for_s > 0.0 && warmup_s >= 0.0 && for_s + warmup_s <= MAX_S) {
        return Err(format!(
            "for_s = {for_s} with warmup_s = {warmup_s} is out of range: `for_s` is above 0, `warmup_s` \
             0 or more, and both together at most {MAX_S}"
        ));
    }
    let ns = |s: f64| (s * 1e9).round() as u64;
    let plan = LoadPlan {
        warmup_ns: ns(warmup_s),
        measured_ns: ns(for_s),
        pace,
    };
    match pace {
        Pace::Outstanding(calls) if !(1..=MAX_OUTSTANDING).contains(&calls) => Err(format!(
            "outstanding = {calls} is out of range: 1 to {MAX_OUTSTANDING}"
        )),
        Pace::RatePerS(rate) if rate == 0 || requests(&plan, rate) > MAX_LOAD_STEPS => {
            Err(format!(
                "rate_per_s = {rate} for {} s is out of range: 1 to {MAX_LOAD_STEPS} requests in all",
                for_s + warmup_s
            ))
        }
        _ => Ok(plan),
    }
}

/// Returns how many requests an open loop makes, warm-up included.
pub(crate) fn requests(plan: &LoadPlan, rate_per_s: u32) -> u64 {
    let requests = u128::from(plan.total_ns()) * u128::from(rate_per_s) / 1_000_000_000;
    u64::try_from(requests).unwrap_or(u64::MAX).max(1)
}

/// Returns how many steps each load of a workload may expand to. There are `loads` loads, and each request of this one
/// has a body of `body_bytes`.
pub(crate) fn most_steps(loads: usize, body_bytes: usize) -> u64 {
    let of_each = MAX_LOAD_STEPS / loads.max(1) as u64;
    of_each.min(MAX_LOAD_BYTES / body_bytes.max(1) as u64)
}

/// Returns why the loads of a workload cannot be where they are, if they cannot.
pub(super) fn check_loads(workload: &[Step]) -> Option<String> {
    let loads = workload.iter().filter(|s| matches!(s, Step::Load { .. }));
    let number = loads.count();
    for (index, step) in workload.iter().enumerate() {
        let Step::Load { plan, request } = step else {
            continue;
        };
        let others = || workload.iter().enumerate().filter(|(i, _)| *i != index);
        let shared = others().flat_map(|(_, step)| groups(step));
        let shared: BTreeSet<&str> = shared.collect();
        if let Some(group) = groups(request).find(|group| shared.contains(group)) {
            return Some(format!(
                "group `{group}` has a step with `for_s`, so no other step can belong to it"
            ));
        }
        let Pace::RatePerS(rate) = plan.pace else {
            continue;
        };
        if index > 0 {
            return Some(
                "`rate_per_s` counts from the start of the run: it is for the first step only"
                    .to_owned(),
            );
        }
        let (planned, most) = (
            requests(plan, rate),
            most_steps(number, body_bytes(request)),
        );
        if planned > most {
            return Some(format!(
                "rate_per_s = {rate} makes {planned} requests; at most {most} with bodies of this size \
                 and {number} steps with `for_s`"
            ));
        }
    }
    None
}

/// Returns the bytes of a request that a driver gets with its step.
pub(crate) fn body_bytes(request: &Step) -> usize {
    match request {
        Step::Call { body, .. } => body.len(),
        // Of the study's own requests, each step has only the head.
        Step::Own { request, .. } => {
            let fields = request
                .headers
                .iter()
                .map(|(name, value)| name.len() + value.len());
            request.path.len() + fields.sum::<usize>()
        }
        _ => 0,
    }
}

/// Returns the groups of a step's requests.
fn groups(step: &Step) -> Box<dyn Iterator<Item = &str> + '_> {
    match step {
        Step::Call { group, .. }
        | Step::Own { group, .. }
        | Step::Exchange { group, .. }
        | Step::Submit { group, .. }
        | Step::Get { group, .. }
        | Step::Put { group, .. }
        | Step::Stream { group, .. } => Box::new(std::iter::once(group.as_str())),
        Step::Load { request: step, .. } | Step::At { step, .. } => groups(step),
        Step::Repeat { steps, .. } | Step::Parallel(steps) => {
            Box::new(steps.iter().flat_map(groups))
        }
        Step::Pause { .. } | Step::WaitUntil { .. } => Box::new(std::iter::empty()),
        Step::Reconnect(_) | Step::Restart => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;
    use crate::plan::small_plan::SMALL;

    /// Returns SMALL with these lines for those of its step.
    fn with(step: &str) -> String {
        SMALL.replace("call = \"echo\"\ntimes = 2", step)
    }

    fn load(keys: &str) -> Result<LoadPlan, String> {
        let text = with(&format!("call = \"echo\"\n{keys}"));
        let study = Study::parse("s.toml", &text).map_err(|e| e.to_string())?;
        match &study.workload[..] {
            [Step::Load { plan, .. }] => Ok(*plan),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_load_is_closed_with_one_request_unless_it_says_otherwise() {
        let plan = |warmup_ns, pace| LoadPlan {
            warmup_ns,
            measured_ns: 5_000_000_000,
            pace,
        };
        assert_eq!(load("for_s = 5"), Ok(plan(0, Pace::Outstanding(1))));
        let keys = "for_s = 5\nwarmup_s = 1.5\noutstanding = 8";
        assert_eq!(load(keys), Ok(plan(1_500_000_000, Pace::Outstanding(8))));
        let keys = "for_s = 5\nrate_per_s = 200";
        assert_eq!(load(keys), Ok(plan(0, Pace::RatePerS(200))));
    }

    #[test]
    fn settings_that_cannot_be_are_refused() {
        for (keys, reason) in [
            ("for_s = 5\ntimes = 2", "leave out `times`"),
            (
                "for_s = 5\noutstanding = 8\nrate_per_s = 2",
                "has one of them",
            ),
            ("outstanding = 8", "`outstanding` goes with `for_s`"),
            ("times = 2\nwarmup_s = 1", "`warmup_s` goes with `for_s`"),
            ("for_s = 0", "out of range"),
            ("for_s = -1", "out of range"),
            ("for_s = nan", "out of range"),
            ("for_s = 1e300", "out of range"),
            ("for_s = 590\nwarmup_s = 11", "out of range"),
            ("for_s = 5\nwarmup_s = -1", "out of range"),
            ("for_s = 5\noutstanding = 0", "1 to 256"),
            ("for_s = 5\noutstanding = 257", "1 to 256"),
            ("for_s = 5\nrate_per_s = 0", "1 to 65536"),
            ("for_s = 5\nrate_per_s = 20000", "1 to 65536"),
            ("for_s = 600\nrate_per_s = 4294967295", "1 to 65536"),
            (
                "body_bytes = 32768\nfor_s = 10\nrate_per_s = 200",
                "at most 1024 with bodies of this size",
            ),
        ] {
            let error = load(keys).unwrap_err();
            assert!(error.contains(reason), "{keys}: {error}");
        }
    }

    #[test]
    fn a_load_stands_alone() {
        let then = |step: &str| with(&format!("call = \"echo\"\n[[step]]\n{step}"));
        let load = "call = \"load\"\nfor_s = 1";
        let text = |step: &str| Study::parse("s.toml", step).map(|_| ());
        text(&then(load)).unwrap();
        let inner = "repeat = 2\nsteps = [{ call = \"load\", for_s = 1 }]";
        for (study, reason) in [
            (
                then("call = \"echo\"\nfor_s = 1"),
                "no other step can belong to it",
            ),
            (
                then("call = \"load\"\nfor_s = 1\nrate_per_s = 2"),
                "for the first step only",
            ),
            (then(inner), "not inside repeat or parallel"),
            (
                then("put = \"file\"\nbytes = 1\nfor_s = 1"),
                "`for_s` goes with call",
            ),
            (
                then(load).replace("\"h3\"", "\"h3\"\nconnections = \"per-request\""),
                "does not go with `for_s`",
            ),
        ] {
            let error = text(&study).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
