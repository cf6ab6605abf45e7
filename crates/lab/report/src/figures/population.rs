//! Splits the calls of a workload into populations, and gives the times of each in a cell.

use std::collections::BTreeMap;

use record::{
    CallResult, CompactCall, CompactCalls, CompactCell, Group, Load, LoadPlan, Position, Run,
};
use stats::Span;

use crate::figures::cells::Blocks;
use crate::figures::histogram;
use crate::figures::position::{Places, ordinal, places};
use crate::figures::steps::{Batches, Steps};
use crate::summary::measure::Part;

/// One population: calls of a group that are alike by the plan, or the group as a whole. Whatever a
/// client does, e.g. open another connection, moves no call to another population.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) group: String,
    pub(crate) part: Part,
    pub(crate) label: String,
    /// Whether the recommendation is made from it. Of a batch or a sequence of transfers users wait
    /// for the whole, of small requests for each.
    pub(crate) decisive: bool,
    /// Whether it has a goodput: a bulk group, as a whole.
    pub(crate) bulk: bool,
    /// Body bytes that one call of a bulk group transfers, for calls that did not succeed.
    pub(crate) bulk_bytes: u64,
    /// The percentile of the requests that it is, for [`Part::Tail`].
    pub(crate) tail_percent: Option<f64>,
    members: Members,
}

#[derive(Clone, Debug)]
enum Members {
    /// The batch of each planned call, by id.
    Planned(Batches),
    /// All calls of a group that is bound by time, of which cells have the distribution.
    Load,
    /// Imported calls have no plan: those that are first on their connection, or not, or all.
    Imported { first: Option<bool> },
}

/// Returns the populations of a study, in its order. A group of one call is one population; others
/// are split by position and followed by the tail, if the study asks for it, and the whole. Of warm requests, those at
/// the places in `apart` are populations of their own. The tail is that of all warm requests, or of first ones where
/// there are no warm ones.
pub(crate) fn populations(run: &Run, apart: &Places) -> Vec<Population> {
    let by_call = || run.groups.iter().filter(|group| group.load.is_none());
    let small = by_call().filter(|group| !group.bulk).count();
    let is_imported = run.calls.is_empty() && by_call().count() == run.groups.len();
    let of_group = |group: &Group| match &group.load {
        Some(plan) => bound_by_time(run, group, plan),
        None if is_imported => imported(group, small),
        None => planned(run, group, small, apart),
    };
    run.groups.iter().flat_map(of_group).collect()
}

/// Returns a group that is bound by time, and its tail if the study asks for it.
fn bound_by_time(run: &Run, group: &Group, plan: &LoadPlan) -> Vec<Population> {
    let all = Population {
        group: group.name.clone(),
        part: Part::Load,
        label: format!("{} ({})", group.name, plan.about()),
        decisive: true,
        bulk: false,
        bulk_bytes: 0,
        tail_percent: None,
        members: Members::Load,
    };
    let tail = run.tail_percent.map(|percent| Population {
        part: Part::Tail,
        label: format!("p{percent} of {}", all.label),
        tail_percent: Some(percent),
        ..all.clone()
    });
    [all].into_iter().chain(tail).collect()
}

fn planned(run: &Run, group: &Group, small: usize, apart: &Places) -> Vec<Population> {
    // Where the baseline was warmed up, its process is no longer cold at the first call.
    let is_warm = |arm: &record::Arm| arm.name == run.baseline && arm.warmup_calls > 0;
    let warmed_up = run.arms.iter().any(is_warm);
    let mut parts: BTreeMap<Position, BTreeMap<u32, u32>> = BTreeMap::new();
    let mut parallel = false;
    for call in run.calls.iter().filter(|call| call.group == group.name) {
        let position = match call.position {
            Position::ColdProcess if warmed_up => Position::First,
            other => other,
        };
        parts
            .entry(position)
            .or_default()
            .insert(call.id, call.batch);
        parallel |= call.parallel;
    }
    let whole: BTreeMap<u32, u32> = parts.values().flatten().map(|(i, b)| (*i, *b)).collect();
    let single = whole.len() == 1;
    let by_request = !group.bulk && !parallel;
    let has_process = parts.contains_key(&Position::ColdProcess);
    let has_first = parts.contains_key(&Position::First);
    let count = whole.len();
    // Without another group of small requests, everybody knows which are meant.
    let label = |before: &str, after: &str| match small == 1 && !group.bulk {
        true => format!("{before} {after}"),
        false => format!("{before} {} {after}", group.name),
    };
    let population = |part, label, decisive, bulk, members: BTreeMap<u32, u32>| Population {
        group: group.name.clone(),
        part,
        label,
        decisive,
        bulk,
        bulk_bytes: group.response_bytes,
        tail_percent: None,
        members: Members::Planned(members.into()),
    };
    let last = parts.last_key_value().map(|(_, members)| members.clone());
    let mut all = Vec::new();
    for (position, members) in parts {
        let (part, before, after) = match position {
            Position::ColdProcess if has_first => (Part::ColdProcess, "cold", "request"),
            Position::ColdProcess => (Part::ColdProcess, "first", "request"),
            Position::First if has_process => (Part::First, "first", "request on a connection"),
            Position::First => (Part::First, "first", "request"),
            Position::Warm => (Part::Warm, "warm", "requests"),
        };
        let (at_places, others) = match part {
            Part::Warm => take_apart(run, group, members, apart),
            _ => (BTreeMap::new(), members),
        };
        let of_place = |(place, members): (u32, BTreeMap<u32, u32>)| {
            let label = label(&ordinal(place), "request");
            population(Part::Place, label, by_request, false, members)
        };
        all.extend(at_places.into_iter().map(of_place));
        let label = match single {
            true => group.name.clone(),
            false => label(before, after),
        };
        if !others.is_empty() {
            let is_bulk = group.bulk && single;
            all.push(population(
                part,
                label,
                single || by_request,
                is_bulk,
                others,
            ));
        }
    }
    let tail = run.tail_percent.and_then(|percent| {
        let of_all = Population {
            members: Members::Planned(last?.into()),
            ..all.last()?.clone()
        };
        of_all.tail(percent)
    });
    all.extend(tail);
    if !single {
        let count = match count {
            2 => "both".to_owned(),
            n => format!("all {n}"),
        };
        let label = label(&count, "requests");
        all.push(population(
            Part::Whole,
            label,
            !by_request,
            group.bulk,
            whole,
        ));
    }
    all
}

