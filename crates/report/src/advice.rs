//! What to do on a network, and the sentence that says so.
//!
//! Both come from the verdicts of the arms and from nothing else; the sentence repeats the
//! sizes and intervals that the table shows.

use stats::Verdict;

use crate::number::{count, duration, percent, size};
use crate::summary::{Advice, ArmSummary, Comparison, Family, Measure, Part, Role};
use crate::wording::verdict_words;

/// Advice and sentence for one network.
pub(crate) fn advise(arms: &[ArmSummary], family: &Family) -> (Advice, String) {
    let Some(baseline) = arms.iter().find(|arm| arm.role == Role::Baseline) else {
        return (
            Advice::CannotTell,
            "Cannot tell: the baseline is missing.".into(),
        );
    };
    let teller = Teller {
        baseline,
        together: family.together,
    };
    if let Some(repeat) = arms.iter().find(|a| a.role == Role::Repeat && differs(a)) {
        return (Advice::Broken, teller.broken(repeat));
    }
    let arms: Vec<&ArmSummary> = arms.iter().filter(|arm| arm.role == Role::Arm).collect();
    let faster: Vec<&ArmSummary> = arms.iter().copied().filter(|a| has(a, is_faster)).collect();
    let mut better: Vec<&ArmSummary> = faster
        .iter()
        .copied()
        .filter(|arm| !has(arm, is_slower) && teller.less_reliable(arm).is_none())
        .collect();
    // Stable: of equals, the first in the study.
    better.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    if let [best, also @ ..] = better.as_slice() {
        let also: Vec<String> = also.iter().map(|arm| arm.name.clone()).collect();
        let sentence = teller.take(best, &also);
        (
            Advice::Take {
                arm: best.name.clone(),
                also,
            },
            sentence,
        )
    } else if !faster.is_empty() {
        (Advice::Mixed, teller.mixed(&faster))
    } else if arms.iter().any(|arm| has(arm, is_slower)) {
        (Advice::Stay, teller.stay(&arms))
    } else if !arms.is_empty() && arms.iter().all(|arm| teller.is_level(arm)) {
        (Advice::NoDifference, teller.no_difference(&arms))
    } else {
        (Advice::CannotTell, teller.cannot_tell(&arms))
    }
}

/// What the A/A arm's comparisons found that is not there.
pub(crate) fn objections(repeat: &ArmSummary, baseline: &ArmSummary, together: f64) -> Vec<String> {
    let teller = Teller { baseline, together };
    let found = repeat
        .comparisons()
        .filter(|(_, c)| is_faster(c.verdict) || is_slower(c.verdict));
    found
        .map(|(measure, comparison)| teller.claim(measure, comparison, false))
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

/// How much there is to gain: the sum of the logarithms of what is surely faster.
fn gain(arm: &ArmSummary) -> f64 {
    let sure = arm.comparisons().filter(|(_, c)| is_faster(c.verdict));
    sure.filter_map(|(_, c)| c.speedup.as_ref()?.value)
        .map(f64::ln)
        .sum()
}

struct Teller<'a> {
    baseline: &'a ArmSummary,
    together: f64,
}

