//! Pictures of a trace: a page, and a plot for terminals.

use link::Trace;
use maud::{Markup, html};
use page::{
    Axis, Document, Origin, PERCENT, TIME, WIDTH, at, color_class, figure, figures, grid_across,
    grid_up, table,
};

use crate::summary::{Summary, curve_bps, silences, window_bps};
use crate::words::{RATES, duration, rate, short};

const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 24.0;
const BASE: f64 = 190.0;
const HEIGHT: f64 = BASE + 38.0;

/// Most windows of the curve over time: more are indistinguishable.
const MAX_WINDOWS: u64 = 280;
/// The shortest window of the curves.
const WINDOW_MS: u64 = 100;
/// Most outages that are drawn: the longest.
const MAX_OUTAGES: usize = 500;
/// Most points of the distribution.
const MAX_POINTS: usize = 200;

const COLUMNS: u64 = 72;
const ROWS: usize = 8;
/// Parts of a character cell, from empty to full.
const PARTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a page about a trace of this name: its rate over time, its distribution and its figures.
pub fn page(name: &str, trace: &Trace, summary: &Summary, origin: &Origin) -> String {
    let title = format!("The trace {}", neutral::plain(name));
    let main = html! {
        section id="rate" {
            h2 { "Rate" }
            (figures(&Markup::default(), &[over_time(trace, summary), distribution(trace)]))
        }
        section id="figures" {
            h2 { "Figures" }
            (windows(summary))
            pre tabindex="0" role="region" aria-label="The figures as text" { (summary.text()) }
        }
    };
    let contents = [("rate", "Rate"), ("figures", "Figures")];
    Document {
        title: &title,
        head: origin.head(&title),
        contents: contents
            .map(|(id, title)| (id.to_owned(), title.to_owned()))
            .into(),
        main,
    }
    .into_html()
}

/// Returns a plot of characters: the rate over time, with its scale.
pub fn terminal(trace: &Trace) -> String {
    let window_ms = curve_window_ms(trace, COLUMNS, 1);
    let rates = curve_bps(trace, window_ms);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let label = rate(most);
    let width = label.chars().count();
    let full = (PARTS.len() - 1) as f64;
    let row = |row: usize| {
        let above = (ROWS - 1 - row) as f64;
        let bars = rates.iter().map(|bps| {
            let filled = (bps / most * ROWS as f64 - above).clamp(0.0, 1.0);
            // A rate above 0 is seen.
            let parts = match above == 0.0 && *bps > 0.0 {
                true => (filled * full).max(1.0),
                false => filled * full,
            };
            PARTS[parts.round() as usize]
        });
        let label = match row {
            0 => label.as_str(),
            _ if row == ROWS - 1 => "0",
            _ => "",
        };
        format!("{label:>width$} │{}\n", bars.collect::<String>().trim_end())
    };
    let rows: String = (0..ROWS).map(row).collect();
    let end = duration(trace.period_ms() * 1000);
    format!(
        "{rows}{:width$} └{} {end}\n{:width$}  each column is the mean of {}\n",
        "",
        "─".repeat(rates.len()),
        "",
        duration(window_ms * 1000)
    )
}

/// Returns the width of windows of which at most `most` cover the trace, a multiple of `least_ms`.
fn curve_window_ms(trace: &Trace, most: u64, least_ms: u64) -> u64 {
    trace.period_ms().div_ceil(most).div_ceil(least_ms).max(1) * least_ms
}

/// Draws the rate over time, and outages as bands.
fn over_time(trace: &Trace, summary: &Summary) -> Markup {
    let window_ms = curve_window_ms(trace, MAX_WINDOWS, WINDOW_MS);
    let rates = curve_bps(trace, window_ms);
    let duration_ns = trace.period_ms() as f64 * 1e6;
    let across = Axis::linear([0.0, duration_ns], 1e6, [LEFT, RIGHT]);
    let up = Axis::linear(rates.iter().copied().chain([0.0]), 1e3, [BASE, TOP]);
    let (Some(across), Some(up), false) = (across, up, rates.is_empty()) else {
        return Markup::default();
    };
    let x = |ms: u64| at(across.at(ms as f64 * 1e6));
    let mut path = String::new();
    for (i, bps) in rates.iter().enumerate() {
        let (start, y) = (x(i as u64 * window_ms), at(up.at(*bps)));
        path += &match i {
            0 => format!("M{start} {y}"),
            _ => format!("H{start}V{y}"),
        };
    }
    path += &format!("H{}", x(trace.period_ms()));
    let outages = outages(trace, summary.outages.at_least_ms);
    let body = html! {
        @for (from_ms, ms) in &outages {
            @let (left, right) = (across.at(*from_ms as f64 * 1e6), across.at((from_ms + ms) as f64 * 1e6));
            rect.margin x=(at(left)) y=(at(TOP)) width=(at((right - left).max(0.5))) height=(at(BASE - TOP)) {
                title { "Outage of " (duration(ms * 1000)) " from " (duration(from_ms * 1000)) " on" }
            }
        }
        (grid_up(&up, [LEFT, RIGHT], "rate", RATES))
        (grid_across(&across, [TOP, BASE], "time", TIME))
        path class={ "curve " (color_class(0)) } d=(path) {
            title { "mean " (rate(summary.mean_bps)) }
        }
    };
    let about = format!(
        "Mean rate of each {}. Bands are {} of {} or more.",
        duration(window_ms * 1000),
        match summary.outages.number > MAX_OUTAGES {
            true => format!("the {MAX_OUTAGES} longest outages"),
            false => "outages".to_owned(),
        },
        duration(summary.outages.at_least_ms.saturating_mul(1000))
    );
    figure("Rate over time", &about, HEIGHT, &body)
}

