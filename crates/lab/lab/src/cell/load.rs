//! Aggregates the calls of groups that are bound by time: a cell has too many to keep each.

use std::collections::{BTreeMap, BTreeSet};

use driver::protocol::Start;
use record::{Call, CallResult, Distribution, Load, LoadPlan, Pace};
use study::plan::{PlannedStep, PlannedSteps};

/// A call of an open loop that starts later than this after its intended time counts as late.
const LATE_NS: u64 = 1_000_000;

/// Splits proven calls into those that are recorded one by one and the distributions of the others.
pub(super) fn aggregate(steps: &PlannedSteps<'_>, calls: Vec<Call>) -> (Vec<Call>, Vec<Load>) {
    let mut of_group: BTreeMap<usize, Vec<(&PlannedStep<'_>, Call)>> = BTreeMap::new();
    let mut single = Vec::new();
    for call in calls {
        match steps.get(&call.id).filter(|s| s.group.load.is_some()) {
            Some(step) => {
                let calls = of_group.entry(step.group_index).or_default();
                calls.push((step, call));
            }
            None => single.push(call),
        }
    }
    let mut timed: BTreeMap<usize, Timed<'_>> = BTreeMap::new();
    for step in steps.values() {
        let Some(plan) = step.group.load else {
            continue;
        };
        let group = step.group_index;
        let new = || {
            let calls = of_group.remove(&group).unwrap_or_default();
            Timed::new(&step.group.name, plan, calls)
        };
        timed.entry(group).or_insert_with(new).add(step);
    }
    let loads = timed.into_values().map(|timed| timed.aggregate()).collect();
    (single, loads)
}

/// The calls of one group, with the time that each counts from.
struct Timed<'a> {
    group: &'a str,
    plan: LoadPlan,
    /// The id of the group's last step, made or not.
    last_id: u32,
    /// Whether a step of the group sends a message in the arm's codec.
    encodes: bool,
    /// Each call with the start that its time counts from, ns after the group's first.
    calls: Vec<(u64, Call)>,
    /// When the group's first call started, or should have, ns after the cell's first step.
    origin_ns: u64,
}

impl<'a> Timed<'a> {
    fn new(group: &'a str, plan: LoadPlan, calls: Vec<(&PlannedStep<'_>, Call)>) -> Self {
        // A driver starts no call early, so the one that is least late shows when its run began.
        let begun = |(step, call): &(&PlannedStep<'_>, Call)| {
            call.start_ns.saturating_sub(intended_ns(step))
        };
        let origin_ns = calls.iter().map(begun).min().unwrap_or(0);
        let from = |(step, call): (&PlannedStep<'_>, Call)| {
            let start_ns = match plan.pace {
                Pace::Outstanding(_) => call.start_ns - origin_ns,
                Pace::RatePerS(_) => intended_ns(step),
            };
            (start_ns, call)
        };
        Self {
            group,
            plan,
            last_id: 0,
            encodes: calls.iter().any(|(_, call)| call.exchange.is_some()),
            calls: calls.into_iter().map(from).collect(),
            origin_ns,
        }
    }

    /// Adds a step of the group, in order of id.
    fn add(&mut self, step: &PlannedStep<'_>) {
        self.last_id = step.step.id;
        self.encodes |= step.encodes();
    }

    fn aggregate(&self) -> Load {
        let LoadPlan {
            warmup_ns,
            measured_ns,
            ..
        } = self.plan;
        let started = |(start_ns, _): &&(u64, Call)| *start_ns >= warmup_ns;
        let in_time = |(start_ns, _): &&(u64, Call)| *start_ns < self.plan.total_ns();
        let measured: Vec<_> = (self.calls.iter())
            .filter(started)
            .filter(in_time)
            .collect();
        let mut times = Distribution::new();
        let (mut timed_out, mut errors) = (0, BTreeMap::new());
        for (start_ns, call) in &measured {
            match &call.result {
                CallResult::Ok => times.add(self.late_ns(*start_ns, call) + call.end_ns),
                CallResult::TimedOut => timed_out += 1,
                CallResult::Error { kind, detail } => {
                    *errors.entry(format!("{kind}: {detail}")).or_default() += 1;
                }
            }
        }
        let count = |test: &dyn Fn(&(u64, Call)) -> bool| {
            measured.iter().filter(|timed| test(timed)).count() as u64
        };
        let out_of_steps = self.out_of_steps();
        let last_ns = measured
            .iter()
            .map(|(start_ns, call)| start_ns + call.end_ns);
        let protocols = measured.iter().map(|(_, call)| &call.protocol);
        Load {
            group: self.group.to_owned(),
            calls: measured.len() as u64,
            timed_out,
            errors,
            retried: count(&|(_, call)| call.server_hits > 1),
            late: count(&|(start_ns, call)| self.late_ns(*start_ns, call) > LATE_NS),
            warmup_calls: self.calls.iter().filter(|timed| !started(timed)).count() as u64,
            measured_ns: match out_of_steps {
                true => last_ns
                    .max()
                    .map_or(0, |ns| ns - warmup_ns)
                    .min(measured_ns),
                false => measured_ns,
            },
            out_of_steps,
            protocols: protocols
                .collect::<BTreeSet<_>>()
                .into_iter()
                .cloned()
                .collect(),
            proof: measured.iter().map(|(_, call)| call.proof).min(),
            encodes: self.encodes,
            histogram: times.to_text(),
        }
    }

    /// Returns by how much a call of an open loop started after its intended time.
    fn late_ns(&self, start_ns: u64, call: &Call) -> u64 {
        match self.plan.pace {
            Pace::Outstanding(_) => 0,
            Pace::RatePerS(_) => (call.start_ns - self.origin_ns).saturating_sub(start_ns),
        }
    }

    /// Reports whether a closed loop made its last step: there may have been time for more.
    fn out_of_steps(&self) -> bool {
        let Pace::Outstanding(calls) = self.plan.pace else {
            return false;
        };
        // The ids of a group's steps are in sequence; the last ones end its chains.
        let last_id = self.last_id;
        self.calls.iter().any(|(_, call)| call.id + calls > last_id)
    }
}

