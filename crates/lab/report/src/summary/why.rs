//! Where the time of requests went, by arm.

use explain::Part;
use schemars::JsonSchema;
use serde::Serialize;

use super::coverage::Coverage;
use super::measure::Comparison;
use super::reason::part_name;

/// Version of this format; raised when a reader of the old format would misread the new one.
pub(crate) const FORMAT: u32 = 1;

/// Where the time of a run's requests went.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Why {
    /// Version of the format of this document.
    pub format: u32,
    /// The study's name.
    pub study: String,
    /// The arm that the others are compared with: the baseline, unless another was named.
    pub against: String,
    /// The populations of requests, by network in the study's order.
    pub measures: Vec<WhyMeasure>,
    /// How much of them is explained.
    pub coverage: Coverage,
}

/// A population of requests on a network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhyMeasure {
    /// The network's name.
    pub network: String,
    /// Round-trip time of the empty link.
    pub rtt_ns: u64,
    /// The population's label, e.g. `first request`.
    pub label: String,
    /// The arms whose requests have parts, in the study's order.
    pub arms: Vec<ArmParts>,
}

/// Means over the middle half of an arm's requests, sorted by their time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmParts {
    /// The arm's name.
    pub arm: String,
    /// Number of requests in the means.
    pub calls: usize,
    /// Mean time of a request, the sum of the parts.
    pub time_ns: f64,
    /// Mean of each part that is not zero.
    pub parts: Vec<PartTime>,
    /// Comparison with `against`, with its reason; absent for that arm, and without a block that has both. Its
    /// `baseline` is `against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// The mean of a part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartTime {
    /// Its name, as in docs/reference/parts.md.
    #[serde(serialize_with = "part_name")]
    #[schemars(with = "String")]
    pub part: Part,
    /// The mean, ns.
    pub ns: f64,
    /// The same in round trips of the empty link; absent for parts that are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<f64>,
}

impl Why {
    /// Returns the document as JSON, as specified by `docs/why.schema.json`.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("the document contains only strings, finite numbers and lists") + "\n"
    }

    /// Returns the JSON Schema of [`Why::json`], as in `docs/why.schema.json`.
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Why).to_value();
        // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
        schema.sort_all_objects();
        schema
    }
}

impl WhyMeasure {
    /// Returns the parts that any arm has for at least 0.05 ms, in the order in which they are shown.
    pub(crate) fn shown_parts(&self) -> Vec<Part> {
        let is_shown = |part: &Part| self.arms.iter().any(|arm| arm.part_ns(*part) >= 5e4);
        Part::ALL.into_iter().filter(is_shown).collect()
    }
}

impl ArmParts {
    /// Returns the mean of a part, if the arm has it.
    pub(crate) fn part(&self, part: Part) -> Option<&PartTime> {
        self.parts.iter().find(|time| time.part == part)
    }

    pub(crate) fn part_ns(&self, part: Part) -> f64 {
        self.part(part).map_or(0.0, |time| time.ns)
    }
}
