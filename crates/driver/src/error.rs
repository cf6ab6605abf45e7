//! Why a conversation with a driver ended badly: the reason shown in the failed cell.

use crate::rows::RowError;

/// The driver broke the contract, died, or gave up.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The deadline passed.
    #[error("the driver was silent: no {awaited} within {waited_ms} ms")]
    Silence {
        /// The message that should have come.
        awaited: &'static str,
        /// How long the host waited for this line.
        waited_ms: u128,
    },
    /// End of file where a line was due.
    #[error("the driver died: it closed its pipe before {awaited}")]
    Died {
        /// The message that should have come.
        awaited: &'static str,
    },
    /// Bytes came, but no end of line.
    #[error("the driver left a line of {bytes} bytes without a newline")]
    NoNewline {
        /// How many.
        bytes: usize,
    },
    /// A line beyond the bound; its rest was not read.
    #[error("the driver sent a line of more than {limit} bytes")]
    LineTooLong {
        /// The bound.
        limit: usize,
    },
    /// The driver does not read.
    #[error("the driver did not take its {request} within {waited_ms} ms")]
    Deaf {
        /// What was to be sent.
        request: &'static str,
        /// How long the host tried.
        waited_ms: u128,
    },
    /// A line, but not of this protocol.
    #[error("the driver sent a line that is no reply ({detail}): {excerpt:?}")]
    NotAReply {
        /// What the parser says.
        detail: String,
        /// The first characters of the line.
        excerpt: String,
    },
    /// A reply, but not one that belongs here.
    #[error("the driver said {said} where {awaited} was due")]
    Unexpected {
        /// What came.
        said: &'static str,
        /// What was due.
        awaited: &'static str,
    },
    /// A protocol version this crate does not speak.
    #[error(
        "the driver speaks protocol version {said}; this lab speaks {}",
        crate::protocol::VERSION
    )]
    Version {
        /// Its version.
        said: u32,
    },
    /// The driver's introduction cannot be true.
    #[error("the driver's hello is not sane: {0}")]
    Hello(String),
    /// The driver says itself that it cannot go on.
    #[error("the driver gave up: {reason}")]
    Failed {
        /// Its words.
        reason: String,
    },
    /// A row that cannot be true.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The pipe itself failed.
    #[error("the pipe to the driver failed: {0}")]
    Pipe(#[from] std::io::Error),
}
