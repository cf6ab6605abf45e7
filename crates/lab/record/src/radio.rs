//! The states of the phone's radio over a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A change of the state of the network's radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RadioChange {
    /// When, ns after the first step; 0 for the state before it.
    pub at_ns: u64,
    /// The state from then on: a name of the network's file, `promoting`, or `unrecorded` after 65,536 changes.
    pub state: String,
}
