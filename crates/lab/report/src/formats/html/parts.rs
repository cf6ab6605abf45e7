//! Where the time of requests went: a bar per arm, made of the parts of the critical path.
//!
//! Parts are told apart by colour and, for readers who cannot distinguish colours, by the number in the bar and in the
//! key. The table has every figure.

use explain::Part;
use maud::{Markup, html};
use page::{Axis, TIME, WIDTH, arm, at, figure, figures, grid_across, shortened, table, text};

use super::labels::in_network;
use crate::summary::NetworkSummary;
use crate::summary::why::{ArmParts, PartTime, WhyMeasure};
use crate::words::number::duration;
use crate::words::part::{part_words, round_trip_words};
use crate::words::reason::ms;

const TOP: f64 = 4.0;
const ROW: f64 = 54.0;
const BAR: f64 = 15.0;
const BOTTOM: f64 = 38.0;
/// Number of colours in the style sheet.
const COLORS: usize = 8;
/// Number of shades of each colour: together enough for all parts.
const SHADES: usize = 3;
/// The section is open if a network has at most this many measures.
const MOST_OPEN: usize = 6;

/// The parts of all arms on all networks of a page.
pub(super) struct Parts {
    measures: Vec<WhyMeasure>,
    /// The parts that are shown anywhere. Its position gives each its number and its colour.
    shown: Vec<Part>,
}

impl Parts {
    pub(super) fn new(measures: Vec<WhyMeasure>) -> Self {
        let all: Vec<Part> = measures.iter().flat_map(WhyMeasure::shown_parts).collect();
        let shown = Part::ALL.into_iter().filter(|part| all.contains(part));
        Self {
            shown: shown.collect(),
            measures,
        }
    }

    /// Reports whether a network's section is open from the beginning.
    pub(super) fn is_open(&self, network: &NetworkSummary) -> bool {
        self.of(network).count() <= MOST_OPEN
    }

    /// Returns a figure and a table for each population of requests.
    pub(super) fn section(&self, network: &NetworkSummary) -> Markup {
        let measures: Vec<&WhyMeasure> = self.of(network).collect();
        let drawn: Vec<Markup> = (measures.iter())
            .map(|measure| self.drawn(network, measure))
            .collect();
        let tables: Vec<Markup> = (measures.iter())
            .map(|measure| figures_table(network, measure))
            .collect();
        html! {
            @if !measures.is_empty() {
                (figures(&self.key(&measures), &drawn))
                (page::tables(&tables))
                p.note {
                    "The parts of each request's critical path through the packets, which sum to its time: means over \
                     the middle half of an arm's requests, sorted by time. A reason beside a verdict compares requests of \
                     the same block instead. Experimental: docs/reference/parts.md lists where a wrong cause is named."
                }
            }
        }
    }

    fn of(&self, network: &NetworkSummary) -> impl Iterator<Item = &WhyMeasure> {
        let name = network.name.clone();
        (self.measures.iter()).filter(move |measure| measure.network == name)
    }

    /// Returns the index of a part: its colour, and one less than its number.
    fn index(&self, part: Part) -> Option<usize> {
        self.shown.iter().position(|shown| *shown == part)
    }

    fn key(&self, measures: &[&WhyMeasure]) -> Markup {
        let is_here = |part: &Part| measures.iter().any(|m| m.shown_parts().contains(part));
        html! {
            ul.key {
                @for (i, part) in self.shown.iter().enumerate().filter(|(_, part)| is_here(part)) {
                    li {
                        svg.square viewBox="0 0 12 12" aria-hidden="true" {
                            rect class=(class_of(i)) width="12" height="12" {}
                        }
                        " " (i + 1) " " (part_words(*part))
                    }
                }
            }
        }
    }

    fn drawn(&self, network: &NetworkSummary, measure: &WhyMeasure) -> Markup {
        let totals = measure.arms.iter().map(|arm| arm.time_ns).chain([0.0]);
        let Some(axis) = Axis::linear(totals, 1e3, [4.0, WIDTH - 24.0]) else {
            return Markup::default();
        };
        let bottom = TOP + ROW * measure.arms.len() as f64;
        let body = html! {
            (grid_across(&axis, [TOP, bottom], "time since the call", TIME))
            @for (i, arm) in measure.arms.iter().enumerate() {
                @let top = TOP + ROW * i as f64;
                g data-arm=[index_of(network, arm)] {
                    text.label x="4" y=(at(top + 14.0)) { (shortened(&arm.arm, 270.0)) }
                    text.label x=(at(WIDTH)) y=(at(top + 14.0)) text-anchor="end" { (duration(arm.time_ns)) }
                    (self.bar(arm, &axis, top + 19.0))
                    @if let Some(words) = in_trips(arm) { text x="4" y=(at(top + 46.0)) { (words) } }
                }
                "\n"
            }
        };
        let title = format!("{}, mean time by part", measure.label);
        figure(&in_network(network, &title), "", bottom + BOTTOM, &body)
    }

