//! What an import takes of a file, and what it returns.

use link::Trace;

use crate::words;

/// The part of a file that becomes the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its begin, since the begin of the file: time 0 in the format of Mahimahi, else the first row that is selected.
    pub from_us: u64,
    /// How long it is; up to the end if absent.
    pub for_us: Option<u64>,
}

impl Span {
    /// Reports whether the span has a moment of this time.
    pub(crate) fn overlaps(self, start_us: u64, end_us: u64) -> bool {
        let until_us = (self.for_us).map_or(u64::MAX, |us| self.from_us.saturating_add(us));
        start_us < until_us && self.from_us < end_us
    }
}

/// A trace, and what its user should know about it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The trace.
    pub trace: Trace,
    /// What was read how, and what was assumed, left out or changed. Text of the file in it is quoted.
    pub notes: Vec<String>,
}

/// Returns the note on an opportunity that was added at the end.
pub(crate) fn added_note(trace: &Trace, mean_bps: f64) -> String {
    format!(
        "added an opportunity at the end, whose time is the period: the mean is {} instead of {}",
        words::rate(trace.mean_bps() as f64),
        words::rate(mean_bps)
    )
}

/// Returns the note on lines that end otherwise than the first one.
pub(crate) fn mixed_note(mixed_at: Option<u64>) -> Option<String> {
    let line = mixed_at?;
    Some(format!(
        "line ends are LF and CRLF, mixed from line {line} on; both were read"
    ))
}
