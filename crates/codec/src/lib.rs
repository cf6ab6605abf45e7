//! The codec bench: what encoding and decoding a payload costs, in every runtime.
//!
//! The life of a table:
//!
//! 1. Each [`Program`] is started once as a [`Runner`]: a small program in one language that
//!    holds that language's codec libraries (`docs/codec-runner.md`). It decides nothing.
//! 2. Messages are made here, from a seed, and handed over as *value files*: every runtime
//!    encodes the same values to the bit.
//! 3. Before anything is timed, each codec encodes the message, decodes its own bytes, and the
//!    value that comes back is compared with the one that went in (see [`Bench::run`]).
//! 4. [`measure`] finds how many iterations fill a sample, and then takes samples in rounds:
//!    every round times everything once, in an order drawn anew, so that whatever drifts
//!    drifts for all; a short lead-in before each sample is not counted. A sample that another
//!    program or a neighbour of the virtual machine noisy is taken again. What varies gets
//!    more rounds, while there is time. The estimate is the median of the clean samples, with
//!    an interval.
//! 5. Cold figures are of fresh processes: the first call each one makes.
//! 6. The [`Table`] is printed as text, JSON, CSV or a page with plots.
//!
//! [`matrix`] uses the same runners to show that every language reads what every other writes.

pub mod matrix;
pub mod measure;

mod bench;
mod html;
mod protocol;
mod runner;
mod table;

pub use bench::{Bench, Options, Progress};
pub use html::html;
pub use protocol::{CodecEntry, Part};
pub use runner::{Program, Runner, RunnerError, Timed};
pub use table::{AaCheck, Absent, Cost, Harness, Row, Table, duration};
