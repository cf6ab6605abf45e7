//! One line per network: which arm to take, and by how much.

use super::outcome::Outcome;
use crate::number::{duration, size};
use crate::sentence::{outlook, reason_to_stay};
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Comparison;
use crate::summary::{Advice, NetworkSummary};
use crate::text::listed;
use stats::Verdict;

/// Returns the recommendation for a network in a few words, from its advice and its outcomes by request.
pub(crate) fn headline(network: &NetworkSummary, baseline: &str, outcomes: &[&Outcome]) -> String {
    match &network.advice {
        Advice::Use { arms } => format!("use {}{}", listed(arms), gain(network, arms)),
        Advice::Stay => format!("use {baseline}: {}", reason_to_stay(&network.arms)),
        Advice::NoDifference => match widest_margin(network) {
            Some(margin) => format!("no difference: any arm, within {margin} of {baseline}"),
            None => "no difference: any arm".to_owned(),
        },
        Advice::CannotTell => match outlook(&network.arms) {
            Some(outlook) => format!("cannot tell: {outlook}"),
            None => "cannot tell".to_owned(),
        },
        Advice::ByNeed => match outcomes {
            [only] => only.words(),
            _ => format!("it depends: {}", counts(outcomes)),
        },
        Advice::Invalid => network.sentence.clone(),
    }
}

/// Returns the largest gain of the first arm and in how many measures it is faster.
fn gain(network: &NetworkSummary, arms: &[String]) -> String {
    let first = network
        .arms
        .iter()
        .find(|arm| Some(&arm.name) == arms.first());
    let decisive: Vec<&Comparison> = first
        .into_iter()
        .flat_map(ArmSummary::comparisons)
        .filter(|(measure, _)| measure.decisive)
        .map(|(_, comparison)| comparison)
        .collect();
    let faster = || decisive.iter().filter(|c| c.verdict == Verdict::Faster);
    let value = |c: &&&Comparison| c.difference.value.unwrap_or(0.0);
    let largest = faster().min_by(|a, b| value(a).total_cmp(&value(b)));
    let Some(size) = largest.and_then(|c| size(&c.difference, true)) else {
        return String::new();
    };
    format!(
        ": up to {} [{}] faster, in {} of {}",
        size.value,
        size.range.replace(" to ", ", "),
        faster().count(),
        decisive.len()
    )
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
