//! Groups that are bound by time: what is planned of them, and their distribution in a cell.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::proof::Proof;

/// Digits that the histogram keeps of a time: an error of at most 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;
/// The longest time of a call, an hour; a study allows no longer timeout.
const MAX_TIME_NS: u64 = 3_600_000_000_000;

/// How a group that is bound by time makes its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// Calls that start within this time are left out of the distribution.
    pub warmup_ns: u64,
    /// Calls that start within this time after the warm-up are measured.
    pub measured_ns: u64,
    /// What decides when a call starts.
    pub pace: Pace,
}

/// What decides when a call starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Closed loop: this many calls are in flight, each started when an earlier one has ended.
    Outstanding(u32),
    /// Open loop: this many calls per second start at fixed times, whatever is in flight.
    RatePerS(u32),
}

impl LoadPlan {
    /// Returns the time in which calls start.
    pub fn total_ns(&self) -> u64 {
        self.warmup_ns.saturating_add(self.measured_ns)
    }

    /// Returns a short description, e.g. `5 s, 8 in flight` or `5 s, 200/s`.
    pub fn about(&self) -> String {
        let s = self.measured_ns as f64 / 1e9;
        match self.pace {
            Pace::Outstanding(calls) => format!("{s} s, {calls} in flight"),
            Pace::RatePerS(rate) => format!("{s} s, {rate}/s"),
        }
    }
}

/// What a cell measured of a group that is bound by time. Its calls are those that started, or in an
/// open loop should have started, after the warm-up and before the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Name of the group in the study.
    pub group: String,
    /// Number of calls.
    pub calls: u64,
    /// Of those, the calls that timed out (censored).
    pub timed_out: u64,
    /// Of those, the calls that failed before their timeout, by error: the kind and the stack's message.
    pub errors: BTreeMap<String, u64>,
    /// Of those, the calls that the server saw more than once (silent retries).
    pub retried: u64,
    /// Of those, the calls of an open loop that started more than 1 ms after their intended time; 0 for a
    /// closed loop.
    pub late: u64,
    /// Calls of the warm-up, which are in no other figure.
    pub warmup_calls: u64,
    /// The time in which the calls started: the planned one, unless a closed loop ran out of steps.
    pub measured_ns: u64,
    /// Whether a closed loop ran out of steps before its time was over.
    pub out_of_steps: bool,
    /// The protocols that its calls negotiated.
    pub protocols: Vec<String>,
    /// The weakest proof among its calls; absent without a call.
    pub proof: Option<Proof>,
    /// Whether its calls carried a message in the arm's codec.
    pub encodes: bool,
    /// The times of the calls that succeeded, ns, with 3 significant digits: an HdrHistogram (V2,
    /// deflated, base64). In an open loop a time counts from the call's intended start, otherwise from
    /// its start.
    pub histogram: String,
}

/// The times of calls, ns.
#[derive(Clone, Debug)]
pub struct Distribution(Histogram<u64>);

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl Distribution {
    /// Returns a distribution without a time.
    pub fn new() -> Self {
        let bounds = Histogram::new_with_bounds(1, MAX_TIME_NS, SIGNIFICANT_DIGITS);
        Self(bounds.expect("the bounds and digits are valid"))
    }

    /// Adds a time in nanoseconds; one of more than an hour counts as an hour.
    pub fn add(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Returns the number of times.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the longest time, ns; `None` without any.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.0.max())
    }

    /// Returns the time of a rank, from 1 for the shortest; `None` beyond the last.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        if !(1..=self.count()).contains(&rank) {
            return None;
        }
        let mut seen = 0;
        let mut steps = self.0.iter_recorded().map(|step| {
            seen += step.count_since_last_iteration();
            (seen, step.value_iterated_to())
        });
        let found = steps.find(|(seen, _)| *seen >= rank);
        found.map(|(_, ns)| ns.min(self.0.max()))
    }

    /// Returns the histogram, in ns.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// Returns the text that a record has.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("writing to memory cannot fail");
        STANDARD.encode(bytes)
    }

    /// Reads the text of a record. Fails if it is not an HdrHistogram.
    pub fn of_text(text: &str) -> Result<Self, String> {
        let bytes = STANDARD
            .decode(text)
            .map_err(|e| format!("histogram: {e}"))?;
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice());
        Ok(Self(histogram.map_err(|e| format!("histogram: {e}"))?))
    }
}

