//! The recommendation for a network, and the sentence that states it.
//!
//! Both are derived from the verdicts of the arms alone. The sentence repeats the sizes and
//! intervals that the table shows.

use record::Proof;
use stats::{Outlook, Verdict};

use crate::number::{count, duration, percent, size};
use crate::summary::measure::{Comparison, Measure, Part};
use crate::summary::{Advice, ArmSummary, Family, Role};
use crate::wording::{protocol_mismatch, verdict_words};

/// Returns the recommendation for one network, also as a sentence.
pub(crate) fn advise(arms: &[ArmSummary], family: &Family) -> (Advice, String) {
    let Some(baseline) = arms.iter().find(|arm| arm.role == Role::Baseline) else {
        return (
            Advice::CannotTell,
            "Cannot tell: the baseline is missing.".into(),
        );
    };
    let writer = SentenceWriter {
        baseline,
        coverage: family.coverage,
    };
    if let Some(repeat) = arms.iter().find(|a| a.role == Role::Repeat && differs(a)) {
        return (Advice::Invalid, writer.invalid(repeat));
    }
    let arms: Vec<&ArmSummary> = arms.iter().filter(|arm| arm.role == Role::Arm).collect();
    let faster: Vec<&ArmSummary> = arms.iter().copied().filter(|a| has(a, is_faster)).collect();
    let mut better: Vec<&ArmSummary> = faster
        .iter()
        .copied()
        .filter(|arm| !has(arm, is_slower) && writer.lower_reliability(arm).is_none())
        .collect();
    // The sort is stable: of equals, the first in the study wins.
    better.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    if let [best, also @ ..] = better.as_slice() {
        let also: Vec<String> = also.iter().map(|arm| arm.name.clone()).collect();
        let sentence = writer.take(best, &also);
        (
            Advice::Take {
                arm: best.name.clone(),
                also,
            },
            sentence,
        )
    } else if !faster.is_empty() {
        (Advice::Mixed, writer.mixed(&faster))
    } else if arms.iter().any(|arm| has(arm, is_slower)) {
        (Advice::Stay, writer.stay(&arms))
    } else if !arms.is_empty() && arms.iter().all(|arm| writer.is_equivalent(arm)) {
        (Advice::NoDifference, writer.no_difference(&arms))
    } else {
        (Advice::CannotTell, writer.cannot_tell(&arms))
    }
}

/// Returns the differences that the comparisons of an A/A arm found.
pub(crate) fn objections(repeat: &ArmSummary, baseline: &ArmSummary, coverage: f64) -> Vec<String> {
    let writer = SentenceWriter { baseline, coverage };
    let found = repeat
        .comparisons()
        .filter(|(_, c)| is_faster(c.verdict) || is_slower(c.verdict));
    found
        .map(|(measure, comparison)| writer.finding(measure, comparison, false))
        .collect()
}

fn is_faster(verdict: Verdict) -> bool {
    verdict == Verdict::Faster
}

fn is_slower(verdict: Verdict) -> bool {
    verdict == Verdict::Slower
}

fn has(arm: &ArmSummary, test: fn(Verdict) -> bool) -> bool {
    arm.comparisons()
        .any(|(_, comparison)| test(comparison.verdict))
}

fn differs(arm: &ArmSummary) -> bool {
    has(arm, is_faster) || has(arm, is_slower)
}

/// Returns how much an arm gains: the sum of the logarithms of its speedups in the measures that
/// are faster.
fn gain(arm: &ArmSummary) -> f64 {
    let faster = arm.comparisons().filter(|(_, c)| is_faster(c.verdict));
    faster
        .filter_map(|(_, c)| c.speedup.as_ref()?.value)
        .map(f64::ln)
        .sum()
}

/// Writes the sentence of a network, one method per kind of advice.
struct SentenceWriter<'a> {
    baseline: &'a ArmSummary,
    /// Coverage of all intervals together.
    coverage: f64,
}

