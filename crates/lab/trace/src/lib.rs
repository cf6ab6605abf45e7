//! Traces of a link's rate: imports those of others, summarises, plots and generates them. Pure; `commute trace` reads
//! and writes the files.
//!
//! All work is on [`link::Trace`], the delivery opportunities that the key `trace` of a network file reads. [`text`]
//! writes them in the same format.
//!
//! | function | from | to |
//! |---|---|---|
//! | [`import`] | a file of others: opportunities, or rows of time and rate | a trace, and what was assumed |
//! | [`generate`] | a model's parameters and a seed | a trace |
//! | [`Summary::of`] | a trace | its figures |
//! | [`plot::page`], [`plot::terminal`] | a trace | a picture |
//!
//! An import reads line by line (`lines`), splits rows (`row`), reads their times (`clock`) and makes intervals
//! of constant rate of them (`rows`), which become opportunities (`interval`).

#![forbid(unsafe_code)]

mod clock;
mod error;
mod generate;
mod import;
mod imported;
mod interval;
mod lines;
mod mahimahi;
pub mod plot;
mod row;
mod rows;
mod summary;
mod words;

use std::io::Read;

use link::Trace;

pub use error::ImportError;
pub use generate::{Fades, GenerateError, Model, generate};
pub use import::{Format, import};
pub use imported::{Imported, Span};
pub use interval::{MAX_DURATION_US, NoTrace};
pub use row::{Column, RateUnit, TimeUnit};
pub use rows::{Columns, Gaps};
pub use summary::{Outages, Summary, WindowRates};
pub use words::{duration, rate};

/// The fastest rate of a row, in bits per second: the downlink peak of IMT-2020, 20 Gbit/s (Report ITU-R M.2410-0,
/// section 4.1). No phone receives faster, so a faster rate has another unit.
pub const MAX_BPS: u64 = 20_000_000_000;

/// Most bytes of a trace that a network reads.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a trace as a network reads it, so both accept the same files.
pub fn read(input: impl Read) -> Result<Trace, ImportError> {
    let mut text = String::new();
    input.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(ImportError::whole(
            "the file is longer than 64 MiB, so a network does not read it; shorten it",
        ));
    }
    Trace::parse(&text).map_err(|e| ImportError::whole(e.to_string()))
}

/// Returns a trace as the file that a network's `trace` names: one time in ms per line.
pub fn text(trace: &Trace) -> String {
    let lines = trace.times_ms().iter().map(|at_ms| format!("{at_ms}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_a_network_reads_it() {
        let most = "7\n".repeat(2000);
        for text in ["5\n7\n", "5\n\u{a0}\n7\n", "600000\n", &most] {
            assert_eq!(read(text.as_bytes()).unwrap(), Trace::parse(text).unwrap());
        }
        for text in ["\u{feff}5\n7\n", "0 1\n", ""] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, Trace::parse(text).unwrap_err().to_string());
        }
        let error = read(std::io::repeat(b'\n')).unwrap_err().to_string();
        assert!(
            error.starts_with("the file is longer than 64 MiB"),
            "{error}"
        );
    }
}
