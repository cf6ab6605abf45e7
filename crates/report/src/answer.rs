//! The recommendation: which arms are best for each need on a network, and over all networks.

use std::collections::BTreeSet;

use record::Run;
use stats::{ReliabilityVerdict, Verdict};

use crate::cells::CellIndex;
use crate::compare::compare_pairs;
use crate::pairing;
use crate::population::Population;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Comparison;
use crate::summary::{Advice, Need, NetworkSummary};
use crate::text::capitalised;

/// A sentence names no more arms than this; of more, it names [`NAMES_OF_MANY`].
const MOST_NAMES: usize = 5;
const NAMES_OF_MANY: usize = 3;

/// A share of failed requests of the baseline or of all arms from which nothing can be concluded.
const FAILED_SHARE: f64 = 0.5;

/// Returns the recommendation for a network. Arms are compared with the baseline in `arms`; those
/// that are named best are compared with each other here.
pub(crate) fn recommend(
    run: &Run,
    cells: &CellIndex<'_>,
    populations: &[Population],
    network: &str,
    arms: &[ArmSummary],
) -> (Advice, Vec<Need>) {
    let Some(baseline) = arms.iter().find(|arm| arm.role == Role::Baseline) else {
        return (Advice::CannotTell, Vec::new());
    };
    let repeats = || arms.iter().filter(|arm| arm.role == Role::Repeat);
    if repeats().any(differs) || fails_mostly(baseline) {
        return (Advice::Invalid, Vec::new());
    }
    let decisive: Vec<usize> = (0..populations.len())
        .filter(|&i| populations[i].decisive && baseline.measures[i].time.is_some())
        .collect();
    // Without TLS an arm is a control, whatever its times.
    let is_control = |name: &str| {
        let mut arms = run.arms.iter();
        arms.any(|arm| arm.name == name && arm.security == "none")
    };
    let rivals: Vec<&ArmSummary> = arms
        .iter()
        .filter(|arm| arm.role == Role::Arm && arm.comparisons().next().is_some())
        .filter(|arm| !is_control(&arm.name))
        .collect();
    let eligible: Vec<&ArmSummary> = rivals
        .iter()
        .copied()
        .filter(|arm| !is_less_reliable(arm))
        .collect();
    let contest = Contest {
        baseline,
        eligible,
        decisive,
    };
    let candidates = contest.candidates();
    let pairs = contest.pairs(&candidates);
    let verdicts = compare_pairs(run, cells, populations, network, &pairs);
    let table: Vec<((usize, &str, &str), Verdict)> = pairs.into_iter().zip(verdicts).collect();
    let mut needs = contest.needs(&table);
    // A baseline without TLS is named only where nothing else is as fast.
    for need in &mut needs {
        if need.best.iter().any(|name| !is_control(name)) {
            need.best.retain(|name| !is_control(name));
        }
    }
    let verdict =
        |arm: &ArmSummary, i: usize| arm.measures[i].comparison.as_ref().map(|c| c.verdict);
    let verdicts: Vec<Option<Verdict>> = rivals
        .iter()
        .flat_map(|arm| contest.decisive.iter().map(move |&i| verdict(arm, i)))
        .collect();
    let all = |test: fn(Verdict) -> bool| {
        !verdicts.is_empty() && verdicts.iter().all(|v| v.is_some_and(test))
    };
    let advice = if !candidates.is_empty() {
        Advice::Use {
            arms: contest.undominated(&candidates, &table),
        }
    } else if all(|v| v == Verdict::NoDifference) && rivals.len() == contest.eligible.len() {
        Advice::NoDifference
    } else if all(|v| {
        use Verdict::{NoDifference, NotFaster, Slower};
        matches!(v, Slower | NoDifference | NotFaster)
    }) {
        Advice::Stay
    } else if !verdicts.iter().flatten().any(|v| v.is_decided()) {
        Advice::CannotTell
    } else {
        Advice::ByNeed
    };
    (advice, needs)
}

/// The arms that compete on a network.
struct Contest<'a> {
    baseline: &'a ArmSummary,
    /// Arms that are not less reliable than the baseline.
    eligible: Vec<&'a ArmSummary>,
    /// Indices of the measures that count.
    decisive: Vec<usize>,
}