impl SentenceWriter<'_> {
    fn take(&self, best: &ArmSummary, also: &[String]) -> String {
        let mut text = format!("Take {}: {}.", best.name, self.findings(best));
        if !also.is_empty() {
            text += &format!(
                " Also faster than {}, but not compared with {}: {}.",
                self.baseline.name,
                best.name,
                also.join(", ")
            );
        }
        text + &self.caveats(best)
    }

    fn mixed(&self, arms: &[&ArmSummary]) -> String {
        let mut text = "No overall winner.".to_owned();
        for arm in arms {
            text += &format!(" {}: {}", arm.name, self.findings(arm));
            if let Some(losses) = self.lower_reliability(arm) {
                text += &format!("; but {losses}");
            }
            text.push('.');
            text += &self.caveats(arm);
        }
        text
    }

    fn stay(&self, arms: &[&ArmSummary]) -> String {
        let mut text = format!(
            "Stay with {}: no arm is shown to be faster.",
            self.baseline.name
        );
        for arm in arms.iter().filter(|arm| has(arm, is_slower)) {
            text += &format!(" {}: {}.", arm.name, self.findings(arm));
            text += &self.caveats(arm);
        }
        text
    }

    fn no_difference(&self, arms: &[&ArmSummary]) -> String {
        let within = |(i, measure): (usize, &Measure)| {
            let margins = arms
                .iter()
                .filter_map(|arm| arm.measures[i].comparison.as_ref());
            let widest = margins.map(|c| c.margin_ns).fold(0.0, f64::max);
            format!("{} within {}", measure.label, duration(widest))
        };
        let measures: Vec<String> = arms[0].measures.iter().enumerate().map(within).collect();
        format!(
            "No difference from {}: {} ({}, {}).",
            self.baseline.name,
            measures.join(", "),
            count(fewest_blocks(arms), "block"),
            count(arms.len(), "arm"),
        )
    }

    fn cannot_tell(&self, arms: &[&ArmSummary]) -> String {
        let baseline = &self.baseline.name;
        if arms.iter().all(|arm| arm.comparisons().next().is_none()) {
            return format!(
                "Cannot tell: no block has clean cells of both {baseline} and another arm."
            );
        }
        let outlooks = arms
            .iter()
            .flat_map(|arm| arm.comparisons())
            .filter_map(|(_, c)| match c.verdict {
                Verdict::CannotTell { outlook, .. } => Some(outlook),
                _ => None,
            });
        let outlook = match outlooks.min() {
            Some(Outlook::AFewMore) => "a few more blocks may decide some comparisons",
            Some(Outlook::SeveralTimesAsMany) => "it takes several times as many blocks",
            Some(Outlook::MayNotSettle) | None => "more blocks may not settle it",
        };
        let blocks = count(fewest_blocks(arms), "block");
        format!("Cannot tell whether any arm beats {baseline}: {blocks}; {outlook}.")
    }

    fn invalid(&self, repeat: &ArmSummary) -> String {
        format!(
            "Do not use the results of this network: {} is a copy of {} but differs from it: {}. \
             The machine or the bench is at fault.",
            repeat.name,
            self.baseline.name,
            self.findings(repeat)
        )
    }

    /// Returns all findings about an arm, those with a difference first.
    fn findings(&self, arm: &ArmSummary) -> String {
        let mut found: Vec<(&Measure, &Comparison)> = arm.comparisons().collect();
        found.sort_by_key(|(_, c)| match c.verdict {
            Verdict::Faster => 0,
            Verdict::Slower => 1,
            Verdict::NoDifference => 2,
            Verdict::CannotTell { .. } => 3,
        });
        let finding = |(i, (m, c)): (usize, &(&Measure, &Comparison))| self.finding(m, c, i == 0);
        found
            .iter()
            .enumerate()
            .map(finding)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Returns one finding. The first of a sentence names the baseline and the confidence level.
    fn finding(&self, measure: &Measure, comparison: &Comparison, first: bool) -> String {
        let label = &measure.label;
        let faster = match comparison.verdict {
            Verdict::Faster => true,
            Verdict::Slower => false,
            Verdict::NoDifference => {
                return format!(
                    "{label}: no difference within {}",
                    duration(comparison.margin_ns)
                );
            }
            Verdict::CannotTell { .. } => return format!("{label}: cannot tell"),
        };
        let word = verdict_words(comparison.verdict);
        let factor = comparison
            .speedup
            .as_ref()
            .filter(|_| measure.part == Part::Bulk)
            .and_then(|q| size(q, !faster));
        let size = factor.or_else(|| size(&comparison.difference, faster));
        let than = if first {
            format!(" than {}", self.baseline.name)
        } else {
            String::new()
        };
        let Some(size) = size else {
            return format!("{label} {word}{than}");
        };
        let level = match first {
            true => format!("{}: ", percent(self.coverage)),
            false => String::new(),
        };
        let blocks = count(comparison.difference.blocks, "block");
        let doubt = match measure.with_noisy {
            Some(other) if other != comparison.verdict => {
                format!("; with noisy cells included: {}", verdict_words(other))
            }
            _ => String::new(),
        };
        format!(
            "{label} {} {word}{than} ({level}{}, {blocks}{doubt})",
            size.value, size.range
        )
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
                Some(Proof::Wire) => {
                    text += &format!(
                        " The protocol of {} is verified from packets only.",
                        one.name
                    );
                }
                Some(Proof::Server) | None => {}
            }
        }
        text
    }

    /// Returns how an arm is less reliable than the baseline, if it is.
    fn lower_reliability(&self, arm: &ArmSummary) -> Option<String> {
        let (calls, lost) = arm.calls_and_losses();
        let (base_calls, base_lost) = self.baseline.calls_and_losses();
        let (cells, base_cells) = (&arm.cells, &self.baseline.cells);
        let mut words = Vec::new();
        if lost * base_calls > base_lost * calls {
            words.push(format!(
                "{lost} of {} failed or timed out",
                count(calls, "request")
            ));
        }
        if cells.failed > base_cells.failed {
            words.push(format!(
                "{} of {} failed",
                cells.failed,
                count(cells.planned, "cell")
            ));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Returns whether every measure of an arm was compared and shows no difference, and the arm
    /// is no less reliable.
    fn is_equivalent(&self, arm: &ArmSummary) -> bool {
        let no_difference = |m: &Measure| {
            m.comparison
                .as_ref()
                .is_some_and(|c| c.verdict == Verdict::NoDifference)
        };
        !arm.measures.is_empty()
            && arm.measures.iter().all(no_difference)
            && self.lower_reliability(arm).is_none()
    }
}

fn fewest_blocks(arms: &[&ArmSummary]) -> usize {
    let blocks = arms
        .iter()
        .flat_map(|arm| arm.comparisons())
        .map(|(_, c)| c.difference.blocks);
    blocks.min().unwrap_or(0)
}
