//! Remarks that change a decision beside the verdicts: one line for each matter.

use std::collections::BTreeSet;

use record::Proof;

use crate::answer::advice::is_less_reliable;
use crate::answer::sentence::losses;
use crate::answer::wording::{alarms, cells_line};
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::{AaCheck, NetworkSummary, Summary};
use crate::verdicts::noise;
use crate::verdicts::unusable::{given_up, unsupported};
use crate::words::number::count;

/// Alarms beyond these are counted.
const MOST_ALARMS: usize = 4;

/// Returns what precedes everything else. What was found first stands for the rest.
pub(crate) fn first(summary: &Summary) -> Vec<String> {
    let mut lines = alarms(summary);
    if lines.len() > MOST_ALARMS {
        let others = lines.len() - MOST_ALARMS;
        lines.truncate(MOST_ALARMS);
        lines.push(format!("INVALID: {others} more; -v lists them"));
    }
    if let Some(warning) = &summary.noise_warning {
        let finding = first_sentence(warning);
        let advice = warning[finding.len()..]
            .trim_start_matches(['.', ' '])
            .to_owned();
        lines.extend([finding, advice]);
    }
    lines
}

/// Returns what qualifies the verdicts, in one line each. `named` are the arms that the report says to take.
pub(crate) fn last(summary: &Summary, named: &BTreeSet<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(gave_up(summary));
    lines.extend(not_measured(summary));
    lines.extend(less_reliable(summary));
    lines.extend(failed(summary));
    lines.extend(a_a(&summary.a_a));
    lines.extend(few_losses(summary));
    lines.extend(doubts(summary));
    lines.extend(caveats(summary, named));
    lines.extend(unverified(summary));
    lines.extend(noise::line(&summary.noise));
    lines.push(cells_line(&summary.cells));
    lines.extend(summary.notes.iter().map(|note| first_sentence(note)));
    lines
}

/// Returns the first sentence of a text. Only a capital letter begins another.
pub(crate) fn first_sentence(text: &str) -> String {
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let is_end = |at: &usize| text[at + 2..].starts_with(|c: char| c.is_uppercase());
    let end = ends.into_iter().find(is_end).unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

fn arms(summary: &Summary) -> impl Iterator<Item = (&NetworkSummary, &ArmSummary)> {
    let of = |network| move |arm| (network, arm);
    let networks = summary.networks.iter();
    networks.flat_map(move |network| network.arms.iter().map(of(network)))
}

/// Returns the distinct names of arms, in the study's order.
fn names<'a>(arms: impl Iterator<Item = &'a ArmSummary>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let names = arms.map(|arm| arm.name.as_str());
    names.filter(|name| seen.insert(*name)).collect()
}

/// Names the arms that were given up, one line per network.
fn gave_up(summary: &Summary) -> Vec<String> {
    let line = |network: &NetworkSummary| {
        let names = names(network.arms.iter().filter(|arm| given_up(arm).is_some()));
        (!names.is_empty()).then(|| {
            format!(
                "Given up on {}: {} (all requests of the first cells timed out)",
                network.name,
                names.join(", ")
            )
        })
    };
    summary.networks.iter().filter_map(line).collect()
}

/// Returns a line for each arm without results on some network, with the reason.
fn not_measured(summary: &Summary) -> Vec<String> {
    let is_absent = |arm: &ArmSummary| unsupported(arm).is_some();
    let absent = names(
        arms(summary)
            .map(|(_, arm)| arm)
            .filter(|arm| is_absent(arm)),
    );
    let line = |name: &str| {
        let of_name = || arms(summary).filter(|(_, arm)| arm.name == name && is_absent(arm));
        let reason = of_name().find_map(|(_, arm)| arm.commonest_reason.as_deref());
        let on: Vec<&str> = of_name()
            .map(|(network, _)| network.name.as_str())
            .collect();
        let on = match on.len() == summary.networks.len() {
            true => String::new(),
            false => format!(" on {}", on.join(", ")),
        };
        format!(
            "Not measured: {name}{on}: {}",
            reason.unwrap_or("unsupported here")
        )
    };
    absent.into_iter().map(line).collect()
}

fn less_reliable(summary: &Summary) -> Vec<String> {
    let found = arms(summary).filter(|(_, arm)| is_less_reliable(arm));
    let line = |(network, arm): (&NetworkSummary, &ArmSummary)| {
        format!(
            "Less reliable: {} on {}: {}",
            arm.name,
            network.name,
            losses(arm)
        )
    };
    found.map(line).collect()
}

