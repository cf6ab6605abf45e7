//! How an arm is configured.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

/// What is known of an arm's configuration: every value that was seen, by name.
pub type Configuration = BTreeMap<String, BTreeSet<String>>;

/// A setting in which an arm differs from the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Name of the setting.
    pub what: String,
    /// The arm's values.
    pub arm: String,
    /// The baseline's values.
    pub baseline: String,
    /// Whether the setting affects the wire or the kernel, so that it may explain a difference in
    /// time. Others are names, versions and settings that the library reports of itself.
    pub on_the_wire: bool,
}
