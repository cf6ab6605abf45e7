//! The results and their output.

mod csv;
mod text;

use std::collections::BTreeMap;

use messages::Name;
use serde::Serialize;
use stats::{Level, Span, estimate_by_order};

use crate::measure::Series;
use crate::{CodecEntry, Part};

pub use text::duration;
pub(crate) use text::spread;

/// All results of one run of the bench.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// The seed of the messages and of the random order.
    pub seed: u64,
    /// Samples per figure; figures that vary may have more.
    pub rounds: usize,
    /// For each runtime, where its heap figures come from.
    pub heap: BTreeMap<String, String>,
    /// The cost of the timing loop in each runtime.
    pub harness: Vec<Harness>,
    /// The A/A check, if everything was measured twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aa: Option<AaCheck>,
    /// The runtimes that did not take part, with the reasons.
    pub unavailable: Vec<Unavailable>,
    /// One row per message, codec, runtime and library.
    pub rows: Vec<Row>,
}

/// The cost of the timing loop in one runtime, measured with a codec that does nothing. It is
/// subtracted from every warm figure.
#[derive(Clone, Debug, Serialize)]
pub struct Harness {
    /// The runtime's name.
    pub runtime: String,
    /// The cost of an empty encode.
    pub encode: Cost,
    /// The cost of an empty decode.
    pub decode: Cost,
}

/// The outcome of measuring everything twice.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct AaCheck {
    /// The number of figures that were measured twice.
    pub pairs: usize,
    /// How many of them have a difference whose interval covers zero.
    pub agreeing: usize,
}

/// A runtime that did not take part.
#[derive(Clone, Debug, Serialize)]
pub struct Unavailable {
    /// The runtime's name.
    pub runtime: String,
    /// The reason, with a hint.
    pub reason: String,
}

/// One message by one codec of one library.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The message's name, e.g. `api-2kB`.
    pub message: String,
    /// The codec's name, e.g. `json+gzip-6`.
    pub codec: String,
    /// The runtime's name, e.g. `jvm`.
    pub runtime: String,
    /// The runtime's version, as loaded.
    pub runtime_version: String,
    /// The library's name, and how it is called where there are several ways.
    pub library: String,
    /// The library's version, as loaded.
    pub version: String,
    /// The length of the encoding.
    pub bytes: Option<u64>,
    /// From plain objects to the library's own; absent if it works on plain ones.
    pub populate: Option<Cost>,
    /// From the library's objects to bytes.
    pub encode: Option<Cost>,
    /// From bytes to the library's objects.
    pub decode: Option<Cost>,
    /// From the library's objects to plain ones; absent if it works on plain ones.
    pub convert: Option<Cost>,
    /// From plain objects to bytes, as the first call of a process.
    pub cold_encode: Option<Cost>,
    /// From bytes to plain objects, as the first call of a process.
    pub cold_decode: Option<Cost>,
    /// A caveat on every figure.
    pub caveat: Option<String>,
    /// Why there are no figures.
    pub problem: Option<String>,
}

/// The cost of one operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// The median time per operation.
    pub ns: f64,
    /// The lower end of the median's 95 % interval, or of the range if samples are few.
    pub low_ns: f64,
    /// The upper end.
    pub high_ns: f64,
    /// The number of samples used.
    pub samples: usize,
    /// Operations per sample.
    pub iterations: u64,
    /// How many of the samples are noisy: the runner waited for a core or shared it. Zero unless
    /// too few samples were clean.
    pub noisy: usize,
    /// Bytes allocated per operation, if the runtime can tell.
    pub heap_bytes: Option<f64>,
}

impl Harness {
    /// Reads the cost of the loop from the row of the codec that does nothing.
    pub(crate) fn new(row: &Row) -> Option<Self> {
        Some(Self {
            runtime: row.runtime.clone(),
            encode: row.encode?,
            decode: row.decode?,
        })
    }
}

impl Cost {
    pub(crate) fn new(series: &Series) -> Option<Self> {
        let time = series.time_ns()?;
        let used = series.used();
        Some(Self {
            ns: time.value.known()?,
            low_ns: time.interval.lo,
            high_ns: time.interval.hi,
            samples: used.len(),
            iterations: series.iterations,
            noisy: used.iter().filter(|s| !s.clean).count(),
            heap_bytes: series.heap_bytes(),
        })
    }

    /// Computes the cost of single calls, which are too few for an interval, with their range.
    pub(crate) fn from_few(samples: &[Span]) -> Option<Self> {
        let time = estimate_by_order(samples, Level::NINETY_FIVE)?;
        Some(Self {
            ns: time.value.known()?,
            low_ns: time.interval.lo,
            high_ns: time.interval.hi,
            samples: samples.len(),
            iterations: 1,
            noisy: 0,
            heap_bytes: None,
        })
    }

    /// Returns the wider half of the interval, as a share of the median.
    pub fn half_width(&self) -> f64 {
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
        let caveats = [&entry.caveat, &entry.lossy, &entry.rejects_valid];
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

    /// Subtracts the cost of the timing loop. Populating uses the loop of encoding, converting that
    /// of decoding.
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

    /// Returns the cost of one part.
    pub fn cost(&self, part: Part) -> Option<&Cost> {
        match part {
            Part::Populate => self.populate.as_ref(),
            Part::Encode => self.encode.as_ref(),
            Part::Decode => self.decode.as_ref(),
            Part::Convert => self.convert.as_ref(),
        }
    }

    /// Returns all costs in the order of the table's columns: encode, decode, populate, convert,
    /// cold encode, cold decode.
    pub(crate) fn costs(&self) -> [Option<Cost>; 6] {
        [
            self.encode,
            self.decode,
            self.populate,
            self.convert,
            self.cold_encode,
            self.cold_decode,
        ]
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
    /// Returns the messages, in the order of the rows.
    pub fn messages(&self) -> Vec<&str> {
        let mut messages: Vec<&str> = Vec::new();
        for row in &self.rows {
            if messages.last() != Some(&row.message.as_str()) {
                messages.push(&row.message);
            }
        }
        messages
    }

    /// Returns the rows of one message, smallest first.
    pub(crate) fn rows_of(&self, message: &str) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|r| r.message == message).collect();
        rows.sort_by(|a, b| (a.bytes, &a.codec, &a.runtime).cmp(&(b.bytes, &b.codec, &b.runtime)));
        rows
    }

    fn costs(&self) -> impl Iterator<Item = &Cost> {
        let warm = |row| Part::ALL.into_iter().filter_map(move |p| Row::cost(row, p));
        self.rows.iter().flat_map(warm)
    }
}

#[cfg(test)]
mod tests;