/// Counts the requests of each arm that failed or timed out, on all networks.
fn failed(summary: &Summary) -> Option<String> {
    let part = |name: &str| {
        let of_name = arms(summary).filter(|(_, arm)| arm.name == name);
        let counts = of_name.map(|(_, arm)| arm.calls_and_losses());
        let (calls, lost) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (lost > 0).then(|| format!("{name} {lost} of {calls}"))
    };
    let all = names(arms(summary).map(|(_, arm)| arm));
    let parts: Vec<String> = all.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("Requests that failed or timed out: {}", parts.join(", ")))
}

/// Counts the verdicts that clean cells alone do not give.
fn doubts(summary: &Summary) -> Option<String> {
    let rivals = arms(summary).filter(|(_, arm)| arm.role == Role::Arm);
    let comparisons = rivals.flat_map(|(_, arm)| arm.comparisons());
    let differing = comparisons.filter(|(_, c)| c.clean_only.is_some_and(|v| v != c.verdict));
    match differing.count() {
        0 => None,
        n => Some(format!(
            "Clean cells alone give another verdict in {n} of {}",
            count(summary.comparisons.all, "comparison")
        )),
    }
}

/// Returns a remark if the A/A check proves less than it could.
fn a_a(check: &AaCheck) -> Option<String> {
    match check {
        AaCheck::Absent => Some("No A/A check: nothing shows how much is noise".to_owned()),
        AaCheck::Inconclusive { undecided } => Some(format!(
            "A/A check inconclusive: {} of its measures undecided, e.g. {}",
            undecided.len(),
            undecided.first().map_or("", String::as_str)
        )),
        AaCheck::Passed | AaCheck::Failed { .. } => None,
    }
}

/// Names the networks on which a copy of the baseline could have lost any packets without failing the A/A check.
fn few_losses(summary: &Summary) -> Option<String> {
    let is_powerless = |network: &&NetworkSummary| {
        let mut losses = network.arms.iter().filter_map(|arm| arm.common_losses);
        losses.any(|losses| losses.is_powerless())
    };
    let networks = summary.networks.iter().filter(is_powerless);
    let names: Vec<&str> = networks.map(|network| network.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not checked that all arms met the same losses, with too few of them or none to compare: {}",
            names.join(", ")
        )
    })
}

/// Returns the caveats on some arms. For each named arm they are reasons for differences other than the protocol, on
/// the first network that has one. The rest hold for all results of some arms.
fn caveats(summary: &Summary, named: &BTreeSet<&str>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in named {
        let of_name = arms(summary).filter(|(_, arm)| arm.name == *name);
        let of_network = |(network, arm): (&NetworkSummary, &ArmSummary)| {
            let (_, comparison) = arm.comparisons().next()?;
            let words = comparison.caveats.join("; ");
            // A caveat may begin with the arm, too.
            let words = words.strip_prefix(&format!("{name} ")).unwrap_or(&words);
            (!words.is_empty()).then(|| format!("{name} on {}: {words}", network.name))
        };
        lines.extend(of_name.into_iter().find_map(of_network));
    }
    let mut seen = BTreeSet::new();
    let of_arms = arms(summary).filter_map(|(_, arm)| arm.caveat.as_deref());
    for caveat in of_arms.filter(|caveat| seen.insert(*caveat)) {
        let has = |arm: &&ArmSummary| arm.caveat.as_deref() == Some(caveat);
        let with = names(arms(summary).map(|(_, arm)| arm).filter(has));
        lines.push(format!("{}: {caveat}", with.join(", ")));
    }
    lines
}

fn unverified(summary: &Summary) -> Option<String> {
    let by_client = |arm: &&ArmSummary| arm.proof == Some(Proof::Client);
    let names = names(arms(summary).map(|(_, arm)| arm).filter(by_client));
    (!names.is_empty()).then(|| {
        format!(
            "Protocol reported by the client only, not verified: {}",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn only_a_capital_letter_begins_another_sentence() {
        assert_eq!(
            first_sentence("1 of 2 noisy, e.g. because x. Close it."),
            "1 of 2 noisy, e.g. because x"
        );
        assert_eq!(first_sentence("One sentence."), "One sentence");
    }
}
