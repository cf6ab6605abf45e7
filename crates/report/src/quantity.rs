//! A number with its interval and its unit.

use schemars::JsonSchema;
use serde::Serialize;

/// A number with all it needs to be printed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantity {
    /// The estimate, or the bound that is known; absent when nothing is.
    pub value: Option<f64>,
    /// What `value` is.
    pub bound: Bound,
    /// Lower end of the interval; absent when it has none.
    pub low: Option<f64>,
    /// Upper end; absent when it has none.
    pub high: Option<f64>,
    /// Probability that an interval made like this holds the true value.
    pub coverage: f64,
    /// How the interval was made.
    pub interval: Method,
    /// Blocks behind it.
    pub blocks: usize,
    /// Unit of value and interval.
    pub unit: Unit,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The value itself.
    Exact,
    /// It is that or more.
    AtLeast,
    /// It is that or less.
    AtMost,
    /// Nothing.
    Unknown,
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Between order statistics; its coverage is exact.
    OrderStatistics,
    /// By resampling blocks; its coverage is nominal.
    Bootstrap,
}

/// A unit.
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
    /// A ratio.
    #[serde(rename = "factor")]
    Factor,
}

impl Quantity {
    pub(crate) fn new(estimate: &stats::Estimate, unit: Unit) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        let (lo, hi) = (estimate.value.lo, estimate.value.hi);
        let (value, bound) = match (finite(lo), finite(hi)) {
            (Some(lo), Some(hi)) if lo == hi => (Some(lo), Bound::Exact),
            // Known on both sides yet not exact does not come of time-outs; the worse end.
            (Some(_), Some(hi)) => (Some(hi), Bound::AtMost),
            (Some(lo), None) => (Some(lo), Bound::AtLeast),
            (None, Some(hi)) => (Some(hi), Bound::AtMost),
            (None, None) => (None, Bound::Unknown),
        };
        Self {
            value,
            bound,
            low: finite(estimate.interval.lo),
            high: finite(estimate.interval.hi),
            coverage: estimate.interval.coverage,
            interval: match estimate.interval.method {
                stats::Method::OrderStatistics { .. } => Method::OrderStatistics,
                stats::Method::Bootstrap => Method::Bootstrap,
            },
            blocks: estimate.blocks,
            unit,
        }
    }
}
