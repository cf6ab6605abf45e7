//! A network: its card, verdicts, distributions, costs and configurations.

use std::collections::BTreeSet;

use maud::{Markup, html};
use record::RunData;
use stats::Verdict;

use super::chart::{Bar, Curve, bars, ecdf};
use super::forest;
use super::sending::{sending, setup};
use super::table::{self, table, text};
use super::timeline::timelines;
use crate::answer::best_words;
use crate::cells::CellIndex;
use crate::load;
use crate::number::{count, duration, percent, size, with_interval};
use crate::phases;
use crate::population::{Population, populations, time};
use crate::quantity::Quantity;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Mean, Measure, Part};
use crate::summary::{Need, NetworkSummary, Summary};
use crate::wording::{
    connections_words, energy_words, interval_note, outlook_words, remarks, sender_words,
    verdict_words,
};

/// Returns the best arms for each need on each network, with the gain over the baseline.
pub(super) fn needs(summary: &Summary) -> Markup {
    let Some(first) = summary.networks.iter().find(|n| !n.needs.is_empty()) else {
        return Markup::default();
    };
    let mut headings = vec!["Network"];
    headings.extend(first.needs.iter().map(|need| need.label.as_str()));
    let row = |(i, network): (usize, &NetworkSummary)| {
        let mut row = vec![link(i, network)];
        row.extend(network.needs.iter().map(|need| best(network, need)));
        row
    };
    let rows: Vec<Vec<Markup>> = summary.networks.iter().enumerate().map(row).collect();
    table("The best arms for each need", &headings, &rows)
}

/// Returns a link to the section of a network.
fn link(index: usize, network: &NetworkSummary) -> Markup {
    html! { a href={ "#network-" (index) } { (network.name) } }
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
        (best_words(need, all))
        @if let Some(comparison) = comparison { (verdict(comparison)) }
    }
}

/// Returns a forest plot per network and measure.
pub(super) fn forests(summary: &Summary) -> Markup {
    let plots = |network: &NetworkSummary| {
        let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
        let plot = |(i, measure): (usize, &Measure)| {
            let rows: Vec<forest::Row<'_>> = network
                .arms
                .iter()
                .filter_map(|arm| {
                    Some(forest::Row {
                        name: &arm.name,
                        comparison: arm.measures[i].comparison.as_ref()?,
                    })
                })
                .collect();
            let title = format!(
                "{}, {}: difference from {}",
                network.name, measure.label, summary.baseline
            );
            forest::forest(&title, &rows)
        };
        measures.iter().enumerate().map(plot).collect::<Vec<_>>()
    };
    html! {
        div.figures { @for plot in summary.networks.iter().flat_map(plots) { (plot) } }
    }
}

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
pub(super) fn sections(summary: &Summary, data: &RunData) -> Markup {
    let cells = CellIndex::new(data);
    let populations = populations(data.run());
    html! {
        @for (i, network) in summary.networks.iter().enumerate() {
            section id={ "network-" (i) } {
                h2 { (network.name) }
                (verdicts(network, &summary.baseline))
                p.note { (interval_note(network)) }
                (load_tables(network))
                (phase_tables(network))
                (figures(network, data, &cells, &populations))
                (costs(network))
                (timelines(network, &cells))
                (setup(network))
                (sending(network))
                (configurations(network))
                (remarks_list(network))
            }
        }
    }
}

fn verdicts(network: &NetworkSummary, baseline: &str) -> Markup {
    let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    let mut headings = vec!["Arm"];
    headings.extend(measures.iter().map(|measure| measure.label.as_str()));
    let row = |(i, arm): (usize, &ArmSummary)| {
        let role = match arm.role {
            Role::Baseline => Some("baseline"),
            Role::Repeat => Some("A/A arm"),
            Role::Arm => None,
        };
        let mut row = vec![html! {
            (table::arm(i, &arm.name))
            @if let Some(role) = role { " " small { (role) } }
        }];
        row.extend(arm.measures.iter().map(|measure| figures_of(arm, measure)));
        row
    };
    let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
    let caption = format!("Times, with verdicts against {baseline}");
    table(&caption, &headings, &rows)
}

