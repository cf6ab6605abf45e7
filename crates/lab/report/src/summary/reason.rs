//! The reason of a decided difference: the parts of the requests' critical paths in which two arms differ.

use explain::Part;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

const UNEXPLAINED: ReasonPart = ReasonPart::Request(Part::Unexplained);

/// Where the difference between two arms is, part by part: the means over half of the pairs that the verdict
/// compares. They are neighbours in order of their difference, and their mean is nearest to the verdict's estimate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Whether the parts explain the difference.
    pub outcome: ReasonOutcome,
    /// The largest parts in words, or why they are no reason.
    pub words: String,
    /// Number of pairs in the means. Where requests failed: of pairs in which they did.
    pub pairs: usize,
    /// The sum of the differences of all parts, ns.
    pub sum_ns: f64,
    /// The mean difference of the pairs' times without `sum_ns`, ns. Zero unless parts of requests do not sum to their
    /// times.
    pub unnamed_ns: f64,
    /// The parts in which the arms differ, the largest difference first.
    pub parts: Vec<PartDifference>,
}

/// Whether the parts of a difference explain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonOutcome {
    /// They sum to the verdict's estimate, and less than 10 % of it is unexplained.
    Explained,
    /// Their sum is farther from the estimate than the margin and than 5 % of the estimate.
    SumDiffers,
    /// At least 10 % of the estimate is unexplained or unnamed.
    Unexplained,
    /// No part is 10 % of the estimate.
    Scattered,
    /// More than a tenth of that half of the pairs lacks parts.
    Incomplete,
    /// So many requests failed that the size of the difference is unknown.
    Failed,
}

/// What a time consists of: that of a request, or of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasonPart {
    /// A part of the requests.
    Request(Part),
    /// The time of a group in which none of the requests ran that have its parts: the pauses of its access, and what the
    /// client does between two requests.
    BetweenRequests,
}

impl ReasonPart {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ReasonPart::Request(part) => part.name(),
            ReasonPart::BetweenRequests => "between_requests",
        }
    }

    pub(crate) fn is_round_trip(self) -> bool {
        match self {
            ReasonPart::Request(part) => part.is_round_trip(),
            ReasonPart::BetweenRequests => false,
        }
    }
}

impl From<Part> for ReasonPart {
    fn from(part: Part) -> ReasonPart {
        ReasonPart::Request(part)
    }
}

impl Serialize for ReasonPart {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// A part of the time in which two arms differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartDifference {
    /// Its name, as in docs/reference/parts.md, or `between_requests`: the time of a group in which none of these
    /// requests ran.
    #[schemars(with = "String")]
    pub part: ReasonPart,
    /// Arm minus baseline, ns.
    pub difference_ns: f64,
    /// The same in round trips of the empty link; absent for parts that are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<f64>,
    /// The arm's mean, ns.
    pub arm_ns: f64,
    /// The baseline's mean, ns.
    pub baseline_ns: f64,
}

/// A part as a reason names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) part: ReasonPart,
    pub(crate) arm_ns: f64,
    pub(crate) baseline_ns: f64,
    /// Whether it is the handshake of TLS over TCP in one arm, and that of QUIC in the other.
    pub(crate) is_handshake_of_both: bool,
}

impl Named {
    pub(crate) fn difference_ns(&self) -> f64 {
        self.arm_ns - self.baseline_ns
    }
}

impl Reason {
    /// A part is named if its difference is at least this share of the estimate. There is no reason if as much is
    /// unexplained.
    pub(crate) const NAMED_SHARE: f64 = 0.1;

    /// Returns the parts that are large enough to be named, the largest difference first.
    ///
    /// QUIC's handshake includes that of TLS. They are alternatives, so that only their difference counts.
    pub(crate) fn named(&self, estimate_ns: f64) -> Vec<Named> {
        let mut all: Vec<Named> = Vec::new();
        let explained = (self.parts.iter()).filter(|one| one.part != UNEXPLAINED);
        for one in explained {
            let is_tls = |part| {
                matches!(
                    part,
                    ReasonPart::Request(Part::TlsHandshake | Part::QuicHandshake)
                )
            };
            let is_same = |named: &&mut Named| is_tls(named.part) && is_tls(one.part);
            match all.iter_mut().find(is_same) {
                Some(named) => {
                    named.is_handshake_of_both = true;
                    named.arm_ns += one.arm_ns;
                    named.baseline_ns += one.baseline_ns;
                }
                None => all.push(Named {
                    part: one.part,
                    arm_ns: one.arm_ns,
                    baseline_ns: one.baseline_ns,
                    is_handshake_of_both: false,
                }),
            }
        }
        let size = |named: &Named| named.difference_ns().abs();
        all.retain(|named| size(named) >= Self::NAMED_SHARE * estimate_ns.abs());
        all.sort_by(|a, b| size(b).total_cmp(&size(a)));
        all
    }

    /// Returns how much of the difference no part explains, ns.
    pub(crate) fn unexplained_ns(&self) -> f64 {
        let unexplained = self.parts.iter().find(|p| p.part == UNEXPLAINED);
        unexplained.map_or(0.0, |p| p.difference_ns.abs()) + self.unnamed_ns.abs()
    }
}

/// Serialises a part as its name in records.
pub(crate) fn part_name<S: Serializer>(part: &Part, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(part.name())
}

/// Returns a time in round trips; `None` for a part that is none, and on a link without delay.
pub(crate) fn in_round_trips(part: impl Into<ReasonPart>, ns: f64, rtt_ns: u64) -> Option<f64> {
    (part.into().is_round_trip() && rtt_ns > 0).then(|| ns / rtt_ns as f64)
}
