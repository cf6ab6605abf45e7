//! The moves of the phone to other addresses over a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A move of the phone to other addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// When the phone had its next addresses, ns after the first step.
    pub at_ns: u64,
    /// When the former ones were gone, ns after the first step; absent if the steps had ended by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ns: Option<u64>,
    /// The only family of the next addresses, `ipv4` or `ipv6`; absent if there was one of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Whether the client was notified; false where the study does not ask for it, or the driver cannot be notified.
    pub signalled: bool,
}