/// Returns all figures of a measure, or why there are none.
fn figures_of(arm: &ArmSummary, measure: &Measure) -> Markup {
    let Some(time) = &measure.time else {
        let reason = arm.reasons.first().map_or("no clean cell", String::as_str);
        return html! { small { (reason) } };
    };
    html! {
        (with_interval(time))
        br;
        small { (count(measure.calls, "request")) ", " (count(time.blocks, "block")) }
        @for p in &measure.percentiles {
            br;
            small { "p" (p.percent) " " (with_interval(&p.value)) }
        }
        @for (error, n) in &measure.errors {
            br;
            small { (n) " failed: " (error) }
        }
        @if let Some(goodput) = &measure.goodput {
            br;
            small { (with_interval(goodput)) }
        }
        @if let Some(comparison) = &measure.comparison { (verdict(comparison)) }
    }
}

/// Returns a table of rate and percentiles for each group that is bound by time.
fn load_tables(network: &NetworkSummary) -> Markup {
    let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    let tables: Vec<Markup> = (measures.iter().enumerate())
        .filter_map(|(i, measure)| {
            let columns = load::columns(&network.arms, i)?;
            let headings = columns.iter().map(|(heading, _)| heading.as_str());
            let headings: Vec<&str> = ["Arm"].into_iter().chain(headings).collect();
            let row = |(arm, summary): (usize, &ArmSummary)| {
                let figures = columns.iter().map(|(_, texts)| text(texts[arm].clone()));
                [table::arm(arm, &summary.name)]
                    .into_iter()
                    .chain(figures)
                    .collect()
            };
            let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
            Some(table(&load::heading(&measure.label), &headings, &rows))
        })
        .collect();
    html! {
        @for table in &tables { (table) }
        @if !tables.is_empty() { p.note { (load::NOTE) } }
    }
}

