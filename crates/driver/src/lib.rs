//! The driver protocol: how the lab makes one client stack follow a workload.
//!
//! A *driver* is a small program around one client library. The lab starts it with two
//! paths in its environment, `COMMUTE_IN` and `COMMUTE_OUT` ([`pipes`]), and talks to it
//! in lines of JSON ([`protocol`]); its standard streams stay free for logs, so a banner
//! harms nothing. The life of one, seen from the lab:
//!
//! 1. **spawn**: of two pipes the driver inherits its ends, and a [`Host`] holds ours. When
//!    the driver and all it started are gone, we read end of file.
//! 2. **hello**: it says what it is and can, and whose clock its times are on.
//! 3. **setup**: origin, trust, protocol, time-out. *Unsupported* is an answer, not an
//!    error: the cell is shown with the reason.
//! 4. **run**: a flat list of steps; one row a call comes back, each group's rows after
//!    the group's last call, then `done`.
//! 5. **close**: the driver closes its connections and exits.
//!
//! The host trusts nothing it reads. Lines are bounded before they are kept, every wait
//! has a deadline, every row must belong to a call, come once, be in order with itself
//! and, on the shared clock, lie between the sending of `run` and the moment it was read
//! ([`rows`]). The first breach ends the conversation, and its [`DriverError`] is the
//! exact reason shown in the failed cell. What only the server can refute (a protocol,
//! a reused connection, early data, a digest) is refuted later, against its log.
//!
//! A driver reads requests with [`Request::parse`](protocol::Request::parse), which tells
//! a verb or a word it does not know, to be answered `unsupported`, from nonsense.
//!
//! Which drivers there are is data: `stacks/*/stack.toml`, read by [`manifest`].
//!
//! There is no network stack in this crate.

pub mod host;
pub mod manifest;
pub mod pipes;
pub mod process;
pub mod protocol;
pub mod rows;

mod channel;
mod error;
mod parse;
mod row_error;

pub use channel::{Channel, ChannelError, Heard, printable};
pub use error::DriverError;
pub use host::{Host, Limits, RunAnswer, SetupAnswer};
