//! The figures of an arm that a threshold is about.

use super::Threshold;
use crate::summary::arm::ArmSummary;
use crate::summary::measure::{Measure, Part};
use crate::summary::quantity::{Quantity, Unit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    First,
    Warm,
    Whole,
    Load,
    Goodput,
    Errors,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    Median,
    Percentile(f64),
}

impl Threshold {
    /// Returns the figures of an arm that the threshold is about, each with its label and the reason for
    /// which it may say nothing.
    pub(super) fn figures(
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
                let pooled = match measure.load {
                    Some(_) => String::new(),
                    None => format!(
                        ", or {} blocks with {} requests beyond it",
                        stats::MIN_BLOCKS_FOR_POOLING,
                        stats::MIN_REQUESTS_BEYOND
                    ),
                };
                let why = format!("not enough requests: it takes {enough} in every block{pooled}");
                (
                    format!("{label}, p{percent}"),
                    percentile(measure, percent),
                    why,
                )
            }
        }
    }
}

impl Subject {
    pub(super) fn unit(self) -> Unit {
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
            | (Subject::Warm, Part::Warm | Part::Place)
            | (Subject::Load, Part::Load)
            | (Subject::Whole, Part::Whole) => true,
            (Subject::First, Part::ColdProcess) => siblings.all(|m| m.part != Part::First),
            (Subject::Whole, part) => part.is_by_request() && siblings.count() == 1,
            (Subject::Goodput, _) => measure.goodput.is_some(),
            _ => false,
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
