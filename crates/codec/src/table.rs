//! What was found, and how it is told.

use std::collections::BTreeMap;

use comfy_table::{CellAlignment, Table as Grid, presets};
use serde::Serialize;
use stats::{Level, Span, estimate};
use wire::Name;

use crate::measure::Measured;
use crate::protocol::{CodecEntry, Part};

/// All that one run of the bench found.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Messages and order came from it.
    pub seed: u64,
    /// Samples of each part.
    pub rounds: usize,
    /// Where each runtime's heap figures come from.
    pub heap: BTreeMap<String, String>,
    /// What the loop itself costs.
    pub harness: Vec<Harness>,
    /// Everything measured twice, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aa: Option<AaCheck>,
    /// Runtimes that could not be had.
    pub absent: Vec<Absent>,
    /// A row for each message, codec, runtime and library.
    pub rows: Vec<Row>,
}

/// What the loop costs in one runtime, shown by a codec that does nothing. Subtracted from every
/// warm figure.
#[derive(Clone, Debug, Serialize)]
pub struct Harness {
    /// Which.
    pub runtime: String,
    /// Encoding nothing.
    pub encode: Cost,
    /// Decoding nothing.
    pub decode: Cost,
}

/// The same thing measured twice.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct AaCheck {
    /// How many things.
    pub pairs: usize,
    /// How many differ by nothing, as far as the interval of the difference tells.
    pub within: usize,
}

/// A runtime that could not be had.
#[derive(Clone, Debug, Serialize)]
pub struct Absent {
    /// Which.
    pub runtime: String,
    /// Why, and what would help.
    pub reason: String,
}

/// One message by one codec of one library.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// As `api-2kB`.
    pub message: String,
    /// As `json+gzip-6`.
    pub codec: String,
    /// As `jvm`.
    pub runtime: String,
    /// As loaded.
    pub runtime_version: String,
    /// And the way it is called, where there are several.
    pub library: String,
    /// As loaded.
    pub version: String,
    /// Encoded.
    pub bytes: Option<u64>,
    /// The library's objects from plain ones; absent where it works on plain ones.
    pub populate: Option<Cost>,
    /// Bytes from those.
    pub encode: Option<Cost>,
    /// The library's objects from bytes.
    pub decode: Option<Cost>,
    /// Plain ones from those.
    pub convert: Option<Cost>,
    /// From plain objects to bytes, the first time in a process.
    pub cold_encode: Option<Cost>,
    /// And back.
    pub cold_decode: Option<Cost>,
    /// What must be said of every figure.
    pub caveat: Option<String>,
    /// Why there are no figures.
    pub problem: Option<String>,
}

/// The cost of one operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Median.
    pub ns: f64,
    /// The interval of 95 % around it, or the range where samples are few.
    pub low_ns: f64,
    /// Its other end.
    pub high_ns: f64,
    /// Samples behind it.
    pub samples: usize,
    /// Operations in each.
    pub iterations: u64,
    /// Samples in which the runner had to wait for a core.
    pub disturbed: usize,
    /// Allocated.
    pub heap_bytes: Option<f64>,
}

impl Harness {
    /// From the row of the codec that does nothing.
    pub(crate) fn new(row: &Row) -> Option<Self> {
        Some(Self {
            runtime: row.runtime.clone(),
            encode: row.encode?,
            decode: row.decode?,
        })
    }
}

impl Cost {
    pub(crate) fn new(measured: &Measured, seed: u64) -> Option<Self> {
        let time = measured.time_ns(seed)?;
        Some(Self {
            ns: time.value.known()?,
            low_ns: time.interval.lo,
            high_ns: time.interval.hi,
            samples: measured.samples_ns.len(),
            iterations: measured.iterations,
            disturbed: measured.disturbed,
            heap_bytes: measured.heap_bytes,
        })
    }

    /// Of single calls, too few for an interval of their own: their range.
    pub(crate) fn of_few(samples: &[Span]) -> Option<Self> {
        let time = estimate(samples, Level::NINETY_FIVE, 0)?;
        Some(Self {
            ns: time.value.known()?,
            low_ns: time.interval.lo,
            high_ns: time.interval.hi,
            samples: samples.len(),
            iterations: 1,
            disturbed: 0,
            heap_bytes: None,
        })
    }

