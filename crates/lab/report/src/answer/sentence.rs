//! The sentence that states a network's recommendation. It repeats the sizes and intervals that the
//! table shows, and is made from the same verdicts.

use record::Proof;
use stats::{Outlook, Verdict};

use crate::answer::advice::{differs, is_less_reliable};
use crate::answer::wording::{protocol_mismatch, range_words};
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::{Advice, Need};
use crate::verdicts::overall::best_words;
use crate::verdicts::pairing;
use crate::verdicts::unusable::{fault, given_up, no_answer};
use crate::words::number::{count, duration, percent, size};
use crate::words::text::{capitalised, listed};
use crate::words::verdict::verdict_words;

/// Returns the recommendation for one network as a sentence.
pub(crate) fn sentence(arms: &[ArmSummary], advice: &Advice, needs: &[Need]) -> String {
    let Some(baseline) = arms.iter().find(|arm| arm.role == Role::Baseline) else {
        return "Cannot tell: the baseline is missing.".into();
    };
    let writer = Writer { baseline, arms };
    let text = match advice {
        Advice::Invalid => return writer.invalid(),
        Advice::Use { arms } => writer.use_arms(arms),
        Advice::Stay => writer.stay(),
        Advice::NoDifference => writer.no_difference(),
        Advice::ByNeed => writer.by_need(needs),
        Advice::CannotTell => writer.cannot_tell(),
    };
    text + &writer.less_reliable() + &writer.given_up()
}

/// Returns how many blocks a network without any verdict has, and whether more may give one.
pub(crate) fn outlook(arms: &[ArmSummary]) -> Option<String> {
    let baseline = arms.iter().find(|arm| arm.role == Role::Baseline)?;
    Some(Writer { baseline, arms }.outlook())
}

/// Returns why the baseline is advised.
pub(crate) fn reason_to_stay(arms: &[ArmSummary]) -> &'static str {
    match rivals(arms).next() {
        Some(_) => "no arm is faster",
        None => "no other arm has results",
    }
}

/// Returns the arms whose comparison with the baseline says something.
fn rivals(arms: &[ArmSummary]) -> impl Iterator<Item = &ArmSummary> {
    let compared = |arm: &&ArmSummary| arm.comparisons().next().is_some();
    let arms = arms.iter().filter(|arm| arm.role == Role::Arm);
    arms.filter(compared).filter(|arm| fault(arm).is_none())
}

/// Returns the differences that the comparisons of an A/A arm found.
pub(crate) fn differences(repeat: &ArmSummary, baseline: &ArmSummary) -> Vec<String> {
    let writer = Writer {
        baseline,
        arms: &[],
    };
    let found = repeat
        .comparisons()
        .filter(|(_, c)| matches!(c.verdict, Verdict::Faster | Verdict::Slower));
    found
        .map(|(measure, comparison)| writer.finding(measure, comparison, false))
        .collect()
}

/// Writes the sentence of a network, one method per kind of advice.
struct Writer<'a> {
    baseline: &'a ArmSummary,
    arms: &'a [ArmSummary],
}

