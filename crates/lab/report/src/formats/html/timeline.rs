//! What an arm used over time: CPU, memory and rates of one cell, in a small figure per arm.

use maud::{Markup, html};
use page::{Axis, TIME, WIDTH, at, color_class, figure_of, figures, grid_across};
use record::{CompactCell, Timeline};

use super::labels::in_network;
use crate::figures::cells::CellIndex;
use crate::summary::NetworkSummary;
use crate::words::number::duration;

const LEFT: f64 = 62.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 4.0;
const BOTTOM: f64 = 38.0;
/// Room for the words above each panel's curves.
const WORDS: f64 = 20.0;
const CURVES: f64 = 60.0;
const PANEL: f64 = WORDS + CURVES;

const NS_PER_MS: f64 = 1e6;
/// The interval of samples and of the link's bins.
const INTERVAL_NS: f64 = 100.0 * NS_PER_MS;
/// More are indistinguishable on [`WIDTH`] units.
const BINS_MAX: f64 = 80.0;

/// The panels of a figure, each with a solid and a dashed curve.
const PANELS: [Panel; 3] = [
    Panel {
        words: "CPU of client (dashed: server)",
        curves: ["CPU of client", "CPU of server"],
        least: 0.01,
        tick: |share| format!("{:.0} %", share * 100.0),
        value: |share| format!("{:.1} %", share * 100.0),
    },
    Panel {
        words: "Memory of client (dashed: server)",
        curves: ["memory of client", "memory of server"],
        least: 1e6,
        tick: |bytes| format!("{} MB", bytes / 1e6),
        value: |bytes| format!("{:.1} MB", bytes / 1e6),
    },
    Panel {
        words: "Rate up (dashed: down)",
        curves: ["rate up", "rate down"],
        least: 1e3,
        tick: |bps| match bps {
            0.0..1e6 => format!("{} kbit/s", bps / 1e3),
            _ => format!("{} Mbit/s", bps / 1e6),
        },
        value: |bps| match bps {
            0.0..1e6 => format!("{:.0} kbit/s", bps / 1e3),
            _ => format!("{:.1} Mbit/s", bps / 1e6),
        },
    },
];

struct Panel {
    words: &'static str,
    /// What the solid and the dashed curve are.
    curves: [&'static str; 2],
    /// The end of its axis where nothing was used.
    least: f64,
    /// Returns the words for a value of its axis.
    tick: fn(f64) -> String,
    /// Returns the words for any value.
    value: fn(f64) -> String,
}

impl Panel {
    /// Returns a curve's values in words.
    fn values(&self, values: &[f64], solid: bool) -> String {
        let of = self.curves[usize::from(!solid)];
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let most = values.iter().copied().fold(0.0, f64::max);
        format!(
            "{of}: mean {}, highest {}",
            (self.value)(mean),
            (self.value)(most)
        )
    }
}

/// The curves of one arm.
struct Curves<'a> {
    name: &'a str,
    /// Index of the arm in the study.
    index: usize,
    block: u32,
    /// By panel, the solid and the dashed one: a value per bin.
    panels: [[Vec<f64>; 2]; 3],
}