/// Returns a table of phases for each measure that has exchanges.
fn phase_tables(network: &NetworkSummary) -> Markup {
    let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    let has_phases = |m: &usize| {
        network
            .arms
            .iter()
            .any(|arm| arm.measures[*m].phases.is_some())
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
    let mut headings = vec!["Arm"];
    let figures = phases::TIMES.iter().chain(&phases::BYTES);
    headings.extend(figures.map(|(heading, _)| *heading));
    headings.push("requests, blocks");
    let row = |(i, arm): (usize, &ArmSummary)| {
        let mut row = vec![table::arm(i, &arm.name)];
        let Some(all) = &arm.measures[m].phases else {
            return row;
        };
        let range = |shown: fn(f64) -> String, of: &Mean| {
            html! {
                (shown(of.mean))
                br;
                small { (shown(of.min)) " to " (shown(of.max)) }
            }
        };
        row.extend(phases::TIMES.map(|(_, of)| range(phases::ms, of(all))));
        row.extend(phases::BYTES.map(|(_, of)| range(|b| format!("{b:.0} B"), of(all))));
        row.push(html! { (all.calls) ", " (all.blocks) });
        row
    };
    let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
    table(&phases::heading(label), &headings, &rows)
}

/// Returns a verdict with the difference it is based on.
fn verdict(comparison: &Comparison) -> Markup {
    let words = verdict_words(comparison.verdict);
    let slower = comparison.difference.value.is_some_and(|d| d > 0.0);
    let mut details = Vec::new();
    if let Some(size) = size(&comparison.difference, !slower) {
        let word = if slower { "slower" } else { "faster" };
        let level = percent(comparison.difference.coverage);
        details.push(format!("{} {word} ({level}: {})", size.value, size.range));
    }
    details.push(format!("margin {}", duration(comparison.margin_ns)));
    if let Verdict::CannotTell { outlook, .. } = comparison.verdict {
        details.push(outlook_words(outlook).to_owned());
    }
    if let Some(clean) = comparison.clean_only {
        let clean = verdict_words(clean);
        details.push(match clean == words {
            true => "the same from clean cells alone".to_owned(),
            false => format!("from clean cells alone: {clean}"),
        });
    }
    if let Some(correlation) = comparison.correlation {
        details.push(format!("correlation {correlation:.2}"));
    }
    html! {
        br;
        strong class=(words.replace(' ', "-")) { (words) }
        br;
        small { (details.join("; ")) }
    }
}

/// Returns the distribution of every population, and bars of first and warm requests.
fn figures(
    network: &NetworkSummary,
    data: &RunData,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> Markup {
    let run = data.run();
    let by_request =
        (populations.iter()).filter(|p| p.part.is_by_request() && p.part != Part::Load);
    let distributions = by_request.map(|population| {
        let curves: Vec<Curve<'_>> = network
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| {
                let blocks = cells.first(&network.name, &arm.name);
                let calls = blocks.values().flat_map(|cell| population.of(&cell.calls));
                let times = calls.map(|call| time(call, run.timeout_ns)).collect();
                Curve {
                    name: &arm.name,
                    index,
                    times,
                }
            })
            .filter(|curve| !curve.times.is_empty())
            .collect();
        let title = format!(
            "{}, {}: cumulative distribution (ECDF) of request time",
            network.name, population.label
        );
        ecdf(&title, &curves)
    });
    let small = run.groups.iter().filter(|group| !group.bulk);
    let pairs = small.map(|group| {
        let bar = |(index, arm): (usize, &ArmSummary)| {
            let time = |part: Part| {
                let mut measures = arm.measures.iter();
                let found = measures.find(|m| m.group == group.name && m.part == part);
                found.and_then(|m| m.time.clone())
            };
            Some(Bar {
                name: arm.name.clone(),
                index,
                first: time(Part::First)?,
                warm: time(Part::Warm)?,
            })
        };
        let arm_bars: Vec<Bar> = network.arms.iter().enumerate().filter_map(bar).collect();
        let title = format!("{}, {}: first and warm requests", network.name, group.name);
        bars(&title, &arm_bars)
    });
    html! {
        div.figures { @for figure in distributions.chain(pairs) { (figure) } }
    }
}

/// Returns the configuration of each arm; differences from the baseline are bold.
fn configurations(network: &NetworkSummary) -> Markup {
    let settings: BTreeSet<&String> = network
        .arms
        .iter()
        .flat_map(|arm| arm.configuration.keys())
        .collect();
    let mut headings = vec!["Arm"];
    headings.extend(settings.iter().map(|what| what.as_str()));
    let value = |arm: &ArmSummary, what: &String| {
        let values = arm.configuration.get(what).into_iter().flatten();
        let lines = html! {
            @for (i, value) in values.enumerate() {
                @if i > 0 { br; }
                (value)
            }
        };
        match arm.differences.iter().any(|d| d.what == *what) {
            true => html! { strong { (lines) } },
            false => lines,
        }
    };
    let row = |(i, arm): (usize, &ArmSummary)| {
        let mut row = vec![table::arm(i, &arm.name)];
        row.extend(settings.iter().map(|what| value(arm, what)));
        row
    };
    let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
    table(
        "Configuration; differences from the baseline are bold",
        &headings,
        &rows,
    )
}

fn costs(network: &NetworkSummary) -> Markup {
    let shown = |q: &Option<Quantity>| text(q.as_ref().map_or("-".into(), with_interval));
    let row = |(i, arm): (usize, &ArmSummary)| {
        let costs = &arm.costs;
        vec![
            table::arm(i, &arm.name),
            shown(&costs.up_bytes),
            shown(&costs.down_bytes),
            shown(&costs.handshake_bytes),
            shown(&costs.client_cpu),
            shown(&costs.server_cpu),
            shown(&costs.cpu_wait),
            text(energy_words(&costs.energy)),
            shown(&costs.memory),
            shown(&costs.startup),
            text(connections_words(arm)),
            text(arm.negotiated_protocols.join(", ")),
            text(sender_words(arm)),
        ]
    };
    let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
    let headings = [
        "Arm",
        "Bytes sent by client per cell (IP)",
        "Bytes sent by server per cell (IP)",
        "Of which handshake",
        "Client CPU per request",
        "Server CPU per request",
        "CPU wait per request",
        "Radio's energy per request, by a model",
        "Memory",
        "Start-up time",
        "Connections per cell",
        "Negotiated protocol",
        "Server · congestion control",
    ];
    table("Costs: medians over blocks", &headings, &rows)
}

fn remarks_list(network: &NetworkSummary) -> Markup {
    let of_arm = |arm: &ArmSummary| -> Vec<String> {
        let remarks = remarks(arm).into_iter();
        remarks
            .map(|remark| format!("{}: {remark}", arm.name))
            .collect()
    };
    let all: Vec<String> = network.arms.iter().flat_map(of_arm).collect();
    html! {
        @if !all.is_empty() {
            ul.remarks { @for remark in &all { li { (remark) } "\n" } }
        }
    }
}
