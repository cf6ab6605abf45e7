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

use std::fmt;
use std::str::FromStr;

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

const SUBJECTS: [(&str, Subject); 6] = [
    ("first", Subject::First),
    ("warm", Subject::Warm),
    ("whole", Subject::Whole),
    ("load", Subject::Load),
    ("goodput", Subject::Goodput),
    ("errors", Subject::Errors),
];

const FIGURES: [(&str, Figure); 6] = [
    (".median", Figure::Median),
    (".p50", Figure::Percentile(50.0)),
    (".p90", Figure::Percentile(90.0)),
    (".p95", Figure::Percentile(95.0)),
    (".p99", Figure::Percentile(99.0)),
    (".p99.9", Figure::Percentile(99.9)),
];

/// Longer operators before those that they begin with.
const OPERATORS: [(&str, Operator); 4] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::More),
];

const UNITS: [(&str, Unit, f64); 10] = [
    ("ns", Unit::Ns, 1.0),
    ("us", Unit::Ns, 1e3),
    ("µs", Unit::Ns, 1e3),
    ("ms", Unit::Ns, 1e6),
    ("s", Unit::Ns, 1e9),
    ("bit/s", Unit::BitsPerSecond, 1.0),
    ("kbit/s", Unit::BitsPerSecond, 1e3),
    ("Mbit/s", Unit::BitsPerSecond, 1e6),
    ("Gbit/s", Unit::BitsPerSecond, 1e9),
    ("%", Unit::Percent, 1.0),
];

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold, String> {
        let (at, (sign, operator)) = (text.char_indices())
            .find_map(|(at, _)| {
                let starts = |(sign, _): &&(&str, Operator)| text[at..].starts_with(sign);
                Some((at, *OPERATORS.iter().find(starts)?))
            })
            .ok_or("there is no <, <=, > or >= in it; write e.g. first.p95 > 300ms")?;
        let (left, right) = (text[..at].trim(), text[at + sign.len()..].trim());
        let (value, network) = match right.split_once(" on ") {
            Some((value, network)) => (value.trim(), Some(network.trim().to_owned())),
            None => (right, None),
        };
        let has_suffix =
            |(name, figure): &(&str, Figure)| Some((left.strip_suffix(name)?, *figure));
        let named = FIGURES.iter().find_map(has_suffix);
        let (path, figure) = named.unwrap_or((left, Figure::Median));
        let begin = path.rfind(['.', '/']).map_or(0, |separator| separator + 1);
        let (scope, word) = path.split_at(begin);
        let subject = SUBJECTS.iter().find(|(name, _)| *name == word);
        let &(_, subject) = subject.ok_or_else(|| {
            format!(
                "`{word}` is neither a measure (first, warm, whole, load, goodput, errors) nor a \
                 figure of one (median, p50, p90, p95, p99, p99.9)"
            )
        })?;
        if named.is_some() && subject == Subject::Errors {
            return Err("errors are a share of the requests: write e.g. errors > 1%".into());
        }
        let single = matches!(subject, Subject::Whole | Subject::Goodput);
        if single && figure != Figure::Median {
            return Err(format!(
                "{word} is one figure per block, which has only a median"
            ));
        }
        let limit = parse_value(value, subject.unit())?;
        Ok(Threshold {
            text: text.trim().to_owned(),
            scope: scope.to_owned(),
            subject,
            figure,
            operator,
            limit,
            network,
        })
    }
}

/// Returns a number with a unit, in `wanted`.
fn parse_value(text: &str, wanted: Unit) -> Result<f64, String> {
    let example = match wanted {
        Unit::BitsPerSecond => "a goodput is a rate, e.g. 5Mbit/s",
        Unit::Percent => "errors are a percentage, e.g. 1%",
        _ => "times need ns, us, ms or s, e.g. 300ms",
    };
    let wrong = || format!("`{text}`: {example}");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let known =
        (UNITS.iter()).find(|(name, unit_of, _)| *name == unit.trim() && *unit_of == wanted);
    let (_, _, factor) = known.ok_or_else(wrong)?;
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Ok(number * factor)
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
                    let word = self.subject.word();
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
    fn word(self) -> &'static str {
        let named = SUBJECTS.iter().find(|(_, subject)| *subject == self);
        named.map_or("", |(word, _)| word)
    }

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
    fn values_and_figures_are_parsed() {
        for (text, subject, figure, operator, limit) in [
            (
                "first > 300ms",
                Subject::First,
                Figure::Median,
                Operator::More,
                3e8,
            ),
            (
                "warm.p95>=1.5 s",
                Subject::Warm,
                Figure::Percentile(95.0),
                Operator::AtLeast,
                1.5e9,
            ),
            (
                "load.p99.9 > 1s",
                Subject::Load,
                Figure::Percentile(99.9),
                Operator::More,
                1e9,
            ),
            (
                "goodput < 5Mbit/s",
                Subject::Goodput,
                Figure::Median,
                Operator::Less,
                5e6,
            ),
            (
                "errors <= 1%",
                Subject::Errors,
                Figure::Median,
                Operator::AtMost,
                1.0,
            ),
            (
                "whole.median > 2s on 4g-tether",
                Subject::Whole,
                Figure::Median,
                Operator::More,
                2e9,
            ),
        ] {
            let got = parsed(text);
            assert_eq!(
                (got.subject, got.figure, got.operator, got.limit),
                (subject, figure, operator, limit),
                "{text}"
            );
            assert_eq!(got.check_names(&names()), Ok(()), "{text}");
            assert_eq!(got.to_string(), text);
        }
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
    fn mistakes_are_answered_with_what_is_right() {
        for (text, answer) in [
            ("first.p95 300ms", "first.p95 > 300ms"),
            ("", "first.p95 > 300ms"),
            ("frist > 300ms", "`frist` is neither a measure (first,"),
            ("first.p97 > 300ms", "p90, p95, p99"),
            ("first > 300", "e.g. 300ms"),
            ("first > fast", "e.g. 300ms"),
            ("first > 1.2.3ms", "e.g. 300ms"),
            ("first > 5Mbit/s", "e.g. 300ms"),
            ("goodput < 300ms", "e.g. 5Mbit/s"),
            ("errors > 0.01", "e.g. 1%"),
            ("errors.p95 > 1%", "errors > 1%"),
            ("whole.p95 > 2s", "only a median"),
        ] {
            let error = text.parse::<Threshold>().unwrap_err();
            assert!(error.contains(answer), "{text}: {error}");
        }
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
