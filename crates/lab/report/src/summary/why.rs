//! Where the time of requests went, by arm.

use explain::Part;

/// A part of a difference is named if it is at least this share of it.
const NAMED_SHARE: f64 = 0.05;
/// Differences below this are not explained.
const LEAST_NS: f64 = 1e6;

/// Where the time of a run's requests went.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// Name of the baseline arm.
    pub baseline: String,
    /// By network, in the study's order.
    pub measures: Vec<WhyMeasure>,
}

/// A population of requests on a network.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyMeasure {
    /// The network's name.
    pub network: String,
    /// Round-trip time of the empty link.
    pub rtt_ns: u64,
    /// The population's label, e.g. `first request`.
    pub label: String,
    /// The arms with explained requests, in the study's order.
    pub arms: Vec<ArmParts>,
}

/// Means over the middle half of an arm's requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmParts {
    /// The arm's name.
    pub arm: String,
    /// Number of requests in the means.
    pub calls: usize,
    /// Mean time of a request, the sum of the parts.
    pub time_ns: f64,
    /// Mean of each part that is not zero.
    pub parts: Vec<(Part, f64)>,
}

impl ArmParts {
    /// Returns the mean of a part.
    pub fn part_ns(&self, part: Part) -> f64 {
        let found = self.parts.iter().find(|(of, _)| *of == part);
        found.map_or(0.0, |&(_, ns)| ns)
    }

    /// Returns the parts in which this arm differs from another, less that one's, the largest first; only those that
    /// matter to the difference of the whole.
    pub fn differences(&self, other: &ArmParts) -> Vec<(Part, f64)> {
        let whole_ns = (self.time_ns - other.time_ns).abs();
        let part = |part: Part| (part, self.part_ns(part) - other.part_ns(part));
        let mut parts: Vec<(Part, f64)> = Part::ALL.into_iter().map(part).collect();
        parts.retain(|(_, ns)| ns.abs() >= LEAST_NS.max(NAMED_SHARE * whole_ns));
        parts.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_size() {
        let arm = |parts: &[(Part, f64)]| ArmParts {
            arm: "a".into(),
            calls: 1,
            time_ns: parts.iter().map(|(_, ns)| ns).sum(),
            parts: parts.to_vec(),
        };
        let slow = arm(&[
            (Part::TcpHandshake, 50e6),
            (Part::Nagle, 80e6),
            (Part::Client, 3e6),
        ]);
        let fast = arm(&[(Part::QuicHandshake, 20e6), (Part::Client, 2.5e6)]);
        assert_eq!(
            slow.differences(&fast),
            [
                (Part::Nagle, 80e6),
                (Part::TcpHandshake, 50e6),
                (Part::QuicHandshake, -20e6)
            ]
        );
        // 0.5 ms are no reason, and neither is 1 ms of 100.
        assert_eq!(slow.differences(&slow), []);
    }
}
