//! Figures as inline SVG. Sizes are in SVG user units; colours come from the style sheet, and arms
//! also differ by their dashes, for readers who cannot distinguish the colours.

use maud::{Markup, html};
use stats::Span;

use super::table::{arm, line_classes};
use crate::number::{count, duration, with_interval};
use crate::quantity::Quantity;
use crate::summary::measure::Part;

pub(super) const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
const ROW: f64 = 48.0;

/// More steps are indistinguishable on [`WIDTH`] units.
const MAX_STEPS: usize = 500;

/// One arm's requests in a distribution.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    /// Index of the arm in the study, which decides its line.
    pub(super) index: usize,
    pub(super) times: Vec<Span>,
}

/// Returns the empirical cumulative distribution of each arm's request times. The curve of an arm
/// with censored times ends below 100 %.
pub(super) fn ecdf(title: &str, curves: &[Curve<'_>]) -> Markup {
    let known = |curve: &Curve<'_>| -> Vec<f64> {
        let mut known: Vec<f64> = curve.times.iter().filter_map(|t| t.known()).collect();
        known.sort_by(f64::total_cmp);
        known
    };
    let all: Vec<f64> = curves.iter().flat_map(known).collect();
    let Some(axis) = Axis::over(&all, LEFT, WIDTH - RIGHT) else {
        return Markup::default();
    };
    let right = at(WIDTH - RIGHT);
    let paths: Vec<(String, String)> = curves
        .iter()
        .map(|curve| drawn(curve, &known(curve), &axis))
        .collect();
    let body = html! {
        (axis.grid(TOP, HEIGHT - BOTTOM))
        @for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
            @let y = y_of(share);
            line.grid x1=(at(LEFT)) y1=(at(y)) x2=(right) y2=(at(y)) {}
            text x=(at(LEFT - 6.0)) y=(at(y + 4.0)) text-anchor="end" {
                (format!("{:.0} %", share * 100.0))
            }
        }
        @for (curve, (path, name)) in curves.iter().zip(&paths) {
            path class={ "curve " (line_classes(curve.index)) } d=(path) { title { (name) } }
            "\n"
        }
    };
    let legend = html! {
        @for (curve, (_, name)) in curves.iter().zip(&paths) { li { (arm(curve.index, name)) } }
    };
    figure(title, [WIDTH, HEIGHT], &body, &legend)
}

/// Returns the path of a curve and its name in the legend, given its sorted known times.
fn drawn(curve: &Curve<'_>, known: &[f64], axis: &Axis) -> (String, String) {
    let mut path = format!("M{} {}", at(axis.x(axis.low)), at(y_of(0.0)));
    for (rank, value) in steps(known) {
        let share = rank as f64 / curve.times.len() as f64;
        path += &format!("H{}V{}", at(axis.x(value)), at(y_of(share)));
    }
    path += &format!("H{}", at(WIDTH - RIGHT));
    let requests = count(curve.times.len(), "request");
    let name = match curve.times.len() - known.len() {
        0 => format!("{} ({requests})", curve.name),
        n => format!("{} ({requests}, {n} timed out or failed)", curve.name),
    };
    (path, name)
}

/// First and warm requests of one arm.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) index: usize,
    pub(super) first: Quantity,
    pub(super) warm: Quantity,
}

