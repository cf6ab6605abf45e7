//! Compares arms with the baseline, block by block.

use record::Run;
use stats::{Level, Rule, Span, Verdict};

use crate::cells::{Blocks, CellIndex};
use crate::number::duration;
use crate::population::Population;
use crate::quantity::{Quantity, Unit};
use crate::summary::measure::Comparison;
use crate::summary::{ArmSummary, Family, Role};

/// Half of the smallest default margin: a difference in CPU wait of this size may explain much of a
/// difference in time.
const CPU_WAIT_CAVEAT_NS: f64 = 1e6;

/// Returns the times of arm and baseline in the blocks that have both.
pub(crate) fn pairs(
    population: &Population,
    arm: &Blocks<'_>,
    baseline: &Blocks<'_>,
    run: &Run,
) -> Vec<(Span, Span)> {
    let base = population.by_block(baseline, run.timeout_ns);
    let arm = population.by_block(arm, run.timeout_ns);
    arm.into_iter()
        .filter_map(|(block, time)| Some((time, *base.get(&block)?)))
        .collect()
}

/// Counts the comparisons of `role` that the records allow, with or without noisy cells. Arms that
/// were never measured are left out and cost the others nothing: whether a stack is installed does
/// not depend on its speed.
pub(crate) fn family(
    run: &Run,
    cells: &CellIndex<'_>,
    populations: &[Population],
    role: Role,
) -> Family {
    let arms = || {
        run.arms
            .iter()
            .filter(|arm| role_of(run, &arm.name) == role)
    };
    let mut comparisons = 0;
    for network in &run.networks {
        // A cell with a clean attempt also has a first measured attempt.
        let baseline = cells.first(&network.name, &run.baseline);
        for arm in arms() {
            let blocks = cells.first(&network.name, &arm.name);
            let comparable = |p: &&Population| !pairs(p, &blocks, &baseline, run).is_empty();
            comparisons += populations.iter().filter(comparable).count();
        }
    }
    let each = Level::NINETY_FIVE.shared_by(comparisons);
    Family {
        comparisons,
        coverage: Level::NINETY_FIVE.coverage(),
        coverage_each: each.coverage(),
    }
}

/// Returns the role of an arm in the study.
pub(crate) fn role_of(run: &Run, arm: &str) -> Role {
    let is_repeat = |a: &record::Arm| a.name == arm && a.same_as_baseline;
    match arm == run.baseline {
        true => Role::Baseline,
        false if run.arms.iter().any(is_repeat) => Role::Repeat,
        false => Role::Arm,
    }
}

/// An arm compared with the baseline, without and with noisy cells.
pub(crate) struct Compared {
    /// From clean cells; `None` if no block has clean cells of both.
    pub(crate) clean: Option<Comparison>,
    /// The verdict from first measured attempts, clean or noisy.
    pub(crate) with_noisy: Option<Verdict>,
}

/// Compares `arm` with the baseline on a network.
pub(crate) fn compare(
    population: &Population,
    run: &Run,
    cells: &CellIndex<'_>,
    family: &Family,
    (network, arm): (&str, &str),
) -> Compared {
    let baseline = run.baseline.as_str();
    let clean = (cells.clean(network, arm), cells.clean(network, baseline));
    let first = (cells.first(network, arm), cells.first(network, baseline));
    let rule = Rule {
        margin: margin_ns(population, run, &clean).max(margin_ns(population, run, &first)),
        level: Level::NINETY_FIVE.shared_by(family.comparisons),
    };
    let pairs = |(arm, baseline): &(Blocks<'_>, Blocks<'_>)| pairs(population, arm, baseline, run);
    let with_noisy = stats::compare(&pairs(&first), &rule);
    let clean = pairs(&clean);
    let comparison = stats::compare(&clean, &rule).map(|compared| Comparison {
        difference: Quantity::new(&compared.difference, Unit::Ns),
        speedup: speedup(&clean, &compared.difference)
            .map(|factor| Quantity::new(&factor, Unit::Factor)),
        margin_ns: rule.margin,
        verdict: compared.verdict,
        correlation: stats::rank_correlation(&clean),
        caveats: Vec::new(),
    });
    Compared {
        clean: comparison,
        with_noisy: with_noisy.map(|compared| compared.verdict),
    }
}

/// Returns the factor by which the arm is faster.
fn speedup(pairs: &[(Span, Span)], difference: &stats::Estimate) -> Option<stats::Estimate> {
    let factors: Option<Vec<Span>> = pairs
        .iter()
        .map(|&pair| stats::block_speedup(&[pair]))
        .collect();
    stats::speedup(&factors?, difference)
}

/// Returns the largest difference that still counts as no difference: the study's margin or the
/// default, but not less than the resolution of both arms' clocks.
fn margin_ns(
    population: &Population,
    run: &Run,
    (arm, baseline): &(Blocks<'_>, Blocks<'_>),
) -> f64 {
    let base = population.by_block(baseline, run.timeout_ns);
    let base = stats::median(&base.into_values().collect::<Vec<_>>());
    let default = stats::default_margin_ns(base.map_or(0.0, |median| median.lo));
    let margin = run.margin_ns.map_or(default, |ns| ns as f64);
    let cells = arm.values().chain(baseline.values());
    let resolution = cells.map(|cell| cell.stack.resolution_ns).max();
    margin.max(resolution.unwrap_or(0) as f64)
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
        if one != other || arm.congestion.is_empty() {
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
    let wait_ns = |arm: &ArmSummary| arm.costs.cpu_wait.as_ref().and_then(|q| q.value);
    if let (Some(one), Some(other)) = (wait_ns(arm), wait_ns(baseline))
        && (one - other).abs() > CPU_WAIT_CAVEAT_NS
    {
        caveats.push(format!(
            "CPU wait differs: up to {} per request instead of {}",
            duration(one),
            duration(other)
        ));
    }
    caveats
}
