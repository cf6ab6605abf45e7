//! Estimates, intervals, verdicts.
//!
//! The life of a verdict:
//!
//! 1. A request that ended took an exact time; one that timed out took *at least* its timeout. Both
//!    are a [`Span`], and no request is ever dropped.
//! 2. In each block the baseline is subtracted from the arm step by step, and the median of these
//!    differences is the block's value ([`block_difference`]). What the arms of a block have in common
//!    (random numbers, machine, minute) cancels out; [`rank_correlation`] measures how much that was.
//!    The requests of a block share a process, a connection and a minute and are not independent.
//!    From here on the block is the unit of evidence.
//! 3. The median of the blocks' values is the [`Estimate`]. Its interval runs from the r-th smallest
//!    to the r-th largest value. Its coverage is known exactly for any continuous distribution
//!    ([`Ranks::Fixed`]), or holds even if blocks are added until the result is clear
//!    ([`Ranks::Anytime`]).
//! 4. [`decide`] takes the differences of all comparisons of a report and finds the level of their
//!    intervals. It compares each interval with zero and with the margin, the largest difference that
//!    does not matter. The result is a [`Verdict`].
//!
//! # Figures of one arm
//!
//! [`estimate`] gives the median over blocks with an interval that is interpolated between ranks.
//! It thus covers about 95 % for any number of blocks from 6 on. [`quantile`] gives a high quantile with
//! an interval where each block has enough requests, and [`compare_reliability`] compares failures.
//! [`fisher_exact`] compares two shares of independent events, [`at_least`] one share with a given one.
//!
//! # Two runs
//!
//! [`decide_changes`] compares an arm with itself in another run. No block of one belongs to a block of the
//! other, so each is compared with each.
//!
//! # Groups of blocks
//!
//! [`depends_on_group`] tests whether values depend on a group of their block, e.g. on the machine that measured it.
//!
//! # Many comparisons
//!
//! A report makes one comparison for each arm, network and measure, and its readers look at the most
//! striking. Dividing the allowed error by their number (Bonferroni) makes verdicts impossible: n
//! blocks give no p-value below 2/2^n, so that 204 comparisons need 13 blocks before anything can be
//! decided, however clear it is. A single false discovery rate over the report is no remedy: many
//! easy comparisons in one column would pay for mistakes in another. [`decide`] therefore treats each
//! column as a family: of the verdicts in a column, at most 5 % are expected to be wrong, averaged over
//! the columns with any verdict. Six blocks are enough where all comparisons are clear; the clearer
//! the other comparisons are, the fewer blocks one of them needs ([`fewest_blocks`]).
//!
//! Sentence, interval and verdict come from the same three numbers and cannot disagree. The example
//! `power` prints error rates and power in simulated studies.
//!
//! # Limits
//!
//! The interval is for the median *block*, on this machine and under this emulated network. It says
//! nothing about blocks that were not drawn. A difference between two arms is not tested at all
//! unless one of them is the baseline. The error rate of [`decide`] is proven for independent or
//! positively dependent comparisons; arms that share a baseline are close to that, and the tests
//! simulate them.
//!
//! Nothing here reads a clock, a file or a random source; `clippy-core.toml` bans them.

#![forbid(unsafe_code)]

mod binomial;
mod ends;
mod estimate;
mod family;
mod fisher;
mod groups;
mod interval;
mod outlook;
mod paired;
mod plan;
mod quantile;
mod ranks;
mod reliability;
mod span;
mod unpaired;
mod verdict;

pub use binomial::at_least;
pub use estimate::{Estimate, estimate, estimate_at_rank, estimate_by_order, median};
pub use family::{Differences, Family, FamilyResult, compare, decide};
pub use fisher::fisher_exact;
pub use groups::{GroupTest, Stratum, depends_on_group};
pub use interval::{Interval, Level, Method};
pub use outlook::Outlook;
pub use paired::{block_difference, block_speedup, rank_correlation, speedup};
pub use plan::{FewestBlocks, fewest_blocks};
pub use quantile::{
    MIN_BLOCKS_FOR_POOLING, MIN_REQUESTS_BEYOND, Quantile, block_quantile, fewest_requests,
    quantile,
};
pub use ranks::{MIN_BLOCKS, Ranks};
pub use reliability::{Reliability, ReliabilityVerdict, Requests, compare_reliability};
pub use span::Span;
pub use unpaired::{Change, TwoRuns, decide_changes};
pub use verdict::{Comparison, Verdict, default_margin_ns};
