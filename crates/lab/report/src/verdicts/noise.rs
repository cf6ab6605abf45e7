//! Counts the noisy first attempts of each arm, and tests whether noise depends on the arm.

use record::Run;

use crate::summary::arm::Attempts;
use crate::summary::{ArmNoise, NetworkSummary};
use crate::verdicts::values::ERROR;

/// Counts the first attempts of each arm on all networks, and tests each arm against all others by
/// Fisher's exact test. The error probability is divided by the number of arms (Bonferroni).
pub(crate) fn by_arm(run: &Run, networks: &[NetworkSummary]) -> Vec<ArmNoise> {
    let of_arm = |name: &str| {
        let arms = networks.iter().flat_map(|n| &n.arms);
        sum(arms.filter(|a| a.name == name).map(|a| a.first_attempts))
    };
    let counts: Vec<(String, Attempts)> = run
        .arms
        .iter()
        .map(|arm| (arm.name.clone(), of_arm(&arm.name)))
        .filter(|(_, attempts)| attempts.measured > 0)
        .collect();
    let all = sum(counts.iter().map(|(_, attempts)| *attempts));
    let tests = counts.len().max(1) as f64;
    let test = |(arm, first_attempts): (String, Attempts)| {
        let one = (first_attempts.noisy, first_attempts.measured);
        let others = (all.noisy - one.0, all.measured - one.1);
        let p_value = stats::fisher_exact(one, others);
        ArmNoise {
            arm,
            first_attempts,
            p_value,
            depends_on_arm: p_value <= ERROR / tests,
        }
    };
    counts.into_iter().map(test).collect()
}

/// Returns what to do where most first attempts were noisy, with one objection of the audit as an example.
pub(crate) fn warning(noise: &[ArmNoise], example: Option<&str>) -> Option<String> {
    let all = sum(noise.iter().map(|one| one.first_attempts));
    if 2 * all.noisy <= all.measured {
        return None;
    }
    let example = example.map_or(String::new(), |reason| format!(", e.g. because {reason}"));
    Some(format!(
        "{} of {} noisy{example}. Close what else runs here, or use a quieter machine.",
        all.noisy,
        match all.measured {
            1 => "1 cell was".to_owned(),
            n => format!("{n} cells were"),
        }
    ))
}

/// Returns the arms with noisy first attempts in one line, if there are any.
pub(crate) fn line(noise: &[ArmNoise]) -> Option<String> {
    let (noisy, quiet): (Vec<&ArmNoise>, Vec<&ArmNoise>) =
        noise.iter().partition(|one| one.first_attempts.noisy > 0);
    if noisy.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = noisy
        .iter()
        .map(|one| format!("{} {}", one.arm, words(one.first_attempts)))
        .collect();
    if !quiet.is_empty() {
        let attempts = sum(quiet.iter().map(|one| one.first_attempts));
        parts.push(format!("others {}", words(attempts)));
    }
    Some(format!("Noisy first attempts: {}", parts.join(", ")))
}

/// Returns a note if noise depends on the arm.
pub(crate) fn note(noise: &[ArmNoise]) -> Option<String> {
    let all = sum(noise.iter().map(|one| one.first_attempts));
    let dependent = noise.iter().filter(|one| one.depends_on_arm);
    let parts: Vec<String> = dependent
        .map(|one| {
            let first = one.first_attempts;
            let others = Attempts {
                measured: all.measured - first.measured,
                noisy: all.noisy - first.noisy,
            };
            format!("{} {}, others {}", one.arm, words(first), words(others))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Noisy first attempts depend on the arm: {}. What the audit takes for noise may be \
             caused by the arm itself.",
            parts.join("; ")
        )
    })
}

/// Returns e.g. `17 of 20`.
pub(crate) fn words(attempts: Attempts) -> String {
    format!("{} of {}", attempts.noisy, attempts.measured)
}

fn sum(attempts: impl Iterator<Item = Attempts>) -> Attempts {
    attempts.fold(Attempts::default(), |sum, one| Attempts {
        measured: sum.measured + one.measured,
        noisy: sum.noisy + one.noisy,
    })
}
