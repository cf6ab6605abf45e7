//! Gates: the times when a direction is closed, by outages and handovers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to the queue while the gate is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnClose {
    /// The queue is kept and goes on filling up to its limits, as in a handover that forwards data.
    Keep,
    /// Packets not yet through are lost, and so are new arrivals, as when a radio link fails.
    Flush,
}

/// The intervals during which a direction is closed, in virtual time from the origin.
///
/// Intervals include their first nanosecond and exclude their last. Between any two the gate is
/// open, so that waiting packets get through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawGate", into = "RawGate")]
pub struct Gate {
    closed_ns: Vec<(u64, u64)>,
    every_ns: Option<u64>,
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

impl Gate {
    /// Returns a gate that is closed during each interval (from, to), repeated with the period
    /// `every_ns` if there is one.
    pub fn new(
        closed_ns: Vec<(u64, u64)>,
        every_ns: Option<u64>,
        on_close: OnClose,
    ) -> Result<Gate, GateError> {
        let &(_, last_ns) = closed_ns.last().ok_or(GateError::Empty)?;
        let mut open_from_ns = None;
        for (i, &(from_ns, to_ns)) in closed_ns.iter().enumerate() {
            if from_ns >= to_ns {
                return Err(GateError::Backwards(i + 1));
            }
            if open_from_ns.is_some_and(|open_ns| from_ns <= open_ns) {
                return Err(GateError::Overlap(i + 1));
            }
            open_from_ns = Some(to_ns);
        }
        if every_ns.is_some_and(|every_ns| every_ns <= last_ns) {
            return Err(GateError::Period);
        }
        Ok(Gate {
            closed_ns,
            every_ns,
            on_close,
        })
    }

    /// Returns what happens to the queue while the gate is closed.
    pub fn on_close(&self) -> OnClose {
        self.on_close
    }

    /// Returns the total closed time; of one period if the gate repeats.
    pub fn closed_ns(&self) -> u64 {
        self.closed_ns
            .iter()
            .map(|(from_ns, to_ns)| to_ns - from_ns)
            .sum()
    }

    /// Returns the period, if the gate repeats.
    pub fn every_ns(&self) -> Option<u64> {
        self.every_ns
    }

    /// Returns the first open moment from `at_ns` on.
    pub(crate) fn open_from(&self, at_ns: u64) -> u64 {
        let (start_ns, since_ns) = self.period(at_ns);
        let next = self
            .closed_ns
            .partition_point(|(_, to_ns)| *to_ns <= since_ns);
        match self.closed_ns.get(next) {
            Some(&(from_ns, to_ns)) if from_ns <= since_ns => start_ns.saturating_add(to_ns),
            _ => at_ns,
        }
    }

    /// Returns the first moment from `at_ns` on at which the gate closes.
    pub(crate) fn next_closing(&self, at_ns: u64) -> Option<u64> {
        let (start_ns, since_ns) = self.period(at_ns);
        let next = self
            .closed_ns
            .partition_point(|(from_ns, _)| *from_ns < since_ns);
        match self.closed_ns.get(next) {
            Some((from_ns, _)) => Some(start_ns.saturating_add(*from_ns)),
            None => Some(
                start_ns
                    .saturating_add(self.every_ns?)
                    .saturating_add(self.closed_ns[0].0),
            ),
        }
    }

    /// Returns the moment when `need_ns` of open time have passed since `at_ns`.
    pub(crate) fn after_open(&self, at_ns: u64, need_ns: u64) -> u64 {
        let (mut at_ns, mut need_ns) = self.skip_periods(at_ns, need_ns);
        while need_ns > 0 {
            at_ns = self.open_from(at_ns);
            let Some(closing_ns) = self.next_closing(at_ns) else {
                return at_ns.saturating_add(need_ns);
            };
            let open_ns = need_ns.min(closing_ns - at_ns);
            at_ns += open_ns;
            need_ns -= open_ns;
        }
        at_ns
    }

    /// Skips whole periods in one step. Each has the same open time, wherever in it one starts.
    fn skip_periods(&self, at_ns: u64, need_ns: u64) -> (u64, u64) {
        let Some(every_ns) = self.every_ns else {
            return (at_ns, need_ns);
        };
        let open_ns = every_ns - self.closed_ns();
        let periods = need_ns.saturating_sub(1) / open_ns;
        (
            at_ns.saturating_add(periods.saturating_mul(every_ns)),
            need_ns - periods * open_ns,
        )
    }

    /// Returns the start of the period that contains `at_ns`, and the time since then.
    fn period(&self, at_ns: u64) -> (u64, u64) {
        let since_ns = self.every_ns.map_or(at_ns, |every_ns| at_ns % every_ns);
        (at_ns - since_ns, since_ns)
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
        RawGate {
            closed_ns: gate.closed_ns,
            every_ns: gate.every_ns,
            on_close: gate.on_close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(closed_ns: &[(u64, u64)], every_ns: Option<u64>) -> Result<Gate, GateError> {
        Gate::new(closed_ns.to_vec(), every_ns, OnClose::Keep)
    }

    #[test]
    fn invalid_intervals_are_refused() {
        assert_eq!(gate(&[], None), Err(GateError::Empty));
        assert_eq!(gate(&[(5, 5)], None), Err(GateError::Backwards(1)));
        assert_eq!(gate(&[(1, 5), (5, 9)], None), Err(GateError::Overlap(2)));
        assert_eq!(gate(&[(1, 5)], Some(5)), Err(GateError::Period));
        assert!(gate(&[(0, 5)], Some(6)).is_ok());
    }

    #[test]
    fn intervals_include_their_start_and_exclude_their_end() {
        let gate = gate(&[(10, 20), (30, 40)], None).unwrap();
        let opens: Vec<u64> = [9, 10, 19, 20, 35, 40, 1000]
            .map(|t| gate.open_from(t))
            .to_vec();
        assert_eq!(opens, [9, 20, 20, 20, 40, 40, 1000]);
        assert_eq!(gate.next_closing(10), Some(10));
        assert_eq!(gate.next_closing(11), Some(30));
        assert_eq!(gate.next_closing(31), None);
    }

    #[test]
    fn intervals_repeat_with_the_period() {
        let gate = gate(&[(0, 5), (50, 60)], Some(100)).unwrap();
        assert_eq!(gate.open_from(255), 260);
        assert_eq!(gate.open_from(300), 305);
        assert_eq!(gate.next_closing(261), Some(300));
    }

    #[test]
    fn after_open_agrees_with_counting_every_nanosecond() {
        let gate = gate(&[(3, 5), (7, 8)], Some(11)).unwrap();
        for at_ns in 0..25 {
            let mut clock_ns = at_ns;
            for need_ns in 1..60 {
                clock_ns = gate.open_from(clock_ns) + 1;
                assert_eq!(
                    gate.after_open(at_ns, need_ns),
                    clock_ns,
                    "{at_ns} + {need_ns}"
                );
            }
        }
    }

    #[test]
    fn long_services_skip_short_periods_at_once() {
        let gate = gate(&[(0, 1)], Some(2)).unwrap();
        assert_eq!(gate.after_open(0, 1 << 60), 1 << 61);
    }
}
