//! How much of the time of a run's requests, and of the differences between its arms, is explained.

use schemars::JsonSchema;
use serde::Serialize;

/// How much is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Coverage {
    /// Requests that have parts.
    pub calls: usize,
    /// The share of a request's time that is unexplained: the median over these requests.
    pub unexplained_median: f64,
    /// The most over these requests.
    pub unexplained_most: f64,
    /// Comparisons whose verdict is faster or slower.
    pub decided: usize,
    /// Of these, those whose parts sum to the estimate, within the larger of its margin and 5 %.
    pub matched: usize,
    /// Of these, those that have a reason.
    pub explained: usize,
}
