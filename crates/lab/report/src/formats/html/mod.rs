//! The report as one page that is readable offline, made of the parts of [`page`].
//!
//! The order suits a reader with little time. First come the origin of the figures, the answer, the best arms for each
//! need, a forest plot of all differences and recommendations by network. The figures behind it follow: failures, parts
//! of the time, costs, percentiles, phases, distributions, blocks over time and set-up. Self-test, environment and the
//! raw data are last.

mod appendix;
mod blocks;
mod configuration;
mod costs;
mod distribution;
mod failures;
mod forest;
mod head;
mod heat;
mod labels;
mod network;
mod parts;
mod percentiles;
mod sending;
mod sweep;
mod timeline;
mod verdicts;
mod waterfall;

pub use head::machine;

use maud::html;
use page::Document;
use record::CompactRun;

use crate::answer::wording::{alarms, cells_line};
use crate::records::Records;
use crate::summary::Summary;

/// Returns the report as one HTML file. `summary` must be the summary of `data`.
pub fn html(summary: &Summary, data: &impl Records) -> String {
    document(summary, &data.compact(), false)
}

/// Returns the report as an HTML file for the folder of the run, with links to the records there.
pub fn html_beside_records(summary: &Summary, data: &impl Records) -> String {
    document(summary, &data.compact(), true)
}

fn document(summary: &Summary, data: &CompactRun, beside_records: bool) -> String {
    let main = html! {
        @for line in alarms(summary) {
            p.alarm role="alert" { (line) }
        }
        p.answer { (summary.answer) }
        @if let Some(warning) = &summary.noise_warning {
            p.alarm { (warning) }
        }
        (verdicts::needs(summary))
        (forest::decisive(summary))
        (network::cards(summary))
        p { (cells_line(&summary.cells)) "." }
        (heat::section(summary, data))
        (sweep::sections(summary))
        (network::sections(summary, data))
        (appendix::sections(summary, data, beside_records))
    };
    Document {
        title: &format!("{}: {}", summary.study, summary.question),
        head: head::head(summary, data),
        contents: contents(summary, data),
        main,
    }
    .into_html()
}

fn contents(summary: &Summary, data: &CompactRun) -> Vec<(String, String)> {
    let networks = summary.networks.iter().enumerate();
    let networks = networks.map(|(i, network)| (labels::id(i), network.name.clone()));
    let heat = heat::is_shown(summary, data).then(|| heat::CONTENT.map(str::to_owned).into());
    let sweeps = (!summary.sweeps.is_empty()).then(|| sweep::CONTENT.map(str::to_owned).into());
    let before = heat.into_iter().chain(sweeps);
    let after = appendix::CONTENTS.map(|content| content.map(str::to_owned).into());
    before.chain(networks).chain(after).collect()
}
