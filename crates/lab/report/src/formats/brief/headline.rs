//! One line per network: which arm to take, and by how much.

use super::grid::{LEAST_LABEL, Row};
use super::label::shortened;
use super::outcome::Outcome;
use crate::answer::sentence::{outlook, reason_to_stay};
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Comparison;
use crate::summary::{Advice, NetworkSummary};
use crate::words::number::{duration, size};
use crate::words::text::{listed, width_of};
use stats::Verdict;

/// Returns the recommendation for the network with this index in a few words, from its advice and its outcomes by
/// request. The label of a request is cut so that the words take `room` columns.
pub(crate) fn headline(
    network: &NetworkSummary,
    index: usize,
    baseline: &str,
    rows: &[Row<'_>],
    room: usize,
) -> String {
    if network.by_server.is_empty() {
        return advice(network, index, baseline, rows, room);
    }
    let start = "the server decides (-v says how); ";
    let room = room.saturating_sub(width_of(start));
    start.to_owned() + &advice(network, index, baseline, rows, room)
}

fn advice(
    network: &NetworkSummary,
    index: usize,
    baseline: &str,
    rows: &[Row<'_>],
    room: usize,
) -> String {
    match &network.advice {
        Advice::Use { arms } => {
            let start = format!("use {}", listed(arms));
            let room = room.saturating_sub(width_of(&start));
            start + &gain(network, arms, rows, room)
        }
        Advice::Stay => format!("use {baseline}: {}", reason_to_stay(&network.arms)),
        Advice::NoDifference => match widest_margin(network) {
            Some(margin) => format!("no difference: any arm, within {margin} of {baseline}"),
            None => "no difference: any arm".to_owned(),
        },
        Advice::CannotTell => match outlook(&network.arms) {
            Some(outlook) => format!("cannot tell: {outlook}"),
            None => "cannot tell".to_owned(),
        },
        Advice::ByNeed => match rows {
            [only] => only.outcomes[index].words(),
            _ => {
                let outcomes: Vec<&Outcome> = rows.iter().map(|row| &row.outcomes[index]).collect();
                format!("it depends: {}", counts(&outcomes))
            }
        },
        Advice::Invalid => network.sentence.clone(),
    }
}

/// Returns in how many measures the first arm is faster, and by how much in the first of these, in the study's order.
/// The interval of the largest gain would be that of a maximum, and too narrow.
fn gain(network: &NetworkSummary, arms: &[String], rows: &[Row<'_>], room: usize) -> String {
    let mut of_network = network.arms.iter();
    let first = of_network.find(|arm| Some(&arm.name) == arms.first());
    let comparison = |row: &Row<'_>| -> Option<&Comparison> {
        let mut comparisons = first?.comparisons();
        let found = comparisons.find(|(measure, _)| measure.label == row.measure.label)?;
        Some(found.1)
    };
    let faster: Vec<(&Row<'_>, &Comparison)> = rows
        .iter()
        .filter_map(|row| Some((row, comparison(row)?)))
        .filter(|(_, comparison)| comparison.verdict == Verdict::Faster)
        .collect();
    let Some((row, comparison)) = faster.first() else {
        return String::new();
    };
    let Some(size) = size(&comparison.difference, true) else {
        return String::new();
    };
    let gain = format!("{} [{}]", size.value, size.range.replace(" to ", ", "));
    if rows.len() == 1 {
        return format!(": {gain} faster");
    }
    let (n, all) = (faster.len(), rows.len());
    let start = format!(": faster in {n} of {all}, e.g. by {gain} for ");
    let room = room.saturating_sub(width_of(&start)).max(LEAST_LABEL);
    start + &shortened(&row.label, room)
}

/// Returns the largest difference that a verdict of no difference allows.
fn widest_margin(network: &NetworkSummary) -> Option<String> {
    let arms = network.arms.iter().filter(|arm| arm.role == Role::Arm);
    let margins = arms
        .flat_map(ArmSummary::comparisons)
        .filter(|(measure, _)| measure.decisive)
        .map(|(_, comparison)| comparison.margin_ns);
    margins.reduce(f64::max).map(duration)
}

/// Counts outcomes by kind, the commonest first, e.g. `cronet h3 in 9, any arm in 8, cannot tell in 3 of 20`.
fn counts(outcomes: &[&Outcome]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for kind in outcomes.iter().map(|outcome| outcome.kind()) {
        match counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, n)) => *n += 1,
            None => counts.push((kind, 1)),
        }
    }
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let parts: Vec<String> = counts
        .iter()
        .map(|(kind, n)| format!("{kind} in {n}"))
        .collect();
    format!("{} of {}", parts.join(", "), outcomes.len())
}
