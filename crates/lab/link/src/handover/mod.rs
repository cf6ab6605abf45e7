//! Handovers: a phone that moves is handed over from one base station to the next.
//!
//! Each handover interrupts both directions for a while, and afterwards the delay differs, since the next base station is
//! another way from the server. Packets that wait are forwarded to it or lost. The bottleneck is closed during the
//! interruption, and the delay stage adds the way.

mod keys;

use serde::{Deserialize, Serialize};

use crate::{
    closings::{Closing, Closings, Disorder, OnClose},
    text::ms,
};

pub(crate) use keys::Keys;

/// The handovers of a network, in virtual time from the origin, the same in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawHandovers", into = "RawHandovers")]
pub struct Handovers {
    stations: Vec<StationSpec>,
    closings: Closings,
}

/// A base station to which the phone is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationSpec {
    /// When the handover begins, in ns after the origin or, if handovers repeat, after the start of a period.
    pub at_ns: u64,
    /// How long both directions are closed, in ns.
    pub interruption_ns: u64,
    /// How much longer the delay of each direction is from then on than without handovers, in ns. It lasts until the
    /// interruption of the next handover ends.
    #[serde(default)]
    pub extra_delay_ns: u64,
    /// What happens to the queue during the interruption.
    pub queue: OnClose,
}

/// Why a list of base stations is not a list of handovers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("station {station}: {key}: {message}")]
pub struct HandoverError {
    /// Index of the base station to blame.
    pub station: usize,
    /// The key of a network file to blame.
    pub key: &'static str,
    /// What is wrong, and what would be right.
    pub message: &'static str,
}

impl Handovers {
    /// Most base stations.
    const MAX_STATIONS: usize = 10_000;
    /// The longest time of a file: an hour.
    const MAX_NS: u64 = 3_600_000_000_000;
    /// The longest extra delay of a file: a minute.
    const MAX_EXTRA_NS: u64 = 60_000_000_000;

    /// Returns handovers to these base stations, in order of time, repeated with the period `every_ns` if there is one.
    pub fn new(
        stations: Vec<StationSpec>,
        every_ns: Option<u64>,
    ) -> Result<Handovers, HandoverError> {
        let wrong = |station, key, message| HandoverError {
            station,
            key,
            message,
        };
        if stations.len() > Handovers::MAX_STATIONS {
            let message = "there are more than 10000 base stations; repeat fewer with every_ms";
            return Err(wrong(Handovers::MAX_STATIONS, "at_ms", message));
        }
        for (i, station) in stations.iter().enumerate() {
            let times = [
                ("at_ms", station.at_ns),
                ("interruption_ms", station.interruption_ns),
            ];
            if let Some((key, _)) = times.iter().find(|(_, ns)| *ns > Handovers::MAX_NS) {
                return Err(wrong(i, key, "the time is longer than an hour"));
            }
            if station.extra_delay_ns > Handovers::MAX_EXTRA_NS {
                let message = "the extra delay is longer than a minute";
                return Err(wrong(i, "extra_delay_ms", message));
            }
        }
        if every_ns.is_some_and(|every_ns| every_ns > Handovers::MAX_NS) {
            return Err(wrong(0, "every_ms", "the period is longer than an hour"));
        }
        let closing = |station: &StationSpec| Closing {
            from_ns: station.at_ns,
            to_ns: station.at_ns + station.interruption_ns,
            on_close: station.queue,
        };
        let closings = Closings::new(stations.iter().map(closing).collect(), every_ns);
        let closings = closings.map_err(|disorder| match disorder {
            Disorder::Empty => wrong(
                0,
                "at_ms",
                "there is no handover; write one, or leave out the table",
            ),
            Disorder::Backwards(i) => wrong(
                i,
                "interruption_ms",
                "a handover takes some time; write e.g. 50",
            ),
            Disorder::Overlap(i) => {
                let message =
                    "the handover before has not ended; put them in order, with time between them";
                wrong(i, "at_ms", message)
            }
            Disorder::Period => {
                let message =
                    "the handover ends after the period; make every_ms longer than its end";
                wrong(stations.len() - 1, "at_ms", message)
            }
        })?;
        Ok(Handovers { stations, closings })
    }

    /// Returns the base stations, at least one.
    pub fn stations(&self) -> &[StationSpec] {
        &self.stations
    }

    /// Returns the period, if handovers repeat.
    pub fn every_ns(&self) -> Option<u64> {
        self.closings.every_ns()
    }

    /// Returns how much longer the delay is with the farthest base station.
    pub fn most_extra_delay_ns(&self) -> u64 {
        let extra = self.stations.iter().map(|station| station.extra_delay_ns);
        extra.max().unwrap_or(0)
    }

