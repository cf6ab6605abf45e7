//! What was found, and how it is told.

mod csv;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{Level, Span, estimate_by_order};
use wire::Name;

use crate::measure::Measured;
use crate::protocol::{CodecEntry, Part};

pub use text::duration;
pub(crate) use text::spread;

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
    /// Those of them in which the runner had to wait for a core, or shared it: none, unless
    /// hardly any sample was free of that.
    pub noisy: usize,
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
    pub(crate) fn new(measured: &Measured) -> Option<Self> {
        let time = measured.time_ns()?;
        let used = measured.used();
        Some(Self {
            ns: time.value.known()?,
            low_ns: time.interval.lo,
            high_ns: time.interval.hi,
            samples: used.len(),
            iterations: measured.iterations,
            noisy: used.iter().filter(|s| !s.clean).count(),
            heap_bytes: measured.heap_bytes(),
        })
    }

    /// Of single calls, too few for an interval of their own: their range.
    pub(crate) fn of_few(samples: &[Span]) -> Option<Self> {
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

    /// All that a table shows, in its order: encode, decode, populate, convert, cold encode, cold
    /// decode.
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

    fn costs(&self) -> impl Iterator<Item = &Cost> {
        let warm = |row| Part::ALL.into_iter().filter_map(move |p| Row::cost(row, p));
        self.rows.iter().flat_map(warm)
    }
}

#[cfg(test)]
mod tests;