/// Returns the outages, or the longest of them.
fn outages(trace: &Trace, at_least_ms: u64) -> Vec<(u64, u64)> {
    let all = silences(trace).filter(|(_, ms)| *ms >= at_least_ms);
    let mut all: Vec<(u64, u64)> = all.collect();
    all.sort_by_key(|(_, ms)| std::cmp::Reverse(*ms));
    all.truncate(MAX_OUTAGES);
    all
}

/// Draws how often the rate is at most a value.
fn distribution(trace: &Trace) -> Markup {
    let mut rates = window_bps(trace, WINDOW_MS);
    rates.sort_by(f64::total_cmp);
    let across = Axis::linear(rates.iter().copied().chain([0.0]), 1e3, [LEFT, RIGHT]);
    let up = Axis::linear([0.0, 100.0], 1.0, [BASE, TOP]);
    let (Some(across), Some(up), false) = (across, up, rates.is_empty()) else {
        return Markup::default();
    };
    let points = rates.len().min(MAX_POINTS);
    let mut path = format!("M{} {}", at(across.at(rates[0])), at(up.at(0.0)));
    for point in 1..=points {
        let rank = point * rates.len() / points;
        let share = 100.0 * rank as f64 / rates.len() as f64;
        path += &format!("H{}V{}", at(across.at(rates[rank - 1])), at(up.at(share)));
    }
    let body = html! {
        (grid_up(&up, [LEFT, RIGHT], "windows at or below", PERCENT))
        (grid_across(&across, [TOP, BASE], "rate", RATES))
        path class={ "curve " (color_class(0)) } d=(path) {
            title { "Distribution of " (rates.len()) " rates" }
        }
    };
    let about = format!("Rates in {} windows of 100 ms.", rates.len());
    figure("Distribution of the rate", &about, HEIGHT, &body)
}

/// Returns the rates in windows as a table.
fn windows(summary: &Summary) -> Markup {
    let headings = ["window", "n", "min", "p5", "p50", "p95", "max", "CV"];
    let headings = headings.map(|heading| html! { (heading) });
    let rows = summary.windows.iter().map(|w| {
        let rates = [w.min_bps, w.p5_bps, w.p50_bps, w.p95_bps, w.max_bps].map(rate);
        let cv = w.cv.map_or("-".to_owned(), |cv| short(cv, 2));
        let cells = [duration(w.window_ms * 1000), w.n.to_string()];
        let cells = cells.into_iter().chain(rates).chain([cv]);
        cells.map(|cell| html! { (cell) }).collect()
    });
    table("Rates in windows", &headings, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 12 Mbit/s for a second, an outage of half a second, 6 Mbit/s for half a second.
    fn example() -> Trace {
        let fast = 1..=1000;
        let slow = (1502..=2000).step_by(2);
        Trace::new(fast.chain(slow).collect()).unwrap()
    }

    fn example_page(name: &str) -> String {
        let trace = example();
        let summary = Summary::of(&trace, 100);
        let origin = Origin {
            commute: "0.0.0".to_owned(),
            unix_ns: 1_763_843_887_000_000_000,
            machine: String::new(),
        };
        page(name, &trace, &summary, &origin)
    }

    #[test]
    fn the_page_is_golden_and_has_no_problems() {
        let html = example_page("example.trace");
        // Around it are the style and the script of every page.
        let main = html.split_once("<main").unwrap().1;
        let main = main.split_once("</main>").unwrap().0;
        testing::golden(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.html"),
            &format!("<main{main}</main>\n"),
        );
        testing::check_page("trace", &html);
    }

    #[test]
    fn a_name_is_harmless() {
        let html = example_page("\u{1b}[2J<b>\u{202e}\n");
        assert!(!html.contains("<b>") && !html.contains("\u{1b}"), "{html}");
    }

    #[test]
    fn the_terminal_shows_rates_and_the_outage() {
        testing::golden(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal.txt"),
            &terminal(&example()),
        );
        let short = Trace::new(vec![1]).unwrap();
        assert_eq!(terminal(&short).lines().count(), ROWS + 2);
    }

    #[test]
    fn curves_have_few_windows() {
        for (period_ms, most, least_ms, window_ms) in [
            (2000, MAX_WINDOWS, WINDOW_MS, 100),
            (28_000, MAX_WINDOWS, WINDOW_MS, 100),
            (28_001, MAX_WINDOWS, WINDOW_MS, 200),
            (72, COLUMNS, 1, 1),
            (73, COLUMNS, 1, 2),
        ] {
            let trace = Trace::new(vec![period_ms]).unwrap();
            assert_eq!(curve_window_ms(&trace, most, least_ms), window_ms);
        }
    }

    #[test]
    fn the_longest_outages_are_drawn() {
        let many = (1..=600_u32).map(|i| i * 100 + u32::from(i == 600) * 50);
        let trace = Trace::new(many.collect()).unwrap();
        let drawn = outages(&trace, 100);
        assert_eq!(drawn.len(), MAX_OUTAGES);
        assert_eq!(drawn[0], (59_900, 150));
    }
}
