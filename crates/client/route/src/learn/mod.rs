//! Verdicts on the faster transport, learnt from requests as they come.
//!
//! The router compares how much longer or shorter a request took than others of its kind. So slow
//! endpoints and large bodies do not count against the transport that happened to carry them. The
//! estimates are discounted, so old ones fade. The words are the lab's: faster, slower, no
//! difference, cannot tell.

mod choose;
mod estimate;
mod kinds;

pub(crate) use choose::{TransportEstimates, Verdict};
pub(crate) use estimate::Estimate;
pub(crate) use kinds::{OPENING, RequestKinds, key};

/// A class of events whose times are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ComparisonClass {
    /// Opening a connection, until it is ready.
    Cold,
    /// A request with small bodies on an open connection.
    Small,
    /// A request with a body that takes some round trips, e.g. a picture.
    Medium,
    /// The rate of a large body.
    Bulk,
}

/// Bodies up to this size make a request small.
const SMALL_BYTES: u64 = 32 << 10;
/// Bodies from this size on make it bulk.
const BULK_BYTES: u64 = 256 << 10;

impl ComparisonClass {
    pub(crate) const ALL: [Self; 4] = [Self::Cold, Self::Small, Self::Medium, Self::Bulk];

    /// Returns the class that decides for a request of this size.
    pub(crate) fn of_size(bytes: u64) -> Self {
        if bytes <= SMALL_BYTES {
            Self::Small
        } else if bytes < BULK_BYTES {
            Self::Medium
        } else {
            Self::Bulk
        }
    }
}

impl std::fmt::Display for ComparisonClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cold => "opening a connection",
            Self::Small => "small requests",
            Self::Medium => "requests of 32 to 256 KiB",
            Self::Bulk => "large bodies",
        })
    }
}
