//! Compares arms with the baseline and with each other, block by block.

use std::collections::BTreeMap;

use record::{CallResult, CompactCall, Run};
use stats::{Requests, Span, Verdict};

use crate::figures::cells::{Blocks, CellIndex};
use crate::figures::estimate::margin_ns;
use crate::figures::population::Population;
use crate::figures::steps::Steps;
use crate::summary::arm::{ArmSummary, Role, role_of};
use crate::summary::measure::Comparison;
use crate::summary::quantity::Unit;
use crate::verdicts::values::{self, BlockValue, Values, ranks};
use crate::words::number::duration;

/// The congestion control of QUIC that behaves as TCP's Cubic on Linux.
const LINUX_CUBIC: &str = "linux-cubic";

/// Half of the smallest default margin: a difference in CPU wait of this size may explain much of a
/// difference in time.
const CPU_WAIT_CAVEAT_NS: f64 = 1e6;

/// Returns whether the number of blocks of a run may have been chosen by looking at its results.
pub(crate) fn looked_at_results(run: &Run) -> bool {
    run.settings.until_decided || run.settings.extended
}

/// The (arm, baseline) times of the steps of a block that both made.
type StepPairs = Vec<(Span, Span)>;

/// Two arms on a network, in one population.
struct Pairing<'a> {
    population: &'a Population,
    run: &'a Run,
    arm: Blocks<'a>,
    baseline: Blocks<'a>,
}

impl Pairing<'_> {
    /// Returns the (arm, baseline) times of the steps that both made, for each block that has both. Imported calls have
    /// no plan that matches the calls of one arm to those of another. For these it returns the medians.
    fn steps(&self) -> BTreeMap<u32, StepPairs> {
        let timeout_ns = self.run.timeout_ns;
        let pairs = |(&block, arm): (&u32, &&record::CompactCell)| {
            let baseline = self
                .population
                .steps(self.baseline.get(&block)?, timeout_ns);
            let arm = self.population.steps(arm, timeout_ns);
            if self.population.is_imported() {
                let median = |steps: Steps| stats::median(&steps.times());
                return Some((block, vec![(median(arm)?, median(baseline)?)]));
            }
            let both = arm.in_both(&baseline);
            (!both.is_empty()).then_some((block, both))
        };
        self.arm.iter().filter_map(pairs).collect()
    }

    /// Returns the values that the comparison is decided from.
    fn values(&self) -> Values {
        let value = |(block, steps): (u32, StepPairs)| {
            let difference = stats::block_difference(&steps)?;
            let speedup = stats::block_speedup(&steps);
            Some((
                block,
                BlockValue {
                    difference,
                    speedup,
                },
            ))
        };
        Values {
            margin: self.margin_ns(),
            blocks: self.steps().into_iter().filter_map(value).collect(),
        }
    }

    /// Returns the largest difference that still counts as no difference: the study's margin or the
    /// default, but not less than the resolution of both arms' clocks.
    fn margin_ns(&self) -> f64 {
        let base = self
            .population
            .by_block(&self.baseline, self.run.timeout_ns);
        let base = stats::median(&base.into_values().collect::<Vec<_>>());
        let margin = margin_ns(self.run, base);
        let cells = self.arm.values().chain(self.baseline.values());
        let resolution = cells.map(|cell| cell.stack.resolution_ns).max();
        margin.max(resolution.unwrap_or(0) as f64)
    }
}

/// An arm, a network and the index of a population.
type Place<'a> = (&'a str, &'a str, usize);

