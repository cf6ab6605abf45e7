//! Gates: the times when a direction is closed by outages.

use serde::{Deserialize, Serialize};

use crate::closings::{Closing, Closings, Disorder, OnClose};

/// The intervals during which a direction is closed, in virtual time from the origin.
///
/// Intervals include their first nanosecond and exclude their last. Between any two the gate is
/// open, so that waiting packets get through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawGate", into = "RawGate")]
pub struct Gate {
    closings: Closings,
    on_close: OnClose,
}

/// Why a list of intervals is not a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The list is empty.
    #[error("a gate needs at least one closed interval, [from, to]")]
    Empty,
    /// An interval, counted from 1, does not end after it starts.
    #[error("interval {0} does not end after it starts: write [from, to] with from < to")]
    Backwards(usize),
    /// An interval, counted from 1, does not start after the previous one has ended.
    #[error("interval {0} touches the one before: put them in order, with open time between them")]
    Overlap(usize),
    /// The last interval reaches the end of the period.
    #[error("the intervals reach the end of the period: make it longer than the end of the last")]
    Period,
}

impl From<Disorder> for GateError {
    fn from(disorder: Disorder) -> GateError {
        match disorder {
            Disorder::Empty => GateError::Empty,
            Disorder::Backwards(index) => GateError::Backwards(index + 1),
            Disorder::Overlap(index) => GateError::Overlap(index + 1),
            Disorder::Period => GateError::Period,
        }
    }
}

impl Gate {
    /// Returns a gate that is closed during each interval (from, to), repeated with the period
    /// `every_ns` if there is one.
    pub fn new(
        closed_ns: Vec<(u64, u64)>,
        every_ns: Option<u64>,
        on_close: OnClose,
    ) -> Result<Gate, GateError> {
        let closing = |(from_ns, to_ns)| Closing {
            from_ns,
            to_ns,
            on_close,
        };
        let closings = Closings::new(closed_ns.into_iter().map(closing).collect(), every_ns)?;
        Ok(Gate { closings, on_close })
    }

    /// Returns what happens to the queue while the gate is closed.
    pub fn on_close(&self) -> OnClose {
        self.on_close
    }

    /// Returns the total closed time; of one period if the gate repeats.
    pub fn closed_ns(&self) -> u64 {
        self.closings.closed_ns()
    }

    /// Returns the period, if the gate repeats.
    pub fn every_ns(&self) -> Option<u64> {
        self.closings.every_ns()
    }

    /// Returns the intervals, for the bottleneck.
    pub(crate) fn closings(&self) -> &Closings {
        &self.closings
    }
}

/// A gate before its intervals are checked: the serialised form.
#[derive(Clone, Serialize, Deserialize)]
struct RawGate {
    closed_ns: Vec<(u64, u64)>,
    every_ns: Option<u64>,
    on_close: OnClose,
}

impl TryFrom<RawGate> for Gate {
    type Error = GateError;

    fn try_from(raw: RawGate) -> Result<Gate, GateError> {
        Gate::new(raw.closed_ns, raw.every_ns, raw.on_close)
    }
}

impl From<Gate> for RawGate {
    fn from(gate: Gate) -> RawGate {
        let intervals = gate.closings.intervals().iter();
        RawGate {
            closed_ns: intervals.map(|c| (c.from_ns, c.to_ns)).collect(),
            every_ns: gate.closings.every_ns(),
            on_close: gate.on_close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_intervals_are_refused() {
        let gate = |closed_ns: &[(u64, u64)], every_ns| {
            Gate::new(closed_ns.to_vec(), every_ns, OnClose::Keep)
        };
        assert_eq!(gate(&[], None), Err(GateError::Empty));
        assert_eq!(gate(&[(5, 5)], None), Err(GateError::Backwards(1)));
        assert_eq!(gate(&[(1, 5), (5, 9)], None), Err(GateError::Overlap(2)));
        assert_eq!(gate(&[(1, 5)], Some(5)), Err(GateError::Period));
        assert!(gate(&[(0, 5)], Some(6)).is_ok());
    }
}
