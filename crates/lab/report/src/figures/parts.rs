//! The parts of a population's time, by arm and by step.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use explain::Part;
use record::{CompactCall, CompactCell, Run};

use crate::figures::cells::CellIndex;
use crate::figures::population::Population;
use crate::summary::measure;
use crate::summary::reason::{ReasonPart, in_round_trips};
use crate::summary::why::{ArmParts, PartTime, WhyMeasure};

/// The time of each part that is not zero, ns.
pub(crate) type PartTimes = BTreeMap<ReasonPart, f64>;

/// Returns the parts of a cell's steps, which sum to the times that [`Population::steps`] gives. A step is absent if its
/// requests lack parts. So are percentiles, imported requests and groups that are bound by time.
pub(crate) fn parts_by_step(
    population: &Population,
    cell: &CompactCell,
) -> BTreeMap<u32, PartTimes> {
    let calls = population.of(&cell.calls);
    match population.part {
        measure::Part::ColdProcess
        | measure::Part::First
        | measure::Part::Place
        | measure::Part::Warm => {
            let step = |call: CompactCall<'_>| Some((call.id(), parts_of(&[call])?));
            calls.filter_map(step).collect()
        }
        measure::Part::Whole => (parts_of_batches(population, calls))
            .map(|parts| (0, parts))
            .into_iter()
            .collect(),
        measure::Part::Tail | measure::Part::Load => BTreeMap::new(),
    }
}

