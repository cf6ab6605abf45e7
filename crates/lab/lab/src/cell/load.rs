//! Aggregates the calls of groups that are bound by time: a cell has too many to keep each.

use std::collections::{BTreeMap, BTreeSet};

use driver::protocol::Start;
use record::{Call, CallResult, Distribution, Load, LoadPlan, Pace};
use study::plan::{Workload, encoded_message};

/// A call of an open loop that starts later than this after its intended time counts as late.
const LATE_NS: u64 = 1_000_000;

/// Splits proven calls into those that are recorded one by one and the distributions of the others.
pub(super) fn aggregate(workload: &Workload, calls: Vec<Call>) -> (Vec<Call>, Vec<Load>) {
    let mut of_group: BTreeMap<usize, Vec<Call>> = BTreeMap::new();
    let mut single = Vec::new();
    for call in calls {
        match workload.load_of(call.id) {
            Some((group, _)) => of_group.entry(group).or_default().push(call),
            None => single.push(call),
        }
    }
    let groups = workload.groups.iter().enumerate();
    let loads = groups.filter_map(|(index, group)| {
        let calls = of_group.remove(&index).unwrap_or_default();
        let load = Timed::new(workload, index, group.load?, calls);
        Some(load.aggregate(&group.name))
    });
    let loads = loads.collect();
    (single, loads)
}

/// The calls of one group, with the time that each counts from.
struct Timed<'a> {
    workload: &'a Workload,
    group: usize,
    plan: LoadPlan,
    /// Each call with the start that its time counts from, ns after the group's first.
    calls: Vec<(u64, Call)>,
    /// When the group's first call started, or should have, ns after the cell's first step.
    origin_ns: u64,
}

impl<'a> Timed<'a> {
    fn new(workload: &'a Workload, group: usize, plan: LoadPlan, calls: Vec<Call>) -> Self {
        // A driver starts no call early, so the one that is least late shows when its run began.
        let begun = |call: &Call| call.start_ns.saturating_sub(intended_ns(workload, call.id));
        let origin_ns = calls.iter().map(begun).min().unwrap_or(0);
        let from = |call: Call| {
            let start_ns = match plan.pace {
                Pace::Outstanding(_) => call.start_ns - origin_ns,
                Pace::RatePerS(_) => intended_ns(workload, call.id),
            };
            (start_ns, call)
        };
        Self {
            workload,
            group,
            plan,
            calls: calls.into_iter().map(from).collect(),
            origin_ns,
        }
    }

    fn aggregate(&self, name: &str) -> Load {
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
            group: name.to_owned(),
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
            encodes: self.calls.iter().any(|(_, call)| call.exchange.is_some())
                || self.steps().any(|id| {
                    let step = self.workload.steps.get(id as usize - 1);
                    step.is_some_and(|step| encoded_message(step).is_some())
                }),
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
        let last = self.steps().max().unwrap_or(0);
        self.calls.iter().any(|(_, call)| call.id + calls > last)
    }

    /// Returns the ids of the group's steps.
    fn steps(&self) -> impl Iterator<Item = u32> {
        let of_group = self.workload.group_of.iter().zip(1..);
        let index = self.group;
        of_group.filter_map(move |(group, id)| (*group == Some(index)).then_some(id))
    }
}

/// Returns when a step should start, ns after the start of the run; 0 for one that waits for others.
fn intended_ns(workload: &Workload, id: u32) -> u64 {
    match workload.steps.get((id as usize).saturating_sub(1)) {
        Some(step) => match step.start {
            Some(Start::AtNs(ns)) => ns,
            _ => 0,
        },
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use record::{Proof, State};
    use study::Step;

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
        let (single, loads) = aggregate(&workload, calls);
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
        let load = &aggregate(&workload, calls).1[0];
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
        let load = &aggregate(&workload, calls).1[0];
        assert_eq!((load.calls, load.warmup_calls, load.late), (2, 1, 1));
        let times = load.distribution().unwrap();
        near(times.at_rank(1).unwrap(), 51);
        near(times.at_rank(2).unwrap(), 90);
    }

    #[test]
    fn a_group_without_calls_has_an_empty_distribution() {
        let load = &aggregate(&workload(Pace::Outstanding(1)), Vec::new()).1[0];
        assert_eq!((load.calls, load.proof), (0, None));
    }
}
