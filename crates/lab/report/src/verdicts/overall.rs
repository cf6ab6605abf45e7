//! The answer over all networks, in words.

use std::collections::BTreeSet;

use stats::Outlook;

use crate::summary::arm::{ArmSummary, Role};
use crate::summary::{Advice, Leaning, Need, NetworkSummary};
use crate::verdicts::unusable::{fault, given_up, no_answer, unsupported};
use crate::words::text::{capitalised, listed};
use crate::words::verdict::outlook_words;

/// A sentence names no more arms than this; of more, it names [`NAMES_OF_MANY`].
const MOST_NAMES: usize = 5;
const NAMES_OF_MANY: usize = 3;

/// Returns the answer over all networks in a few sentences.
pub(crate) fn overall(networks: &[NetworkSummary], baseline: &str) -> String {
    let valid: Vec<&NetworkSummary> = networks
        .iter()
        .filter(|n| n.advice != Advice::Invalid)
        .collect();
    match valid.is_empty() {
        true => no_answer_words(networks),
        false => best_overall(&valid, baseline) + &not_measured(&valid) + &gave_up(&valid),
    }
}

/// Explains why there is no answer on any network: for each the same reasons, or various ones.
fn no_answer_words(networks: &[NetworkSummary]) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for network in networks {
        let of_network = no_answer(&network.arms);
        if of_network.is_empty() {
            return "No answer: the results must not be used.".into();
        }
        let new = of_network
            .into_iter()
            .filter(|reason| !reasons.contains(reason));
        reasons.extend(new.collect::<Vec<_>>());
    }
    format!("No answer: {}.", reasons.join("; "))
}

/// Names the arms without results on any network, because their stacks lack something here.
fn not_measured(networks: &[&NetworkSummary]) -> String {
    let is_unsupported = |name: &str| {
        let mut of_arm = networks
            .iter()
            .flat_map(|n| &n.arms)
            .filter(|a| a.name == name);
        of_arm.all(|arm| unsupported(arm).is_some())
    };
    let arms = networks.first().map_or(&[][..], |network| &network.arms);
    let names = arms.iter().map(|arm| arm.name.as_str());
    let unsupported: Vec<&str> = names.filter(|name| is_unsupported(name)).collect();
    match unsupported.is_empty() {
        true => String::new(),
        false => format!(
            " Not measured (unsupported here): {}.",
            unsupported.join(", ")
        ),
    }
}

/// Names the arms that were given up, and where.
fn gave_up(networks: &[&NetworkSummary]) -> String {
    let on = |network: &&NetworkSummary| {
        let name = network.name.clone();
        let arms = network.arms.iter().filter(|arm| given_up(arm).is_some());
        let words: Vec<String> = arms.map(|arm| format!("{} on {name}", arm.name)).collect();
        words
    };
    let places: Vec<String> = networks.iter().flat_map(on).collect();
    match places.is_empty() {
        true => String::new(),
        false => format!(
            " Given up after all requests of the first cells timed out: {}.",
            places.join(", ")
        ),
    }
}

/// Returns the best arms over all networks that have an answer.
fn best_overall(valid: &[&NetworkSummary], baseline: &str) -> String {
    let everywhere = match valid.len() {
        1 => format!("on {}", valid[0].name),
        2 => "on both networks".to_owned(),
        n => format!("on all {n} networks"),
    };
    if valid.iter().all(|n| n.advice == Advice::CannotTell) {
        return format!("Cannot tell {everywhere}: no difference is decided.");
    }
    if valid.iter().all(|n| n.advice == Advice::NoDifference) {
        return format!("No arm differs from {baseline} {everywhere}.");
    }
    if let Some(arms) = common(valid.iter().map(|n| recommended(n, baseline))) {
        return format!("Use {} {everywhere}.", listed(&arms));
    }
    let labels: Vec<&String> = valid
        .iter()
        .flat_map(|n| &n.needs)
        .map(|need| &need.label)
        .collect();
    let mut seen = BTreeSet::new();
    let mut parts = Vec::new();
    let mut is_alike = true;
    for label in labels
        .into_iter()
        .filter(|label| seen.insert((*label).clone()))
    {
        let of = |n: &&NetworkSummary| n.needs.iter().find(|need| need.label == *label).cloned();
        let needs: Vec<(String, Need)> = valid
            .iter()
            .filter_map(|n| Some((n.name.clone(), of(n)?)))
            .collect();
        let all = rivals(valid[0]).count();
        let part = match everywhere_best(&needs) {
            Some(need) => best_words(&need, all),
            None => {
                is_alike = false;
                let on = |(network, need): &(String, Need)| {
                    format!("{} on {network}", best_words(need, all))
                };
                needs.iter().map(on).collect::<Vec<_>>().join(", ")
            }
        };
        parts.push(format!("{}: {part}.", capitalised(label)));
    }
    match (parts.len(), is_alike) {
        (1, true) => {}
        (1, false) => parts.insert(0, "It depends on the network.".into()),
        _ => parts.insert(0, "It depends on the request.".into()),
    }
    parts.join(" ")
}