/// Splits the batches of warm calls, by id, into those at the places of the group in `apart`, and all others.
fn take_apart(
    run: &Run,
    group: &Group,
    mut members: BTreeMap<u32, u32>,
    apart: &Places,
) -> (BTreeMap<u32, BTreeMap<u32, u32>>, BTreeMap<u32, u32>) {
    let places = places(run);
    let mut taken: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    members.retain(|id, batch| {
        let place = places.get(id).copied().unwrap_or(0);
        let is_taken = apart.contains(&(group.name.clone(), place));
        if is_taken {
            taken.entry(place).or_default().insert(*id, *batch);
        }
        !is_taken
    });
    (taken, members)
}

fn imported(group: &Group, small: usize) -> Vec<Population> {
    let population = |part, label, first| Population {
        group: group.name.clone(),
        part,
        label,
        decisive: true,
        bulk: group.bulk,
        bulk_bytes: group.response_bytes,
        tail_percent: None,
        members: Members::Imported { first },
    };
    let label = |words: &str| match small {
        1 => words.to_owned(),
        _ => format!("{}: {words}", group.name),
    };
    match group.bulk {
        true => vec![population(Part::Warm, group.name.clone(), None)],
        false => vec![
            population(Part::First, label("first request"), Some(true)),
            population(Part::Warm, label("warm requests"), Some(false)),
        ],
    }
}

/// A measure that a report will compare the arms in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMeasure {
    /// Its label, e.g. `warm requests`.
    pub label: String,
    /// Whether the recommendation is made from it.
    pub decisive: bool,
}

/// Returns the measures of a run. Only the head of the run need exist: requests whose place on their connection makes
/// them differ are among the warm ones.
pub fn planned_measures(run: &Run) -> Vec<PlannedMeasure> {
    let measure = |population: Population| PlannedMeasure {
        label: population.label,
        decisive: population.decisive,
    };
    populations(run, &Places::new())
        .into_iter()
        .map(measure)
        .collect()
}

impl Population {
    /// Returns a percentile of its requests as a population of its own, if there are enough of them.
    fn tail(&self, percent: f64) -> Option<Population> {
        let Members::Planned(members) = &self.members else {
            return None;
        };
        (members.len() >= stats::fewest_requests(percent / 100.0)).then(|| Population {
            part: Part::Tail,
            label: format!("p{percent} of {}", self.label),
            bulk: false,
            tail_percent: Some(percent),
            ..self.clone()
        })
    }

