//! The figures of one population of calls, and its comparison with the baseline.

use schemars::JsonSchema;
use serde::Serialize;
use stats::Verdict;

use crate::quantity::Quantity;

/// One population of calls of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measure {
    /// The group in the study.
    pub group: String,
    /// Which calls of the group.
    pub part: Part,
    /// A label for people, unique in the study.
    pub label: String,
    /// Number of calls in clean cells, including those that timed out or failed.
    pub calls: usize,
    /// Of those, the calls that timed out (censored).
    pub timed_out: usize,
    /// Of those, the calls that failed before the timeout; they count as at least the timeout.
    pub failed: usize,
    /// Of those, the calls that the server saw more than once (silent retries).
    pub retried: usize,
    /// Median over blocks of each block's median.
    pub time: Option<Quantity>,
    /// 95th percentile over all calls; absent when there are too few.
    pub p95: Option<Quantity>,
    /// Goodput of a bulk group; absent for other groups.
    pub goodput: Option<Quantity>,
    /// The phases of exchanges; absent when the group has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Comparison with the baseline, from clean cells; absent for the baseline itself.
    pub comparison: Option<Comparison>,
    /// The verdict from the first measured attempt of every cell, clean or noisy.
    pub with_noisy: Option<Verdict>,
}

/// The phases of exchanges: means over the successful calls in clean cells.
/// `create_ns + encode_ns + transport_ns + decode_ns = total_ns`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Phases {
    /// Number of calls in the means.
    pub calls: usize,
    /// Number of blocks with such calls.
    pub blocks: usize,
    /// Creating the message, ns; 0 for a prebuilt message.
    pub create_ns: Mean,
    /// Encoding it, including compression.
    pub encode_ns: Mean,
    /// From the encoded request to the response's last byte, including the server's work.
    pub transport_ns: Mean,
    /// Of `transport_ns`, the server's decoding.
    pub server_decode_ns: Mean,
    /// Of `transport_ns`, the server's encoding.
    pub server_encode_ns: Mean,
    /// Decoding the response.
    pub decode_ns: Mean,
    /// The total.
    pub total_ns: Mean,
    /// Body of the request, bytes.
    pub request_bytes: Mean,
    /// Body of the response, bytes.
    pub response_bytes: Mean,
}

/// A mean over calls, with the range of the blocks' means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mean {
    /// Mean over all calls.
    pub mean: f64,
    /// The smallest mean of a block.
    pub min: f64,
    /// The largest mean of a block.
    pub max: f64,
}

/// Which calls of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The first request on each connection.
    First,
    /// All later requests on a connection.
    Warm,
    /// All requests of a bulk group.
    Bulk,
}

/// An arm compared with the baseline, block by block.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Arm minus baseline: negative is faster. Its interval has the coverage
    /// `family.coverage_each`.
    pub difference: Quantity,
    /// Baseline divided by arm: above 1 is faster.
    pub speedup: Option<Quantity>,
    /// The largest difference that still counts as no difference.
    pub margin_ns: f64,
    /// The verdict from clean cells.
    pub verdict: Verdict,
    /// Correlation of arm and baseline over blocks: what common random numbers and a common machine
    /// contributed to both.
    pub correlation: Option<f64>,
    /// Other reasons for the difference than the protocol.
    pub caveats: Vec<String>,
}

impl Part {
    /// Returns the name used in JSON and HTML.
    pub fn name(self) -> &'static str {
        match self {
            Part::First => "first",
            Part::Warm => "warm",
            Part::Bulk => "bulk",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the published names.
    #[test]
    fn names_match_the_serialised_form() {
        for (part, name) in [
            (Part::First, "first"),
            (Part::Warm, "warm"),
            (Part::Bulk, "bulk"),
        ] {
            assert_eq!(part.name(), name);
            assert_eq!(serde_json::to_value(part).unwrap(), name);
        }
        let (blocks, outlook) = (1, stats::Outlook::MayNotSettle);
        for (verdict, name) in [
            (Verdict::Faster, "faster"),
            (Verdict::Slower, "slower"),
            (Verdict::NoDifference, "no_difference"),
            (Verdict::CannotTell { blocks, outlook }, "cannot_tell"),
        ] {
            assert_eq!(serde_json::to_value(verdict).unwrap()["verdict"], name);
        }
    }
}