    fn bar(&self, arm: &ArmParts, axis: &Axis, top: f64) -> Markup {
        let mut end_ns = 0.0;
        let segments = arm.parts.iter().filter_map(|time| {
            let start_ns = end_ns;
            end_ns += time.ns;
            let width = axis.at(end_ns) - axis.at(start_ns);
            Some((self.index(time.part)?, time, axis.at(start_ns), width))
        });
        html! {
            @for (i, time, x, width) in segments {
                rect class=(class_of(i)) x=(at(x)) y=(at(top)) width=(at(width)) height=(at(BAR)) {
                    title { (arm.arm) ", " (part_words(time.part)) ": " (figure_words(time)) }
                }
                @let number = (i + 1).to_string();
                @if width >= 7.0 * number.len() as f64 + 5.0 {
                    text.label x=(at(x + width / 2.0)) y=(at(top + 11.5)) text-anchor="middle" { (number) }
                }
            }
        }
    }
}

/// Returns the classes of a part by its index: its colour and its shade.
fn class_of(index: usize) -> String {
    let shade = index / COLORS % SHADES;
    format!("part part-{} shade-{shade}", index % COLORS)
}

/// Returns the index of an arm in the study.
fn index_of(network: &NetworkSummary, arm: &ArmParts) -> Option<usize> {
    network.arms.iter().position(|of| of.name == arm.arm)
}

/// Returns e.g. `50.0 ms, one round trip`.
fn figure_words(time: &PartTime) -> String {
    let trips = time.round_trips.and_then(round_trip_words);
    let trips = trips.map_or(String::new(), |trips| format!(", {trips}"));
    ms(time.ns) + &trips
}

/// Returns the time of an arm's request in round trips and the rest, e.g. `4.0 round trips + 13 ms`; `None` on a link
/// without delay.
fn in_trips(arm: &ArmParts) -> Option<String> {
    let trips: Vec<(f64, f64)> = (arm.parts.iter())
        .filter_map(|time| Some((time.round_trips?, time.ns)))
        .collect();
    let n: f64 = trips.iter().map(|(n, _)| n).sum();
    let ns: f64 = trips.iter().map(|(_, ns)| ns).sum();
    let rest = duration(arm.time_ns - ns);
    (!trips.is_empty()).then(|| format!("{n:.1} round trips + {rest}"))
}

fn figures_table(network: &NetworkSummary, measure: &WhyMeasure) -> Markup {
    let names = measure.arms.iter().map(|of| match index_of(network, of) {
        Some(index) => arm(index, &of.arm),
        None => text(&of.arm),
    });
    let headings: Vec<Markup> = std::iter::once(text("Part, ms")).chain(names).collect();
    let cells = |heading: &str, cell: &dyn Fn(&ArmParts) -> Markup| -> Vec<Markup> {
        let cells = measure.arms.iter().map(cell);
        std::iter::once(text(heading)).chain(cells).collect()
    };
    let figure = |time: Option<&PartTime>| match time {
        Some(time) => html! {
            (format!("{:.1}", time.ns / 1e6))
            @if let Some(trips) = time.round_trips.and_then(round_trip_words) { br; small { (trips) } }
        },
        None => text("-"),
    };
    let parts = measure.shown_parts().into_iter();
    let parts = parts.map(|part| cells(part_words(part), &|arm| figure(arm.part(part))));
    let rows = parts.chain([
        cells("together", &|arm| text(format!("{:.1}", arm.time_ns / 1e6))),
        cells("requests in the means", &|arm| text(arm.calls.to_string())),
    ]);
    let caption = format!("{}, where the time went", measure.label);
    table(
        &in_network(network, &caption),
        &headings,
        &rows.collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_parts_look_the_same() {
        let classes: BTreeSet<String> = (0..Part::ALL.len()).map(class_of).collect();
        assert_eq!(classes.len(), Part::ALL.len());
    }
}