/// Returns a figure per arm of a network, of its first block with samples, all on the same scales.
pub(super) fn timelines(network: &NetworkSummary, cells: &CellIndex<'_>) -> Markup {
    let arms = network.arms.iter().enumerate();
    let sampled: Vec<(usize, &str, &CompactCell, &Timeline)> = arms
        .filter_map(|(i, arm)| {
            let blocks = cells.first(&network.name, &arm.name);
            let mut with_samples = blocks.values().filter_map(|cell| {
                let timeline = cell.cost.timeline.as_ref()?;
                Some((i, arm.name.as_str(), *cell, timeline))
            });
            with_samples.next()
        })
        .collect();
    let ends = sampled.iter().map(|(.., timeline)| end_ns(timeline));
    let longest_ns = ends.fold(0.0, f64::max);
    let bin_ns = bin_ns(longest_ns);
    let Some(axis) = Axis::linear([0.0, longest_ns], 1e3, [LEFT, RIGHT]) else {
        return Markup::default();
    };
    let curves: Vec<Curves<'_>> = sampled
        .iter()
        .map(|(index, name, cell, timeline)| Curves {
            name,
            index: *index,
            block: cell.block,
            panels: panels(cell, timeline, bin_ns),
        })
        .collect();
    let tops = std::array::from_fn(|p| {
        let values = curves.iter().flat_map(|c| c.panels[p].iter().flatten());
        round_above(values.copied().fold(PANELS[p].least, f64::max))
    });
    let samples: usize = sampled.iter().map(|(.., t)| t.samples.len()).sum();
    let cpu_ns: u64 = sampled.iter().map(|(.., t)| t.sampler_cpu_ns).sum();
    let drawn: Vec<Markup> = (curves.iter())
        .map(|curves| {
            let title = format!("{}, block {} over time", curves.name, curves.block + 1);
            drawn(&in_network(network, &title), curves, &axis, bin_ns, tops)
        })
        .collect();
    html! {
        @if !drawn.is_empty() {
            (figures(&Markup::default(), &drawn))
            p.note {
                "One cell of each arm, its first block with samples; the scales are the same for all arms. \
                 CPU is a share of one core, by the processes alone. Each value is that of "
                (duration(bin_ns)) ". Each sample cost "
                (duration(cpu_ns as f64 / samples.max(1) as f64)) " of CPU, charged to no arm."
            }
        }
    }
}

fn end_ns(timeline: &Timeline) -> f64 {
    timeline.samples.last().map_or(0.0, |s| s.at_ns as f64)
}

/// Returns the width of bins in ns, a whole number of intervals. At most [`BINS_MAX`] bins cover a cell.
fn bin_ns(longest_ns: f64) -> f64 {
    (longest_ns / INTERVAL_NS / BINS_MAX).ceil().max(1.0) * INTERVAL_NS
}

/// Returns the curves of each panel.
fn panels(cell: &CompactCell, timeline: &Timeline, bin_ns: f64) -> [[Vec<f64>; 2]; 3] {
    let samples = &timeline.samples;
    let bins = (end_ns(timeline) / bin_ns).ceil() as usize;
    let starts = std::iter::once(0).chain(samples.iter().map(|s| s.at_ns));
    let spans: Vec<(f64, f64)> = starts
        .zip(samples)
        .map(|(from, s)| (from as f64, s.at_ns as f64))
        .collect();
    let cpu = |of: fn(&record::Sample) -> u64| {
        let used = samples.iter().map(|s| of(s) as f64 / bin_ns);
        spread(spans.iter().copied().zip(used), bin_ns, bins)
    };
    let memory = |of: fn(&record::Sample) -> u64| {
        let levels = samples.iter().map(|s| (s.at_ns as f64, of(s) as f64));
        peaks(levels, bin_ns, bins)
    };
    let rate = |of: fn(&record::Activity) -> u64| {
        let sent = cell.wire.activity.iter().map(|a| {
            let from_ns = f64::from(a.at_ms) * NS_PER_MS;
            let bps = of(a) as f64 * 8.0 * 1e9 / bin_ns;
            ((from_ns, from_ns + INTERVAL_NS), bps)
        });
        spread(sent, bin_ns, bins)
    };
    [
        [cpu(|s| s.client_cpu_ns), cpu(|s| s.server_cpu_ns)],
        [
            memory(|s| s.client_rss_bytes),
            memory(|s| s.server_rss_bytes),
        ],
        [rate(|a| a.up_bytes), rate(|a| a.down_bytes)],
    ]
}

/// Returns the sum in each bin of amounts that are spread evenly over their spans of time. What lies
/// beyond the last bin is left out.
fn spread(amounts: impl Iterator<Item = ((f64, f64), f64)>, bin_ns: f64, bins: usize) -> Vec<f64> {
    let mut sums = vec![0.0; bins];
    for ((from, until), amount) in amounts {
        let length = (until - from).max(1.0);
        let first = (from / bin_ns) as usize;
        for (bin, sum) in sums.iter_mut().enumerate().skip(first) {
            let start = bin as f64 * bin_ns;
            if start >= until {
                break;
            }
            let overlap = (until.min(start + bin_ns) - from.max(start)).max(0.0);
            *sum += amount * overlap / length;
        }
    }
    sums
}

