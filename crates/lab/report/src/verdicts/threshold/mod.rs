//! Thresholds: conditions on the figures of a report under which it fails, e.g. `first.p95 > 300ms`.
//!
//! ```text
//! threshold = [ARM "/"] [GROUP "."] measure ["." figure] operator VALUE ["on" NETWORK]
//! measure   = "first" | "warm" | "whole" | "load" | "goodput" | "errors"
//! figure    = "median" | "p50" | "p90" | "p95" | "p99" | "p99.9"
//! operator  = "<" | "<=" | ">" | ">="
//! ```
//!
//! Names may hold spaces, dots and slashes: they are looked up among those of the run.

mod figure;
mod parse;

use std::collections::BTreeSet;
use std::fmt;

use crate::summary::Summary;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::quantity::{Bound, Quantity};
use crate::summary::threshold::{ThresholdOutcome, ThresholdResult};
use figure::{Figure, Subject};

/// Applies thresholds to a summary, and adds a result for each figure that a threshold is about. Fails if a threshold
/// names what the run does not have.
pub fn apply_thresholds(summary: &mut Summary, thresholds: &[Threshold]) -> Result<(), String> {
    let names = Names::of(summary);
    let mut results = Vec::new();
    for threshold in thresholds {
        results.extend(threshold.check(summary, &names)?);
    }
    summary.thresholds = results;
    Ok(())
}

/// A condition under which a report fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// As it was written.
    text: String,
    /// `ARM/`, `GROUP.`, both or neither.
    scope: String,
    subject: Subject,
    figure: Figure,
    operator: Operator,
    /// In the unit of the figure.
    limit: f64,
    network: Option<String>,
}

/// The names that a threshold may contain.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Arms of the study.
    pub arms: Vec<String>,
    /// Groups of requests.
    pub groups: Vec<String>,
    /// Networks, with those that a sweep makes.
    pub networks: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Threshold {
    /// Fails if it names an arm, a group or a network that is not among `names`.
    pub fn check_names(&self, names: &Names) -> Result<(), String> {
        self.scope(names)?;
        match &self.network {
            Some(network) if !names.networks.contains(network) => {
                Err(self.unknown("network", network, &names.networks))
            }
            _ => Ok(()),
        }
    }

    /// Returns the arm and the group that it names.
    fn scope<'n>(&self, names: &'n Names) -> Result<(Option<&'n str>, Option<&'n str>), String> {
        // One name may begin another.
        let arms = names.arms.iter().filter_map(|arm| {
            let rest = self.scope.strip_prefix(arm.as_str())?.strip_prefix('/')?;
            Some((arm.as_str(), rest))
        });
        let named = arms.max_by_key(|(arm, _)| arm.len());
        let (arm, rest) =
            named.map_or((None, self.scope.as_str()), |(arm, rest)| (Some(arm), rest));
        let Some(group) = rest.strip_suffix('.') else {
            return match rest.strip_suffix('/') {
                None => Ok((arm, None)),
                Some(name) => Err(self.unknown("arm", name, &names.arms)),
            };
        };
        match (
            names.groups.iter().find(|name| *name == group),
            group.split_once('/'),
        ) {
            (Some(group), _) => Ok((arm, Some(group))),
            (None, Some((name, _))) if arm.is_none() => Err(self.unknown("arm", name, &names.arms)),
            (None, _) => Err(self.unknown("group", group, &names.groups)),
        }
    }

    fn unknown(&self, what: &str, name: &str, known: &[String]) -> String {
        let known = known.join(", ");
        format!(
            "`{}`: no {what} is named `{name}`; known: {known}",
            self.text
        )
    }

    fn check(&self, summary: &Summary, names: &Names) -> Result<Vec<ThresholdResult>, String> {
        self.check_names(names)?;
        let (arm, group) = self.scope(names)?;
        let mut results = Vec::new();
        for network in &summary.networks {
            if self
                .network
                .as_ref()
                .is_some_and(|name| *name != network.name)
            {
                continue;
            }
            let is_meant = |one: &&ArmSummary| match arm {
                Some(name) => one.name == name,
                None => one.role != Role::Repeat,
            };
            for arm in network.arms.iter().filter(is_meant) {
                let mut figures = self.figures(arm, group);
                if figures.is_empty() {
                    let word = parse::word(self.subject);
                    figures.push((
                        word.to_owned(),
                        None,
                        "the study has no such requests".into(),
                    ));
                }
                results.extend(figures.into_iter().map(|(label, figure, why)| {
                    let outcome = figure.as_ref().and_then(|figure| self.holds(figure));
                    ThresholdResult {
                        threshold: self.text.clone(),
                        network: network.name.clone(),
                        arm: arm.name.clone(),
                        label,
                        figure,
                        outcome: match outcome {
                            Some(true) => ThresholdOutcome::Fail,
                            Some(false) => ThresholdOutcome::Pass,
                            None => ThresholdOutcome::CannotTell,
                        },
                        reason: outcome.is_none().then_some(why),
                    }
                }));
            }
        }
        Ok(results)
    }

    /// Returns whether the condition holds; `None` if the figure leaves it open.
    fn holds(&self, figure: &Quantity) -> Option<bool> {
        let holds = self.operator.holds(figure.value?, self.limit);
        let more = matches!(self.operator, Operator::More | Operator::AtLeast);
        match (figure.bound, more) {
            (Bound::Exact, _) => Some(holds),
            (Bound::AtLeast, true) | (Bound::AtMost, false) => holds.then_some(true),
            (Bound::AtLeast, false) | (Bound::AtMost, true) => (!holds).then_some(false),
            (Bound::Unknown, _) => None,
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Names {
    fn of(summary: &Summary) -> Names {
        let arms = summary.networks.first().map_or(&[][..], |n| &n.arms);
        let measures = arms.first().map_or(&[][..], |arm| &arm.measures);
        Names {
            arms: arms.iter().map(|arm| arm.name.clone()).collect(),
            groups: distinct(measures.iter().map(|m| m.group.clone())),
            networks: summary.networks.iter().map(|n| n.name.clone()).collect(),
        }
    }
}

/// Returns each name once, in the order of their first occurrences.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

impl Operator {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Operator::Less => value < limit,
            Operator::AtMost => value <= limit,
            Operator::More => value > limit,
            Operator::AtLeast => value >= limit,
        }
    }
}

#[cfg(test)]
mod tests;