    /// Returns what a cell measured of it, if it is a group that is bound by time.
    pub(crate) fn load<'a>(&self, cell: &'a CompactCell) -> Option<&'a Load> {
        match self.members {
            Members::Load => histogram::of(cell, &self.group),
            Members::Planned(_) | Members::Imported { .. } => None,
        }
    }

    /// Returns the planned call with this id as a population of its own, if it belongs to this one.
    pub(crate) fn only(&self, id: u32) -> Option<Population> {
        let Members::Planned(members) = &self.members else {
            return None;
        };
        let members = BTreeMap::from([(id, *members.get(&id)?)]);
        Some(Population {
            members: Members::Planned(members.into()),
            ..self.clone()
        })
    }

    /// Reports whether it is no population of its own: the whole of a group, or a percentile of one.
    pub(crate) fn is_aggregate(&self) -> bool {
        matches!(self.part, Part::Whole | Part::Tail)
    }

    /// Reports whether its requests are alike by the plan but for their place, one after another: the recommendation is
    /// made from each.
    pub(crate) fn is_by_position(&self) -> bool {
        self.decisive && !self.bulk && matches!(self.members, Members::Planned(_))
    }

    /// Returns the number of the batch of a planned call.
    pub(crate) fn batch(&self, id: u32) -> Option<u32> {
        match &self.members {
            Members::Planned(batches) => batches.get(&id).copied(),
            Members::Load | Members::Imported { .. } => None,
        }
    }

    /// Returns the ids of its planned calls.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let planned = match &self.members {
            Members::Planned(batches) => Some(batches),
            Members::Load | Members::Imported { .. } => None,
        };
        planned
            .into_iter()
            .flat_map(|batches| batches.keys().copied())
    }

    /// Reports whether its calls were imported, and so have no plan.
    pub(crate) fn is_imported(&self) -> bool {
        matches!(self.members, Members::Imported { .. })
    }

    /// Returns those of a cell's calls that belong to it. Cells have none of a group that is bound by
    /// time.
    pub(crate) fn of<'a>(
        &'a self,
        calls: &'a CompactCalls,
    ) -> impl Iterator<Item = CompactCall<'a>> + Clone {
        calls.iter().filter(|call| match &self.members {
            Members::Planned(batches) => batches.has(call.id()),
            Members::Load => false,
            Members::Imported { first } => {
                call.group() == self.group && first.is_none_or(|first| first == call.first())
            }
        })
    }

    /// Returns the times of a cell by step. The whole of a group and a percentile count as one step.
    /// Calls that a failed cell did not make count as at least the timeout.
    pub(crate) fn steps(&self, cell: &CompactCell, timeout_ns: u64) -> Steps {
        let batches = match &self.members {
            Members::Planned(batches) => batches,
            Members::Load => {
                let share = self.tail_percent.map_or(0.5, |percent| percent / 100.0);
                let time = histogram::quantile(cell, &self.group, share, timeout_ns);
                return time.map(|time| (0, time)).into_iter().collect();
            }
            Members::Imported { .. } => {
                let calls = self.of(&cell.calls);
                return calls
                    .map(|call| (call.id(), time(call, timeout_ns)))
                    .collect();
            }
        };
        if self.part == Part::Whole {
            return Steps::from_iter([(0, whole(cell, batches, timeout_ns))]);
        }
        let missing = Span::at_least(timeout_ns as f64);
        let steps: Steps = (batches.with(self.of(&cell.calls)))
            .map(|(id, _, call)| (id, call.map_or(missing, |call| time(call, timeout_ns))))
            .collect();
        let Some(percent) = self.tail_percent else {
            return steps;
        };
        let tail = stats::block_quantile(&steps.times(), percent / 100.0);
        tail.map(|time| (0, time)).into_iter().collect()
    }

    /// Returns the number of each block: the median over its steps.
    pub(crate) fn by_block(&self, blocks: &Blocks<'_>, timeout_ns: u64) -> BTreeMap<u32, Span> {
        let median = |cell: &CompactCell| stats::median(&self.steps(cell, timeout_ns).times());
        blocks
            .iter()
            .filter_map(|(&block, cell)| Some((block, median(cell)?)))
            .collect()
    }
}

/// Returns the time of a whole group: the sum over its batches of last end minus first start. With
/// a call that did not succeed it is at least the timeout.
fn whole(cell: &CompactCell, batches: &Batches, timeout_ns: u64) -> Span {
    let mut ends: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut complete = true;
    for (_, batch, call) in batches.with(cell.calls.iter()) {
        let Some(call) = call else {
            complete = false;
            continue;
        };
        complete &= *call.result() == CallResult::Ok;
        let (start, end) = (call.start_ns(), call.ended_ns());
        let of_batch = ends.entry(batch).or_insert((start, end));
        *of_batch = (of_batch.0.min(start), of_batch.1.max(end));
    }
    let total_ns: u64 = ends.values().map(|(start, end)| end - start).sum();
    match complete {
        true => Span::exact(total_ns as f64),
        false => Span::at_least(total_ns.max(timeout_ns) as f64),
    }
}

/// Returns what is known of the time of a call. A call that failed early counts as at least the
/// timeout, because failing early is not being fast.
pub(crate) fn time(call: CompactCall<'_>, timeout_ns: u64) -> Span {
    let end_ns = call.end_ns();
    match call.result() {
        CallResult::Ok => Span::exact(end_ns as f64),
        CallResult::TimedOut => Span::at_least(end_ns as f64),
        CallResult::Error { .. } => Span::at_least(timeout_ns.max(end_ns) as f64),
    }
}
