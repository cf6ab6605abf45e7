//! Times with their verdicts: the best arms for each need, and every measure of a network.

use maud::{Markup, html};
use page::{arm, list_table, table, text};
use stats::Verdict;

use super::labels::{headings, in_network, link, measures};
use crate::answer::wording::{mean_words, range_words_in};
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::quantity::Quantity;
use crate::summary::{Need, NetworkSummary, Summary};
use crate::verdicts::overall::best_words;
use crate::words::number::{Column, count, duration, percent, size_in, with_interval};
use crate::words::verdict::{outlook_words, verdict_words};

/// The most measures whose table fits a desktop.
const MOST_COLUMNS: usize = 6;

/// Returns the best arms for each need on each network, with the gain over the baseline.
pub(super) fn needs(summary: &Summary) -> Markup {
    let Some(first) = summary.networks.iter().find(|n| !n.needs.is_empty()) else {
        return Markup::default();
    };
    let labels = first.needs.iter().map(|need| need.label.as_str());
    let headings: Vec<&str> = std::iter::once("Network").chain(labels).collect();
    let row = |(i, network): (usize, &NetworkSummary)| {
        let mut row = vec![link(i, network)];
        row.extend(network.needs.iter().map(|need| best(network, need)));
        // Nothing is best where results must not be used.
        row.resize(headings.len(), text("-"));
        row
    };
    let rows: Vec<Vec<Markup>> = summary.networks.iter().enumerate().map(row).collect();
    list_table("Best arms by request", &headings, &rows)
}

fn best(network: &NetworkSummary, need: &Need) -> Markup {
    let arms = network.arms.iter();
    let all = arms.clone().filter(|arm| arm.role != Role::Repeat).count();
    let arm = arms
        .clone()
        .find(|arm| Some(&arm.name) == need.best.first());
    let measures = arm.into_iter().flat_map(|arm| &arm.measures);
    let comparison = measures
        .filter(|measure| measure.label == need.label)
        .find_map(|measure| measure.comparison.as_ref());
    html! {
        span.long { (best_words(need, all)) }
        @if let Some(comparison) = comparison { (verdict(comparison, None)) }
    }
}

/// Returns the table of a network's times, each column in one unit.
pub(super) fn verdicts(network: &NetworkSummary, baseline: &str) -> Markup {
    let measures = measures(network);
    let columns: Vec<Option<Column>> = (0..measures.len())
        .map(|m| {
            let times = network
                .arms
                .iter()
                .filter_map(|arm| arm.measures[m].time.as_ref());
            Column::over(times)
        })
        .collect();
    let labels: Vec<String> = (measures.iter().zip(&columns).enumerate())
        .map(|(m, (measure, column))| {
            let unit = column.as_ref().map(|column| format!(", {}", column.unit()));
            // It is the same for all arms.
            let comparisons = network
                .arms
                .iter()
                .filter_map(|arm| arm.measures[m].comparison.as_ref());
            let margin = comparisons
                .map(|of| format!(" (margin {})", duration(of.margin_ns)))
                .next();
            let [unit, margin] = [unit, margin].map(Option::unwrap_or_default);
            format!("{}{unit}{margin}", measure.label)
        })
        .collect();
    let named = |(i, summary): (usize, &ArmSummary)| {
        let role = match summary.role {
            Role::Baseline => Some("baseline"),
            Role::Repeat => Some("A/A arm"),
            Role::Arm => None,
        };
        html! {
            (arm(i, &summary.name))
            @if let Some(role) = role { " " small { (role) } }
        }
    };
    let names: Vec<Markup> = network.arms.iter().enumerate().map(named).collect();
    let cell = |summary: &ArmSummary, m: usize| {
        figures_of(summary, &summary.measures[m], columns[m].as_ref())
    };
    let caption = in_network(network, &format!("times, with verdicts against {baseline}"));
    // Recordings have many groups and few arms: those are rows then.
    if measures.len() > MOST_COLUMNS && measures.len() > names.len() {
        let headings: Vec<Markup> = std::iter::once(text("Measure")).chain(names).collect();
        let row = |(m, label): (usize, &String)| {
            let cells = network.arms.iter().map(|summary| cell(summary, m));
            std::iter::once(text(label)).chain(cells).collect()
        };
        let rows: Vec<Vec<Markup>> = labels.iter().enumerate().map(row).collect();
        return table(&caption, &headings, &rows);
    }
    let row = |(name, summary): (Markup, &ArmSummary)| {
        let cells = (0..measures.len()).map(|m| cell(summary, m));
        std::iter::once(name).chain(cells).collect()
    };
    let rows: Vec<Vec<Markup>> = names.into_iter().zip(&network.arms).map(row).collect();
    table(
        &caption,
        &headings("Arm", labels.iter().map(String::as_str)),
        &rows,
    )
}

/// Returns the figures of a measure, or why there are none.
fn figures_of(arm: &ArmSummary, measure: &Measure, column: Option<&Column>) -> Markup {
    let (Some(time), Some(column)) = (&measure.time, column) else {
        let was_measured = arm.measures.iter().any(|other| other.time.is_some());
        let reason = match was_measured {
            true => "no such request",
            false => arm.reasons.first().map_or("no cell", String::as_str),
        };
        return html! { small { (reason) } };
    };
    html! {
        (column.show(time))
        br;
        small {
            @if let Some(mean) = mean_words(measure) { (mean) br; }
            (count(measure.calls, "request")) ", " (count(time.blocks, "block"))
            @if let Some(goodput) = &measure.goodput { br; (with_interval(goodput)) }
        }
        @if let Some(comparison) = &measure.comparison { (verdict(comparison, Some(column))) }
    }
}

/// Returns a verdict with the difference it is based on, in the unit of a column if there is one, and its reason.
fn verdict(comparison: &Comparison, column: Option<&Column>) -> Markup {
    let words = verdict_words(comparison.verdict);
    let mut details: Vec<String> = difference_words(comparison, column).into_iter().collect();
    if let Verdict::CannotTell { blocks, outlook } = comparison.verdict {
        details.push(match blocks < stats::MIN_BLOCKS {
            true => format!("verdicts need at least {} blocks", stats::MIN_BLOCKS),
            false => outlook_words(outlook).to_owned(),
        });
    }
    let clean = comparison.clean_only.map(verdict_words);
    details.extend(
        clean
            .filter(|clean| *clean != words)
            .map(|clean| format!("from clean cells alone: {clean}")),
    );
    html! {
        br;
        strong class=(class_of(comparison.verdict)) { (words) }
        br;
        small { (details.join("; ")) }
        @if let Some(reason) = &comparison.reason {
            br;
            small { (reason.words) }
        }
    }
}

/// Returns the difference with its interval, e.g. `118 ms faster (99.8 %: 104 to 133)`, or the interval
/// alone if it reaches to both sides.
fn difference_words(comparison: &Comparison, column: Option<&Column>) -> Option<String> {
    let difference: &Quantity = &comparison.difference;
    let level = percent(difference.coverage);
    let slower = difference.value.is_some_and(|d| d > 0.0);
    let size = size_in(difference, !slower, column)?;
    if difference
        .low
        .zip(difference.high)
        .is_some_and(|(low, high)| low < 0.0 && high > 0.0)
    {
        return Some(format!("{} ({level})", range_words_in(comparison, column)?));
    }
    let word = if slower { "slower" } else { "faster" };
    Some(format!("{} {word} ({level}: {})", size.value, size.range))
}

/// Returns the class of a verdict, which has its colour.
pub(super) fn class_of(verdict: Verdict) -> String {
    verdict_words(verdict).replace(' ', "-")
}