/// Returns two bars per arm, for first and warm requests, each with its interval.
pub(super) fn bars(title: &str, arms: &[Bar]) -> Markup {
    let ends = |q: &Quantity| {
        [q.value, q.low, q.high]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let mut all: Vec<f64> = arms
        .iter()
        .flat_map(|a| [ends(&a.first), ends(&a.warm)].concat())
        .collect();
    // Bars start at zero, so that their lengths are proportional.
    all.push(0.0);
    let Some(axis) = Axis::over(&all, LEFT, WIDTH - RIGHT).filter(|_| !arms.is_empty()) else {
        return Markup::default();
    };
    let height = TOP + BOTTOM + ROW * arms.len() as f64;
    let body = html! {
        (axis.grid(TOP, height - BOTTOM))
        @for (i, arm) in arms.iter().enumerate() { (pair(arm, &axis, TOP + ROW * i as f64)) }
    };
    let legend = html! { li { "upper bar: first request; lower, paler bar: warm requests" } };
    figure(title, [WIDTH, height], &body, &legend)
}

/// Returns the bars of one arm below `top`.
fn pair(arm: &Bar, axis: &Axis, top: f64) -> Markup {
    let zero = axis.x(0.0);
    html! {
        text x=(at(LEFT)) y=(at(top + 11.0)) { (arm.name) }
        @for (quantity, part, requests, y) in [
            (&arm.first, Part::First, "first request", top + 15.0),
            (&arm.warm, Part::Warm, "warm requests", top + 28.0),
        ] {
            @if let Some(value) = quantity.value {
                rect class={ "bar " (part.name()) " " (line_classes(arm.index)) } x=(at(zero))
                    y=(at(y)) width=(at((axis.x(value) - zero).max(0.0))) height="11" {
                    title { (arm.name) ", " (requests) ": " (with_interval(quantity)) }
                }
                @if let (Some(low), Some(high)) = (quantity.low, quantity.high) {
                    path.whisker
                        d={ "M" (at(axis.x(low))) " " (at(y + 5.5)) "H" (at(axis.x(high))) } {}
                }
            }
        }
        "\n"
    }
}

/// Returns ranks and values of a curve's steps: all of them, or evenly chosen ones with both ends.
fn steps(sorted: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    let stride = sorted.len().div_ceil(MAX_STEPS).max(1);
    let last = sorted.len().saturating_sub(1);
    let chosen = move |i: &usize| i.is_multiple_of(stride) || *i == last;
    (0..sorted.len()).filter(chosen).map(|i| (i + 1, sorted[i]))
}

fn y_of(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

/// A linear axis of times, with ticks at round values, between two positions.
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    pub(super) left: f64,
    pub(super) right: f64,
}

impl Axis {
    /// Returns an axis that covers all `values`, or `None` without a value.
    pub(super) fn over(values: &[f64], left: f64, right: f64) -> Option<Self> {
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        // Equal values need a width too.
        let rough = ((high - low).max(high.abs() / 100.0).max(1_000.0)) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|m| m * power)
            .into_iter()
            .find(|s| *s >= rough)?;
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Some(Self {
            low,
            high: high.max(low + step),
            step,
            left,
            right,
        })
    }

    pub(super) fn x(&self, value: f64) -> f64 {
        self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)
    }

    /// Returns vertical lines from `top` to `bottom`, with their times below.
    pub(super) fn grid(&self, top: f64, bottom: f64) -> Markup {
        let ticks = ((self.high - self.low) / self.step).round() as usize;
        html! {
            @for i in 0..=ticks {
                @let value = self.low + self.step * i as f64;
                @let x = at(self.x(value));
                line.grid x1=(x) y1=(at(top)) x2=(x) y2=(at(bottom)) {}
                text x=(x) y=(at(bottom + 18.0)) text-anchor="middle" { (self.tick(value)) }
            }
            "\n"
        }
    }

    /// Returns the words for the time at a tick.
    fn tick(&self, value: f64) -> String {
        // Ticks are multiples of the step, up to rounding.
        if value.abs() < self.step / 2.0 {
            "0".into()
        } else if value < 0.0 {
            format!("-{}", duration(-value))
        } else {
            duration(value)
        }
    }
}

/// Formats a coordinate or a length.
pub(super) fn at(units: f64) -> String {
    format!("{units:.1}")
}

/// Returns a figure of this width and height with a title and, unless it is empty, a legend.
pub(super) fn figure(
    title: &str,
    [width, height]: [f64; 2],
    body: &Markup,
    legend: &Markup,
) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            svg viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(title) { (body) }
            @if !legend.0.is_empty() { ul.legend { (legend) } }
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_cover_their_values_between_round_ticks() {
        for (values, low, high, step) in [
            (vec![103e6, 397e6], 100e6, 400e6, 100e6),
            (vec![0.0, 1.8e9], 0.0, 2e9, 500e6),
            (vec![5e6, 5e6], 5e6, 5.01e6, 10e3),
        ] {
            let axis = Axis::over(&values, LEFT, WIDTH - RIGHT).unwrap();
            assert!((axis.low - low).abs() < 1.0, "{}", axis.low);
            assert!((axis.high - high).abs() < 1.0, "{}", axis.high);
            assert!((axis.step - step).abs() < 1.0, "{}", axis.step);
        }
        assert!(Axis::over(&[], LEFT, WIDTH - RIGHT).is_none());
    }

    #[test]
    fn curves_with_censored_times_end_below_the_top() {
        let times = vec![Span::exact(1e6), Span::at_least(9e6)];
        let svg = ecdf(
            "t",
            &[Curve {
                name: "a",
                index: 0,
                times,
            }],
        )
        .into_string();
        assert!(svg.contains("2 requests, 1 timed out or failed"));
        assert!(svg.contains(&format!("V{:.1}H", y_of(0.5))));
        assert!(!svg.contains(&format!("V{:.1}", y_of(1.0))));
    }

    #[test]
    fn steps_are_thinned_but_keep_both_ends() {
        let sorted: Vec<f64> = (0..10_000).map(f64::from).collect();
        let steps: Vec<_> = steps(&sorted).collect();
        assert!(steps.len() <= MAX_STEPS + 1);
        assert_eq!(
            (steps[0], steps[steps.len() - 1]),
            ((1, 0.0), (10_000, 9_999.0))
        );
    }
}