/// Returns the highest level in each bin; where none was read, the last one before.
fn peaks(levels: impl Iterator<Item = (f64, f64)>, bin_ns: f64, bins: usize) -> Vec<f64> {
    let mut highest = vec![None; bins];
    for (at, level) in levels {
        // The last level was read at the very end.
        let bin = ((at / bin_ns) as usize).min(bins.saturating_sub(1));
        if let Some(of_bin) = highest.get_mut(bin) {
            *of_bin = Some(of_bin.map_or(level, |other: f64| other.max(level)));
        }
    }
    let mut last = highest.iter().flatten().next().copied().unwrap_or(0.0);
    let carried = highest.into_iter().map(|level| {
        last = level.unwrap_or(last);
        last
    });
    carried.collect()
}

/// Returns the least 1, 2 or 5 times a power of ten that is not below a value.
fn round_above(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    steps.into_iter().find(|s| *s >= value).unwrap_or(value)
}

/// Returns the figure of one arm.
fn drawn(title: &str, curves: &Curves<'_>, axis: &Axis, bin_ns: f64, tops: [f64; 3]) -> Markup {
    let height = TOP + PANEL * PANELS.len() as f64 + BOTTOM;
    let body = html! {
        (grid_across(axis, [TOP + WORDS, height - BOTTOM], "time", TIME))
        @for (p, panel) in PANELS.iter().enumerate() {
            @let base = TOP + PANEL * (p + 1) as f64;
            @let y = |value: f64| base - CURVES * value / tops[p];
            text x=(at(LEFT)) y=(at(base - CURVES - 6.0)) { (panel.words) }
            @for value in [0.0, tops[p]] {
                line.grid x1=(at(LEFT)) y1=(at(y(value))) x2=(at(RIGHT)) y2=(at(y(value))) {}
                text x=(at(LEFT - 4.0)) y=(at(y(value) + 4.0)) text-anchor="end" { ((panel.tick)(value)) }
            }
            @let known = curves.panels[p].iter().zip(["", " dash-1"]);
            @for (values, dashes) in known.filter(|(values, _)| !values.is_empty()) {
                path class={ "curve " (color_class(curves.index)) (dashes) }
                    d=(steps(values, axis, bin_ns, y)) {
                    title { (panel.values(values, dashes.is_empty())) }
                }
            }
            "\n"
        }
    };
    figure_of(Some(curves.index), title, "", height, &body)
}

/// Returns the path of a curve that is level within each bin.
fn steps(values: &[f64], axis: &Axis, bin_ns: f64, y: impl Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut last = None;
    for (bin, value) in values.iter().enumerate() {
        let (start, y) = (at(axis.at(bin as f64 * bin_ns)), at(y(*value)));
        match &last {
            None => path += &format!("M{start} {y}"),
            Some(last) if *last == y => continue,
            Some(_) => path += &format!("H{start}V{y}"),
        }
        last = Some(y);
    }
    path + &format!("H{}", at(axis.at(values.len() as f64 * bin_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_spread_over_their_time() {
        let amounts = [
            ((0.0, 150.0), 3.0),
            ((150.0, 200.0), 1.0),
            ((200.0, 400.0), 8.0),
        ];
        // Of the last, half lies beyond the end.
        assert_eq!(spread(amounts.into_iter(), 100.0, 3), [2.0, 2.0, 4.0]);
        assert_eq!(spread(amounts.into_iter(), 400.0, 1), [12.0]);
    }

    #[test]
    fn peaks_are_carried_over_bins_without_a_level() {
        let levels = [(100.0, 5.0), (120.0, 7.0), (130.0, 6.0), (400.0, 2.0)];
        assert_eq!(peaks(levels.into_iter(), 100.0, 4), [7.0, 7.0, 7.0, 2.0]);
        assert_eq!(peaks(std::iter::empty(), 100.0, 2), [0.0, 0.0]);
    }

    #[test]
    fn bins_are_whole_intervals_and_few() {
        assert_eq!(bin_ns(1e9), INTERVAL_NS);
        assert_eq!(bin_ns(600e9), 75.0 * INTERVAL_NS);
        assert_eq!(bin_ns(0.0), INTERVAL_NS);
    }

    #[test]
    fn axes_end_at_round_values() {
        assert_eq!([0.7, 1.0, 1.1, 3e7].map(round_above), [1.0, 1.0, 2.0, 5e7]);
    }
}
