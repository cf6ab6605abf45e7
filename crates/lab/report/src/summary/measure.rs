//! The figures of one population of calls, and its comparison with the baseline.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::Verdict;

use crate::summary::quantity::Quantity;
use crate::summary::reason::Reason;

/// One population of calls of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measure {
    /// The group in the study.
    pub group: String,
    /// Which calls of the group, or all as a whole.
    pub part: Part,
    /// A label for people, unique in the study.
    pub label: String,
    /// Whether the recommendation is made from it.
    pub decisive: bool,
    /// Number of calls in the first measured attempts of all cells, including those that timed out or
    /// failed.
    pub calls: usize,
    /// Of those, the calls that timed out (censored).
    pub timed_out: usize,
    /// Of those, the calls that failed before the timeout; they count as at least the timeout.
    pub failed: usize,
    /// Of those, the calls that the server saw more than once (silent retries).
    pub retried: usize,
    /// Number of calls by error, e.g. `status 503`: the kind and the library's message.
    pub errors: BTreeMap<String, usize>,
    /// Median over blocks of each block's median; for the whole of a group, of its time from first
    /// start to last end; for its tail, of each block's percentile.
    pub time: Option<Quantity>,
    /// The mean of the requests of all blocks, where it differs from `time` by more than the margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<Quantity>,
    /// The percentile that `time` is, for the tail of a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_percent: Option<f64>,
    /// Percentiles of the calls, those for which there are enough; none for the whole of a group.
    pub percentiles: Vec<Percentile>,
    /// Body bytes of a bulk group over its time; absent for other groups.
    pub goodput: Option<Quantity>,
    /// Rate and distribution of a group that is bound by time; absent for other groups and for its tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadFigures>,
    /// The phases of exchanges; absent when the group has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Comparison with the baseline; absent for the baseline itself.
    pub comparison: Option<Comparison>,
}

/// A percentile of the calls of a population.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Percentile {
    /// 50, 90, 95 or 99.
    pub percent: u8,
    /// The median over blocks of each block's percentile or, if blocks have too few calls, the
    /// percentile of all calls, without an interval.
    pub value: Quantity,
    /// Whether it is from the calls of all blocks together.
    pub pooled: bool,
}

/// The figures of a group that is bound by time. Times are of calls that started, or in an open loop
/// should have started, after the warm-up and before the end; in an open loop they count from the
/// intended start. Each figure is the median over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadFigures {
    /// Requests that succeeded per second.
    pub requests_per_second: Option<Quantity>,
    /// Percentiles of the requests' times, those for which every block has enough requests.
    pub percentiles: Vec<LoadPercentile>,
    /// The longest time.
    pub max: Option<Quantity>,
    /// Requests of an open loop, over all blocks, that started more than 1 ms after their intended time;
    /// absent for a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Cells in which a closed loop ran out of steps before its time was over.
    pub out_of_steps: usize,
}

/// A percentile of the requests of a group that is bound by time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadPercentile {
    /// 50, 90, 95, 99 or 99.9.
    pub percent: f64,
    /// The median over blocks of each block's percentile.
    pub value: Quantity,
}

/// The phases of exchanges: means over the successful calls of the cells that count.
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

/// Which calls of a group, by the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The first request of a process.
    ColdProcess,
    /// The first request on each connection.
    First,
    /// Requests at one place on an open connection, such as the second, that take another time than the others.
    Place,
    /// Requests on an open connection, without those at such places.
    Warm,
    /// The requests of a group that is bound by time.
    Load,
    /// All requests together, from the first start to the last end.
    Whole,
    /// A high percentile of the group's warm requests, or of its first ones if none is warm; of a group
    /// that is bound by time, of all.
    Tail,
}

/// An arm compared with the baseline, block by block and request by request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Arm minus baseline: negative is faster. The median over blocks of each block's median over
    /// requests.
    pub difference: Quantity,
    /// Baseline divided by arm: above 1 is faster. Its interval has the same ranks as that of
    /// `difference`.
    pub speedup: Option<Quantity>,
    /// The largest difference that still counts as no difference.
    pub margin_ns: f64,
    /// The verdict from the first measured attempt of every cell, clean or noisy.
    pub verdict: Verdict,
    /// The verdict from clean cells alone; absent if no block has clean cells of both.
    pub clean_only: Option<Verdict>,
    /// Spearman's correlation of arm and baseline over blocks: what common random numbers and a
    /// common machine contributed to both.
    pub correlation: Option<f64>,
    /// For A/A arms: the correlation of times rounded to the margin, if in at least 6 blocks a loss
    /// cost the baseline more than that. Low if something else varies the times more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_correlation: Option<f64>,
    /// For A/A arms: the smallest difference, on top of the one that was found, that would have failed the check;
    /// absent if the comparison is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noticeable_ns: Option<f64>,
    /// Other reasons for the difference than the protocol.
    pub caveats: Vec<String>,
    /// Where the difference is, if the arm is faster or slower; absent where requests have no parts, e.g. in records
    /// of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

impl Part {
    /// Returns the name used in JSON and HTML.
    pub fn name(self) -> &'static str {
        match self {
            Part::ColdProcess => "cold_process",
            Part::First => "first",
            Part::Place => "place",
            Part::Warm => "warm",
            Part::Load => "load",
            Part::Whole => "whole",
            Part::Tail => "tail",
        }
    }

    /// Returns whether each of its calls is a request of this part alone. The calls of the whole and
    /// of the tail belong to other parts too.
    pub fn is_by_request(self) -> bool {
        match self {
            Part::ColdProcess | Part::First | Part::Place | Part::Warm | Part::Load => true,
            Part::Whole | Part::Tail => false,
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
            (Part::ColdProcess, "cold_process"),
            (Part::First, "first"),
            (Part::Place, "place"),
            (Part::Warm, "warm"),
            (Part::Load, "load"),
            (Part::Whole, "whole"),
            (Part::Tail, "tail"),
        ] {
            assert_eq!(part.name(), name);
            assert_eq!(serde_json::to_value(part).unwrap(), name);
        }
        let (blocks, outlook) = (1, stats::Outlook::MayNotSettle);
        for (verdict, name) in [
            (Verdict::Faster, "faster"),
            (Verdict::Slower, "slower"),
            (Verdict::NoDifference, "no_difference"),
            (Verdict::NotSlower, "not_slower"),
            (Verdict::NotFaster, "not_faster"),
            (Verdict::CannotTell { blocks, outlook }, "cannot_tell"),
        ] {
            assert_eq!(serde_json::to_value(verdict).unwrap()["verdict"], name);
        }
    }
}
