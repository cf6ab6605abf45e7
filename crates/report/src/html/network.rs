//! A network: its card, verdicts, distributions, costs and configurations.

use std::collections::BTreeSet;

use record::RunData;
use stats::Verdict;

use super::chart::{Bar, Curve, bars, ecdf};
use super::element::{Text, headings, line_sample, table};
use super::forest;
use crate::answer::best_words;
use crate::cells::CellIndex;
use crate::number::{count, duration, percent, size, with_interval};
use crate::phases;
use crate::population::{Population, populations, time};
use crate::quantity::Quantity;
use crate::summary::arm::{ArmSummary, Role};
use crate::summary::measure::{Comparison, Mean, Part};
use crate::summary::{Need, NetworkSummary, Summary};
use crate::wording::{connections_words, interval_note, outlook_words, remarks, verdict_words};

/// Returns the best arms for each need on each network, with the gain over the baseline.
pub(super) fn needs(summary: &Summary) -> String {
    let Some(first) = summary.networks.iter().find(|n| !n.needs.is_empty()) else {
        return String::new();
    };
    let mut columns = headings(&["Network"]);
    columns.extend(first.needs.iter().map(|need| Text(&need.label).to_string()));
    let rows: Vec<Vec<String>> = summary
        .networks
        .iter()
        .enumerate()
        .map(|(i, network)| {
            let mut row = vec![format!(
                "<a href=\"#network-{i}\">{}</a>",
                Text(&network.name)
            )];
            row.extend(network.needs.iter().map(|need| best(network, need)));
            row
        })
        .collect();
    table("The best arms for each need", &columns, &rows)
}

fn best(network: &NetworkSummary, need: &Need) -> String {
    let mut cell = {
        let all = network
            .arms
            .iter()
            .filter(|arm| arm.role != Role::Repeat)
            .count();
        Text(&best_words(need, all)).to_string()
    };
    let arm = network
        .arms
        .iter()
        .find(|arm| Some(&arm.name) == need.best.first());
    let measures = arm.into_iter().flat_map(|arm| &arm.measures);
    let comparison = measures
        .filter(|measure| measure.label == need.label)
        .find_map(|measure| measure.comparison.as_ref());
    if let Some(comparison) = comparison {
        cell += &verdict(comparison);
    }
    cell
}

/// Returns a forest plot per network and measure.
pub(super) fn forests(summary: &Summary) -> String {
    let mut out = String::from("<div class=\"figures\">\n");
    for network in &summary.networks {
        let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate() {
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
            out += &forest::forest(&title, &rows);
        }
    }
    out + "</div>\n"
}

/// Returns one card per network, with its sentence.
pub(super) fn cards(summary: &Summary) -> String {
    let mut out = String::from("<div class=\"cards\">\n");
    for (i, network) in summary.networks.iter().enumerate() {
        out += &format!(
            "<article class=\"card {}\">\n<h2><a href=\"#network-{i}\">{}</a></h2>\n\
             <p class=\"numbers\">{}</p>\n<p class=\"sentence\">{}</p>\n</article>\n",
            network.advice.name(),
            Text(&network.name),
            Text(&network.numbers),
            Text(&network.sentence)
        );
    }
    out + "</div>\n"
}

/// Returns one section per network.
pub(super) fn sections(summary: &Summary, data: &RunData) -> String {
    let cells = CellIndex::new(data);
    let populations = populations(data.run());
    let mut out = String::new();
    for (i, network) in summary.networks.iter().enumerate() {
        out += &format!(
            "<section id=\"network-{i}\">\n<h2>{}</h2>\n",
            Text(&network.name)
        );
        out += &verdicts(network, &summary.baseline);
        out += &format!("<p class=\"note\">{}</p>\n", interval_note(network));
        out += &phase_tables(network);
        out += &figures(network, data, &cells, &populations);
        out += &costs(network);
        out += &configurations(network);
        out += &remarks_list(network);
        out += "</section>\n";
    }
    out
}

fn verdicts(network: &NetworkSummary, baseline: &str) -> String {
    let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    let mut columns = headings(&["Arm"]);
    columns.extend(
        measures
            .iter()
            .map(|measure| Text(&measure.label).to_string()),
    );
    let rows: Vec<Vec<String>> = network
        .arms
        .iter()
        .enumerate()
        .map(|(i, arm)| {
            let role = match arm.role {
                Role::Baseline => " <small>baseline</small>",
                Role::Repeat => " <small>A/A arm</small>",
                Role::Arm => "",
            };
            let mut row = vec![format!("{}{}{role}", line_sample(i), Text(&arm.name))];
            for measure in &arm.measures {
                let Some(time) = &measure.time else {
                    let reason = arm.reasons.first().map_or("no clean cell", String::as_str);
                    row.push(format!("<small>{}</small>", Text(reason)));
                    continue;
                };
                let mut cell = format!(
                    "{}<br><small>{}, {}</small>",
                    with_interval(time),
                    count(measure.calls, "request"),
                    count(time.blocks, "block")
                );
                for p in &measure.percentiles {
                    let value = with_interval(&p.value);
                    cell += &format!("<br><small>p{} {value}</small>", p.percent);
                }
                for (error, n) in &measure.errors {
                    cell += &format!("<br><small>{n} failed: {}</small>", Text(error));
                }
                if let Some(goodput) = &measure.goodput {
                    cell += &format!("<br><small>{}</small>", with_interval(goodput));
                }
                if let Some(comparison) = &measure.comparison {
                    cell += &verdict(comparison);
                }
                row.push(cell);
            }
            row
        })
        .collect();
    let caption = format!("Times, with verdicts against {}", Text(baseline));
    table(&caption, &columns, &rows)
}

