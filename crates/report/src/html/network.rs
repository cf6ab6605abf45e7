//! A network: its card, its verdicts, the shapes behind them and what the arms cost.

use std::collections::BTreeSet;

use record::RunData;

use super::chart::{Bar, Curve, bars, ecdf, look};
use super::{Text, heads, table};
use crate::cells::Table;
use crate::number::{duration, size, with_spread};
use crate::parts;
use crate::population::{Population, populations, time};
use crate::quantity::Quantity;
use crate::summary::{
    Advice, ArmSummary, Comparison, Mean, Measure, NetworkSummary, Part, Role, Summary,
};
use crate::wording::{remarks, spread_note, verdict_words};

/// One card a network, with the sentence.
pub(super) fn cards(summary: &Summary) -> String {
    let mut out = String::from("<div class=\"cards\">\n");
    for (i, network) in summary.networks.iter().enumerate() {
        let kind = match network.advice {
            Advice::Take { .. } => "take",
            Advice::Stay => "stay",
            Advice::Broken => "broken",
            Advice::Mixed | Advice::NoDifference | Advice::CannotTell => "open",
        };
        out += &format!(
            "<article class=\"card {kind}\">\n<h2><a href=\"#network-{i}\">{}</a></h2>\n\
             <p class=\"numbers\">{}</p>\n<p class=\"sentence\">{}</p>\n</article>\n",
            Text(&network.name),
            Text(&network.numbers),
            Text(&network.sentence)
        );
    }
    out + "</div>\n"
}

/// One section a network, with everything.
pub(super) fn sections(summary: &Summary, data: &RunData) -> String {
    let cells = Table::new(data);
    let populations = populations(data.run());
    let mut out = String::new();
    for (i, network) in summary.networks.iter().enumerate() {
        out += &format!(
            "<section id=\"network-{i}\">\n<h2>{}</h2>\n",
            Text(&network.name)
        );
        out += &verdicts(network, &summary.baseline);
        out += &format!("<p class=\"note\">{}</p>\n", spread_note(network));
        out += &parts_tables(network);
        out += &figures(network, data, &cells, &populations);
        out += &costs(network);
        out += &configurations(network);
        out += &remarks_list(network);
        out += "</section>\n";
    }
    out
}

fn verdicts(network: &NetworkSummary, baseline: &str) -> String {
    let labels = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    let mut columns = heads(&["Arm"]);
    columns.extend(
        labels
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
                Role::Repeat => " <small>A/A check</small>",
                Role::Arm => "",
            };
            let mut row = vec![format!("{}{}{role}", swatch(i), Text(&arm.name))];
            for measure in &arm.measures {
                let Some(time) = &measure.time else {
                    let why = arm.reasons.first().map_or("no clean cell", String::as_str);
                    row.push(format!("<small>{}</small>", Text(why)));
                    continue;
                };
                let mut cell = format!(
                    "{}<br><small>{} calls, {} blocks</small>",
                    with_spread(time),
                    measure.calls,
                    time.blocks
                );
                if let Some(p95) = &measure.p95 {
                    cell += &format!("<br><small>p95 {}</small>", with_spread(p95));
                }
                if let Some(goodput) = &measure.goodput {
                    cell += &format!("<br><small>{}</small>", with_spread(goodput));
                }
                if let Some(comparison) = &measure.comparison {
                    cell += &verdict(measure, comparison);
                }
                row.push(cell);
            }
            row
        })
        .collect();
    let caption = format!("Times, and verdicts against {}", Text(baseline));
    table(&caption, &columns, &rows)
}

/// Where the time of exchanges went, a table for each measure of them.
fn parts_tables(network: &NetworkSummary) -> String {
    let mut out = String::new();
    let labels = network.arms.first().map_or(&[][..], |arm| &arm.measures);
    for (i, measure) in labels.iter().enumerate() {
        let found = |arm: &ArmSummary| arm.measures[i].parts.is_some();
        if !network.arms.iter().any(found) {
            continue;
        }
        let mut columns = heads(&["Arm"]);
        let named = parts::TIMES.iter().chain(&parts::BYTES);
        columns.extend(named.map(|(head, _)| (*head).to_owned()));
        columns.extend(heads(&["calls, blocks"]));
        let row = |(place, arm): (usize, &ArmSummary)| {
            let mut row = vec![format!("{}{}", swatch(place), Text(&arm.name))];
            let Some(all) = &arm.measures[i].parts else {
                return row;
            };
            let range = |shown: fn(f64) -> String, of: &Mean| {
                let (least, greatest) = (shown(of.least), shown(of.greatest));
                format!("{}<br><small>{least} to {greatest}</small>", shown(of.mean))
            };
            row.extend(parts::TIMES.map(|(_, of)| range(parts::ms, of(all))));
            row.extend(parts::BYTES.map(|(_, of)| range(|b| format!("{b:.0} B"), of(all))));
            row.push(format!("{}, {}", all.calls, all.blocks));
            row
        };
        let rows: Vec<Vec<String>> = network.arms.iter().enumerate().map(row).collect();
        let caption = Text(&parts::heading(&measure.label)).to_string();
        out += &table(&caption, &columns, &rows);
    }
    if !out.is_empty() {
        out += &format!(
            "<p class=\"note\">{} Small: the least and the greatest of the blocks' means.</p>\n",
            Text(parts::NOTE)
        );
    }
    out
}

