//! The codec bench: what encoding and decoding a message costs, in every runtime.
//!
//! The life of a table:
//!
//! 1. Each [`Program`] is started once as a [`Runner`]: a small program in one language that holds
//!    that language's codec libraries and decides nothing (`docs/codec-runner.md`).
//! 2. Messages are made here, from a seed, and handed over as *value files*, so that every runtime
//!    encodes the same values bit for bit.
//! 3. Before anything is timed, each codec encodes the message and decodes its own bytes, and the
//!    result is compared with the original (see [`Bench::run`]).
//! 4. [`measure`] finds how many iterations fill a sample, then takes samples in rounds. Every round
//!    times everything once, in a new random order, so that drift affects all alike; a short lead-in
//!    before each sample is not counted. A sample is taken again if another program or a noisy
//!    neighbour slowed it. What varies gets more rounds while there is time. The estimate is the
//!    median of the clean samples, with an interval.
//! 5. Cold figures are the first calls of fresh processes.
//! 6. The [`Table`] is printed as text, JSON, CSV or an HTML page with plots.
//!
//! [`matrix`] uses the same runners to check that every language reads what every other writes.

#![forbid(unsafe_code)]

pub mod matrix;
pub mod measure;

mod bench;
mod html;
mod runner;
mod table;
mod threads;

pub use bench::{Bench, Options, Progress};
pub use driver::codec_runner::{CodecEntry, Part};
pub use html::html;
pub use runner::{FOLDER, Program, Runner, RunnerError, Timed};
pub use table::{AaCheck, Cost, Harness, Row, Table, Unavailable, duration};
