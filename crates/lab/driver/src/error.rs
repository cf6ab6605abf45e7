//! Errors of a conversation with a driver: the reason shown in the failed cell.

use crate::channel::ChannelError;
use crate::protocol::VERSION;
use crate::rows::RowError;

/// The driver broke the protocol, exited, or reported a failure.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A message was not received or not sent.
    #[error("the driver {0}")]
    Channel(#[from] ChannelError),
    /// A valid reply at the wrong time.
    #[error("the driver sent {sent} where {expected} was expected")]
    UnexpectedReply {
        /// Type of the reply.
        sent: &'static str,
        /// Types that were allowed.
        expected: &'static str,
    },
    /// A protocol version other than this crate's.
    #[error("the driver speaks protocol version {version}; this lab speaks {VERSION}")]
    Version {
        /// The driver's version.
        version: u32,
    },
    /// The driver's hello has an impossible value, which is named.
    #[error("the driver's hello is invalid: {0}")]
    InvalidHello(String),
    /// The driver replied `failed`: it cannot go on.
    #[error("the driver failed: {reason}")]
    Failed {
        /// The driver's own reason.
        reason: String,
    },
    /// A row that cannot be true.
    #[error(transparent)]
    Row(#[from] RowError),
}
