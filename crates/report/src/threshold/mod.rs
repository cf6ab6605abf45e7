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

mod parse;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::quantity::{Bound, Quantity, Unit};
use crate::summary::Summary;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Measure, Part};

/// Applies thresholds to a summary, which then has one result for each figure that one is about. Fails
/// if one names what the run does not have.
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

/// What a threshold found of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold, as it was written.
    pub threshold: String,
    /// The network.
    pub network: String,
    /// The arm.
    pub arm: String,
    /// Label of the figure, for people.
    pub label: String,
    /// The figure; absent if there is none.
    pub figure: Option<Quantity>,
    /// What it says.
    pub outcome: ThresholdOutcome,
    /// Why it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a figure says of a threshold. The estimate decides, without regard to its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdOutcome {
    /// The condition does not hold.
    Pass,
    /// The condition holds.
    Fail,
    /// There is no figure, or it is a bound that leaves the condition open.
    CannotTell,
}

impl ThresholdOutcome {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ThresholdOutcome::Pass => "pass",
            ThresholdOutcome::Fail => "fail",
            ThresholdOutcome::CannotTell => "cannot_tell",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    First,
    Warm,
    Whole,
    Load,
    Goodput,
    Errors,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Median,
    Percentile(f64),
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

    /// Returns the figures of an arm that the threshold is about, each with its label and the reason for
    /// which it may say nothing.
    fn figures(
        &self,
        arm: &ArmSummary,
        group: Option<&str>,
    ) -> Vec<(String, Option<Quantity>, String)> {
        let of_group = |m: &&Measure| group.is_none_or(|group| m.group == group);
        let measures: Vec<&Measure> = arm.measures.iter().filter(of_group).collect();
        if self.subject == Subject::Errors {
            let label = group.map_or("errors".to_owned(), |group| format!("errors of {group}"));
            return vec![(label, errors(&measures), "no request was made".into())];
        }
        let meant = measures.iter().filter(|m| self.subject.is(m, &measures));
        meant.map(|measure| self.figure(measure)).collect()
    }

    fn figure(&self, measure: &Measure) -> (String, Option<Quantity>, String) {
        let label = &measure.label;
        let why = "nothing was measured, or too many requests timed out".to_owned();
        match (self.subject, self.figure) {
            (Subject::Goodput, _) => (format!("{label}, goodput"), measure.goodput.clone(), why),
            (_, Figure::Median) => (label.clone(), measure.time.clone(), why),
            (_, Figure::Percentile(percent)) => {
                let enough = stats::fewest_requests(percent / 100.0);
                let why = format!(
                    "not enough requests: it takes {enough} in every block, or {} blocks with {} \
                     requests beyond it",
                    stats::MIN_BLOCKS_FOR_POOLING,
                    stats::MIN_REQUESTS_BEYOND
                );
                (
                    format!("{label}, p{percent}"),
                    percentile(measure, percent),
                    why,
                )
            }
        }
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
            groups: measures.iter().map(|m| m.group.clone()).collect(),
            networks: summary.networks.iter().map(|n| n.name.clone()).collect(),
        }
    }
}

impl Subject {
    fn unit(self) -> Unit {
        match self {
            Subject::First | Subject::Warm | Subject::Whole | Subject::Load => Unit::Ns,
            Subject::Goodput => Unit::BitsPerSecond,
            Subject::Errors => Unit::Percent,
        }
    }