/// Compares all arms of a role with the baseline, in families of one population on one network.
pub(crate) fn compare(
    run: &Run,
    cells: &CellIndex<'_>,
    populations: &[Population],
    role: Role,
) -> BTreeMap<(String, String, usize), Comparison> {
    let mut places = Vec::new();
    for network in &run.networks {
        for index in 0..populations.len() {
            let is_given_up = |arm: &str| cells.is_given_up(&network.name, arm);
            let arms = (run.arms.iter())
                .filter(|arm| role_of(run, &arm.name) == role)
                .filter(|arm| !is_given_up(&arm.name) && !is_given_up(&run.baseline));
            let family: Vec<Place<'_>> = arms
                .map(|arm| (arm.name.as_str(), network.name.as_str(), index))
                .collect();
            places.push(family);
        }
    }
    let first: Vec<Vec<Pairing<'_>>> = places
        .iter()
        .map(|family| {
            family
                .iter()
                .map(|place| first(run, cells, populations, *place))
                .collect()
        })
        .collect();
    let clean: Vec<Vec<Pairing<'_>>> = places
        .iter()
        .map(|family| {
            family
                .iter()
                .map(|place| clean(run, cells, populations, *place))
                .collect()
        })
        .collect();
    let (all, clean) = (decide(&first), decide(&clean));
    let mut comparisons = BTreeMap::new();
    for ((family, all), clean) in places.iter().zip(all).zip(clean) {
        for (((arm, network, index), decided), clean) in family.iter().zip(all).zip(clean) {
            if decided.difference.blocks > 0 {
                let clean_only = (clean.difference.blocks > 0).then_some(clean.verdict);
                let key = ((*arm).to_owned(), (*network).to_owned(), *index);
                let comparison = Comparison {
                    clean_only,
                    ..decided
                };
                comparisons.insert(key, comparison);
            }
        }
    }
    comparisons
}

/// Pairs an arm with the baseline in the first measured attempts.
fn first<'a>(
    run: &'a Run,
    cells: &CellIndex<'a>,
    populations: &'a [Population],
    (arm, network, index): Place<'_>,
) -> Pairing<'a> {
    pair(
        run,
        cells,
        &populations[index],
        network,
        (arm, &run.baseline),
    )
}

/// Pairs two arms in the first measured attempts.
fn pair<'a>(
    run: &'a Run,
    cells: &CellIndex<'a>,
    population: &'a Population,
    network: &str,
    (arm, other): (&str, &str),
) -> Pairing<'a> {
    Pairing {
        population,
        run,
        arm: cells.first(network, arm),
        baseline: cells.first(network, other),
    }
}

/// Returns the values from which two arms are compared in one population on a network.
pub(crate) fn values(
    run: &Run,
    cells: &CellIndex<'_>,
    population: &Population,
    network: &str,
    arms: (&str, &str),
) -> Values {
    pair(run, cells, population, network, arms).values()
}

/// Pairs an arm with the baseline in clean cells.
fn clean<'a>(
    run: &'a Run,
    cells: &CellIndex<'a>,
    populations: &'a [Population],
    (arm, network, index): Place<'_>,
) -> Pairing<'a> {
    let (arm, baseline) = cells.clean_pairs(network, (arm, &run.baseline));
    Pairing {
        population: &populations[index],
        run,
        arm,
        baseline,
    }
}

/// Compares each pair of arms on a network in one population, the first of the pair against the
/// second. All pairs share one error probability.
pub(crate) fn compare_pairs(
    run: &Run,
    cells: &CellIndex<'_>,
    populations: &[Population],
    network: &str,
    pairs: &[(usize, &str, &str)],
) -> Vec<Verdict> {
    let families: Vec<Vec<Pairing<'_>>> = pairs
        .iter()
        .map(|(index, arm, other)| {
            vec![pair(
                run,
                cells,
                &populations[*index],
                network,
                (arm, other),
            )]
        })
        .collect();
    let decided = decide(&families);
    decided.into_iter().flatten().map(|d| d.verdict).collect()
}

