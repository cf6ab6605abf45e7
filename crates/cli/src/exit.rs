//! Exit codes, in one place.

use std::process::ExitCode;

/// Done, and everything asked for held.
pub(crate) const PASS: u8 = 0;
/// A threshold or a check did not hold.
pub(crate) const THRESHOLD: u8 = 3;
/// This machine cannot do what was asked.
pub(crate) const UNFIT: u8 = 4;
/// Stopped by the user; what was recorded is valid.
pub(crate) const INTERRUPTED: u8 = 130;

/// Marks an error as the machine's, not the tool's.
#[derive(Debug)]
pub(crate) struct Unfit(pub(crate) anyhow::Error);

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Unfit {}

/// Prints an error with its causes and turns the result into a code.
pub(crate) fn code(done: anyhow::Result<u8>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            eprintln!("commute: {e:#}");
            ExitCode::from(if e.is::<Unfit>() { UNFIT } else { 1 })
        }
    }
}
