//! The table as text.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table as Grid, presets};

use crate::measure::TARGET_HALF_WIDTH;

use super::{AaCheck, Cost, Harness, Row, Table, Unavailable};

const HEADER: [&str; 11] = [
    "codec",
    "runtime",
    "library",
    "bytes",
    "encode",
    "decode",
    "populate",
    "convert",
    "cold encode",
    "cold decode",
    "heap",
];
/// The first columns, which are left-aligned.
const NAME_COLUMNS: usize = 3;
const NONE: &str = "-";

impl Table {
    /// Formats the table for a terminal: one block per message, codecs sorted by size.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for message in self.messages() {
            out += &format!("{message}\n{}\n", self.grid(message));
            for row in self.rows_of(message) {
                if let Some(problem) = &row.problem {
                    let Row {
                        runtime,
                        codec,
                        library,
                        ..
                    } = row;
                    out += &format!(" {runtime}, {codec} by {library}: {problem}\n");
                }
            }
            out.push('\n');
        }
        for line in self.notes() {
            out += &format!("{line}\n");
        }
        out
    }

    /// Lays out the figures of one message, without empty columns.
    fn grid(&self, message: &str) -> Grid {
        let rows: Vec<[String; HEADER.len()]> =
            self.rows_of(message).into_iter().map(cells).collect();
        let shown: Vec<usize> = (0..HEADER.len())
            .filter(|column| rows.iter().any(|cells| cells[*column] != NONE))
            .collect();
        let mut grid = Grid::new();
        grid.load_preset(presets::NOTHING);
        grid.set_header(shown.iter().map(|column| HEADER[*column]));
        for cells in &rows {
            grid.add_row(shown.iter().map(|column| &cells[*column]));
        }
        for column in grid.column_iter_mut().skip(NAME_COLUMNS) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        grid
    }

    /// Returns the notes below the figures.
    pub(crate) fn notes(&self) -> Vec<String> {
        let most = self.costs().map(|c| c.samples).max().unwrap_or(0);
        let samples = match most > self.rounds {
            true => format!("{} samples (up to {most} where they vary)", self.rounds),
            false => format!("{} samples", self.rounds),
        };
        let mut notes = vec![format!(
            "Time per operation: median of {samples} in random order, ± the wider half of its 95 % \
             interval. Cold: the first call of a fresh process, including populate and convert. \
             Seed {}.",
            self.seed
        )];
        let wide = self
            .costs()
            .filter(|c| c.half_width() > TARGET_HALF_WIDTH)
            .count();
        let all = self.costs().count();
        if wide > 0 {
            notes.push(format!(
                "{wide} of {all} warm figures have an interval wider than ±2 %: the machine was busy, \
                 or the runtime collected garbage."
            ));
        }
        let noisy = self.costs().filter(|c| c.noisy > 0).count();
        if noisy > 0 {
            notes.push(format!(
                "{noisy} of {all} warm figures rest on noisy samples: another program or another \
                 virtual machine used the core. They are probably overestimated."
            ));
        }
        if let Some(AaCheck { pairs, agreeing }) = self.aa {
            notes.push(format!(
                "A/A: {agreeing} of {pairs} pairs show no significant difference."
            ));
        }
        for Harness {
            runtime,
            encode,
            decode,
        } in &self.harness
        {
            notes.push(format!(
                "Harness, {runtime}: an empty encode takes {}, an empty decode {}; subtracted from \
                 every warm figure.",
                spread(encode),
                spread(decode)
            ));
        }
        for (runtime, source) in &self.heap {
            notes.push(format!(
                "Heap per encode / per decode, {runtime}: {source}."
            ));
        }
        notes.extend(self.caveats());
        for Unavailable { runtime, reason } in &self.unavailable {
            notes.push(format!("Not available: {runtime}: {reason}"));
        }
        notes
    }

    /// Returns each caveat once, with all libraries it applies to.
    fn caveats(&self) -> Vec<String> {
        let mut caveats: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for row in &self.rows {
            if let Some(caveat) = &row.caveat {
                let libraries = caveats.entry((&row.runtime, caveat)).or_default();
                if !libraries.contains(&row.library.as_str()) {
                    libraries.push(&row.library);
                }
            }
        }
        let line = |((runtime, caveat), libraries): ((&str, &str), Vec<&str>)| {
            format!("{runtime}, {}: {caveat}.", libraries.join(", "))
        };
        caveats.into_iter().map(line).collect()
    }
}

fn cells(row: &Row) -> [String; HEADER.len()] {
    let costs = row.costs();
    let [encode, decode, populate, convert, cold_encode, cold_decode] =
        costs.map(|cost| cost.as_ref().map_or(NONE.into(), spread));
    [
        row.codec.clone(),
        row.runtime.clone(),
        format!("{} {}", row.library, row.version),
        row.bytes.map_or(NONE.into(), |n| n.to_string()),
        encode,
        decode,
        populate,
        convert,
        cold_encode,
        cold_decode,
        heap(row),
    ]
}

/// Formats a cost, e.g. `13.2 µs ±1.3 %`; as a range if the half-width exceeds the figure itself,
/// and marked as a single call if it is one.
pub(crate) fn spread(cost: &Cost) -> String {
    let percent = 100.0 * cost.half_width();
    let ns = duration(cost.ns);
    match percent {
        _ if cost.samples < 2 => format!("{ns} (once)"),
        100.0.. => format!("{} to {}", duration(cost.low_ns), duration(cost.high_ns)),
        10.0.. => format!("{ns} ±{percent:.0} %"),
        _ => format!("{ns} ±{percent:.1} %"),
    }
}

fn heap(row: &Row) -> String {
    let bytes = |cost: Option<Cost>| cost.and_then(|c| c.heap_bytes);
    match (bytes(row.encode), bytes(row.decode)) {
        (None, None) => NONE.into(),
        (encode, decode) => {
            let [encode, decode] = [encode, decode].map(|b| b.map_or(NONE.into(), size));
            format!("{encode} / {decode}")
        }
    }
}

/// Formats a time with three digits and a unit, e.g. `45.7 µs`.
pub fn duration(ns: f64) -> String {
    scaled(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

fn size(bytes: f64) -> String {
    scaled(bytes, &[(1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(factor, _)| value >= *factor * 0.9995);
    let (factor, unit) = unit.or(units.last()).copied().unwrap_or((1.0, ""));
    let value = value / factor;
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}