/// A verdict with the difference it rests on.
fn verdict(measure: &Measure, comparison: &Comparison) -> String {
    let words = verdict_words(comparison.verdict);
    let class = words.replace(' ', "-");
    let later = comparison.difference.value.is_some_and(|d| d > 0.0);
    let difference = size(&comparison.difference, !later).map_or(String::new(), |size| {
        let word = if later { "later" } else { "sooner" };
        format!(" {} {word} ({})", size.value, size.range)
    });
    let mut out = format!(
        "<br><strong class=\"{class}\">{words}</strong><br><small>{difference}; margin {}",
        duration(comparison.margin_ns)
    );
    if let Some(all) = measure.with_noisy {
        let other = verdict_words(all);
        let told = if other == words { "the same" } else { other };
        out += &format!("; with noisy cells {told}");
    }
    if let Some(correlation) = comparison.correlation {
        out += &format!("; correlation {correlation:.2}");
    }
    out + "</small>"
}

/// Distributions of every population, and first against later calls.
fn figures(
    network: &NetworkSummary,
    data: &RunData,
    cells: &Table<'_>,
    populations: &[Population],
) -> String {
    let run = data.run();
    let mut out = String::from("<div class=\"figures\">\n");
    for population in populations {
        let curves: Vec<Curve<'_>> = network
            .arms
            .iter()
            .enumerate()
            .map(|(place, arm)| {
                let blocks = cells.clean(&network.name, &arm.name);
                let calls = blocks.values().flat_map(|cell| population.of(&cell.calls));
                let times = calls.map(|call| time(call, run.timeout_ns)).collect();
                Curve {
                    name: &arm.name,
                    place,
                    times,
                }
            })
            .filter(|curve| !curve.times.is_empty())
            .collect();
        let title = format!(
            "{}, {}: share of calls that took no longer",
            network.name, population.label
        );
        out += &ecdf(&title, &curves);
    }
    for group in run.groups.iter().filter(|group| !group.bulk) {
        let bar = |(place, arm): (usize, &ArmSummary)| {
            let of = |part: Part| {
                let found = arm
                    .measures
                    .iter()
                    .find(|m| m.group == group.name && m.part == part);
                found.and_then(|m| m.time.clone())
            };
            Some(Bar {
                name: arm.name.clone(),
                place,
                first: of(Part::First)?,
                rest: of(Part::Rest)?,
            })
        };
        let found: Vec<Bar> = network.arms.iter().enumerate().filter_map(bar).collect();
        let title = format!(
            "{}, {}: first call against later calls",
            network.name, group.name
        );
        out += &bars(&title, &found);
    }
    out + "</div>\n"
}

/// How each arm was set up; what is unlike the baseline stands out.
fn configurations(network: &NetworkSummary) -> String {
    let named: BTreeSet<&String> = network
        .arms
        .iter()
        .flat_map(|arm| arm.configuration.keys())
        .collect();
    let mut columns = heads(&["Arm"]);
    columns.extend(named.iter().map(|what| Text(what).to_string()));
    let row = |(place, arm): (usize, &ArmSummary)| {
        let mut row = vec![format!("{}{}", swatch(place), Text(&arm.name))];
        row.extend(named.iter().map(|what| {
            let values = arm.configuration.get(*what).into_iter().flatten();
            let told = values
                .map(|v| Text(v).to_string())
                .collect::<Vec<_>>()
                .join("<br>");
            match arm.differences.iter().any(|d| d.what == **what) {
                true => format!("<strong>{told}</strong>"),
                false => told,
            }
        }));
        row
    };
    let rows: Vec<Vec<String>> = network.arms.iter().enumerate().map(row).collect();
    table(
        "Set-up; what is unlike the baseline is bold",
        &columns,
        &rows,
    )
}

fn costs(network: &NetworkSummary) -> String {
    let shown = |q: &Option<Quantity>| q.as_ref().map_or("-".into(), with_spread);
    let rows: Vec<Vec<String>> = network
        .arms
        .iter()
        .enumerate()
        .map(|(i, arm)| {
            let costs = &arm.costs;
            vec![
                format!("{}{}", swatch(i), Text(&arm.name)),
                shown(&costs.wire_up),
                shown(&costs.wire_down),
                shown(&costs.handshake),
                shown(&costs.client_cpu),
                shown(&costs.server_cpu),
                shown(&costs.core_wait),
                shown(&costs.memory),
                shown(&costs.startup),
                Text(&arm.spoken.join(", ")).to_string(),
                Text(&arm.congestion.join(", ")).to_string(),
            ]
        })
        .collect();
    let columns = heads(&[
        "Arm",
        "Wire up, a cell",
        "Wire down, a cell",
        "Of it handshakes",
        "Client CPU, a call",
        "Server CPU, a call",
        "Waited for a core, a call",
        "Memory",
        "Start-up",
        "Spoken",
        "Congestion control",
    ]);
    table("What it cost: medians over blocks", &columns, &rows)
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

/// The arm's colour and dashes, as in the figures.
fn swatch(place: usize) -> String {
    format!(
        "<svg class=\"swatch\" width=\"24\" height=\"10\" aria-hidden=\"true\">\
         <line x1=\"0\" y1=\"5\" x2=\"24\" y2=\"5\" class=\"curve {}\"/></svg> ",
        look(place)
    )
}