    /// Returns whether a measure is meant, one of `all`. The first requests are those on a new
    /// connection of a running process, if the study has them; of a group of one request, that is also
    /// the whole.
    fn is(self, measure: &Measure, all: &[&Measure]) -> bool {
        let mut siblings = all.iter().filter(|m| m.group == measure.group);
        match (self, measure.part) {
            (Subject::First, Part::First)
            | (Subject::Warm, Part::Warm)
            | (Subject::Load, Part::Load)
            | (Subject::Whole, Part::Whole) => true,
            (Subject::First, Part::ColdProcess) => siblings.all(|m| m.part != Part::First),
            (Subject::Whole, part) => part.is_by_request() && siblings.count() == 1,
            (Subject::Goodput, _) => measure.goodput.is_some(),
            _ => false,
        }
    }
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

fn percentile(measure: &Measure, percent: f64) -> Option<Quantity> {
    if let Some(load) = &measure.load {
        let found = load.percentiles.iter().find(|p| p.percent == percent);
        return Some(found?.value.clone());
    }
    let found = (measure.percentiles.iter()).find(|p| f64::from(p.percent) == percent);
    Some(found?.value.clone())
}

/// Returns the percentage of requests that failed or timed out.
fn errors(measures: &[&Measure]) -> Option<Quantity> {
    // The requests of the whole and of the tail are those of other parts.
    let by_request = || measures.iter().filter(|m| m.part.is_by_request());
    let calls: usize = by_request().map(|m| m.calls).sum();
    let lost: usize = by_request().map(|m| m.failed + m.timed_out).sum();
    let times = by_request().filter_map(|m| m.time.as_ref());
    let blocks = times.map(|time| time.blocks).max().unwrap_or(0);
    let share = stats::Span::exact(100.0 * lost as f64 / calls as f64);
    (calls > 0).then(|| Quantity::without_interval(share, blocks, Unit::Percent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Names {
            arms: owned(&["okhttp 5.1 h2", "okhttp", "a/b"]),
            groups: owned(&["echo", "v1.1/orders"]),
            networks: owned(&["4g-tether"]),
        }
    }

    fn parsed(text: &str) -> Threshold {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn names_may_hold_dots_spaces_and_slashes() {
        for (scope, arm, group) in [
            ("", None, None),
            ("okhttp/", Some("okhttp"), None),
            ("okhttp 5.1 h2/", Some("okhttp 5.1 h2"), None),
            ("a/b/", Some("a/b"), None),
            ("echo.", None, Some("echo")),
            ("v1.1/orders.", None, Some("v1.1/orders")),
            (
                "okhttp 5.1 h2/v1.1/orders.",
                Some("okhttp 5.1 h2"),
                Some("v1.1/orders"),
            ),
        ] {
            let got = parsed(&format!("{scope}first.p95 > 300ms"));
            assert_eq!(got.scope(&names()), Ok((arm, group)), "{scope}");
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        for (text, answer) in [
            (
                "cronet/first > 1s",
                "no arm is named `cronet`; known: okhttp 5.1 h2, okhttp",
            ),
            ("cronet/echo.first > 1s", "no arm is named `cronet`"),
            (
                "okhttp/image.first > 1s",
                "no group is named `image`; known: echo",
            ),
            ("image.first > 1s", "no group is named `image`"),
            (
                "first > 1s on 5g",
                "no network is named `5g`; known: 4g-tether",
            ),
        ] {
            let error = parsed(text).check_names(&names()).unwrap_err();
            assert!(error.contains(answer), "{text}: {error}");
        }
    }

    #[test]
    fn bounds_decide_only_where_they_can() {
        let quantity = |value, bound| Quantity {
            bound,
            ..Quantity::without_interval(stats::Span::exact(value), 10, Unit::Ns)
        };
        let (above, below) = (parsed("first > 10s"), parsed("first < 10s"));
        for (value, bound, more, less) in [
            (9e9, Bound::Exact, Some(false), Some(true)),
            (11e9, Bound::Exact, Some(true), Some(false)),
            (9e9, Bound::AtLeast, None, None),
            (11e9, Bound::AtLeast, Some(true), Some(false)),
            (9e9, Bound::AtMost, Some(false), Some(true)),
            (11e9, Bound::AtMost, None, None),
        ] {
            let figure = quantity(value, bound);
            assert_eq!(above.holds(&figure), more, "{figure:?}");
            assert_eq!(below.holds(&figure), less, "{figure:?}");
        }
    }

    /// Renaming a variant must not change the published names.
    #[test]
    fn names_match_the_serialised_form() {
        for outcome in [
            ThresholdOutcome::Pass,
            ThresholdOutcome::Fail,
            ThresholdOutcome::CannotTell,
        ] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }
}