impl<'a> Contest<'a> {
    fn comparison(arm: &'a ArmSummary, index: usize) -> Option<&'a Comparison> {
        arm.measures[index].comparison.as_ref()
    }

    fn is(arm: &ArmSummary, index: usize, verdict: Verdict) -> bool {
        Self::verdict(arm, index) == Some(verdict)
    }

    fn verdict(arm: &ArmSummary, index: usize) -> Option<Verdict> {
        arm.measures[index].comparison.as_ref().map(|c| c.verdict)
    }

    /// Returns the arms that are faster in one decisive measure and at least equal in all others,
    /// the one that gains most first.
    fn candidates(&self) -> Vec<&'a ArmSummary> {
        let is_candidate = |arm: &&ArmSummary| {
            let has = |i: &usize, v| Self::is(arm, *i, v);
            self.decisive.iter().any(|i| has(i, Verdict::Faster))
                && (self.decisive.iter())
                    .all(|i| Self::verdict(arm, *i).is_some_and(is_at_least_as_fast))
        };
        let mut candidates: Vec<&ArmSummary> =
            self.eligible.iter().copied().filter(is_candidate).collect();
        // The sort is stable: of equals, the first in the study comes first.
        candidates.sort_by(|a, b| self.gain(b).total_cmp(&self.gain(a)));
        candidates
    }

    /// Returns how much an arm gains: the sum of the logarithms of its speedups in the decisive
    /// measures in which it is faster.
    fn gain(&self, arm: &'a ArmSummary) -> f64 {
        let faster = self
            .decisive
            .iter()
            .filter(|&&i| Self::is(arm, i, Verdict::Faster));
        let speedup = |&i: &usize| Self::comparison(arm, i)?.speedup.as_ref()?.value;
        faster.filter_map(speedup).map(f64::ln).sum()
    }

    /// Returns the fastest of the arms that are faster than the baseline in a measure.
    fn leader(&self, index: usize) -> Option<&'a ArmSummary> {
        let faster = self
            .eligible
            .iter()
            .filter(|arm| Self::is(arm, index, Verdict::Faster));
        let difference = |arm: &&&ArmSummary| {
            let comparison = arm.measures[index].comparison.as_ref();
            comparison.and_then(|c| c.difference.value).unwrap_or(0.0)
        };
        faster
            .min_by(|a, b| difference(a).total_cmp(&difference(b)))
            .copied()
    }

    /// Returns the comparisons between arms that the recommendation needs: in each measure the
    /// leader against those that may be as fast, and the first candidate against the others.
    fn pairs(&self, candidates: &[&'a ArmSummary]) -> Vec<(usize, &'a str, &'a str)> {
        let mut pairs = BTreeSet::new();
        for &index in &self.decisive {
            if let Some(leader) = self.leader(index) {
                let rivals = self.eligible.iter().filter(|arm| arm.name != leader.name);
                for rival in rivals.filter(|arm| may_lead(Self::verdict(arm, index))) {
                    pairs.insert((index, rival.name.as_str(), leader.name.as_str()));
                }
            }
            if let [first, others @ ..] = candidates {
                for other in others {
                    pairs.insert((index, other.name.as_str(), first.name.as_str()));
                }
            }
        }
        pairs.into_iter().collect()
    }

    fn needs(&self, table: &[((usize, &str, &str), Verdict)]) -> Vec<Need> {
        let need = |&index: &usize| {
            let mut need = Need {
                label: self.baseline.measures[index].label.clone(),
                best: Vec::new(),
                undecided: Vec::new(),
            };
            let leader = self.leader(index);
            need.best.push(leader.unwrap_or(self.baseline).name.clone());
            for arm in &self.eligible {
                let verdict = match leader {
                    None => Self::verdict(arm, index),
                    Some(leader) if leader.name == arm.name => None,
                    Some(leader) => look_up(table, (index, &arm.name, &leader.name)),
                };
                match verdict {
                    Some(verdict) if is_at_least_as_fast(verdict) => {
                        need.best.push(arm.name.clone());
                    }
                    Some(Verdict::Slower) | None => {}
                    Some(_) => need.undecided.push(arm.name.clone()),
                }
            }
            need
        };
        self.decisive.iter().map(need).collect()
    }

    /// Returns the names of the candidates that are not decidedly worse than the first.
    fn undominated(
        &self,
        candidates: &[&ArmSummary],
        table: &[((usize, &str, &str), Verdict)],
    ) -> Vec<String> {
        let Some(first) = candidates.first() else {
            return Vec::new();
        };
        let is_dominated = |arm: &ArmSummary| {
            let against_first = |&i: &usize| look_up(table, (i, &arm.name, &first.name));
            let verdicts: Vec<Verdict> = self.decisive.iter().filter_map(against_first).collect();
            verdicts.contains(&Verdict::Slower) && !verdicts.contains(&Verdict::Faster)
        };
        let kept = candidates.iter().filter(|arm| !is_dominated(arm));
        kept.map(|arm| arm.name.clone()).collect()
    }
}

fn is_at_least_as_fast(verdict: Verdict) -> bool {
    use Verdict::{Faster, NoDifference, NotSlower};
    matches!(verdict, Faster | NoDifference | NotSlower)
}

