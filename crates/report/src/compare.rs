//! Arms against the baseline, block by block.

use record::Run;
use stats::{Level, Rule, Span, Verdict};

use crate::cells::{Blocks, Table};
use crate::number::duration;
use crate::population::Population;
use crate::quantity::{Quantity, Unit};
use crate::summary::{ArmSummary, Comparison, Family, Role};

/// Times of arm and baseline in the blocks that have both.
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

/// How many comparisons of `role` the records allow, with noisy cells or without. Arms that
/// were never measured cost the others nothing: whether a stack was there does not depend on how
/// it would have done.
pub(crate) fn family(
    run: &Run,
    table: &Table<'_>,
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
        // Wherever there is a clean cell, there is a first measured attempt.
        let baseline = table.first(&network.name, &run.baseline);
        for arm in arms() {
            let blocks = table.first(&network.name, &arm.name);
            let told = |p: &&Population| !pairs(p, &blocks, &baseline, run).is_empty();
            comparisons += populations.iter().filter(told).count();
        }
    }
    let each = Level::NINETY_FIVE.shared_by(comparisons);
    Family {
        comparisons,
        together: Level::NINETY_FIVE.coverage(),
        each: each.coverage(),
    }
}

/// The part of an arm in the study.
pub(crate) fn role_of(run: &Run, arm: &str) -> Role {
    let repeat = |a: &record::Arm| a.name == arm && a.same_as_baseline;
    match arm == run.baseline {
        true => Role::Baseline,
        false if run.arms.iter().any(repeat) => Role::Repeat,
        false => Role::Arm,
    }
}

/// An arm against the baseline, twice.
pub(crate) struct Compared {
    /// From clean cells; `None` when no block has clean cells of both.
    pub(crate) clean: Option<Comparison>,
    /// The verdict from first attempts, noisy or not.
    pub(crate) with_noisy: Option<Verdict>,
}

/// Compares `arm` with the baseline on a network.
pub(crate) fn compare(
    population: &Population,
    run: &Run,
    table: &Table<'_>,
    family: &Family,
    (network, arm): (&str, &str),
) -> Compared {
    let baseline = run.baseline.as_str();
    let clean = (table.clean(network, arm), table.clean(network, baseline));
    let first = (table.first(network, arm), table.first(network, baseline));
    let rule = Rule {
        margin: margin_ns(population, run, &clean).max(margin_ns(population, run, &first)),
        level: Level::NINETY_FIVE.shared_by(family.comparisons),
        seed: run.seed,
    };
    let pairs = |cells: &(Blocks<'_>, Blocks<'_>)| pairs(population, &cells.0, &cells.1, run);
    let all = stats::compare(&pairs(&first), &rule);
    let clean = pairs(&clean);
    let comparison = stats::compare(&clean, &rule).map(|got| Comparison {
        difference: Quantity::new(&got.difference, Unit::Ns),
        speedup: stats::speedup(&clean, rule.level, rule.seed)
            .map(|factor| Quantity::new(&factor, Unit::Factor)),
        margin_ns: rule.margin,
        verdict: got.verdict,
        correlation: stats::correlation(&clean),
        caveats: Vec::new(),
    });
    Compared {
        clean: comparison,
        with_noisy: all.map(|got| got.verdict),
    }
}

/// Differences up to this are of no interest: the study's word or the default, and never less
/// than the clocks of both arms can show.
fn margin_ns(
    population: &Population,
    run: &Run,
    (arm, baseline): &(Blocks<'_>, Blocks<'_>),
) -> f64 {
    let base = population.by_block(baseline, run.timeout_ns);
    let base = stats::median(&base.into_values().collect::<Vec<_>>());
    let default = stats::default_margin_ns(base.map_or(0.0, |median| median.lo));
    let wanted = run.margin_ns.map_or(default, |ns| ns as f64);
    let cells = arm.values().chain(baseline.values());
    let resolution = cells.map(|cell| cell.stack.resolution_ns).max();
    wanted.max(resolution.unwrap_or(0) as f64)
}

/// Why a difference between two arms may not be the protocol's.
pub(crate) fn caveats(arm: &ArmSummary, baseline: &ArmSummary) -> Vec<String> {
    let mut caveats = Vec::new();
    if arm.transports != baseline.transports {
        let told = |arm: &ArmSummary| match arm.congestion.is_empty() {
            true => "unknown".to_owned(),
            false => arm.congestion.join(" and "),
        };
        let (one, other) = (told(arm), told(baseline));
        if one != other || arm.congestion.is_empty() {
            let transports = |arm: &ArmSummary| match arm.transports.is_empty() {
                true => "an unknown transport".to_owned(),
                false => arm.transports.join(" and ").to_uppercase(),
            };
            caveats.push(format!(
                "congestion control differs: {one} over {} against {other} over {}",
                transports(arm),
                transports(baseline)
            ));
        }
    }
    let wait_ns = |arm: &ArmSummary| arm.costs.core_wait.as_ref().and_then(|q| q.value);
    if let (Some(one), Some(other)) = (wait_ns(arm), wait_ns(baseline))
        && (one - other).abs() > UNLIKE_WAIT_NS
    {
        caveats.push(format!(
            "waiting for a core differs: up to {} a call against {}",
            duration(one),
            duration(other)
        ));
    }
    caveats
}

/// Half of the least margin a verdict has by default: a difference in waiting of this size may
/// be much of a difference in time.
const UNLIKE_WAIT_NS: f64 = 1e6;
