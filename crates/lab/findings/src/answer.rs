//! What our run answers to a claim.

use report::{Comparison, Kind, Quantity};

use crate::claims::Question;
use crate::expect::Size;
use crate::outcome::Outcome;
use crate::run::Reason;

/// A comparison that a claim asks for, on one network.
pub(crate) struct Answer<'a> {
    pub(crate) question: &'a Question,
    pub(crate) network: &'a str,
    pub(crate) arm: Option<&'a Quantity>,
    pub(crate) against: Option<&'a Quantity>,
    pub(crate) comparison: Option<Comparison>,
    pub(crate) kind: Kind,
    /// The factors that the claim allows.
    pub(crate) size: Size,
    pub(crate) outcome: Outcome,
    /// The measured reason of the difference, if the other arm is the baseline and the measure the same.
    pub(crate) reason: Option<&'a Reason>,
}
