//! Arms against the reference, block by block.

use record::Run;
use stats::{Level, Rule, Span};

use crate::cells::{Blocks, Table};
use crate::measure::Population;
use crate::{ArmSummary, Comparison, Family, Quantity, Role, Unit};

/// Times of arm and reference in the blocks that have both.
pub(crate) fn pairs(
    population: &Population,
    arm: &Blocks<'_>,
    reference: &Blocks<'_>,
    run: &Run,
) -> Vec<(Span, Span)> {
    let base = population.by_block(reference, run.timeout_ns);
    let arm = population.by_block(arm, run.timeout_ns);
    arm.into_iter()
        .filter_map(|(block, time)| Some((time, *base.get(&block)?)))
        .collect()
}

/// How many comparisons of `role` the records allow. Arms that were never measured cost the
/// others nothing: whether a stack was there does not depend on how it would have done.
pub(crate) fn family(
    run: &Run,
    table: &Table<'_>,
    populations: &[Population],
    role: Role,
) -> Family {
    let mut comparisons = 0;
    for network in &run.networks {
        let reference = table.clean(&network.name, &run.reference);
        for arm in run
            .arms
            .iter()
            .filter(|arm| role_of(run, &arm.name) == role)
        {
            let blocks = table.clean(&network.name, &arm.name);
            let told = |p: &&Population| !pairs(p, &blocks, &reference, run).is_empty();
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
    let repeat = |a: &record::Arm| a.name == arm && a.same_as_reference;
    match arm == run.reference {
        true => Role::Reference,
        false if run.arms.iter().any(repeat) => Role::Repeat,
        false => Role::Arm,
    }
}

/// Compares `arm` with the reference. `None` when no block has both.
pub(crate) fn compare(
    population: &Population,
    run: &Run,
    table: &Table<'_>,
    family: &Family,
    (network, arm): (&str, &str),
) -> Option<Comparison> {
    let cells = (
        table.clean(network, arm),
        table.clean(network, &run.reference),
    );
    let level = Level::NINETY_FIVE.shared_by(family.comparisons);
    let base = population.by_block(&cells.1, run.timeout_ns);
    let base = stats::median(&base.into_values().collect::<Vec<_>>())?.lo;
    let margin = run
        .margin_ns
        .map_or(stats::default_margin_ns(base), |ns| ns as f64);
    let resolution = cells
        .0
        .values()
        .chain(cells.1.values())
        .map(|c| c.stack.resolution_ns)
        .max();
    let margin = margin.max(resolution.unwrap_or(0) as f64);
    let rule = Rule {
        margin,
        level,
        seed: run.seed,
    };

    let clean = pairs(population, &cells.0, &cells.1, run);
    let got = stats::compare(&clean, &rule)?;
    let first = (
        table.first(network, arm),
        table.first(network, &run.reference),
    );
    let all = stats::compare(&pairs(population, &first.0, &first.1, run), &rule);
    let speedup = stats::speedup(&clean, level, run.seed);
    Some(Comparison {
        difference: Quantity::new(&got.difference, Unit::Ns),
        speedup: speedup.map(|e| Quantity::new(&e, Unit::Factor)),
        margin_ns: margin,
        verdict: got.verdict,
        with_disturbed: all.map(|c| c.verdict),
        correlation: stats::correlation(&clean),
        caveats: Vec::new(),
    })
}

/// Why a difference between two arms may not be the protocol's.
pub(crate) fn caveats(arm: &ArmSummary, reference: &ArmSummary) -> Vec<String> {
    let mut caveats = Vec::new();
    if arm.transports != reference.transports {
        let told = |arm: &ArmSummary| match arm.congestion.is_empty() {
            true => "unknown".to_owned(),
            false => arm.congestion.join(" and "),
        };
        let (one, other) = (told(arm), told(reference));
        if one != other || arm.congestion.is_empty() {
            let transports = |arm: &ArmSummary| match arm.transports.is_empty() {
                true => "an unknown transport".to_owned(),
                false => arm.transports.join(" and ").to_uppercase(),
            };
            caveats.push(format!(
                "congestion control differs: {one} over {} against {other} over {}",
                transports(arm),
                transports(reference)
            ));
        }
    }
    caveats
}
