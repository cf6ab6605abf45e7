//! The outcome of one kind of requests on one network: which arm to take.

use stats::Verdict;

use crate::answer::advice::is_less_reliable;
use crate::answer::because::with_reason;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Comparison;
use crate::summary::{Advice, Need, NetworkSummary};
use crate::verdicts::unusable::given_up;
use crate::words::number::size;
use crate::words::verdict::finding_words;

/// The arms to take in a decisive measure, from the same verdicts as the network's sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The network's results must not be used, or lack this measure.
    NoAnswer,
    /// No comparison with the baseline is decided.
    CannotTell,
    /// No arm differs from the baseline for the worse or was given up, and none is decided to be faster.
    AnyArm,
    /// An arm is the best, or as good as any.
    Take(Best),
}

/// The best arm of a measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Best {
    pub(crate) arm: String,
    /// The interval of its lead, e.g. `103–107 ms`: over the baseline, or where the baseline is best and every
    /// other arm is slower, over the next arm.
    lead: Option<String>,
    /// The number of further arms that are as good.
    ties: usize,
    /// Whether an undecided arm may be as good or better.
    is_open: bool,
    /// The lead with its reason, e.g. `cronet h3 is 106 ms faster because ...`.
    pub(crate) reason: Option<String>,
}

impl Outcome {
    /// Returns the outcome of the measure with this index. Among equally good arms it names the first of `preferred`.
    pub(crate) fn of(
        network: &NetworkSummary,
        index: usize,
        label: &str,
        preferred: &[&str],
    ) -> Self {
        let need = network.needs.iter().find(|need| need.label == label);
        let baseline = network.arms.iter().find(|arm| arm.role == Role::Baseline);
        match (need, baseline) {
            (Some(need), Some(baseline)) => of_need(network, index, need, baseline, preferred),
            _ => Outcome::NoAnswer,
        }
    }

    /// Returns the words of a cell, e.g. `cronet h3 103–107 ms +1`.
    pub(crate) fn words(&self) -> String {
        match self {
            Outcome::NoAnswer => "no answer".to_owned(),
            Outcome::CannotTell => "cannot tell".to_owned(),
            Outcome::AnyArm => "any arm".to_owned(),
            Outcome::Take(best) => {
                let mut words = best.arm.clone();
                if let Some(lead) = &best.lead {
                    words += &format!(" {lead}");
                }
                if best.ties > 0 {
                    words += &format!(" +{}", best.ties);
                }
                words + if best.is_open { " ?" } else { "" }
            }
        }
    }

    /// Returns what it is counted as: an arm, or that there is none to take.
    pub(crate) fn kind(&self) -> &str {
        match self {
            Outcome::NoAnswer => "no answer",
            Outcome::CannotTell => "cannot tell",
            Outcome::AnyArm => "any arm",
            Outcome::Take(best) => &best.arm,
        }
    }

    /// Returns the best arm, if there is one to take.
    pub(crate) fn best(&self) -> Option<&Best> {
        match self {
            Outcome::Take(best) => Some(best),
            Outcome::NoAnswer | Outcome::CannotTell | Outcome::AnyArm => None,
        }
    }
}

fn of_need(
    network: &NetworkSummary,
    index: usize,
    need: &Need,
    baseline: &ArmSummary,
    preferred: &[&str],
) -> Outcome {
    let rivals: Vec<(&ArmSummary, &Comparison)> = network
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Arm)
        .filter_map(|arm| Some((arm, arm.measures[index].comparison.as_ref()?)))
        .collect();
    let Some(first) = need.best.first() else {
        return Outcome::NoAnswer;
    };
    let verdicts = || rivals.iter().map(|(_, comparison)| comparison.verdict);
    let any_given_up = network.arms.iter().any(|arm| given_up(arm).is_some());
    let is_alone = rivals.is_empty() && any_given_up;
    if !is_alone && !verdicts().any(Verdict::is_decided) {
        return Outcome::CannotTell;
    }
    let is_lead = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    if need.best.len() == rivals.len() + 1 && !any_given_up && !verdicts().any(is_lead) {
        return Outcome::AnyArm;
    }
    let faster = |name: &&str| {
        let rival = rivals.iter().find(|(arm, _)| arm.name == **name);
        let (arm, comparison) = rival.filter(|_| need.best.iter().any(|best| best == name))?;
        (comparison.verdict == Verdict::Faster).then_some((arm, comparison))
    };
    // The arm to take, and the comparison that its lead is from.
    let (name, lead) = match preferred.iter().find_map(faster) {
        Some((arm, comparison)) => (&arm.name, Some((*arm, *comparison))),
        None if first == &baseline.name => (first, next_behind(&rivals)),
        None => (first, None),
    };
    Outcome::Take(Best {
        arm: name.clone(),
        lead: lead.and_then(|(arm, comparison)| range(comparison, arm.name == *name)),
        ties: need.best.len() - 1,
        is_open: !need.undecided.is_empty(),
        reason: lead.and_then(|(arm, comparison)| {
            let words = format!("{} is {}", arm.name, finding_words(comparison));
            with_reason(words, comparison)
        }),
    })
}

/// Returns the names of all arms, those first that the most networks recommend, then those that are best for the
/// most needs.
pub(crate) fn by_advice(networks: &[NetworkSummary]) -> Vec<&str> {
    let arms = networks.first().map_or(&[][..], |network| &network.arms);
    let mut names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let rank = |name: &str| {
        let has = |names: &[String]| names.iter().any(|one| one == name);
        let recommends =
            |n: &&NetworkSummary| matches!(&n.advice, Advice::Use { arms } if has(arms));
        let needs = networks.iter().flat_map(|network| &network.needs);
        (
            networks.iter().filter(recommends).count(),
            needs.filter(|need| has(&need.best)).count(),
        )
    };
    // The sort is stable: of equals, the first in the study comes first.
    names.sort_by_key(|name| std::cmp::Reverse(rank(name)));
    names
}

/// Returns the arm that is next behind the baseline, where every other arm is decided to be slower and none is less
/// reliable.
fn next_behind<'a>(
    rivals: &[(&'a ArmSummary, &'a Comparison)],
) -> Option<(&'a ArmSummary, &'a Comparison)> {
    let is_behind = |(arm, comparison): &(&ArmSummary, &Comparison)| {
        comparison.verdict == Verdict::Slower && !is_less_reliable(arm)
    };
    if !rivals.iter().all(is_behind) {
        return None;
    }
    let value = |comparison: &Comparison| comparison.difference.value.unwrap_or(f64::INFINITY);
    let rivals = rivals.iter().copied();
    rivals.min_by(|(_, a), (_, b)| value(a).total_cmp(&value(b)))
}

/// Returns the interval of a difference with its unit.
fn range(comparison: &Comparison, faster: bool) -> Option<String> {
    let size = size(&comparison.difference, faster)?;
    Some(format!("{} {}", size.range.replace(" to ", "–"), size.unit))
}