/// Returns the arms that are best on all networks, and those that may be as good on each; `None` if no
/// arm is best on all.
fn everywhere_best(needs: &[(String, Need)]) -> Option<Need> {
    if let [(_, only)] = needs {
        return Some(only.clone());
    }
    let needs = needs.iter().map(|(_, need)| need);
    // How far an open verdict leans is of its network.
    if needs.clone().any(|need| !need.leaning.is_empty()) {
        return None;
    }
    let best = common(needs.clone().map(|need| Some(need.best.clone())))?;
    let good = |need: &Need| Some([&need.best[..], &need.undecided].concat());
    let mut undecided = common(needs.clone().map(good)).unwrap_or_default();
    undecided.retain(|arm| !best.contains(arm));
    Some(Need {
        label: needs.clone().next()?.label.clone(),
        best,
        undecided,
        leaning: Vec::new(),
    })
}

/// Returns the arms of a study without its A/A arms.
fn rivals(network: &NetworkSummary) -> impl Iterator<Item = &ArmSummary> {
    network.arms.iter().filter(|arm| arm.role != Role::Repeat)
}

/// Returns names of arms in words, given how many arms there are.
fn arms_words(arms: &[String], all: usize) -> String {
    match arms.len() {
        n if n == all && all > 2 => "any arm".to_owned(),
        n if n > MOST_NAMES => {
            let (first, others) = (arms[..NAMES_OF_MANY].join(", "), n - NAMES_OF_MANY);
            format!("{first} or {others} others")
        }
        _ => listed(arms),
    }
}

/// Returns the best arms for a need in words, given how many arms there are.
pub(crate) fn best_words(need: &Need, all: usize) -> String {
    let best = arms_words(&need.best, all);
    if !need.leaning.is_empty() {
        let lower = |l: &Leaning| format!("{} {} %", l.arm, l.lower_percent);
        let arms = listed(&need.leaning.iter().map(lower).collect::<Vec<_>>());
        let outlook = match need.leaning.iter().all(|l| l.a_few_more) {
            true => format!("; {}", outlook_words(Outlook::AFewMore)),
            false => String::new(),
        };
        let is_other = |arm: &&String| need.leaning.iter().all(|l| l.arm != **arm);
        let others: Vec<&str> = (need.undecided.iter().filter(is_other))
            .map(String::as_str)
            .collect();
        let others = match others.len() {
            0 => String::new(),
            n if n > MOST_NAMES => format!(" ({n} other arms are open, too)"),
            _ => format!(" (open, too: {})", others.join(", ")),
        };
        return format!("undecided: {arms} lower than {best} so far{outlook}{others}");
    }
    match need.undecided.is_empty() {
        true => best,
        false if need.undecided.len() > MOST_NAMES => {
            format!("{best} (undecided: {} arms)", need.undecided.len())
        }
        false => format!("{best} (undecided: {})", need.undecided.join(", ")),
    }
}

/// Returns the arms to use on a network for every need, if there are any. Of arms that do not differ, those without
/// results are left out.
fn recommended(network: &NetworkSummary, baseline: &str) -> Option<Vec<String>> {
    match &network.advice {
        Advice::Use { arms } => Some(arms.clone()),
        Advice::Stay => Some(vec![baseline.to_owned()]),
        Advice::NoDifference => {
            let is_compared =
                |arm: &&ArmSummary| arm.comparisons().next().is_some() && fault(arm).is_none();
            let arms = rivals(network);
            let equal = arms.filter(|arm| arm.role == Role::Baseline || is_compared(arm));
            Some(equal.map(|arm| arm.name.clone()).collect())
        }
        Advice::ByNeed | Advice::CannotTell | Advice::Invalid => None,
    }
}

/// Returns what is common to all sets, in the order of the first; `None` if one is absent or nothing
/// is common.
fn common(mut sets: impl Iterator<Item = Option<Vec<String>>>) -> Option<Vec<String>> {
    let mut common = sets.next()??;
    for set in sets {
        let set = set?;
        common.retain(|arm| set.contains(arm));
    }
    (!common.is_empty()).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_arms_are_counted_and_not_named() {
        let names = |n: usize| (0..n).map(|i| format!("a{i}")).collect::<Vec<_>>();
        assert_eq!(arms_words(&names(2), 2), "a0 or a1");
        assert_eq!(arms_words(&names(5), 5), "any arm");
        assert_eq!(arms_words(&names(5), 9), "a0, a1, a2, a3 or a4");
        assert_eq!(arms_words(&names(6), 9), "a0, a1, a2 or 3 others");
        let need = Need {
            label: String::new(),
            best: names(1),
            undecided: names(6),
            leaning: Vec::new(),
        };
        assert_eq!(best_words(&need, 9), "a0 (undecided: 6 arms)");
    }

    #[test]
    fn an_open_verdict_does_not_read_as_a_win_of_the_baseline() {
        let lower = |arm: &str, lower_percent, a_few_more| Leaning {
            arm: arm.into(),
            lower_percent,
            a_few_more,
        };
        let mut need = Need {
            label: String::new(),
            best: vec!["base".into()],
            undecided: vec!["a".into(), "b".into(), "c".into()],
            leaning: vec![lower("a", 22, true)],
        };
        let words = best_words(&need, 9);
        assert_eq!(
            words,
            "undecided: a 22 % lower than base so far; a few more blocks would probably decide it (open, too: b, c)"
        );
        need.leaning = vec![lower("a", 22, false), lower("b", 9, true)];
        need.undecided.truncate(2);
        let words = "undecided: a 22 % or b 9 % lower than base so far";
        assert_eq!(best_words(&need, 9), words);
        let networks = |n: usize| vec![("n".to_owned(), need.clone()); n];
        assert_eq!(everywhere_best(&networks(1)), Some(need.clone()));
        assert_eq!(everywhere_best(&networks(2)), None);
    }
}
