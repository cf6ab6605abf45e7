//! Errors of a bench.

use std::io;
use std::path::PathBuf;

/// Why a bench could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The init process could not be started.
    #[error("cannot start {program} as the init process of a bench: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// The error of starting it.
        source: io::Error,
    },
    /// The request was invalid or failed; the message includes a hint where there is one.
    #[error("{0}")]
    Refused(String),
    /// The program to run does not exist, or this user cannot execute it.
    #[error("{message}")]
    CannotRun {
        /// Names the program and the reason.
        message: String,
        /// The program does not exist.
        not_found: bool,
    },
    /// The init process has ended, and with it everything in the bench.
    #[error("the bench is gone ({0}); start a new one")]
    Gone(io::Error),
}

impl BenchError {
    pub(crate) fn unexpected_reply() -> BenchError {
        BenchError::Gone(io::Error::other(
            "its init process sent an unexpected reply",
        ))
    }
}
