//! A number with its interval and its unit.

use schemars::JsonSchema;
use serde::Serialize;

/// An estimate over blocks: a number with its interval, its unit and the number of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantity {
    /// The estimate, or a bound on it; absent when nothing is known.
    pub value: Option<f64>,
    /// Whether `value` is exact or a bound.
    pub bound: Bound,
    /// Lower end of the interval; absent when it is unbounded below.
    pub low: Option<f64>,
    /// Upper end of the interval; absent when it is unbounded above.
    pub high: Option<f64>,
    /// Probability that an interval made like this contains the true value.
    pub coverage: f64,
    /// How the interval was made.
    pub interval: Method,
    /// Number of blocks it is estimated from.
    pub blocks: usize,
    /// Unit of value and interval.
    pub unit: Unit,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The estimate is the value.
    Exact,
    /// The estimate is at least the value.
    AtLeast,
    /// The estimate is at most the value.
    AtMost,
    /// There is no value.
    Unknown,
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// From one block's value to another's; the coverage is exact.
    OrderStatistics,
    /// Between the values of blocks; the coverage is nominal.
    Interpolated,
    /// There is no interval.
    None,
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// Requests per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Joules.
    #[serde(rename = "J")]
    Joules,
    /// Percent.
    #[serde(rename = "%")]
    Percent,
    /// A dimensionless ratio.
    #[serde(rename = "factor")]
    Factor,
}

impl Quantity {
    pub(crate) fn new(estimate: &stats::Estimate, unit: Unit) -> Self {
        Self {
            low: finite(estimate.interval.lo),
            high: finite(estimate.interval.hi),
            coverage: estimate.interval.coverage,
            interval: match estimate.interval.method {
                stats::Method::OrderStatistics { .. } => Method::OrderStatistics,
                stats::Method::Interpolated { .. } => Method::Interpolated,
            },
            ..Self::without_interval(estimate.value, estimate.blocks, unit)
        }
    }

    pub(crate) fn without_interval(value: stats::Span, blocks: usize, unit: Unit) -> Self {
        let (value, bound) = match (finite(value.lo), finite(value.hi)) {
            (Some(lo), Some(hi)) if lo == hi => (Some(lo), Bound::Exact),
            // Timeouts bound a value on one side only; should both bounds be known, take the worse.
            (Some(_), Some(hi)) => (Some(hi), Bound::AtMost),
            (Some(lo), None) => (Some(lo), Bound::AtLeast),
            (None, Some(hi)) => (Some(hi), Bound::AtMost),
            (None, None) => (None, Bound::Unknown),
        };
        Self {
            value,
            bound,
            low: None,
            high: None,
            coverage: 0.0,
            interval: Method::None,
            blocks,
            unit,
        }
    }
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

impl Bound {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Exact => "exact",
            Bound::AtLeast => "at_least",
            Bound::AtMost => "at_most",
            Bound::Unknown => "unknown",
        }
    }
}

impl Method {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::OrderStatistics => "order_statistics",
            Method::Interpolated => "interpolated",
            Method::None => "none",
        }
    }
}

impl Unit {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Bytes => "bytes",
            Unit::PerSecond => "1/s",
            Unit::Joules => "J",
            Unit::BitsPerSecond => "bit/s",
            Unit::Percent => "%",
            Unit::Factor => "factor",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the published names.
    #[test]
    fn names_match_the_serialised_form() {
        for (bound, name) in [
            (Bound::Exact, "exact"),
            (Bound::AtLeast, "at_least"),
            (Bound::AtMost, "at_most"),
            (Bound::Unknown, "unknown"),
        ] {
            assert_eq!(bound.name(), name);
            assert_eq!(serde_json::to_value(bound).unwrap(), name);
        }
        for (method, name) in [
            (Method::OrderStatistics, "order_statistics"),
            (Method::Interpolated, "interpolated"),
            (Method::None, "none"),
        ] {
            assert_eq!(method.name(), name);
            assert_eq!(serde_json::to_value(method).unwrap(), name);
        }
        for (unit, name) in [
            (Unit::Ns, "ns"),
            (Unit::Bytes, "bytes"),
            (Unit::PerSecond, "1/s"),
            (Unit::Joules, "J"),
            (Unit::BitsPerSecond, "bit/s"),
            (Unit::Percent, "%"),
            (Unit::Factor, "factor"),
        ] {
            assert_eq!(unit.name(), name);
            assert_eq!(serde_json::to_value(unit).unwrap(), name);
        }
    }
}