/// Returns whether an arm with this verdict against the baseline may be as fast as a leader that is
/// faster than the baseline.
fn may_lead(verdict: Option<Verdict>) -> bool {
    use Verdict::{CannotTell, Faster, NotSlower};
    matches!(verdict, Some(Faster | NotSlower | CannotTell { .. }))
}

fn look_up(table: &[((usize, &str, &str), Verdict)], pair: (usize, &str, &str)) -> Option<Verdict> {
    let found = table.iter().find(|(known, _)| *known == pair);
    found.map(|(_, verdict)| *verdict)
}

/// Returns whether an A/A arm differs from the baseline, or met other losses.
pub(crate) fn differs(arm: &ArmSummary) -> bool {
    let verdicts = || arm.comparisons().map(|(_, c)| c.verdict);
    !pairing::objections(arm).is_empty()
        || verdicts().any(|v| matches!(v, Verdict::Faster | Verdict::Slower))
}

/// Returns whether an arm fails decidedly more often than the baseline.
pub(crate) fn is_less_reliable(arm: &ArmSummary) -> bool {
    let verdict = arm.reliability.as_ref().map(|r| r.verdict);
    verdict == Some(ReliabilityVerdict::LessReliable)
}

/// Returns whether so many requests of an arm failed that its times mean nothing. Timeouts are times.
pub(crate) fn fails_mostly(arm: &ArmSummary) -> bool {
    let by_call = || arm.measures.iter().filter(|m| m.part.is_by_request());
    let calls: usize = by_call().map(|m| m.calls).sum();
    let failed: usize = by_call().map(|m| m.failed).sum();
    calls > 0 && failed as f64 >= FAILED_SHARE * calls as f64
}

/// Returns the answer over all networks as a sentence.
pub(crate) fn overall(networks: &[NetworkSummary], baseline: &str) -> String {
    let valid: Vec<&NetworkSummary> = networks
        .iter()
        .filter(|n| n.advice != Advice::Invalid)
        .collect();
    if valid.is_empty() {
        return "No answer: the results must not be used.".into();
    }
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
        return format!("Use {} {everywhere}.", arms.join(" or "));
    }
    let labels: Vec<&String> = valid
        .iter()
        .flat_map(|n| &n.needs)
        .map(|need| &need.label)
        .collect();
    let mut seen = BTreeSet::new();
    let mut parts = Vec::new();
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
            None => needs
                .iter()
                .map(|(network, need)| format!("{} on {network}", best_words(need, all)))
                .collect::<Vec<_>>()
                .join(", "),
        };
        parts.push(format!(" {}: {part}.", capitalised(label)));
    }
    format!("It depends on the need.{}", parts.concat())
}

/// Returns the arms that are best on all networks, and those that may be as good on each; `None` if no
/// arm is best on all.
fn everywhere_best(needs: &[(String, Need)]) -> Option<Need> {
    let needs = needs.iter().map(|(_, need)| need);
    let best = common(needs.clone().map(|need| Some(need.best.clone())))?;
    let good = |need: &Need| Some([&need.best[..], &need.undecided].concat());
    let mut undecided = common(needs.clone().map(good)).unwrap_or_default();
    undecided.retain(|arm| !best.contains(arm));
    Some(Need {
        label: needs.clone().next()?.label.clone(),
        best,
        undecided,
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
        _ => arms.join(" or "),
    }
}

/// Returns the best arms for a need in words, given how many arms there are.
pub(crate) fn best_words(need: &Need, all: usize) -> String {
    let best = arms_words(&need.best, all);
    match need.undecided.is_empty() {
        true => best,
        false if need.undecided.len() > MOST_NAMES => {
            format!("{best} (undecided: {} arms)", need.undecided.len())
        }
        false => format!("{best} (undecided: {})", need.undecided.join(", ")),
    }
}

/// Returns the arms to use on a network for every need, if there are any.
fn recommended(network: &NetworkSummary, baseline: &str) -> Option<Vec<String>> {
    match &network.advice {
        Advice::Use { arms } => Some(arms.clone()),
        Advice::Stay => Some(vec![baseline.to_owned()]),
        Advice::NoDifference => Some(network.arms.iter().map(|arm| arm.name.clone()).collect()),
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
        assert_eq!(arms_words(&names(5), 9), "a0 or a1 or a2 or a3 or a4");
        assert_eq!(arms_words(&names(6), 9), "a0, a1, a2 or 3 others");
        let need = Need {
            label: String::new(),
            best: names(1),
            undecided: names(6),
        };
        assert_eq!(best_words(&need, 9), "a0 (undecided: 6 arms)");
    }
}
