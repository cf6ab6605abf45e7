//! The driver protocol: how the lab makes one client stack follow a workload.
//!
//! A *driver* is a small program around one client library. The lab starts it with two
//! paths in its environment, `COMMUTE_IN` and `COMMUTE_OUT` ([`mod@env`]), and talks to it in
//! lines of JSON ([`protocol`]). Its standard streams stay free for logs, so a banner does
//! no harm. The life of a conversation, seen from the lab:
//!
//! 1. **spawn**: the driver gets one end of each of two pipes, and a [`Host`] the others. End of
//!    file means that the driver has gone.
//! 2. **hello**: the driver says what it is and can do, and which clock its times are from.
//! 3. **setup**: origin, credentials, protocol, timeout. *Unsupported* is an answer, not an
//!    error: the cell is shown with the reason.
//! 4. **run**: a flat list of steps. One row per call comes back, the rows of each group after
//!    the group's last call, then `done`.
//! 5. **close**: the driver closes its connections and exits.
//!
//! The host trusts nothing that it reads. Every line has a length limit, every wait a deadline. A
//! row must belong to a call, come once, and have its times in order. On the shared clock the times
//! must lie between the sending of `run` and the moment the row was read ([`rows`]). The first
//! violation ends the conversation, and its [`DriverError`] is the exact reason shown in the failed
//! cell. Claims that only the server can refute (a protocol, a reused connection, early data, a
//! digest) are checked later, against the server's log.
//!
//! A driver reads requests with [`Request::parse`](protocol::Request::parse), which
//! distinguishes an unknown type or word, to be answered `unsupported`, from a malformed line.
//!
//! The list of drivers is data: `stacks/*/stack.toml`, read by [`manifest`]. [`process`] starts
//! drivers and codec runners on the host itself, without a bench.
//!
//! This crate has no network stack.

#![forbid(unsafe_code)]

pub mod clock;
pub mod codec_runner;
pub mod env;
pub mod host;
pub mod manifest;
pub mod process;
pub mod protocol;
pub mod rows;

mod channel;
mod error;
mod log_reader;
mod log_tail;

pub use channel::{Channel, ChannelError, Received, printable};
pub use error::DriverError;
pub use host::{Host, Limits, Meanwhile, RunAnswer, SetupAnswer};
pub use log_reader::LogReader;
