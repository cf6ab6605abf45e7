//! Figures as inline SVG. Sizes are in SVG user units.

use maud::{Markup, html};

use crate::axis::{Axis, Units};

/// The width of every figure: about that of a phone's screen, so that text is not made smaller there.
pub const WIDTH: f64 = 360.0;

/// The least room between the words of two ticks.
const GAP: f64 = 8.0;

/// The width of a character of a figure's text, about.
const CHARACTER: f64 = 7.0;

/// Returns a figure of this height with a title and a sentence on what it shows.
pub fn figure(title: &str, about: &str, height: f64, body: &Markup) -> Markup {
    figure_of(None, title, about, height, body)
}

/// Returns a figure that belongs to one arm, by its index, if to any: it can be hidden with it.
pub fn figure_of(
    arm: Option<usize>,
    title: &str,
    about: &str,
    height: f64,
    body: &Markup,
) -> Markup {
    html! {
        figure data-arm=[arm] {
            figcaption { (title) }
            svg viewBox={ "0 0 " (WIDTH) " " (at(height)) } role="img" aria-label={ (title) @if !about.is_empty() { ". " (about) } } {
                (body)
            }
            @if !about.is_empty() { p.note { (about) } }
        }
        "\n"
    }
}

/// Returns figures beside each other, as many as fit, below their common key.
pub fn figures(key: &Markup, figures: &[Markup]) -> Markup {
    html! {
        @if figures.iter().any(|figure| !figure.0.is_empty()) {
            (key)
            div.figures { @for figure in figures { (figure) } }
            "\n"
        }
    }
}

/// Returns vertical lines from `top` to `bottom` at the ticks of an axis that runs across, with their
/// words and the axis's name below.
pub fn grid_across(axis: &Axis, [top, bottom]: [f64; 2], name: &str, units: Units) -> Markup {
    let [left, right] = axis.ends();
    // Words stay within the figure and off those of an axis that runs up. Words that would touch are
    // left out, their lines are not.
    let mut free_from = f64::NEG_INFINITY;
    let labels = axis.labels(units).into_iter().map(|(tick, word)| {
        let half = word.chars().count() as f64 * CHARACTER / 2.0;
        let x = axis.at(tick).max(left - 4.0 + half).min(WIDTH - half);
        let is_free = x - half >= free_from;
        if is_free {
            free_from = x + half + GAP;
        }
        (axis.at(tick), is_free.then_some((x, word)))
    });
    let labels: Vec<(f64, Option<(f64, String)>)> = labels.collect();
    html! {
        @for (tick, label) in &labels {
            line.grid x1=(at(*tick)) y1=(at(top)) x2=(at(*tick)) y2=(at(bottom)) {}
            @if let Some((x, word)) = label {
                text x=(at(*x)) y=(at(bottom + 15.0)) text-anchor="middle" { (word) }
            }
        }
        text.name x=(at((left + right) / 2.0)) y=(at(bottom + 31.0)) text-anchor="middle" { (name) }
        "\n"
    }
}

/// Returns horizontal lines from `left` to `right` at the ticks of an axis that runs up, with their
/// words before them and the axis's name above.
pub fn grid_up(axis: &Axis, [left, right]: [f64; 2], name: &str, units: Units) -> Markup {
    let [_, top] = axis.ends();
    html! {
        @for (tick, word) in &axis.labels(units) {
            @let y = axis.at(*tick);
            line.grid x1=(at(left)) y1=(at(y)) x2=(at(right)) y2=(at(y)) {}
            text x=(at(left - 5.0)) y=(at(y + 4.0)) text-anchor="end" { (word) }
        }
        text.name x="0" y=(at(top - 8.0)) { (name) }
        "\n"
    }
}

/// Returns a text that takes at most about this width, cut short where it must be.
pub fn shortened(text: &str, units: f64) -> String {
    let most = (units / CHARACTER) as usize;
    match text.chars().count() > most {
        true => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

/// Formats a coordinate or a length, briefly: a page has many.
pub fn at(units: f64) -> String {
    let digits = format!("{units:.1}");
    digits.strip_suffix(".0").unwrap_or(&digits).to_owned()
}
