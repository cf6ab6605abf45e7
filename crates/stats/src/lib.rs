//! Estimates, intervals, verdicts.
//!
//! The life of a verdict:
//!
//! 1. A call that ended took an exact time; one that timed out took *at least* the time it
//!    was given. Both are a [`Span`], and no call is ever dropped.
//! 2. The calls of one cell become one number, their [`median`], because calls of a cell
//!    share a process, a connection and a minute, and are not independent. The block is the
//!    unit of evidence from here on.
//! 3. In each block the baseline is taken from the arm ([`Span::minus`]). What the arms of a
//!    block have in common (luck, machine, minute) drops out; [`correlation`] says how much
//!    that was.
//! 4. The median of those differences is the [`Estimate`]. Below 20 blocks its interval runs
//!    from one order statistic to another, with a coverage that is known exactly whatever the
//!    distribution; from 20 on it is a bootstrap with luck from the run's seed.
//! 5. [`compare`] holds the interval against zero and against the margin below which nobody
//!    cares, and gives a [`Verdict`].
//!
//! # Many comparisons
//!
//! A report makes one comparison for each arm, network and measure, and its reader goes to
//! the most striking. [`Level::shared_by`] divides the allowed error by their number
//! (Bonferroni), so that with 95 % *all* intervals of a report hold at once. Holm's procedure
//! rejects a little more, but its intervals are not the ones its decisions were taken with;
//! here sentence, interval and verdict come from the same three numbers and cannot disagree.
//! The price is blocks: 10 blocks carry 25 comparisons, and each further block twice as many.
//!
//! # What this cannot say
//!
//! The interval is for the median *block*, on this machine and under this emulated network. It
//! says nothing of blocks that were not drawn, and a difference between two arms neither of
//! which is the baseline is not tested at all.
//!
//! Nothing here reads a clock, a file or ambient luck; `clippy.toml` beside this crate says so.

mod bootstrap;
mod ends;
mod estimate;
mod interval;
mod quantile;
mod rng;
mod span;
mod verdict;

pub use estimate::{Estimate, estimate, estimate_by_order, median};
pub use interval::{Interval, Level, Method};
pub use quantile::{MIN_BLOCKS_FOR_QUANTILE, MIN_CALLS_BEYOND, pooled_quantile};
pub use span::Span;
pub use verdict::{
    Comparison, MIN_BLOCKS, Rule, Verdict, compare, correlation, default_margin_ns, speedup,
};
