//! The distribution of request times: the empirical cumulative distribution (ECDF), its body and, on an
//! axis of its own, its tail.

use maud::{Markup, html};
use page::{Axis, PERCENT, TIME, WIDTH, at, figure, figures, grid_across, grid_up, line_classes};
use record::CompactRun;
use stats::Span;

use super::labels::{in_network, key, measures};
use crate::figures::cells::CellIndex;
use crate::figures::population::{Population, time};
use crate::summary::NetworkSummary;
use crate::summary::arm::Role;
use crate::summary::measure::Part;
use crate::words::number::{count, duration};

const LEFT: f64 = 42.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Top and bottom of the panel of all requests, and of the panel of the slowest.
const BODY: [f64; 2] = [20.0, 180.0];
const TAIL: [f64; 2] = [240.0, 320.0];
const BOTTOM: f64 = 38.0;

/// Where the tail begins, in percent.
const TAIL_FROM: f64 = 90.0;
/// With fewer requests a tail is one or two of them.
const TAIL_REQUESTS: usize = 20;
/// More steps are indistinguishable, and so are steps that are not this far apart.
const MAX_STEPS: usize = 120;
const APART: f64 = 0.7;

/// One arm's requests.
struct Curve<'a> {
    name: &'a str,
    /// Index of the arm in the study, which decides its line.
    index: usize,
    /// Known times, sorted.
    known: Vec<f64>,
    requests: usize,
}