impl Load {
    /// Returns the number of calls that failed before their timeout.
    pub fn failed(&self) -> u64 {
        self.errors
            .values()
            .fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Returns the number of calls that succeeded.
    pub fn succeeded(&self) -> u64 {
        let lost = self.timed_out.saturating_add(self.failed());
        self.calls.saturating_sub(lost)
    }

    /// Returns the times of the calls that succeeded. Fails if the record is damaged.
    pub fn distribution(&self) -> Result<Distribution, String> {
        Distribution::of_text(&self.histogram)
    }

    /// Returns what cannot be true of it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let times = self.distribution()?.count();
        let lost = self.timed_out.checked_add(self.failed());
        if lost.and_then(|lost| lost.checked_add(times)) != Some(self.calls) {
            return Err(format!(
                "{times} times and {} losses do not add up to {} calls",
                lost.unwrap_or(u64::MAX),
                self.calls
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_comes_back_from_its_text() {
        let mut times = Distribution::new();
        for ns in 1..=10_000 {
            times.add(ns * 1_000);
        }
        let back = Distribution::of_text(&times.to_text()).unwrap();
        assert_eq!(back.count(), 10_000);
        let near = |rank: u64| {
            let (ns, exact) = (back.at_rank(rank).unwrap() as f64, rank as f64 * 1e3);
            assert!((ns / exact - 1.0).abs() < 0.001, "{ns} at {rank}");
        };
        [1, 5_000, 9_900, 10_000].into_iter().for_each(near);
        assert_eq!(back.max_ns(), times.max_ns());
        assert_eq!((back.at_rank(0), back.at_rank(10_001)), (None, None));
        assert!(times.to_text().len() < 20_000, "{}", times.to_text().len());
    }

    #[test]
    fn an_empty_distribution_has_no_times() {
        let none = Distribution::of_text(&Distribution::new().to_text()).unwrap();
        assert_eq!((none.count(), none.max_ns()), (0, None));
    }

    #[test]
    fn damaged_text_is_refused() {
        for text in ["", "?", "AAAA", "HISTFAAAAA=="] {
            assert!(Distribution::of_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_that_do_not_add_up_are_refused() {
        let mut times = Distribution::new();
        times.add(1_000_000);
        let mut load = Load {
            group: "echo".into(),
            calls: 3,
            timed_out: 1,
            errors: BTreeMap::from([("reset: gone".into(), 1)]),
            retried: 0,
            late: 0,
            warmup_calls: 0,
            measured_ns: 1_000_000_000,
            out_of_steps: false,
            protocols: vec!["h2".into()],
            proof: Some(Proof::Server),
            encodes: false,
            histogram: times.to_text(),
        };
        load.check().unwrap();
        assert_eq!(load.succeeded(), 1);
        load.calls = 4;
        assert!(load.check().unwrap_err().contains("do not add up"));
        load.errors.insert("other: x".into(), u64::MAX);
        load.check().unwrap_err();
    }

    #[test]
    fn plans_are_described_in_a_few_words() {
        let plan = |pace| LoadPlan {
            warmup_ns: 1_000_000_000,
            measured_ns: 2_500_000_000,
            pace,
        };
        assert_eq!(plan(Pace::Outstanding(8)).about(), "2.5 s, 8 in flight");
        assert_eq!(plan(Pace::RatePerS(200)).about(), "2.5 s, 200/s");
    }
}
