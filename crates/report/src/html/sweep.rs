//! Sweeps: a table and a figure for each measure along the levels of a setting.

use maud::{Markup, html};

use super::chart::{WIDTH, at, figure};
use super::table::{arm, line_classes, table, text};
use crate::number::{duration, with_interval};
use crate::quantity::Quantity;
use crate::summary::Summary;
use crate::sweep::{Sweep, Trend};

const HEIGHT: f64 = 280.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Room between the axis and the first level.
const INSET: f64 = 40.0;

/// Returns the section on sweeps; nothing where the study has none.
pub(super) fn sections(summary: &Summary) -> Markup {
    html! {
        @if !summary.sweeps.is_empty() {
            section id="sweeps" {
                h2 { "Along the swept settings" }
                @for sweep in &summary.sweeps { (trends(sweep)) (plot(sweep)) }
            }
        }
    }
}

fn trends(sweep: &Sweep) -> Markup {
    let mut headings = vec!["Arm"];
    headings.extend(sweep.values.iter().map(String::as_str));
    headings.push("verdict");
    let rows: Vec<Vec<Markup>> = (sweep.arms.iter())
        .map(|trend| {
            let mut row = vec![arm(trend.index, &trend.arm)];
            row.extend(trend.cells().into_iter().map(text));
            row.push(text(trend.words.as_deref().unwrap_or("baseline")));
            row
        })
        .collect();
    table(&sweep.title(), &headings, &rows)
}

/// Returns the times of all arms at each level, on a logarithmic axis: losses multiply times.
fn plot(sweep: &Sweep) -> Markup {
    let ends = |q: &Quantity| [q.value, q.low, q.high].into_iter().flatten();
    let all = (sweep.arms.iter()).flat_map(|trend| trend.times.iter().flatten().flat_map(ends));
    let Some(axis) = LogAxis::over(all) else {
        return Markup::default();
    };
    let room = WIDTH - LEFT - RIGHT - 2.0 * INSET;
    let steps = (sweep.values.len().max(2) - 1) as f64;
    let x = |level: usize| LEFT + INSET + room * level as f64 / steps;
    let body = html! {
        @for tick in axis.ticks() {
            @let y = at(axis.y(tick));
            line.grid x1=(at(LEFT)) y1=(y) x2=(at(WIDTH - RIGHT)) y2=(y) {}
            text x=(at(LEFT - 6.0)) y=(at(axis.y(tick) + 4.0)) text-anchor="end" { (duration(tick)) }
        }
        @for (level, value) in sweep.values.iter().enumerate() {
            text x=(at(x(level))) y=(at(HEIGHT - BOTTOM + 18.0)) text-anchor="middle" { (value) }
        }
        "\n"
        @for trend in &sweep.arms { (line(trend, &axis, &x)) "\n" }
    };
    let legend = html! {
        @for trend in &sweep.arms { li { (arm(trend.index, &trend.arm)) } }
    };
    figure(&sweep.title(), [WIDTH, HEIGHT], &body, &legend)
}

/// Returns one arm's line, broken where a level has no time, with its intervals.
fn line(trend: &Trend, axis: &LogAxis, x: &dyn Fn(usize) -> f64) -> Markup {
    let mut path = String::new();
    let mut pen = 'M';
    for (level, time) in trend.times.iter().enumerate() {
        match time.as_ref().and_then(|time| time.value) {
            Some(value) => {
                path += &format!("{pen}{} {}", at(x(level)), at(axis.y(value)));
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    html! {
        path class={ "curve " (line_classes(trend.index)) } d=(path) { title { (trend.arm) } }
        @for (level, time) in trend.times.iter().enumerate() {
            @if let Some(Quantity { low: Some(low), high: Some(high), .. }) = time {
                path.whisker
                    d={ "M" (at(x(level))) " " (at(axis.y(*low))) "V" (at(axis.y(*high))) } {
                    title { (trend.arm) ": " (time.as_ref().map(with_interval).unwrap_or_default()) }
                }
            }
        }
    }
}

/// A logarithmic axis of times, upwards.
struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// Returns an axis that covers all values, or `None` without one above zero.
    fn over(values: impl Iterator<Item = f64>) -> Option<LogAxis> {
        let positive: Vec<f64> = values.filter(|value| *value > 0.0).collect();
        let low = positive.iter().copied().min_by(f64::total_cmp)?;
        let high = positive.iter().copied().max_by(f64::total_cmp)?;
        Some(LogAxis {
            low: low / 1.2,
            high: high * 1.2,
        })
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    /// Returns 1, 2 and 5 times the powers of ten within the axis.
    fn ticks(&self) -> Vec<f64> {
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        powers
            .flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(power)))
            .filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        let axis = LogAxis::over([3e9, 31e9].into_iter()).unwrap();
        assert_eq!(axis.ticks(), [5e9, 10e9, 20e9]);
        assert!(axis.y(31e9) < axis.y(3e9));
        assert!(LogAxis::over([0.0].into_iter()).is_none());
    }
}