    /// Returns the interruptions, for the bottleneck.
    pub(crate) fn closings(&self) -> &Closings {
        &self.closings
    }

    /// Returns how much longer the delay is at `since_ns` after the origin. Before the first handover it is not.
    pub(crate) fn extra_delay_ns(&self, since_ns: u64) -> u64 {
        let every_ns = self.every_ns();
        let in_period_ns = every_ns.map_or(since_ns, |every_ns| since_ns % every_ns);
        let reached =
            |station: &StationSpec| station.at_ns + station.interruption_ns <= in_period_ns;
        let serving = match self.stations.partition_point(reached) {
            // The last one of the period before, if there is one.
            0 if since_ns > in_period_ns => self.stations.last(),
            reached => reached.checked_sub(1).map(|index| &self.stations[index]),
        };
        serving.map_or(0, |station| station.extra_delay_ns)
    }

    /// Returns number, interruptions and delays in one line, e.g. "3 every 20000 ms, closed 1310 ms, up to 15 ms longer".
    pub(crate) fn summary(&self) -> String {
        let every = self.every_ns().map(|ns| format!(" every {} ms", ms(ns)));
        format!(
            "{}{}, closed {} ms, up to {} ms longer",
            self.stations.len(),
            every.unwrap_or_default(),
            ms(self.closings.closed_ns()),
            ms(self.most_extra_delay_ns())
        )
    }
}

/// Handovers before they are checked: the serialised form.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHandovers {
    every_ns: Option<u64>,
    stations: Vec<StationSpec>,
}

impl TryFrom<RawHandovers> for Handovers {
    type Error = HandoverError;

    fn try_from(raw: RawHandovers) -> Result<Handovers, HandoverError> {
        Handovers::new(raw.stations, raw.every_ns)
    }
}

impl From<Handovers> for RawHandovers {
    fn from(handovers: Handovers) -> RawHandovers {
        RawHandovers {
            every_ns: handovers.every_ns(),
            stations: handovers.stations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(at_ns: u64, interruption_ns: u64, extra_delay_ns: u64) -> StationSpec {
        StationSpec {
            at_ns,
            interruption_ns,
            extra_delay_ns,
            queue: OnClose::Keep,
        }
    }

    #[test]
    fn the_delay_changes_when_an_interruption_ends() {
        let stations = vec![station(10, 5, 7), station(40, 5, 0), station(60, 5, 9)];
        let once = Handovers::new(stations.clone(), None).unwrap();
        let extra =
            |handovers: &Handovers, times: [u64; 6]| times.map(|t| handovers.extra_delay_ns(t));
        assert_eq!(extra(&once, [0, 14, 15, 44, 45, 65]), [0, 0, 7, 7, 0, 9]);
        assert_eq!(extra(&once, [1_000; 6]), [9; 6]);
        let repeated = Handovers::new(stations, Some(100)).unwrap();
        assert_eq!(
            extra(&repeated, [0, 14, 15, 44, 45, 65]),
            [0, 0, 7, 7, 0, 9]
        );
        assert_eq!(
            extra(&repeated, [100, 114, 115, 144, 145, 965]),
            [9, 9, 7, 7, 0, 9]
        );
    }

    #[test]
    fn impossible_handovers_are_refused() {
        let refused = |stations: &[StationSpec], every_ns| {
            let error = Handovers::new(stations.to_vec(), every_ns).unwrap_err();
            (error.station, error.key)
        };
        assert_eq!(refused(&[], None), (0, "at_ms"));
        assert_eq!(refused(&[station(1, 0, 0)], None), (0, "interruption_ms"));
        assert_eq!(
            refused(&[station(1, 5, 0), station(6, 5, 0)], None),
            (1, "at_ms")
        );
        assert_eq!(refused(&[station(1, 5, 0)], Some(6)), (0, "at_ms"));
        assert_eq!(refused(&[station(u64::MAX, 5, 0)], None), (0, "at_ms"));
        assert_eq!(
            refused(&[station(1, 5, u64::MAX)], None),
            (0, "extra_delay_ms")
        );
        let (hour_ns, minute_ns) = (3_600_000_000_000, 60_000_000_000);
        let longest = station(hour_ns - 2, 1, minute_ns);
        assert!(Handovers::new(vec![longest], Some(hour_ns)).is_ok());
        for (station, every_ns, key) in [
            (station(hour_ns + 1, 1, 0), None, "at_ms"),
            (station(0, hour_ns + 1, 0), None, "interruption_ms"),
            (station(0, 1, minute_ns + 1), None, "extra_delay_ms"),
            (station(0, 1, 0), Some(hour_ns + 1), "every_ms"),
        ] {
            assert_eq!(refused(&[station], every_ns), (0, key));
        }
        assert!(Handovers::new(vec![station(1, 5, 0)], Some(7)).is_ok());
    }
}
