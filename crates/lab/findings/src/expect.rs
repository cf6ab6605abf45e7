//! What claims expect, and how large a factor they allow.

use serde::Deserialize;

/// How far a factor may be from a published one, as a factor, and still count as of the same size: the
/// machines, links and libraries are others.
const NEAR: f64 = 1.5;

/// Returns the factors that are near a published one.
pub(crate) fn near(factor: f64) -> (f64, f64) {
    (factor / NEAR, factor * NEAR)
}

/// What a claim expects of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expect {
    /// It is faster, sends fewer bytes or takes less energy.
    #[serde(alias = "fewer", alias = "less")]
    Faster,
    /// It is slower, sends more bytes or takes more energy.
    #[serde(alias = "more")]
    Slower,
    /// It does not differ by more than the margin.
    NoDifference,
    /// It does not differ by more than `within_ms`.
    Within,
}

/// The smallest and the largest factor in the expected direction that a claim allows, if it has a size.
pub(crate) type Size = Option<(f64, f64)>;