/// Returns a figure for each population of requests.
pub(super) fn distributions(
    network: &NetworkSummary,
    data: &CompactRun,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> Markup {
    let by_request = (populations.iter().enumerate())
        .filter(|(_, p)| p.part.is_by_request() && p.part != Part::Load);
    let drawn: Vec<Markup> = by_request
        .map(|(m, population)| {
            let arms = network.arms.iter().enumerate();
            let curves: Vec<Curve<'_>> = arms
                .map(|(index, arm)| {
                    let blocks = cells.first(&network.name, &arm.name);
                    let calls = blocks.values().flat_map(|cell| population.of(&cell.calls));
                    let times = calls.map(|call| time(call, data.run().timeout_ns));
                    Curve::new(&arm.name, index, &times.collect::<Vec<_>>())
                })
                .filter(|curve| curve.requests > 0)
                .collect();
            drawn(
                &in_network(network, &population.label),
                &curves,
                band(network, m),
            )
        })
        .collect();
    html! {
        @if drawn.iter().any(|figure| !figure.0.is_empty()) {
            (figures(&key(network), &drawn))
        }
    }
}

/// Returns the baseline's median and the margin of a measure.
fn band(network: &NetworkSummary, measure: usize) -> Option<(f64, f64)> {
    measures(network).get(measure)?;
    let baseline = network.arms.iter().find(|arm| arm.role == Role::Baseline)?;
    let median = baseline.measures[measure].time.as_ref()?.value?;
    let mut comparisons = network
        .arms
        .iter()
        .filter_map(|arm| arm.measures[measure].comparison.as_ref());
    Some((median, comparisons.next()?.margin_ns))
}

impl<'a> Curve<'a> {
    fn new(name: &'a str, index: usize, times: &[Span]) -> Self {
        let mut known: Vec<f64> = times.iter().filter_map(|time| time.known()).collect();
        known.sort_by(f64::total_cmp);
        Self {
            name,
            index,
            known,
            requests: times.len(),
        }
    }

    /// Returns the share of requests up to each step, in percent, and its time: all steps, or evenly
    /// chosen ones with both ends.
    fn steps(&self) -> impl Iterator<Item = (f64, f64)> {
        let stride = self.known.len().div_ceil(MAX_STEPS).max(1);
        let last = self.known.len().saturating_sub(1);
        let share = |i: usize| 100.0 * (i + 1) as f64 / self.requests as f64;
        (0..self.known.len())
            .filter(move |i| i.is_multiple_of(stride) || *i == last || share(*i) >= 98.0)
            .map(move |i| (share(i), self.known[i]))
    }

    /// Returns the time below which this share of all requests is, in percent.
    fn below(&self, share: f64) -> Option<f64> {
        let rank = (share / 100.0 * self.requests as f64).ceil() as usize;
        self.known.get(rank.max(1) - 1).copied()
    }

    /// Returns the path within both axes; it ends where the panel or the known times end.
    fn path(&self, x: &Axis, y: &Axis) -> String {
        let ([low, high], [from, _]) = (x.range(), y.range());
        let mut path = String::new();
        let (mut drawn, last) = (0.0, self.known.last());
        for (share, time) in self.steps().filter(|(share, _)| *share >= from) {
            if path.is_empty() {
                // The tail's panel begins at the height that the curve has there.
                let begin = self.below(from).unwrap_or(low).max(low);
                path = format!("M{} {}", at(x.at(begin)), at(y.at(from)));
            }
            if time > high {
                break;
            }
            if x.at(time) - drawn < APART && Some(&time) != last {
                continue;
            }
            drawn = x.at(time);
            path += &format!("H{}V{}", at(drawn), at(y.at(share)));
        }
        if !path.is_empty() {
            path += &format!("H{}", at(x.ends()[1]));
        }
        path
    }

    fn words(&self) -> String {
        let requests = count(self.requests, "request");
        let p50 = self.below(50.0).map(|ns| format!(", p50 {}", duration(ns)));
        let lost = match self.requests - self.known.len() {
            0 => String::new(),
            n => format!(", {n} timed out or failed"),
        };
        format!("{}: {requests}{}{lost}", self.name, p50.unwrap_or_default())
    }
}

fn drawn(title: &str, curves: &[Curve<'_>], band: Option<(f64, f64)>) -> Markup {
    let until = |share: f64| {
        let ends = curves.iter().filter_map(move |curve| curve.below(share));
        ends.fold(0.0, f64::max)
    };
    let all = || curves.iter().flat_map(|curve| curve.known.iter().copied());
    // An arm of whose requests a tenth is lost has no such end.
    let body_end = match until(TAIL_FROM) {
        0.0 => f64::INFINITY,
        end => end,
    };
    let x = Axis::log(all().filter(|time| *time <= body_end), [LEFT, RIGHT]);
    let (Some(x), Some(y)) = (x, Axis::linear([0.0, 100.0], 1.0, [BODY[1], BODY[0]])) else {
        return Markup::default();
    };
    let has_tail = curves.iter().any(|curve| curve.requests >= TAIL_REQUESTS);
    let tail_begin = curves.iter().filter_map(|curve| curve.below(TAIL_FROM));
    let tail_begin = tail_begin.fold(f64::INFINITY, f64::min);
    let tail = has_tail
        .then(|| Axis::log(all().filter(|time| *time >= tail_begin), [LEFT, RIGHT]))
        .flatten()
        .zip(Axis::linear([TAIL_FROM, 100.0], 1.0, [TAIL[1], TAIL[0]]));
    let bottom = if tail.is_some() { TAIL[1] } else { BODY[1] };
    let body = html! {
        (panel(curves, band, &x, &y, "share of requests"))
        @if let Some((x, y)) = &tail { (panel(curves, band, x, y, "the slowest tenth, on its own axis")) }
    };
    let about = match band {
        Some((median, margin)) => format!(
            "Shaded: the baseline's median, {}, plus and minus the margin, {}.",
            duration(median),
            duration(margin)
        ),
        None => String::new(),
    };
    figure(title, &about, bottom + BOTTOM, &body)
}

fn panel(curves: &[Curve<'_>], band: Option<(f64, f64)>, x: &Axis, y: &Axis, name: &str) -> Markup {
    let [bottom, top] = y.ends();
    html! {
        @if let Some((median, margin)) = band {
            @let (from, to) = (x.at(median - margin), x.at(median + margin));
            @if to > from {
                rect.margin x=(at(from)) y=(at(top)) width=(at(to - from)) height=(at(bottom - top)) {}
            }
        }
        (grid_across(x, [top, bottom], "time (logarithmic)", TIME))
        (grid_up(y, [LEFT, RIGHT], name, PERCENT))
        @for curve in curves {
            @let path = curve.path(x, y);
            @if !path.is_empty() {
                path class={ "curve " (line_classes(curve.index)) } data-arm=(curve.index) d=(path) {
                    title { (curve.words()) }
                }
                "\n"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_with_censored_times_end_below_the_top() {
        let curve = Curve::new("a", 0, &[Span::exact(1e6), Span::at_least(9e6)]);
        assert_eq!(
            curve.words(),
            "a: 2 requests, p50 1 ms, 1 timed out or failed"
        );
        assert_eq!(curve.steps().collect::<Vec<_>>(), [(50.0, 1e6)]);
        let svg = drawn("t", &[curve], None).into_string();
        let y = Axis::linear([0.0, 100.0], 1.0, [BODY[1], BODY[0]]).unwrap();
        assert!(svg.contains(&format!("V{}H", at(y.at(50.0)))), "{svg}");
        assert!(!svg.contains(&format!("V{}", at(y.at(100.0)))));
    }

    #[test]
    fn steps_are_thinned_but_keep_both_ends() {
        let times: Vec<Span> = (1..=10_000).map(|i| Span::exact(f64::from(i))).collect();
        let curve = Curve::new("a", 0, &times);
        let steps: Vec<_> = curve.steps().collect();
        assert!(steps.len() <= MAX_STEPS + 203, "{}", steps.len());
        assert_eq!(
            (steps[0].1, steps[steps.len() - 1]),
            (1.0, (100.0, 10_000.0))
        );
    }

    #[test]
    fn a_long_tail_does_not_squeeze_the_body() {
        let mut times: Vec<Span> = (0..95)
            .map(|i| Span::exact(50e6 + 1e5 * f64::from(i)))
            .collect();
        times.extend((0..5).map(|i| Span::exact(1e9 * f64::from(i + 1))));
        let svg = drawn("t", &[Curve::new("a", 0, &times)], None).into_string();
        assert!(svg.contains(">52 ms<") && svg.contains(">3 s<"), "{svg}");
    }
}