/// Decides the comparisons of a report from its records.
fn decide(families: &[Vec<Pairing<'_>>]) -> Vec<Vec<Comparison>> {
    let looked = |pairing: &Pairing<'_>| looked_at_results(pairing.run);
    let looked = families.iter().flatten().any(looked);
    let values: Vec<Vec<Values>> = families
        .iter()
        .map(|family| family.iter().map(Pairing::values).collect())
        .collect();
    let mut decided = values::decide(&values, Unit::Ns, ranks(looked));
    for (pairing, comparison) in families.iter().flatten().zip(decided.iter_mut().flatten()) {
        let medians: Vec<(Span, Span)> = pairing
            .steps()
            .values()
            .filter_map(|steps| medians(steps))
            .collect();
        comparison.correlation = stats::rank_correlation(&medians);
    }
    decided
}

fn medians(steps: &[(Span, Span)]) -> Option<(Span, Span)> {
    let (arm, baseline): (Vec<Span>, Vec<Span>) = steps.iter().copied().unzip();
    Some((stats::median(&arm)?, stats::median(&baseline)?))
}

/// Returns the (arm, baseline) requests of each block that has both; those of a failed cell all
/// failed.
pub(crate) fn requests(
    run: &Run,
    arm: &Blocks<'_>,
    baseline: &Blocks<'_>,
) -> Vec<(Requests, Requests)> {
    let of_loads = |cell: &record::CompactCell, number: fn(&record::Load) -> u64| {
        cell.loads.iter().map(number).sum::<u64>() as usize
    };
    let count = |cell: &record::CompactCell| {
        let lost = |call: &CompactCall<'_>| *call.result() != CallResult::Ok;
        match cell.is_measured() {
            true => Requests {
                made: cell.calls.iter().len() + of_loads(cell, |load| load.calls),
                failed: cell.calls.iter().filter(lost).count()
                    + of_loads(cell, |load| load.calls - load.succeeded()),
            },
            false => Requests {
                made: run.calls.len().max(1),
                failed: run.calls.len().max(1),
            },
        }
    };
    arm.iter()
        .filter_map(|(block, cell)| Some((count(cell), count(baseline.get(block)?))))
        .collect()
}

/// Returns other reasons than the protocol for a difference between two arms.
pub(crate) fn caveats(arm: &ArmSummary, baseline: &ArmSummary) -> Vec<String> {
    let mut caveats = Vec::new();
    if arm.transports != baseline.transports {
        let congestion = |arm: &ArmSummary| match arm.congestion.is_empty() {
            true => "unknown".to_owned(),
            false => arm.congestion.join(" and "),
        };
        let (one, other) = (congestion(arm), congestion(baseline));
        // It decides over QUIC as TCP's does.
        let as_tcp = |name: &str| name.replace(LINUX_CUBIC, "cubic");
        if as_tcp(&one) != as_tcp(&other) || arm.congestion.is_empty() {
            let transports = |arm: &ArmSummary| match arm.transports.is_empty() {
                true => "an unknown transport".to_owned(),
                false => arm.transports.join(" and ").to_uppercase(),
            };
            caveats.push(format!(
                "congestion control differs: {one} over {} instead of {other} over {}",
                transports(arm),
                transports(baseline)
            ));
        }
    }
    // TLS 1.2 takes a round trip more.
    for difference in &arm.differences {
        if ["TLS", "IP version"].contains(&difference.what.as_str()) {
            let version = |value: &str| value.replace("TLSv1_", "1.");
            caveats.push(format!(
                "{} {} instead of {}",
                difference.what,
                version(&difference.arm),
                version(&difference.baseline)
            ));
        }
    }
    let wait_ns = |arm: &ArmSummary| arm.costs.cpu_wait.as_ref().and_then(|q| q.value);
    if let (Some(one), Some(other)) = (wait_ns(arm), wait_ns(baseline))
        && (one - other).abs() > CPU_WAIT_CAVEAT_NS
    {
        caveats.push(format!(
            "{} waited for CPU at most {} per request; the baseline {}",
            arm.name,
            duration(one),
            duration(other)
        ));
    }
    caveats
}