impl Teller<'_> {
    fn take(&self, best: &ArmSummary, also: &[String]) -> String {
        let mut text = format!("Take {}: {}.", best.name, self.claims(best));
        if !also.is_empty() {
            text += &format!(
                " Also faster than {}, not compared with {}: {}.",
                self.baseline.name,
                best.name,
                also.join(", ")
            );
        }
        text + &self.reservations(best)
    }

    fn mixed(&self, arms: &[&ArmSummary]) -> String {
        let mut text = "No arm is better all round.".to_owned();
        for arm in arms {
            text += &format!(" {}: {}", arm.name, self.claims(arm));
            if let Some(losses) = self.less_reliable(arm) {
                text += &format!("; but {losses}");
            }
            text.push('.');
            text += &self.reservations(arm);
        }
        text
    }

    fn stay(&self, arms: &[&ArmSummary]) -> String {
        let mut text = format!(
            "Stay with {}: nothing is shown to be faster.",
            self.baseline.name
        );
        for arm in arms.iter().filter(|arm| has(arm, is_slower)) {
            text += &format!(" {}: {}.", arm.name, self.claims(arm));
            text += &self.reservations(arm);
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
        let parts: Vec<String> = arms[0].measures.iter().enumerate().map(within).collect();
        format!(
            "No difference from {}: {} ({}, {}).",
            self.baseline.name,
            parts.join(", "),
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
        let needs: Vec<Option<usize>> = arms
            .iter()
            .flat_map(|arm| arm.comparisons())
            .filter_map(|(_, c)| match c.verdict {
                Verdict::CannotTell { needs, .. } => Some(needs),
                _ => None,
            })
            .collect();
        let counts = || needs.iter().flatten();
        let most = match (counts().min(), counts().max()) {
            (Some(first), Some(all)) if needs.iter().any(Option::is_none) => {
                format!("needs about {first} to {all}, and for some more blocks will not do")
            }
            (Some(first), Some(all)) if first < all => {
                format!("needs about {first} for a first answer, {all} for all")
            }
            (Some(first), _) => format!("needs about {first}"),
            (None, _) => "and more blocks will not settle it".into(),
        };
        let blocks = count(fewest_blocks(arms), "block");
        format!("Cannot tell whether anything beats {baseline}: {blocks}, {most}.")
    }

    fn broken(&self, repeat: &ArmSummary) -> String {
        format!(
            "Do not act on this network: {} repeats {} and yet came out different: {}. \
             The machine or the lab is at fault.",
            repeat.name,
            self.baseline.name,
            self.claims(repeat)
        )
    }

    /// All that was found of an arm, what is surest first.
    fn claims(&self, arm: &ArmSummary) -> String {
        let mut found: Vec<(&Measure, &Comparison)> = arm.comparisons().collect();
        found.sort_by_key(|(_, c)| match c.verdict {
            Verdict::Faster => 0,
            Verdict::Slower => 1,
            Verdict::NoDifference => 2,
            Verdict::CannotTell { .. } => 3,
        });
        let claim = |(i, (m, c)): (usize, &(&Measure, &Comparison))| self.claim(m, c, i == 0);
        found
            .iter()
            .enumerate()
            .map(claim)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// One finding. The first of a sentence names the baseline and the level.
    fn claim(&self, measure: &Measure, comparison: &Comparison, first: bool) -> String {
        let label = &measure.label;
        let faster = match comparison.verdict {
            Verdict::Faster => true,
            Verdict::Slower => false,
            Verdict::NoDifference => {
                return format!(
                    "{label} no difference within {}",
                    duration(comparison.margin_ns)
                );
            }
            Verdict::CannotTell { .. } => return format!("{label} cannot tell"),
        };
        let factor = || {
            comparison
                .speedup
                .as_ref()
                .filter(|_| measure.part == Part::Bulk)
        };
        let as_factor = factor().and_then(|q| size(q, !faster));
        let (size, word) = match as_factor {
            Some(size) => (Some(size), if faster { "faster" } else { "slower" }),
            None => {
                let size = size(&comparison.difference, faster);
                (size, if faster { "sooner" } else { "later" })
            }
        };
        let than = if first {
            format!(" than {}", self.baseline.name)
        } else {
            String::new()
        };
        let Some(size) = size else {
            return format!("{label} {word}{than}");
        };
        let level = match first {
            true => format!("{}: ", percent(self.together)),
            false => String::new(),
        };
        let blocks = count(comparison.difference.blocks, "block");
        let doubt = match measure.with_noisy {
            Some(other) if other != comparison.verdict => {
                format!("; with noisy cells: {}", verdict_words(other))
            }
            _ => String::new(),
        };
        format!(
            "{label} {} {word}{than} ({level}{}, {blocks}{doubt})",
            size.value, size.range
        )
    }

    /// What keeps a finding from being the protocol's, or proven.
    fn reservations(&self, arm: &ArmSummary) -> String {
        let mut text = String::new();
        let caveats = arm
            .comparisons()
            .next()
            .map_or(&[][..], |(_, c)| &c.caveats);
        for caveat in caveats {
            text += &format!(" Mind: {caveat}.");
        }
        for one in [arm, self.baseline] {
            if let Some(spoke) = one.spoke_otherwise() {
                text += &format!(" {spoke}");
            }
            match one.proof {
                Some(record::Proof::Client) => {
                    text += &format!(" What {} spoke is only its own word.", one.name);
                }
                Some(record::Proof::Wire) => {
                    text += &format!(" What {} spoke is known from packets only.", one.name);
                }
                Some(record::Proof::Server) | None => {}
            }
        }
        text
    }

    /// How an arm fails more than the baseline, if it does.
    fn less_reliable(&self, arm: &ArmSummary) -> Option<String> {
        let (calls, lost) = arm.calls_and_losses();
        let (base_calls, base_lost) = self.baseline.calls_and_losses();
        let (cells, base_cells) = (&arm.cells, &self.baseline.cells);
        let mut words = Vec::new();
        if lost * base_calls > base_lost * calls {
            words.push(format!(
                "{lost} of {} failed or timed out",
                count(calls, "call")
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

    /// Everything of it was compared, and nothing differs; nor is it less reliable.
    fn is_level(&self, arm: &ArmSummary) -> bool {
        let level = |m: &Measure| {
            m.comparison
                .as_ref()
                .is_some_and(|c| c.verdict == Verdict::NoDifference)
        };
        !arm.measures.is_empty()
            && arm.measures.iter().all(level)
            && self.less_reliable(arm).is_none()
    }
}

fn fewest_blocks(arms: &[&ArmSummary]) -> usize {
    let blocks = arms
        .iter()
        .flat_map(|arm| arm.comparisons())
        .map(|(_, c)| c.difference.blocks);
    blocks.min().unwrap_or(0)
}
