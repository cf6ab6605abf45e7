//! Where the time of a request goes: the ends of its phases.

use maud::{Markup, html};
use page::{Axis, TIME, WIDTH, arm, at, figure, figures, grid_across, shortened, table, text};
use record::{CallResult, CompactCall};
use stats::Span;

use super::labels::{headings, in_network};
use crate::figures::cells::{Blocks, CellIndex};
use crate::figures::population::Population;
use crate::summary::NetworkSummary;
use crate::summary::arm::ArmSummary;
use crate::summary::measure::Part;
use crate::summary::quantity::{Quantity, Unit};
use crate::words::number::{Column, duration};

const PHASES: [&str; 6] = [
    "DNS",
    "TCP",
    "TLS or QUIC",
    "request",
    "first byte",
    "download",
];
const TOP: f64 = 4.0;
const ROW: f64 = 36.0;
const BAR: f64 = 12.0;
const BOTTOM: f64 = 38.0;

/// When the phases of an arm's requests ended.
struct Ends<'a> {
    name: &'a str,
    /// Index of the arm in the study.
    index: usize,
    requests: usize,
    blocks: usize,
    /// By phase, ns after the request's start; never less than the phase before.
    ends_ns: [f64; PHASES.len()],
}

/// Returns a figure and a table for each population of requests.
pub(super) fn waterfalls(
    network: &NetworkSummary,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> Markup {
    let by_request = populations
        .iter()
        .filter(|p| p.part.is_by_request() && p.part != Part::Load);
    let all: Vec<(&Population, Vec<Ends<'_>>)> = by_request
        .map(|population| {
            let arms = network.arms.iter().enumerate();
            let ends = arms.filter_map(|(index, arm)| ends(index, arm, network, cells, population));
            (population, ends.collect())
        })
        .filter(|(_, arms): &(_, Vec<Ends<'_>>)| !arms.is_empty())
        .collect();
    let drawn: Vec<Markup> = (all.iter())
        .map(|(population, arms)| drawn(&in_network(network, &population.label), arms))
        .collect();
    let tables: Vec<Markup> = (all.iter())
        .map(|(population, arms)| figures_table(&in_network(network, &population.label), arms))
        .collect();
    html! {
        @if !all.is_empty() {
            (figures(&key(), &drawn))
            (page::tables(&tables))
            p.note {
                "Each edge is the median over blocks of the block's median of when the phase ended, of \
                 requests that succeeded; a phase is the time between two edges, so that phases add up. A \
                 phase that did not happen, or that the client cannot see, has no width: the next \
                 one contains it."
            }
        }
    }
}

fn ends<'a>(
    index: usize,
    summary: &'a ArmSummary,
    network: &NetworkSummary,
    cells: &CellIndex<'_>,
    population: &Population,
) -> Option<Ends<'a>> {
    let blocks: Blocks<'_> = cells.first(&network.name, &summary.name);
    let by_block: Vec<Vec<[u64; PHASES.len()]>> = (blocks.values())
        .map(|cell| population.of(&cell.calls).filter_map(ends_of).collect())
        .filter(|ends: &Vec<_>| !ends.is_empty())
        .collect();
    let median_of = |phase: usize| {
        let medians: Vec<Span> = (by_block.iter())
            .filter_map(|ends| {
                let ends: Vec<Span> = ends.iter().map(|e| Span::exact(e[phase] as f64)).collect();
                stats::median(&ends)
            })
            .collect();
        stats::median(&medians)?.known()
    };
    median_of(0)?;
    Some(Ends {
        name: &summary.name,
        index,
        requests: by_block.iter().map(Vec::len).sum(),
        blocks: by_block.len(),
        ends_ns: std::array::from_fn(|phase| median_of(phase).unwrap_or_default()),
    })
}

/// Returns when the phases of a call ended, each not before the last; `None` if it did not succeed.
fn ends_of(call: CompactCall<'_>) -> Option<[u64; PHASES.len()]> {
    if *call.result() != CallResult::Ok {
        return None;
    }
    let marks = [
        call.dns_ns(),
        call.connect_ns(),
        call.tls_ns(),
        call.request_sent_ns(),
        call.first_byte_ns(),
        Some(call.end_ns()),
    ];
    let mut last = 0;
    Some(marks.map(|mark| {
        last = mark.unwrap_or(last).clamp(last, call.end_ns().max(last));
        last
    }))
}

impl Ends<'_> {
    /// Returns the phases with a width: index, beginning and end.
    fn phases(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let starts = [0.0].into_iter().chain(self.ends_ns);
        let all = starts.zip(self.ends_ns).enumerate();
        all.map(|(phase, (start, end))| (phase, start, end))
            .filter(|(_, start, end)| end > start)
    }

    fn total_ns(&self) -> f64 {
        self.ends_ns[PHASES.len() - 1]
    }
}

fn key() -> Markup {
    html! {
        ul.key {
            @for (phase, name) in PHASES.iter().enumerate() {
                li {
                    svg.square viewBox="0 0 12 12" aria-hidden="true" {
                        rect class={ "phase-" (phase) } width="12" height="12" {}
                    }
                    " " (name)
                }
            }
        }
    }
}

fn drawn(title: &str, arms: &[Ends<'_>]) -> Markup {
    let totals = arms.iter().map(Ends::total_ns).chain([0.0]);
    let Some(axis) = Axis::linear(totals, 1e3, [4.0, WIDTH - 24.0]) else {
        return Markup::default();
    };
    let bottom = TOP + ROW * arms.len() as f64;
    let body = html! {
        (grid_across(&axis, [TOP, bottom], "time since the request's start", TIME))
        @for (i, ends) in arms.iter().enumerate() {
            @let top = TOP + ROW * i as f64;
            g data-arm=(ends.index) {
                text.label x="4" y=(at(top + 14.0)) { (shortened(ends.name, 270.0)) }
                text.label x=(at(WIDTH)) y=(at(top + 14.0)) text-anchor="end" { (duration(ends.total_ns())) }
                @for (phase, start, end) in ends.phases() {
                    rect class={ "phase-" (phase) } x=(at(axis.at(start))) y=(at(top + 19.0))
                        width=(at(axis.at(end) - axis.at(start))) height=(at(BAR)) {
                        title { (ends.name) ", " (PHASES[phase]) ": " (duration(end - start)) }
                    }
                }
            }
            "\n"
        }
    };
    figure(title, "", bottom + BOTTOM, &body)
}

fn figures_table(title: &str, arms: &[Ends<'_>]) -> Markup {
    let quantity =
        |ns: f64, blocks: usize| Quantity::without_interval(Span::exact(ns), blocks, Unit::Ns);
    let totals: Vec<Quantity> = arms
        .iter()
        .map(|e| quantity(e.total_ns(), e.blocks))
        .collect();
    let Some(column) = Column::over(&totals) else {
        return Markup::default();
    };
    // A phase that no arm has is left out.
    let shown: Vec<usize> = (0..PHASES.len())
        .filter(|phase| {
            arms.iter()
                .any(|ends| ends.phases().any(|(p, ..)| p == *phase))
        })
        .collect();
    let row = |ends: &Ends<'_>| {
        let mut row = vec![arm(ends.index, ends.name)];
        row.extend(shown.iter().map(|phase| {
            let width = ends.phases().find(|(p, ..)| p == phase);
            let width = width.map(|(_, start, end)| quantity(end - start, ends.blocks));
            text(width.map_or("-".to_owned(), |width| column.show(&width)))
        }));
        row.push(text(column.show(&quantity(ends.total_ns(), ends.blocks))));
        row.push(html! { (ends.requests) " · " (ends.blocks) });
        row
    };
    let rows: Vec<Vec<Markup>> = arms.iter().map(row).collect();
    let phases = shown.iter().map(|phase| PHASES[*phase]);
    let caption = format!("{title}: medians of the phases, {}", column.unit());
    table(
        &caption,
        &headings("Arm", phases.chain(["total", "requests · blocks"])),
        &rows,
    )
}
