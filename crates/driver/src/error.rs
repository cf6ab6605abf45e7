//! Why a conversation with a driver ended badly: the reason shown in the failed cell.

use crate::channel::ChannelError;
use crate::rows::RowError;

/// The driver broke the contract, died, or gave up.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// No line came, or none could be sent.
    #[error("the driver {0}")]
    Channel(#[from] ChannelError),
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
}