/// Returns when a call should start, ns after the start of the run; 0 for one that waits for others.
fn intended_ns(planned: &PlannedStep<'_>) -> u64 {
    match planned.step.start {
        Some(Start::AtNs(ns)) => ns,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use record::{Proof, State};
    use study::Step;
    use study::plan::Workload;

    use super::*;

    const MS: u64 = 1_000_000;

    fn workload(pace: Pace) -> Workload {
        let plan = LoadPlan {
            warmup_ns: 100 * MS,
            measured_ns: 900 * MS,
            pace,
        };
        let echo = |group: &str| Step::Call {
            group: group.into(),
            body: "{}".into(),
            times: 1,
        };
        let load = Step::Load {
            plan,
            request: Box::new(echo("load")),
        };
        Workload::expand(&[load, echo("after")])
    }

    /// Returns a call that starts `start_ms` + 7 ms after the cell's first step, as if the driver took 7 ms to begin.
    fn call(id: u32, start_ms: u64, took_ms: u64, result: CallResult) -> Call {
        Call {
            id,
            group: "load".into(),
            connection: 1,
            first: id == 1,
            state: State::Warm,
            proof: Proof::Server,
            protocol: "h2".into(),
            start_ns: (7 + start_ms) * MS,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns: None,
            end_ns: took_ms * MS,
            request_bytes: 2,
            response_bytes: 2,
            result,
            server_hits: 1,
            server_ns: None,
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: BTreeMap::new(),
            path: None,
            exchange: None,
        }
    }

    fn near(ns: u64, ms: u64) {
        assert!(
            ns.abs_diff(ms * MS) <= ms * MS / 1_000,
            "{ns} is not {ms} ms"
        );
    }

    #[test]
    fn a_closed_loop_counts_calls_that_start_after_the_warm_up() {
        let workload = workload(Pace::Outstanding(2));
        let error = CallResult::Error {
            kind: "reset".into(),
            detail: "gone".into(),
        };
        let after = *workload.steps.last().map(|step| &step.id).unwrap();
        let calls = vec![
            call(1, 0, 99, CallResult::Ok),
            call(2, 0, 100, CallResult::Ok),
            call(3, 99, 500, CallResult::Ok),
            call(4, 100, 300, CallResult::Ok),
            call(5, 599, 100, error),
            call(6, 400, 599, CallResult::TimedOut),
            call(8, 999, 5_000, CallResult::Ok),
            call(after, 7_000, 1, CallResult::Ok),
        ];
        let (single, loads) = aggregate(&workload.planned_steps(), calls);
        assert_eq!(single.iter().map(|c| c.id).collect::<Vec<_>>(), [after]);
        let load = &loads[0];
        assert_eq!((load.calls, load.warmup_calls), (4, 3));
        assert_eq!((load.timed_out, load.failed(), load.late), (1, 1, 0));
        assert_eq!((load.measured_ns, load.out_of_steps), (900 * MS, false));
        let times = load.distribution().unwrap();
        near(times.at_rank(1).unwrap(), 300);
        near(times.max_ns().unwrap(), 5_000);
    }

    #[test]
    fn a_closed_loop_that_runs_out_of_steps_says_so() {
        let workload = workload(Pace::Outstanding(1));
        let last = workload.steps.len() as u32 - 2;
        let calls = vec![
            call(1, 0, 300, CallResult::Ok),
            call(last, 300, 100, CallResult::Ok),
        ];
        let load = &aggregate(&workload.planned_steps(), calls).1[0];
        assert!(load.out_of_steps);
        assert_eq!(load.measured_ns, 300 * MS);
    }

    #[test]
    fn an_open_loop_counts_from_the_intended_start() {
        let workload = workload(Pace::RatePerS(10));
        let calls = vec![
            call(1, 0, 50, CallResult::Ok),
            call(2, 101, 50, CallResult::Ok),
            call(3, 240, 50, CallResult::Ok),
        ];
        let load = &aggregate(&workload.planned_steps(), calls).1[0];
        assert_eq!((load.calls, load.warmup_calls, load.late), (2, 1, 1));
        let times = load.distribution().unwrap();
        near(times.at_rank(1).unwrap(), 51);
        near(times.at_rank(2).unwrap(), 90);
    }

    #[test]
    fn a_group_without_calls_has_an_empty_distribution() {
        let workload = workload(Pace::Outstanding(1));
        let load = &aggregate(&workload.planned_steps(), Vec::new()).1[0];
        assert_eq!((load.calls, load.proof), (0, None));
    }
}