/// Returns the parts of all batches together; `None` if a batch has none.
fn parts_of_batches<'a>(
    population: &Population,
    calls: impl Iterator<Item = CompactCall<'a>>,
) -> Option<PartTimes> {
    let mut batches: BTreeMap<Option<u32>, Vec<CompactCall<'a>>> = BTreeMap::new();
    for call in calls {
        let batch = population.batch(call.id());
        batches.entry(batch).or_default().push(call);
    }
    let mut all = PartTimes::new();
    for calls in batches.values() {
        for (part, ns) in parts_of(calls)? {
            *all.entry(part).or_default() += ns;
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Returns the parts of calls together: of the one that ends last, of the one that ended last before that began, and so
/// on, and the time in which none of these ran. `None` if one of them has no parts.
fn parts_of(calls: &[CompactCall<'_>]) -> Option<PartTimes> {
    let end_ns = calls.iter().map(|call| call.ended_ns()).max()?;
    let start_ns = calls.iter().map(|call| call.start_ns()).min()?;
    let mut calls = calls.to_vec();
    calls.sort_by_key(|call| Reverse((call.ended_ns(), call.start_ns())));
    let mut begun_ns = u64::MAX;
    calls.retain(|call| {
        let is_next = call.ended_ns() <= begun_ns;
        if is_next {
            begun_ns = call.start_ns();
        }
        is_next
    });
    if calls.iter().any(|call| !call.has_parts()) {
        return None;
    }
    let mut parts = PartTimes::new();
    for part in Part::ALL {
        let times = calls.iter().filter_map(|call| call.part_ns(part.name()));
        let ns: u64 = times.sum();
        if ns > 0 {
            parts.insert(part.into(), ns as f64);
        }
    }
    let run_ns: u64 = calls.iter().map(|call| call.end_ns()).sum();
    let between_ns = (end_ns - start_ns).saturating_sub(run_ns);
    if between_ns > 0 {
        parts.insert(ReasonPart::BetweenRequests, between_ns as f64);
    }
    Some(parts)
}

/// Returns the means of each population of requests on each network, of arms whose requests have parts, without
/// comparisons.
pub(crate) fn measures(
    run: &Run,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> Vec<WhyMeasure> {
    let mut measures = Vec::new();
    for network in &run.networks {
        for population in populations.iter().filter(|p| !p.is_aggregate()) {
            let arms = run.arms.iter().filter_map(|arm| {
                let blocks = cells.first(&network.name, &arm.name);
                let calls = blocks.values().flat_map(|cell| population.of(&cell.calls));
                arm_parts(&arm.name, calls.collect(), network.rtt_ns)
            });
            let arms: Vec<ArmParts> = arms.collect();
            if !arms.is_empty() {
                measures.push(WhyMeasure {
                    network: network.name.clone(),
                    rtt_ns: network.rtt_ns,
                    label: population.label.clone(),
                    arms,
                });
            }
        }
    }
    measures
}

/// Returns the means over the middle half of the calls that have parts; `None` if none has.
fn arm_parts(arm: &str, calls: Vec<CompactCall<'_>>, rtt_ns: u64) -> Option<ArmParts> {
    let mut explained: Vec<CompactCall<'_>> = calls.into_iter().filter(|c| c.has_parts()).collect();
    explained.sort_by_key(|call| call.end_ns());
    let quarter = explained.len() / 4;
    let middle = &explained[quarter..explained.len() - quarter];
    if middle.is_empty() {
        return None;
    }
    let mean = |value: &dyn Fn(CompactCall<'_>) -> u64| {
        let sum: f64 = middle.iter().map(|call| value(*call) as f64).sum();
        sum / middle.len() as f64
    };
    let part = |part: Part| {
        let ns = mean(&|call| call.part_ns(part.name()).unwrap_or(0));
        (ns > 0.0).then(|| PartTime {
            part,
            ns,
            round_trips: in_round_trips(part, ns, rtt_ns),
        })
    };
    Some(ArmParts {
        arm: arm.to_owned(),
        calls: middle.len(),
        time_ns: mean(&|call| call.end_ns()),
        parts: Part::ALL.into_iter().filter_map(part).collect(),
        comparison: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Call, CallResult, CompactCalls, Proof, State};

    fn call(end_ns: u64, parts: &[(Part, u64)]) -> Call {
        Call {
            id: 1,
            group: "page".into(),
            connection: 1,
            first: false,
            state: State::Warm,
            proof: Proof::Server,
            protocol: "h2".into(),
            start_ns: 0,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns: None,
            end_ns,
            request_bytes: 0,
            response_bytes: 0,
            result: CallResult::Ok,
            server_hits: 1,
            server_ns: None,
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: (parts.iter())
                .map(|&(part, ns)| (part.name().to_owned(), ns))
                .collect(),
            path: None,
            exchange: None,
        }
    }

    fn parts_of_all<const N: usize>(calls: [&Call; N]) -> Option<PartTimes> {
        let calls: CompactCalls = calls.into_iter().cloned().collect();
        parts_of(&calls.iter().collect::<Vec<_>>())
    }

    #[test]
    fn means_are_those_of_the_middle_half() {
        let calls: Vec<Call> = [900, 100, 50, 120, 1]
            .map(|ns| call(ns, &[(Part::Server, ns - 1), (Part::Client, 1)]))
            .into();
        let calls: CompactCalls = calls.into_iter().collect();
        let parts = arm_parts("a", calls.iter().collect(), 1).unwrap();
        assert_eq!((parts.calls, parts.time_ns), (3, 90.0));
        let means = [Part::Client, Part::Server].map(|part| parts.part_ns(part));
        assert_eq!((means, parts.parts.len()), ([1.0, 89.0], 2));
    }

    fn after(call: Call, start_ns: u64) -> Call {
        Call { start_ns, ..call }
    }

    fn times(parts: &[(Part, f64)], between_ns: Option<f64>) -> PartTimes {
        let parts = (parts.iter()).map(|&(part, ns)| (ReasonPart::Request(part), ns));
        let between = between_ns.map(|ns| (ReasonPart::BetweenRequests, ns));
        parts.chain(between).collect()
    }

    #[test]
    fn requests_one_after_another_have_the_parts_of_all_and_time_between_them() {
        let first = call(9, &[(Part::Client, 4), (Part::Server, 5)]);
        let second = after(call(3, &[(Part::Client, 3)]), 9);
        let of_both = [(Part::Client, 7.0), (Part::Server, 5.0)];
        assert_eq!(parts_of_all([&second, &first]), Some(times(&of_both, None)));
        let later = after(second, 13);
        assert_eq!(
            parts_of_all([&later, &first]),
            Some(times(&of_both, Some(4.0)))
        );
        let without = after(call(3, &[]), 20);
        assert_eq!(parts_of_all([&first, &later, &without]), None);
        assert_eq!(parts_of(&[]), None);
    }

    #[test]
    fn requests_at_once_have_the_parts_of_the_last_to_end() {
        let before = call(5, &[(Part::Exchange, 5)]);
        let short = after(call(9, &[(Part::Client, 4), (Part::Server, 5)]), 5);
        let long = after(call(20, &[(Part::LinkBusy, 20)]), 5);
        let later = after(call(2, &[(Part::Server, 2)]), 6);
        let parts = parts_of_all([&later, &short, &long, &before]);
        let expected = [(Part::Exchange, 5.0), (Part::LinkBusy, 20.0)];
        assert_eq!(parts, Some(times(&expected, None)));
        // The last to end began 2 ns after the first.
        let last = after(call(20, &[(Part::LinkBusy, 20)]), 7);
        assert_eq!(
            parts_of_all([&short, &last]),
            Some(times(&expected[1..], Some(2.0)))
        );
    }

    #[test]
    fn calls_without_parts_do_not_count() {
        let calls = [call(7, &[]), call(9, &[(Part::Client, 9)])];
        let calls: CompactCalls = calls.into_iter().collect();
        let parts = arm_parts("a", calls.iter().collect(), 1).unwrap();
        assert_eq!((parts.calls, parts.time_ns), (1, 9.0));
        assert_eq!(arm_parts("a", calls.iter().take(1).collect(), 1), None);
    }
}
