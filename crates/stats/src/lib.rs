//! Estimates, intervals, verdicts.
//!
//! The life of a verdict:
//!
//! 1. A request that ended took an exact time; one that timed out took *at least* its timeout. Both
//!    are a [`Span`], and no request is ever dropped.
//! 2. The requests of one cell become one number, their [`median`], because they share a process, a
//!    connection and a minute, and are not independent. From here on the block is the unit of
//!    evidence.
//! 3. In each block the baseline is subtracted from the arm ([`Span::minus`]). What the arms of a
//!    block have in common (random numbers, machine, minute) cancels out; [`rank_correlation`] is the
//!    measure of how much that was.
//! 4. The median of those differences is the [`Estimate`]. Its interval runs from one block's value to
//!    another's, with a coverage that is known exactly for any continuous distribution.
//! 5. [`decide`] compares the interval with zero and with the margin, the largest difference that
//!    does not matter, and returns a [`Verdict`].
//!
//! # Many comparisons
//!
//! A report makes one comparison for each arm, network and measure, and its readers look at the most
//! striking. [`Level::shared_by`] divides the allowed error by their number (Bonferroni), so that
//! with 95 % probability *all* intervals of a report cover their true values at once. Holm's
//! procedure rejects a little more, but its decisions are not those of its intervals; here sentence,
//! interval and verdict come from the same three numbers and cannot disagree. The price is blocks: 10
//! blocks are enough for 25 comparisons, and each further block for twice as many.
//!
//! # Limits
//!
//! The interval is for the median *block*, on this machine and under this emulated network. It says
//! nothing about blocks that were not drawn, and a difference between two arms neither of which is
//! the baseline is not tested at all.
//!
//! Nothing here reads a clock, a file or a global random source; `clippy-core.toml` bans them.

mod binomial;
mod ends;
mod estimate;
mod family;
mod interval;
mod outlook;
mod paired;
mod plan;
mod quantile;
mod ranks;
mod reliability;
mod span;
mod verdict;

pub use estimate::{Estimate, estimate, estimate_at_rank, estimate_by_order, median};
pub use family::{Differences, Family, FamilyResult, decide};
pub use interval::{Interval, Level, Method};
pub use outlook::Outlook;
pub use paired::{block_difference, block_speedup, rank_correlation, speedup};
pub use plan::{FewestBlocks, fewest_blocks};
pub use quantile::{
    MIN_BLOCKS_FOR_POOLING, MIN_REQUESTS_BEYOND, Quantile, fewest_requests, quantile,
};
pub use ranks::Ranks;
pub use reliability::{Reliability, ReliabilityVerdict, Requests, compare_reliability};
pub use span::Span;
pub use verdict::{Comparison, MIN_BLOCKS, Rule, Verdict, compare, default_margin_ns};
