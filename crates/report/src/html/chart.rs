//! Figures as inline SVG. Sizes are in the SVG's own units; colours come from the style sheet,
//! and each arm has dashes of its own for those who cannot tell them apart.

use stats::Span;

use super::Text;
use crate::number::{duration, with_spread};
use crate::quantity::Quantity;

/// One arm's calls in a distribution.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    /// Place of the arm in the study, which decides its look.
    pub(super) place: usize,
    pub(super) times: Vec<Span>,
}

/// The empirical distribution of each arm's calls. Calls that are only known to have taken
/// longer never reach the top: their curve ends below it.
pub(super) fn ecdf(title: &str, curves: &[Curve<'_>]) -> String {
    let known = |curve: &Curve<'_>| -> Vec<f64> {
        let mut known: Vec<f64> = curve.times.iter().filter_map(|t| t.known()).collect();
        known.sort_by(f64::total_cmp);
        known
    };
    let all: Vec<f64> = curves.iter().flat_map(known).collect();
    let Some(axis) = Axis::over(&all) else {
        return String::new();
    };
    let mut body = axis.grid(HEIGHT);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = y_of(share);
        body += &format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>\n",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0,
            share * 100.0
        );
    }
    let mut legend = String::new();
    for curve in curves {
        let known = known(curve);
        let mut path = format!("M{:.1} {:.1}", axis.x(axis.low), y_of(0.0));
        for (rank, value) in steps(&known) {
            let share = rank as f64 / curve.times.len() as f64;
            path += &format!("H{:.1}V{:.1}", axis.x(value), y_of(share));
        }
        path += &format!("H{:.1}", WIDTH - RIGHT);
        let beyond = curve.times.len() - known.len();
        let name = match beyond {
            0 => format!("{} ({} calls)", curve.name, curve.times.len()),
            n => format!(
                "{} ({} calls, {n} of them beyond)",
                curve.name,
                curve.times.len()
            ),
        };
        let look = look(curve.place);
        let name = Text(&name);
        body +=
            &format!("<path class=\"curve {look}\" d=\"{path}\"><title>{name}</title></path>\n");
        legend += &legend_entry(&look, &name);
    }
    figure(title, HEIGHT, &body, &legend)
}

/// First and later calls of one arm.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) place: usize,
    pub(super) first: Quantity,
    pub(super) rest: Quantity,
}

