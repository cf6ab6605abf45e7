//! A network: its card, and the section with its figures.

use maud::{Markup, html};
use page::{arm, fold, table, text};
use record::CompactRun;

use super::blocks::blocks;
use super::configuration::configuration;
use super::costs::costs;
use super::distribution::distributions;
use super::failures::failures;
use super::forest::others;
use super::labels::{headings, id, in_network, link, measures};
use super::parts::Parts;
use super::percentiles::percentiles;
use super::sending::{sending, setup};
use super::timeline::timelines;
use super::verdicts::verdicts;
use super::waterfall::waterfalls;
use crate::answer::wording::{interval_note, remarks};
use crate::figures::cells::CellIndex;
use crate::figures::load;
use crate::figures::parts::measures as measures_by_part;
use crate::figures::phases;
use crate::figures::population::Population;
use crate::summary::arm::ArmSummary;
use crate::summary::measure::Mean;
use crate::summary::{NetworkSummary, Summary};
use crate::verdicts::apart::populations_apart;
use crate::words::number::count;

/// Returns one card per network, with its sentence.
pub(super) fn cards(summary: &Summary) -> Markup {
    html! {
        div.cards {
            @for (i, network) in summary.networks.iter().enumerate() {
                article class={ "card " (network.advice.name()) } {
                    h2 { (link(i, network)) }
                    p.numbers { (network.numbers) }
                    p.sentence { (network.sentence) }
                }
                "\n"
            }
        }
    }
}

/// Returns one section per network.
pub(super) fn sections(summary: &Summary, data: &CompactRun) -> Markup {
    let cells = CellIndex::new(data);
    let populations = populations_apart(data.run(), &cells);
    let parts = Parts::new(measures_by_part(data.run(), &cells, &populations));
    html! {
        @for (i, network) in summary.networks.iter().enumerate() {
            section id=(id(i)) {
                h2 { (network.name) }
                p.numbers { (network.numbers) }
                (verdicts(network, &summary.baseline))
                p.note { (interval_note(network)) }
                (load_tables(network))
                (details(network, &summary.baseline, data, &cells, &populations, &parts))
            }
        }
    }
}

/// Returns what is behind the verdicts, folded, but for what makes up the answer: where the time went, costs, and why
/// requests failed.
fn details(
    network: &NetworkSummary,
    baseline: &str,
    data: &CompactRun,
    cells: &CellIndex<'_>,
    populations: &[Population],
    by_part: &Parts,
) -> Markup {
    let fails = network.arms.iter().any(|arm| arm.calls_and_losses().1 > 0);
    let joined = |parts: &[Markup]| html! { @for part in parts { (part) } };
    let parts = [
        ("Requests that failed", fails, failures(network)),
        (
            "Where the time went",
            by_part.is_open(network),
            by_part.section(network),
        ),
        ("Costs", true, costs(network)),
        ("Remarks on each arm", false, remarks_list(network)),
        ("Other differences", false, others(network, baseline)),
        ("Percentiles of requests", false, percentiles(network)),
        (
            "Where the time goes",
            false,
            joined(&[
                waterfalls(network, cells, populations),
                phase_tables(network),
            ]),
        ),
        (
            "Distribution of request times",
            false,
            distributions(network, data, cells, populations),
        ),
        (
            "Block by block",
            false,
            blocks(network, data, cells, populations),
        ),
        (
            "CPU, memory and rates over time",
            false,
            timelines(network, cells),
        ),
        (
            "Set-up",
            false,
            joined(&[setup(network), configuration(network), sending(network)]),
        ),
    ];
    html! {
        @for (title, open, content) in parts.iter().filter(|(.., content)| !content.0.is_empty()) {
            (fold(title, *open, content))
        }
    }
}

/// Returns a table of rate and percentiles for each group that is bound by time.
fn load_tables(network: &NetworkSummary) -> Markup {
    let tables: Vec<Markup> = (measures(network).iter().enumerate())
        .filter_map(|(i, measure)| {
            let columns = load::columns(&network.arms, i)?;
            let headings = headings("Arm", columns.iter().map(|(heading, _)| heading.as_str()));
            let row = |(index, summary): (usize, &ArmSummary)| {
                let figures = columns.iter().map(|(_, texts)| text(&texts[index]));
                let name = arm(index, &summary.name);
                std::iter::once(name).chain(figures).collect()
            };
            let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
            Some(table(
                &in_network(network, &load::heading(&measure.label)),
                &headings,
                &rows,
            ))
        })
        .collect();
    html! {
        @for table in &tables { (table) }
        @if !tables.is_empty() { p.note { (load::NOTE) } }
    }
}

/// Returns a table of phases for each measure that has exchanges.
fn phase_tables(network: &NetworkSummary) -> Markup {
    let measures = measures(network);
    let has_phases = |m: &usize| {
        let mut arms = network.arms.iter();
        arms.any(|arm| arm.measures[*m].phases.is_some())
    };
    let with_phases: Vec<usize> = (0..measures.len()).filter(has_phases).collect();
    html! {
        @for m in &with_phases { (phase_table(network, *m, &measures[*m].label)) }
        @if !with_phases.is_empty() {
            p.note {
                (phases::NOTE) " In small print: the smallest and the largest mean of a block."
            }
        }
    }
}

fn phase_table(network: &NetworkSummary, m: usize, label: &str) -> Markup {
    let bytes = phases::BYTES.map(|(heading, _)| format!("{heading}, B"));
    let times = phases::TIMES.iter().map(|(heading, _)| *heading);
    let figures = times.chain(bytes.iter().map(String::as_str));
    let headings = headings("Arm", figures.chain(["requests · blocks"]));
    let row = |(i, summary): (usize, &ArmSummary)| {
        let mut row = vec![arm(i, &summary.name)];
        let Some(all) = &summary.measures[m].phases else {
            row.resize(headings.len(), text("-"));
            return row;
        };
        let range = |shown: fn(f64) -> String, of: &Mean| {
            html! {
                (shown(of.mean))
                br;
                small.range { (shown(of.min)) " to " (shown(of.max)) }
            }
        };
        row.extend(phases::TIMES.map(|(_, of)| range(phases::ms, of(all))));
        row.extend(phases::BYTES.map(|(_, of)| range(|bytes| format!("{bytes:.0}"), of(all))));
        row.push(html! { (count(all.calls, "request")) " · " (count(all.blocks, "block")) });
        row
    };
    let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
    table(
        &in_network(network, &phases::heading(label)),
        &headings,
        &rows,
    )
}

fn remarks_list(network: &NetworkSummary) -> Markup {
    let of_arm = |(i, arm): (usize, &ArmSummary)| -> Vec<(usize, String)> {
        let remarks = remarks(arm).into_iter();
        remarks
            .map(|remark| (i, format!("{}: {remark}", arm.name)))
            .collect()
    };
    let arms = network.arms.iter().enumerate();
    let all: Vec<(usize, String)> = arms.flat_map(of_arm).collect();
    html! {
        @if !all.is_empty() {
            ul.remarks { @for (i, remark) in &all { li data-arm=(i) { (remark) } "\n" } }
        }
    }
}
