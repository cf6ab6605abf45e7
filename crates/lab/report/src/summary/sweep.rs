//! What a sweep shows: each arm's time and verdict along the levels of a setting.

use schemars::JsonSchema;
use serde::Serialize;
use stats::Verdict;

use crate::summary::quantity::Quantity;

/// One measure along the levels of a setting, on one network, all else equal.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sweep {
    /// The network that the sweep changed, with the level of the other setting if there are two.
    pub network: String,
    /// The setting's name, e.g. `loss-down`.
    pub setting: String,
    /// Its values, in the study's order, which is taken for ascending.
    pub values: Vec<String>,
    /// The measure's label.
    pub measure: String,
    /// All arms but A/A arms, in the study's order.
    pub arms: Vec<Trend>,
}

/// One arm along the levels of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// The arm's name.
    pub arm: String,
    /// Its index in the study.
    pub index: usize,
    /// Its time at each level.
    pub times: Vec<Option<Quantity>>,
    /// Its verdict at each level; none for the baseline and where there is no comparison.
    pub verdicts: Vec<Option<Verdict>>,
    /// Where it differs from the baseline, e.g. `faster from 5% on`; absent for the baseline.
    pub words: Option<String>,
}
