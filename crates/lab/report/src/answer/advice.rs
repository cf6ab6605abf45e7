//! The recommendation: which arms are best for each need on a network.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use record::Run;
use stats::{Outlook, ReliabilityVerdict, Verdict};

use crate::figures::cells::CellIndex;
use crate::figures::population::Population;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Comparison;
use crate::summary::{Advice, Leaning, Need};
use crate::verdicts::compare::compare_pairs;
use crate::verdicts::pairing;
use crate::verdicts::unusable::{fault, given_up, no_answer};

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
    if repeats().any(differs) || !no_answer(arms).is_empty() {
        return (Advice::Invalid, Vec::new());
    }
    let decisive: Vec<usize> = (0..populations.len())
        .filter(|&i| populations[i].decisive && baseline.measures[i].time.is_some())
        .collect();
    // Without TLS an arm is a control, whatever its times and its study.
    let is_control = |name: &str| {
        let mut arms = run.arms.iter();
        arms.any(|arm| arm.name == name && (arm.security == "none" || arm.role.is_some()))
    };
    let rivals: Vec<&ArmSummary> = arms
        .iter()
        .filter(|arm| arm.role == Role::Arm && arm.comparisons().next().is_some())
        .filter(|arm| !is_control(&arm.name) && fault(arm).is_none())
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
    // A baseline that is a control is named only where nothing else is as fast.
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
    let any_given_up = arms.iter().any(|arm| given_up(arm).is_some());
    let advice = if !candidates.is_empty() {
        Advice::Use {
            arms: contest.undominated(&candidates, &table),
        }
    } else if rivals.is_empty() && any_given_up {
        Advice::Stay
    } else if all(|v| v == Verdict::NoDifference)
        && rivals.len() == contest.eligible.len()
        && !any_given_up
    {
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
                leaning: Vec::new(),
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
                if leader.is_none() {
                    need.leaning.extend(Self::leaning(arm, index));
                }
            }
            need.leaning.sort_by_key(|l| Reverse(l.lower_percent));
            need
        };
        self.decisive.iter().map(need).collect()
    }

    /// Returns how far an arm is ahead of the baseline by its estimate, if the verdict is open.
    fn leaning(arm: &'a ArmSummary, index: usize) -> Option<Leaning> {
        let comparison = Self::comparison(arm, index)?;
        let Verdict::CannotTell { blocks, outlook } = comparison.verdict else {
            return None;
        };
        let is_ahead = comparison.difference.value? < -comparison.margin_ns;
        let speedup = comparison.speedup.as_ref()?.value?;
        (is_ahead && blocks >= stats::MIN_BLOCKS).then(|| Leaning {
            arm: arm.name.clone(),
            lower_percent: (100.0 - 100.0 / speedup).round() as u8,
            a_few_more: outlook == Outlook::AFewMore,
        })
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
