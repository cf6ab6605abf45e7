//! The parts of a population's time, by arm and by step.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use explain::Part;
use record::{Call, Cell, Run};

use crate::figures::cells::CellIndex;
use crate::figures::population::Population;
use crate::summary::measure;
use crate::summary::reason::in_round_trips;
use crate::summary::why::{ArmParts, PartTime, WhyMeasure};

/// The time of each part that is not zero, ns.
pub(crate) type PartTimes = BTreeMap<Part, f64>;

/// Returns the parts of a cell's steps, as [`Population::steps`] gives their times. A step is absent if its requests
/// lack parts. So are percentiles, imported requests and groups that are bound by time.
pub(crate) fn parts_by_step(population: &Population, cell: &Cell) -> BTreeMap<u32, PartTimes> {
    let calls = population.of(&cell.calls);
    match population.part {
        measure::Part::ColdProcess
        | measure::Part::First
        | measure::Part::Place
        | measure::Part::Warm => {
            let step = |call: &Call| Some((call.id, parts_of(&[call])?));
            calls.filter_map(step).collect()
        }
        measure::Part::Whole => {
            let calls: Vec<&Call> = calls.collect();
            parts_of(&calls)
                .map(|parts| (0, parts))
                .into_iter()
                .collect()
        }
        measure::Part::Tail | measure::Part::Load => BTreeMap::new(),
    }
}

/// Returns the parts of calls together: of the one that ends last, of the one that ended last before that began, and so
/// on. `None` if one of these has no parts.
fn parts_of(calls: &[&Call]) -> Option<PartTimes> {
    let mut calls = calls.to_vec();
    calls.sort_by_key(|call| Reverse((call.ended_ns(), call.start_ns)));
    let mut begun_ns = u64::MAX;
    calls.retain(|call| {
        let is_next = call.ended_ns() <= begun_ns;
        if is_next {
            begun_ns = call.start_ns;
        }
        is_next
    });
    if calls.is_empty() || calls.iter().any(|call| call.parts.is_empty()) {
        return None;
    }
    let mut parts = PartTimes::new();
    for part in Part::ALL {
        let times = calls.iter().filter_map(|call| call.parts.get(part.name()));
        let ns: u64 = times.sum();
        if ns > 0 {
            parts.insert(part, ns as f64);
        }
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
fn arm_parts(arm: &str, calls: Vec<&Call>, rtt_ns: u64) -> Option<ArmParts> {
    let mut explained: Vec<&Call> = calls.into_iter().filter(|c| !c.parts.is_empty()).collect();
    explained.sort_by_key(|call| call.end_ns);
    let quarter = explained.len() / 4;
    let middle = &explained[quarter..explained.len() - quarter];
    if middle.is_empty() {
        return None;
    }
    let mean = |value: &dyn Fn(&Call) -> u64| {
        let sum: f64 = middle.iter().map(|call| value(call) as f64).sum();
        sum / middle.len() as f64
    };
    let part = |part: Part| {
        let ns = mean(&|call| call.parts.get(part.name()).copied().unwrap_or(0));
        (ns > 0.0).then(|| PartTime {
            part,
            ns,
            round_trips: in_round_trips(part, ns, rtt_ns),
        })
    };
    Some(ArmParts {
        arm: arm.to_owned(),
        calls: middle.len(),
        time_ns: mean(&|call| call.end_ns),
        parts: Part::ALL.into_iter().filter_map(part).collect(),
        comparison: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CallResult, Proof, State};

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

    #[test]
    fn means_are_those_of_the_middle_half() {
        let calls: Vec<Call> = [900, 100, 50, 120, 1]
            .map(|ns| call(ns, &[(Part::Server, ns - 1), (Part::Client, 1)]))
            .into();
        let parts = arm_parts("a", calls.iter().collect(), 1).unwrap();
        assert_eq!((parts.calls, parts.time_ns), (3, 90.0));
        let means = [Part::Client, Part::Server].map(|part| parts.part_ns(part));
        assert_eq!((means, parts.parts.len()), ([1.0, 89.0], 2));
    }

    #[test]
    fn requests_one_after_another_have_the_parts_of_all() {
        let after = |call: Call, start_ns: u64| Call { start_ns, ..call };
        let first = call(9, &[(Part::Client, 4), (Part::Server, 5)]);
        let second = after(call(3, &[(Part::Client, 3)]), 9);
        let parts = parts_of(&[&second, &first]).unwrap();
        assert_eq!(parts, [(Part::Client, 7.0), (Part::Server, 5.0)].into());
        let without = after(call(3, &[]), 20);
        assert_eq!(parts_of(&[&first, &second, &without]), None);
        assert_eq!(parts_of(&[]), None);
    }

    #[test]
    fn requests_at_once_have_the_parts_of_the_last_to_end() {
        let after = |call: Call, start_ns: u64| Call { start_ns, ..call };
        let before = call(5, &[(Part::Exchange, 5)]);
        let short = after(call(9, &[(Part::Client, 4), (Part::Server, 5)]), 5);
        let long = after(call(20, &[(Part::LinkBusy, 20)]), 5);
        let later = after(call(2, &[(Part::Server, 2)]), 6);
        let parts = parts_of(&[&later, &short, &long, &before]).unwrap();
        assert_eq!(
            parts,
            [(Part::Exchange, 5.0), (Part::LinkBusy, 20.0)].into()
        );
    }

    #[test]
    fn calls_without_parts_do_not_count() {
        let calls = [call(7, &[]), call(9, &[(Part::Client, 9)])];
        let parts = arm_parts("a", calls.iter().collect(), 1).unwrap();
        assert_eq!((parts.calls, parts.time_ns), (1, 9.0));
        assert_eq!(arm_parts("a", vec![&calls[0]], 1), None);
    }
}
