//! What a threshold found.

use schemars::JsonSchema;
use serde::Serialize;

use crate::summary::quantity::Quantity;

/// What a threshold found of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThresholdResult {
    /// The threshold, as it was written.
    pub threshold: String,
    /// The network.
    pub network: String,
    /// The arm.
    pub arm: String,
    /// Label of the figure, for people.
    pub label: String,
    /// The figure; absent if there is none.
    pub figure: Option<Quantity>,
    /// What it says.
    pub outcome: ThresholdOutcome,
    /// Why it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a figure says of a threshold. The estimate decides, without regard to its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdOutcome {
    /// The condition does not hold.
    Pass,
    /// The condition holds.
    Fail,
    /// There is no figure, or it is a bound that leaves the condition open.
    CannotTell,
}

impl ThresholdOutcome {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ThresholdOutcome::Pass => "pass",
            ThresholdOutcome::Fail => "fail",
            ThresholdOutcome::CannotTell => "cannot_tell",
        }
    }
}