/// Returns a table of phases for each measure that has exchanges.
fn phase_tables(network: &NetworkSummary) -> String {
    let mut out = String::new();
    let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    for (m, measure) in measures.iter().enumerate() {
        let has_phases = |arm: &ArmSummary| arm.measures[m].phases.is_some();
        if !network.arms.iter().any(has_phases) {
            continue;
        }
        let mut columns = headings(&["Arm"]);
        let figures = phases::TIMES.iter().chain(&phases::BYTES);
        columns.extend(figures.map(|(heading, _)| (*heading).to_owned()));
        columns.extend(headings(&["requests, blocks"]));
        let row = |(i, arm): (usize, &ArmSummary)| {
            let mut row = vec![format!("{}{}", line_sample(i), Text(&arm.name))];
            let Some(all) = &arm.measures[m].phases else {
                return row;
            };
            let range = |shown: fn(f64) -> String, of: &Mean| {
                let (min, max) = (shown(of.min), shown(of.max));
                format!("{}<br><small>{min} to {max}</small>", shown(of.mean))
            };
            row.extend(phases::TIMES.map(|(_, of)| range(phases::ms, of(all))));
            row.extend(phases::BYTES.map(|(_, of)| range(|b| format!("{b:.0} B"), of(all))));
            row.push(format!("{}, {}", all.calls, all.blocks));
            row
        };
        let rows: Vec<Vec<String>> = network.arms.iter().enumerate().map(row).collect();
        let caption = Text(&phases::heading(&measure.label)).to_string();
        out += &table(&caption, &columns, &rows);
    }
    if !out.is_empty() {
        out += &format!(
            "<p class=\"note\">{} In small print: the smallest and the largest mean of a block.</p>\n",
            Text(phases::NOTE)
        );
    }
    out
}

/// Returns a verdict with the difference it is based on.
fn verdict(comparison: &Comparison) -> String {
    let words = verdict_words(comparison.verdict);
    let class = words.replace(' ', "-");
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
    format!(
        "<br><strong class=\"{class}\">{words}</strong><br><small>{}</small>",
        details.join("; ")
    )
}

/// Returns the distribution of every population, and bars of first and warm requests.
fn figures(
    network: &NetworkSummary,
    data: &RunData,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> String {
    let run = data.run();
    let mut out = String::from("<div class=\"figures\">\n");
    for population in populations.iter().filter(|p| p.part.is_by_request()) {
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
        out += &ecdf(&title, &curves);
    }
    for group in run.groups.iter().filter(|group| !group.bulk) {
        let bar = |(index, arm): (usize, &ArmSummary)| {
            let time = |part: Part| {
                let found = arm
                    .measures
                    .iter()
                    .find(|m| m.group == group.name && m.part == part);
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
        out += &bars(&title, &arm_bars);
    }
    out + "</div>\n"
}

/// Returns the configuration of each arm; differences from the baseline are bold.
fn configurations(network: &NetworkSummary) -> String {
    let settings: BTreeSet<&String> = network
        .arms
        .iter()
        .flat_map(|arm| arm.configuration.keys())
        .collect();
    let mut columns = headings(&["Arm"]);
    columns.extend(settings.iter().map(|what| Text(what).to_string()));
    let row = |(i, arm): (usize, &ArmSummary)| {
        let mut row = vec![format!("{}{}", line_sample(i), Text(&arm.name))];
        row.extend(settings.iter().map(|what| {
            let values = arm.configuration.get(*what).into_iter().flatten();
            let values = values
                .map(|v| Text(v).to_string())
                .collect::<Vec<_>>()
                .join("<br>");
            match arm.differences.iter().any(|d| d.what == **what) {
                true => format!("<strong>{values}</strong>"),
                false => values,
            }
        }));
        row
    };
    let rows: Vec<Vec<String>> = network.arms.iter().enumerate().map(row).collect();
    table(
        "Configuration; differences from the baseline are bold",
        &columns,
        &rows,
    )
}

fn costs(network: &NetworkSummary) -> String {
    let shown = |q: &Option<Quantity>| q.as_ref().map_or("-".into(), with_interval);
    let rows: Vec<Vec<String>> = network
        .arms
        .iter()
        .enumerate()
        .map(|(i, arm)| {
            let costs = &arm.costs;
            vec![
                format!("{}{}", line_sample(i), Text(&arm.name)),
                shown(&costs.up_bytes),
                shown(&costs.down_bytes),
                shown(&costs.handshake_bytes),
                shown(&costs.client_cpu),
                shown(&costs.server_cpu),
                shown(&costs.cpu_wait),
                shown(&costs.memory),
                shown(&costs.startup),
                connections_words(arm),
                Text(&arm.negotiated_protocols.join(", ")).to_string(),
                Text(&arm.congestion.join(", ")).to_string(),
            ]
        })
        .collect();
    let columns = headings(&[
        "Arm",
        "Bytes sent by client per cell (IP)",
        "Bytes sent by server per cell (IP)",
        "Of which handshake",
        "Client CPU per request",
        "Server CPU per request",
        "CPU wait per request",
        "Memory",
        "Start-up time",
        "Connections per cell",
        "Negotiated protocol",
        "Congestion control",
    ]);
    table("Costs: medians over blocks", &columns, &rows)
}

fn remarks_list(network: &NetworkSummary) -> String {
    let mut items = String::new();
    for arm in &network.arms {
        for remark in remarks(arm) {
            items += &format!("<li>{}: {}</li>\n", Text(&arm.name), Text(&remark));
        }
    }
    if items.is_empty() {
        items
    } else {
        format!("<ul class=\"remarks\">\n{items}</ul>\n")
    }
}
