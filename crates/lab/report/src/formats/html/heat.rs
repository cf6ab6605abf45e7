//! A heat map per arm: networks against what is transferred, the smallest first.

use maud::{Markup, html};
use page::text;
use record::CompactRun;
use stats::{Span, Verdict};

use super::labels::{headings, link, measures};
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::quantity::{Quantity, Unit};
use crate::summary::{NetworkSummary, Summary};
use crate::words::number::with_interval;
use crate::words::verdict::verdict_words;

/// Id and title of the section.
pub(super) const CONTENT: [&str; 2] = ["networks-and-sizes", "Networks and sizes"];

/// Changes of the time below which colours are pale, and above which they are strongest.
const STEPS: [f64; 2] = [0.1, 0.3];

/// Returns whether the study has several networks and groups of several sizes.
pub(super) fn is_shown(summary: &Summary, data: &CompactRun) -> bool {
    let mut sizes: Vec<u64> = columns(summary, data)
        .iter()
        .map(|(size, _)| *size)
        .collect();
    sizes.dedup();
    summary.networks.len() > 1 && sizes.len() > 1
}

/// Returns the section; nothing where there is only one network or one size.
pub(super) fn section(summary: &Summary, data: &CompactRun) -> Markup {
    let columns = columns(summary, data);
    let arms = summary
        .networks
        .first()
        .map_or(&[][..], |network| &network.arms);
    let arms = (arms.iter().enumerate())
        .filter(|(_, arm)| arm.role == Role::Arm)
        .filter(|(i, _)| {
            let mut networks = summary.networks.iter();
            networks.any(|network| network.arms[*i].has_figures())
        });
    let maps: Vec<Markup> = arms
        .map(|(i, arm)| map(summary, i, &arm.name, &columns))
        .collect();
    html! {
        @if is_shown(summary, data) {
            section id=(CONTENT[0]) {
                h2 { (CONTENT[1]) }
                p.note {
                    "How much longer or shorter an arm's time is than that of " (summary.baseline)
                    ". Green: decided faster; red: decided slower; the stronger, the more. Without \
                     colour: no difference is decided."
                }
                div.maps { @for map in &maps { (map) } }
            }
        }
    }
}

/// Returns the decisive measures by what one request transfers: the bytes, and the index.
fn columns(summary: &Summary, data: &CompactRun) -> Vec<(u64, usize)> {
    let measures = summary.networks.first().map_or(&[][..], measures);
    let size = |measure: &Measure| {
        let mut groups = data.run().groups.iter();
        groups
            .find(|group| group.name == measure.group)
            .map_or(0, |group| group.response_bytes)
    };
    let decisive = measures
        .iter()
        .enumerate()
        .filter(|(_, measure)| measure.decisive);
    let mut columns: Vec<(u64, usize)> = decisive.map(|(m, measure)| (size(measure), m)).collect();
    columns.sort();
    columns
}

fn map(summary: &Summary, index: usize, name: &str, columns: &[(u64, usize)]) -> Markup {
    let label = |(size, m): &(u64, usize)| {
        let label = &measures(&summary.networks[0])[*m].label;
        let bytes = Quantity::without_interval(Span::exact(*size as f64), 1, Unit::Bytes);
        match size {
            0 => label.clone(),
            _ => format!("{label} ({})", with_interval(&bytes)),
        }
    };
    let labels: Vec<String> = columns.iter().map(label).collect();
    let row = |(i, network): (usize, &NetworkSummary)| -> Vec<Markup> {
        let arm = network.arms.get(index);
        let cells = columns.iter().map(|(_, m)| cell(arm, *m));
        std::iter::once(link(i, network)).chain(cells).collect()
    };
    let rows: Vec<Vec<Markup>> = summary.networks.iter().enumerate().map(row).collect();
    let headings = headings("Network", labels.iter().map(String::as_str));
    html! {
        div data-arm=(index) {
            (page::table(&format!("{name} against {}", summary.baseline), &headings, &rows))
        }
    }
}

fn cell(arm: Option<&ArmSummary>, m: usize) -> Markup {
    let comparison = arm.and_then(|arm| arm.measures.get(m)?.comparison.as_ref());
    let change = comparison.and_then(|comparison| Some((comparison, change(comparison)?)));
    let Some((comparison, change)) = change else {
        return text("-");
    };
    let step = 1 + STEPS.iter().filter(|step| change.abs() >= **step).count();
    let class = match comparison.verdict {
        Verdict::Faster => format!("better-{step}"),
        Verdict::Slower => format!("worse-{step}"),
        _ => "open".to_owned(),
    };
    html! {
        span class=(class) {
            (format!("{:+.0} %", 100.0 * change).replace("+0 %", "0 %").replace("-0 %", "0 %"))
            " " small { (verdict_words(comparison.verdict)) }
        }
    }
}

/// Returns by which share of the baseline's the arm's time is longer.
fn change(comparison: &Comparison) -> Option<f64> {
    let speedup = comparison.speedup.as_ref()?.value?;
    (speedup > 0.0).then(|| 1.0 / speedup - 1.0)
}