impl<'a> Writer<'a> {
    fn rivals(&self) -> impl Iterator<Item = &'a ArmSummary> {
        rivals(self.arms)
    }

    fn use_arms(&self, names: &[String]) -> String {
        let Some(first) = self.rivals().find(|arm| Some(&arm.name) == names.first()) else {
            return String::new();
        };
        let mut text = format!("Use {}: {}.", listed(names), self.findings(first));
        for arm in self.rivals().filter(|arm| names[1..].contains(&arm.name)) {
            text += &format!(" {}: {}.", arm.name, self.findings(arm));
        }
        text + &self.caveats(first)
    }

    fn by_need(&self, needs: &[Need]) -> String {
        let mut sentences = Vec::new();
        if needs.len() > 1 {
            sentences.push("It depends on the request.".to_owned());
        }
        let all = self
            .arms
            .iter()
            .filter(|arm| arm.role != Role::Repeat)
            .count();
        for need in needs {
            let mut text = format!("{}: {}", capitalised(&need.label), best_words(need, all));
            let leader = self
                .rivals()
                .find(|arm| Some(&arm.name) == need.best.first());
            let comparison = leader.and_then(|arm| {
                let mut comparisons = arm.comparisons();
                comparisons.find(|(measure, _)| measure.label == need.label)
            });
            if let Some((_, comparison)) = comparison
                && let Some(words) = self.gap(comparison, true)
            {
                text += &format!(", {words}");
            }
            sentences.push(text + ".");
        }
        let text = sentences.join(" ");
        let named = |arm: &&ArmSummary| needs.iter().any(|need| need.best.contains(&arm.name));
        match self.rivals().find(named) {
            Some(arm) => text + &self.caveats(arm),
            None => text,
        }
    }

    fn stay(&self) -> String {
        let why = reason_to_stay(self.arms);
        let mut text = format!("Use {}: {why}.", self.baseline.name);
        for arm in self.rivals() {
            let slower = arm.comparisons().any(|(_, c)| c.verdict == Verdict::Slower);
            if slower {
                text += &format!(" {}: {}.", arm.name, self.findings(arm));
                text += &self.caveats(arm);
            }
        }
        text
    }

    fn no_difference(&self) -> String {
        let rivals: Vec<&ArmSummary> = self.rivals().collect();
        let decisive = self
            .baseline
            .measures
            .iter()
            .enumerate()
            .filter(|(_, m)| m.decisive);
        let within = |(i, measure): (usize, &Measure)| {
            let comparisons = rivals
                .iter()
                .filter_map(|arm| arm.measures[i].comparison.as_ref());
            // A measure without requests is not compared.
            let widest = comparisons.map(|c| c.margin_ns).reduce(f64::max)?;
            Some(format!("{} within {}", measure.label, duration(widest)))
        };
        let measures: Vec<String> = decisive.filter_map(within).collect();
        format!(
            "No difference from {}: {} ({}, {}).",
            self.baseline.name,
            measures.join(", "),
            count(fewest_blocks(&rivals), "block"),
            count(rivals.len(), "arm"),
        )
    }

    fn cannot_tell(&self) -> String {
        let baseline = &self.baseline.name;
        let rivals: Vec<&ArmSummary> = self.rivals().collect();
        if rivals.is_empty() {
            return format!("Cannot tell: no block has cells of both {baseline} and another arm.");
        }
        format!(
            "Cannot tell whether any arm beats {baseline}: {}.",
            self.outlook()
        )
    }

    /// Returns how many blocks there are, and whether more may decide something.
    fn outlook(&self) -> String {
        let rivals: Vec<&ArmSummary> = self.rivals().collect();
        let comparisons = rivals.iter().flat_map(|arm| arm.comparisons());
        let outlooks: Vec<Outlook> = comparisons
            .filter_map(|(_, c)| match c.verdict {
                Verdict::CannotTell { outlook, .. } => Some(outlook),
                _ => None,
            })
            .collect();
        let outlook = if outlooks.contains(&Outlook::AFewMore) {
            "a few more blocks may give a first verdict"
        } else if outlooks.contains(&Outlook::SeveralTimesAsMany) {
            "several times as many blocks may give a first verdict"
        } else {
            "more blocks may not settle it"
        };
        let blocks = fewest_blocks(&rivals);
        let outlook = match blocks < stats::MIN_BLOCKS {
            true => format!("verdicts need at least {}", stats::MIN_BLOCKS),
            false => outlook.to_owned(),
        };
        format!("{}; {outlook}", count(blocks, "block"))
    }

    fn less_reliable(&self) -> String {
        let arms = self.rivals().filter(|arm| is_less_reliable(arm));
        arms.map(|arm| format!(" {} is less reliable: {}.", arm.name, losses(arm)))
            .collect()
    }

    fn given_up(&self) -> String {
        let reasons = self.arms.iter().filter_map(given_up);
        reasons.map(|reason| format!(" {reason}.")).collect()
    }

    fn invalid(&self) -> String {
        let reasons = no_answer(self.arms);
        if !reasons.is_empty() {
            return format!("No answer: {}.", reasons.join("; "));
        }
        let mut repeats = self.arms.iter().filter(|arm| arm.role == Role::Repeat);
        let Some(repeat) = repeats.find(|arm| differs(arm)) else {
            return String::new();
        };
        let mut objections = pairing::objections(repeat);
        objections.extend(differences(repeat, self.baseline));
        format!(
            "Do not use the results of this network: {} is a copy of {} but differs from it: {}. \
             The machine or the bench is at fault.",
            repeat.name,
            self.baseline.name,
            objections.join("; ")
        )
    }

    /// Returns the findings about an arm in the decisive measures, those with a difference first.
    fn findings(&self, arm: &ArmSummary) -> String {
        let mut found: Vec<(&Measure, &Comparison)> = arm
            .comparisons()
            .filter(|(measure, _)| measure.decisive)
            .collect();
        found.sort_by_key(|(_, c)| match c.verdict {
            Verdict::Faster => 0,
            Verdict::Slower => 1,
            Verdict::NoDifference => 2,
            Verdict::NotSlower | Verdict::NotFaster => 3,
            Verdict::CannotTell { .. } => 4,
        });
        let finding = |(i, (m, c)): (usize, &(&Measure, &Comparison))| self.finding(m, c, i == 0);
        let findings: Vec<String> = found.iter().enumerate().map(finding).collect();
        findings.join("; ")
    }

    /// Returns one finding. The first of a sentence names the baseline.
    fn finding(&self, measure: &Measure, comparison: &Comparison, first: bool) -> String {
        let label = &measure.label;
        match comparison.verdict {
            Verdict::NoDifference => {
                let margin = duration(comparison.margin_ns);
                return format!("{label}: no difference within {margin}");
            }
            Verdict::NotSlower | Verdict::NotFaster => {
                let words = verdict_words(comparison.verdict);
                return match range_words(comparison) {
                    Some(range) => format!("{label}: {words} ({range})"),
                    None => format!("{label}: {words}"),
                };
            }
            Verdict::CannotTell { .. } => return format!("{label}: cannot tell"),
            Verdict::Faster | Verdict::Slower => {}
        }
        match self.gap(comparison, first) {
            Some(gap) => format!("{label} {gap}"),
            None => format!("{label} {}", verdict_words(comparison.verdict)),
        }
    }

    /// Returns a decided difference with its interval, e.g. `45 ms faster than hyper h2 (97.9 %: 44
    /// to 46, 10 blocks)`.
    fn gap(&self, comparison: &Comparison, first: bool) -> Option<String> {
        let faster = match comparison.verdict {
            Verdict::Faster => true,
            Verdict::Slower => false,
            _ => return None,
        };
        let size = size(&comparison.difference, faster)?;
        let than = match first {
            true => format!(" than {}", self.baseline.name),
            false => String::new(),
        };
        let doubt = match comparison.clean_only {
            Some(clean) if clean != comparison.verdict => {
                format!("; clean cells alone: {}", verdict_words(clean))
            }
            _ => String::new(),
        };
        Some(format!(
            "{} {}{than} ({}: {}, {}{doubt})",
            size.value,
            verdict_words(comparison.verdict),
            percent(comparison.difference.coverage),
            size.range,
            count(comparison.difference.blocks, "block")
        ))
    }

    /// Returns the caveats of an arm's findings: other reasons for a difference than the protocol,
    /// and protocols that are wrong or not verified.
    fn caveats(&self, arm: &ArmSummary) -> String {
        let mut text = String::new();
        let caveats = arm
            .comparisons()
            .next()
            .map_or(&[][..], |(_, c)| &c.caveats);
        for caveat in caveats {
            text += &format!(" Note: {caveat}.");
        }
        for one in [arm, self.baseline] {
            if let Some(mismatch) = protocol_mismatch(one) {
                text += &format!(" {mismatch}");
            }
            match one.proof {
                Some(Proof::Client) => {
                    text += &format!(
                        " The protocol of {} is reported by the client only, not verified.",
                        one.name
                    );
                }
                // The report of a run against the user's own server begins with it.
                Some(Proof::Wire | Proof::Server) | None => {}
            }
        }
        text
    }
}

/// Returns how many requests and cells of an arm failed.
pub(crate) fn losses(arm: &ArmSummary) -> String {
    let (calls, lost) = arm.calls_and_losses();
    match arm.cells.failed {
        0 => format!("{lost} of {} failed or timed out", count(calls, "request")),
        cells => format!(
            "{lost} of {} failed or timed out, and {} of {} failed",
            count(calls, "request"),
            cells,
            count(arm.cells.planned, "cell")
        ),
    }
}

fn fewest_blocks(arms: &[&ArmSummary]) -> usize {
    let blocks = arms
        .iter()
        .flat_map(|arm| arm.comparisons())
        .map(|(_, c)| c.difference.blocks);
    blocks.min().unwrap_or(0)
}