/// First against later calls: two bars an arm, each with its interval.
pub(super) fn bars(title: &str, arms: &[Bar]) -> String {
    let ends = |q: &Quantity| {
        [q.value, q.low, q.high]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let mut all: Vec<f64> = arms
        .iter()
        .flat_map(|a| [ends(&a.first), ends(&a.rest)].concat())
        .collect();
    // A bar's length means its value only if it starts at zero.
    all.push(0.0);
    let Some(axis) = Axis::over(&all).filter(|_| !arms.is_empty()) else {
        return String::new();
    };
    let height = TOP + BOTTOM + ROW * arms.len() as f64;
    let mut body = axis.grid(height);
    for (i, arm) in arms.iter().enumerate() {
        let top = TOP + ROW * i as f64;
        let look = look(arm.place);
        body += &format!(
            "<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>\n",
            top + 11.0,
            Text(&arm.name)
        );
        for (quantity, what, y) in [
            (&arm.first, "first call", top + 15.0),
            (&arm.rest, "later calls", top + 28.0),
        ] {
            let Some(value) = quantity.value else {
                continue;
            };
            let (x, end) = (axis.x(0.0), axis.x(value));
            let told = format!("{}, {what}: {}", arm.name, with_spread(quantity));
            let faded = if what == "first call" { "" } else { " later" };
            body += &format!(
                "<rect class=\"bar{faded} {look}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
                 height=\"11\"><title>{}</title></rect>\n",
                (end - x).max(0.0),
                Text(&told)
            );
            if let (Some(low), Some(high)) = (quantity.low, quantity.high) {
                let middle = y + 5.5;
                body += &format!(
                    "<path class=\"whisker\" d=\"M{:.1} {middle:.1}H{:.1}\"/>\n",
                    axis.x(low),
                    axis.x(high)
                );
            }
        }
    }
    figure(
        title,
        height,
        &body,
        "<li>upper bar: first call; lower, paler bar: later calls</li>\n",
    )
}

/// Classes of an arm: its colour and, from the second round of colours on, its dashes.
pub(super) fn look(place: usize) -> String {
    format!("arm-{} dash-{}", place % COLORS, place % DASHES)
}

const COLORS: usize = 8;
const DASHES: usize = 5;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
const ROW: f64 = 48.0;

/// More steps than this cannot be seen apart on [`WIDTH`] units.
const MOST_STEPS: usize = 500;

/// Ranks and values of a curve's steps: all of them, or evenly chosen ones with both ends.
fn steps(sorted: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    let stride = sorted.len().div_ceil(MOST_STEPS).max(1);
    let last = sorted.len().saturating_sub(1);
    let chosen = move |i: &usize| i.is_multiple_of(stride) || *i == last;
    (0..sorted.len()).filter(chosen).map(|i| (i + 1, sorted[i]))
}

fn y_of(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

/// A linear axis of times with round marks.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// An axis that holds all `values`; `None` when there are none.
    fn over(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().min_by(f64::total_cmp)?;
        let high = values.iter().copied().max_by(f64::total_cmp)?;
        // A width for values that are all the same.
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
        })
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)
    }

    fn grid(&self, height: f64) -> String {
        let marks = ((self.high - self.low) / self.step).round() as usize;
        let mut out = String::new();
        for i in 0..=marks {
            let value = self.low + self.step * i as f64;
            let x = self.x(value);
            let text = if value == 0.0 {
                "0".into()
            } else {
                duration(value)
            };
            out += &format!(
                "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>\n",
                height - BOTTOM,
                height - BOTTOM + 18.0
            );
        }
        out
    }
}

fn legend_entry(look: &str, name: &Text<'_>) -> String {
    format!(
        "<li><svg width=\"24\" height=\"10\" aria-hidden=\"true\"><line x1=\"0\" y1=\"5\" x2=\"24\" \
         y2=\"5\" class=\"curve {look}\"/></svg> {name}</li>\n"
    )
}

fn figure(title: &str, height: f64, body: &str, legend: &str) -> String {
    let title = Text(title);
    format!(
        "<figure>\n<figcaption>{title}</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n{body}</svg>\n\
         <ul class=\"legend\">\n{legend}</ul>\n</figure>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values_between_round_marks() {
        for (values, low, high, step) in [
            (vec![103e6, 397e6], 100e6, 400e6, 100e6),
            (vec![0.0, 1.8e9], 0.0, 2e9, 500e6),
            (vec![5e6, 5e6], 5e6, 5.01e6, 10e3),
        ] {
            let axis = Axis::over(&values).unwrap();
            assert!((axis.low - low).abs() < 1.0, "{}", axis.low);
            assert!((axis.high - high).abs() < 1.0, "{}", axis.high);
            assert!((axis.step - step).abs() < 1.0, "{}", axis.step);
        }
        assert!(Axis::over(&[]).is_none());
    }

    #[test]
    fn censored_calls_keep_a_curve_from_the_top() {
        let times = vec![Span::exact(1e6), Span::at_least(9e6)];
        let svg = ecdf(
            "t",
            &[Curve {
                name: "a",
                place: 0,
                times,
            }],
        );
        assert!(svg.contains("2 calls, 1 of them beyond"));
        assert!(svg.contains(&format!("V{:.1}H", y_of(0.5))));
        assert!(!svg.contains(&format!("V{:.1}", y_of(1.0))));
    }

    #[test]
    fn many_calls_make_few_steps_and_keep_both_ends() {
        let sorted: Vec<f64> = (0..10_000).map(f64::from).collect();
        let steps: Vec<_> = steps(&sorted).collect();
        assert!(steps.len() <= MOST_STEPS + 1);
        assert_eq!(
            (steps[0], steps[steps.len() - 1]),
            ((1, 0.0), (10_000, 9_999.0))
        );
    }
}
