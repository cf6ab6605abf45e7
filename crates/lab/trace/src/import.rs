//! Imports a file of others.

use std::io::BufRead;

use crate::error::ImportError;
use crate::imported::{Imported, Span};
use crate::rows::{self, Columns};
use crate::{mahimahi, words};

/// A mean rate below this one likely has another unit: the peak rate of GPRS, eight slots of 21.4 kbit/s (3GPP TS
/// 43.064).
const LIKELY_WRONG_BPS: f64 = 171_200.0;

/// What a file has on its lines.
#[derive(Clone, Debug)]
pub enum Format {
    /// The time of one opportunity of 1500 bytes, in ms.
    Mahimahi,
    /// A time and a rate, in columns.
    Columns(Columns),
}

/// Reads a file of others. Memory is bounded whatever the file contains.
pub fn import(input: impl BufRead, format: &Format, span: Span) -> Result<Imported, ImportError> {
    let mut imported = match format {
        Format::Mahimahi => mahimahi::import(input, span)?,
        Format::Columns(columns) => rows::import(input, columns, span)?,
    };
    let length_us = imported.trace.period_ms() * 1000;
    if let Some(for_us) = span.for_us.filter(|for_us| *for_us > length_us) {
        imported.notes.push(format!(
            "the trace takes {} and not {} as --for asks, because the file ends then",
            words::duration(length_us),
            words::duration(for_us)
        ));
    }
    let mean_bps = imported.trace.mean_bps() as f64;
    if mean_bps < LIKELY_WRONG_BPS {
        imported.notes.push(format!(
            "the mean rate is {}, less than GPRS at its best (171 kbit/s); check the unit",
            words::rate(mean_bps)
        ));
    }
    Ok(imported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_ends_early_is_noted() {
        let notes = |for_us| {
            let span = Span {
                from_us: 0,
                for_us: Some(for_us),
            };
            let imported = import("5\n2000\n".as_bytes(), &Format::Mahimahi, span).unwrap();
            imported.notes.join("\n")
        };
        let note = "the trace takes 2 s and not 60 s as --for asks";
        assert!(notes(60_000_000).contains(note));
        assert!(!notes(2_000_000).contains("--for"));
    }
}
