//! Downloads by sender: a protocol is ahead of another only if it is with every server that sent it.

use std::collections::BTreeMap;

use record::Run;

use crate::figures::population::Population;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::Comparison;
use crate::verdicts::agreement::{Agreement, agreement};
use crate::words::verdict::finding_words;

/// Returns a sentence for every decisive bulk measure in which arms of one client and protocol disagree: the range that
/// their servers and congestion controls span.
pub(crate) fn ranges(run: &Run, populations: &[Population], arms: &[ArmSummary]) -> Vec<String> {
    let mut clients: BTreeMap<(&str, &str), Vec<&ArmSummary>> = BTreeMap::new();
    for arm in arms.iter().filter(|arm| arm.role == Role::Arm) {
        if let Some(asked) = run.arms.iter().find(|asked| asked.name == arm.name) {
            let client = (asked.stack.as_str(), asked.protocol.as_str());
            clients.entry(client).or_default().push(arm);
        }
    }
    let mut sentences = Vec::new();
    for (i, population) in populations.iter().enumerate() {
        if !(population.bulk && population.decisive) {
            continue;
        }
        for ((stack, protocol), arms) in &clients {
            let compared = arms.iter().filter_map(|arm| {
                let found = arm.measures[i].comparison.as_ref()?;
                Some((found.difference.value?, found, arm.name.as_str()))
            });
            let mut compared: Vec<(f64, &Comparison, &str)> = compared.collect();
            compared.sort_by(|a, b| b.0.total_cmp(&a.0));
            let verdicts: Vec<_> = compared.iter().map(|(_, c, _)| c.verdict).collect();
            let disagree = agreement(&verdicts) == Agreement::Different;
            let (Some(slowest), Some(fastest)) = (compared.first(), compared.last()) else {
                continue;
            };
            if disagree && senders_differ(run, &compared) {
                sentences.push(format!(
                    "The server decides: {} over {protocol} to {stack}: {} ({}) to {} ({}).",
                    population.label,
                    finding_words(slowest.1),
                    slowest.2,
                    finding_words(fastest.1),
                    fastest.2,
                ));
            }
        }
    }
    sentences
}

/// Reports whether arms differ in what sends to them.
fn senders_differ(run: &Run, arms: &[(f64, &Comparison, &str)]) -> bool {
    let sender = |name: &str| {
        let arm = run.arms.iter().find(|arm| arm.name == name)?;
        Some((&arm.server, &arm.congestion))
    };
    let first = arms.first().map(|(.., name)| sender(name));
    arms.iter().any(|(.., name)| Some(sender(name)) != first)
}