    /// How far the interval reaches to its wider side, as a share of the median.
    pub fn reach(&self) -> f64 {
        (self.high_ns - self.ns).max(self.ns - self.low_ns) / self.ns.max(f64::MIN_POSITIVE)
    }
}

impl Row {
    pub(crate) fn new(
        message: Name,
        runtime: &str,
        runtime_version: &str,
        entry: &CodecEntry,
    ) -> Self {
        let caveats = [&entry.caveat, &entry.lossy, &entry.narrow];
        let caveats: Vec<&str> = caveats.into_iter().flatten().map(String::as_str).collect();
        Self {
            message: message.to_string(),
            codec: entry.codec.clone(),
            runtime: runtime.to_owned(),
            runtime_version: runtime_version.to_owned(),
            library: entry.library.clone(),
            version: entry.library_version.clone(),
            bytes: None,
            populate: None,
            encode: None,
            decode: None,
            convert: None,
            cold_encode: None,
            cold_decode: None,
            caveat: (!caveats.is_empty()).then(|| caveats.join("; ")),
            problem: None,
        }
    }

    /// Takes the loop's own cost off. Populating goes through the loop of encoding, converting
    /// through that of decoding.
    pub(crate) fn subtract(&mut self, harness: &Harness) {
        for (part, cost) in [
            (&mut self.populate, harness.encode),
            (&mut self.encode, harness.encode),
            (&mut self.decode, harness.decode),
            (&mut self.convert, harness.decode),
        ] {
            if let Some(part) = part {
                for ns in [&mut part.ns, &mut part.low_ns, &mut part.high_ns] {
                    *ns = (*ns - cost.ns).max(0.0);
                }
            }
        }
    }

    /// The cost of one part.
    pub fn cost(&self, part: Part) -> Option<&Cost> {
        match part {
            Part::Populate => self.populate.as_ref(),
            Part::Encode => self.encode.as_ref(),
            Part::Decode => self.decode.as_ref(),
            Part::Convert => self.convert.as_ref(),
        }
    }

    pub(crate) fn cost_mut(&mut self, part: Part) -> &mut Option<Cost> {
        match part {
            Part::Populate => &mut self.populate,
            Part::Encode => &mut self.encode,
            Part::Decode => &mut self.decode,
            Part::Convert => &mut self.convert,
        }
    }
}

impl Table {
    /// For a terminal: a block for each message, its codecs by size.
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

    /// The messages, in the order they were asked for.
    pub fn messages(&self) -> Vec<&str> {
        let mut messages: Vec<&str> = Vec::new();
        for row in &self.rows {
            if messages.last() != Some(&row.message.as_str()) {
                messages.push(&row.message);
            }
        }
        messages
    }

    /// The rows of one message, smallest first.
    pub(crate) fn rows_of(&self, message: &str) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|r| r.message == message).collect();
        rows.sort_by(|a, b| (a.bytes, &a.codec, &a.runtime).cmp(&(b.bytes, &b.codec, &b.runtime)));
        rows
    }

    /// The figures of one message, without columns in which nobody has any.
    fn grid(&self, message: &str) -> Grid {
        let rows: Vec<[String; HEAD.len()]> =
            self.rows_of(message).into_iter().map(cells).collect();
        let shown: Vec<usize> = (0..HEAD.len())
            .filter(|column| rows.iter().any(|cells| cells[*column] != NONE))
            .collect();
        let mut grid = Grid::new();
        grid.load_preset(presets::NOTHING);
        grid.set_header(shown.iter().map(|column| HEAD[*column]));
        for cells in &rows {
            grid.add_row(shown.iter().map(|column| &cells[*column]));
        }
        for column in grid.column_iter_mut().skip(NAMES) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        grid
    }

    /// What must be said beside the figures.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "Time of one operation: median of {} samples in random order, ± the wider side of its \
             95 % interval; cold: the first call of a fresh process, populate and convert \
             included. Seed {}.",
            self.rounds, self.seed
        )];
        let wide = self.costs().filter(|c| c.reach() > WANTED_REACH).count();
        let all = self.costs().count();
        if wide > 0 {
            notes.push(format!(
                "{wide} of {all} warm figures are known to worse than ±2 %: a busy machine, or a \
                 runtime that collects its garbage between samples."
            ));
        }
        if let Some(AaCheck { pairs, within }) = self.aa {
            notes.push(format!(
                "A/A: of {pairs} things measured twice, {within} differ by nothing their interval \
                 can tell."
            ));
        }
        for Harness {
            runtime,
            encode,
            decode,
        } in &self.harness
        {
            notes.push(format!(
                "Harness, {runtime}: encoding nothing takes {}, decoding nothing {}; taken off \
                 every warm figure.",
                spread(encode),
                spread(decode)
            ));
        }
        for (runtime, source) in &self.heap {
            notes.push(format!(
                "Heap of an encoding / a decoding, {runtime}: {source}."
            ));
        }
        notes.extend(self.caveats());
        for Absent { runtime, reason } in &self.absent {
            notes.push(format!("Absent: {runtime}: {reason}"));
        }
        notes
    }

    /// Each caveat once, with all it holds for.
    fn caveats(&self) -> Vec<String> {
        let mut of: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for row in &self.rows {
            if let Some(caveat) = &row.caveat {
                let libraries = of.entry((&row.runtime, caveat)).or_default();
                if !libraries.contains(&row.library.as_str()) {
                    libraries.push(&row.library);
                }
            }
        }
        let line = |((runtime, caveat), libraries): ((&str, &str), Vec<&str>)| {
            format!("{runtime}, {}: {caveat}.", libraries.join(", "))
        };
        of.into_iter().map(line).collect()
    }

    fn costs(&self) -> impl Iterator<Item = &Cost> {
        let warm = |row| Part::ALL.into_iter().filter_map(move |p| Row::cost(row, p));
        self.rows.iter().flat_map(warm)
    }

    /// A row each, for other programs.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let figures = [
            "encode",
            "decode",
            "populate",
            "convert",
            "cold_encode",
            "cold_decode",
        ];
        let mut head: Vec<String> = ["message", "codec", "runtime", "library", "version", "bytes"]
            .map(String::from)
            .into();
        for figure in figures {
            head.extend(["ns", "low_ns", "high_ns"].map(|end| format!("{figure}_{end}")));
        }
        head.extend(
            [
                "encode_heap_bytes",
                "decode_heap_bytes",
                "samples",
                "runtime_version",
                "caveat",
                "problem",
            ]
            .map(String::from),
        );
        out.write_record(&head)?;
        for row in &self.rows {
            let number = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.1}"));
            let mut record = vec![
                row.message.clone(),
                row.codec.clone(),
                row.runtime.clone(),
                row.library.clone(),
                row.version.clone(),
                row.bytes.map_or(String::new(), |n| n.to_string()),
            ];
            for cost in [
                row.encode,
                row.decode,
                row.populate,
                row.convert,
                row.cold_encode,
                row.cold_decode,
            ] {
                let ends = [
                    cost.map(|c| c.ns),
                    cost.map(|c| c.low_ns),
                    cost.map(|c| c.high_ns),
                ];
                record.extend(ends.map(number));
            }
            record.extend([row.encode, row.decode].map(|c| number(c.and_then(|c| c.heap_bytes))));
            let samples = row.encode.or(row.decode).map(|c| c.samples);
            record.push(samples.map_or(String::new(), |n| n.to_string()));
            record.push(row.runtime_version.clone());
            record.extend([&row.caveat, &row.problem].map(|t| t.clone().unwrap_or_default()));
            out.write_record(&record)?;
        }
        let bytes = out.into_inner().map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

const HEAD: [&str; 11] = [
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

/// The first so many columns are names, the others figures.
const NAMES: usize = 3;
const NONE: &str = "-";

fn cells(row: &Row) -> [String; HEAD.len()] {
    let time = |cost: &Option<Cost>| cost.as_ref().map_or(NONE.into(), spread);
    [
        row.codec.clone(),
        row.runtime.clone(),
        format!("{} {}", row.library, row.version),
        row.bytes.map_or(NONE.into(), |n| n.to_string()),
        time(&row.encode),
        time(&row.decode),
        time(&row.populate),
        time(&row.convert),
        time(&row.cold_encode),
        time(&row.cold_decode),
        heap(row),
    ]
}

/// `13.2 µs ±1.3 %`; a spread of more than the figure itself as its range, a single sample as
/// what it is.
pub(crate) fn spread(cost: &Cost) -> String {
    let percent = 100.0 * cost.reach();
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

/// Three digits and a unit.
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

/// What a figure's interval should not exceed.
const WANTED_REACH: f64 = 0.02;

#[cfg(test)]
mod tests;
