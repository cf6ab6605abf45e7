//! Monitors the path of a connection that owes a response: is the path still alive?
//!
//! A slow server is silent too, so silence alone proves nothing: the path is *probed*. The peer must acknowledge the
//! probe, whatever the server is doing. The path is suspect only if the probe is not answered.

use std::time::Duration;

use crate::event::PathSample;
use crate::time::MonotonicTime;

/// A path is probed after at least this long.
const MIN_SILENCE: Duration = Duration::from_millis(500);
/// How often the path is looked at in that time. This bounds how exactly the time of the last packet is known.
const LOOKS: u32 = 8;
/// How long after an answered probe the next one is sent.
const PAUSES: [u64; 5] = [1, 2, 4, 8, 15];
/// RTT before any sample (RFC 9002, section 6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// The peer's delay of acknowledgements (RFC 9000, section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// Time between nudges; doubled after [`QUICK_NUDGES`] up to [`MAX_NUDGE`].
const NUDGE: Duration = Duration::from_secs(1);
const QUICK_NUDGES: u32 = 5;
const MAX_NUDGE: Duration = Duration::from_secs(8);
/// A path that is silent this long is given up, with the requests on it. The limit is quinn's, for every transport.
const DEAD_AFTER: Duration = Duration::from_secs(30);

/// What to do about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathAction {
    /// Nothing yet.
    Wait,
    /// Nothing: the path is alive.
    Alive,
    /// Send a probe.
    Probe,
    /// The path is silent: nudge it, and open another connection.
    Nudge,
    /// The path has been silent for so long that it is dead.
    Dead,
}

/// Monitors the path of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMonitor {
    state: State,
    sample: PathSample,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No response is awaited.
    Idle,
    /// One is; something came `since`, and the path is looked at `at`. So many probes in a row were
    /// answered.
    Awaited {
        since: MonotonicTime,
        at: MonotonicTime,
        answered: usize,
    },
    /// A probe was sent, or will be if nothing is `owed` yet; its answer is looked for `at`.
    Probed {
        at: MonotonicTime,
        answered: usize,
        owed: bool,
    },
    /// It had no answer `since` then; the next nudge is due `at`.
    Silent {
        since: MonotonicTime,
        at: MonotonicTime,
        nudges: u32,
    },
}

impl PathMonitor {
    pub(crate) const fn new() -> Self {
        let (received, srtt, rttvar) = (0, INITIAL_RTT, Duration::from_nanos(166_500_000));
        Self {
            state: State::Idle,
            sample: PathSample {
                received,
                owed: false,
                srtt,
                rttvar,
            },
        }
    }

    /// Returns the probe time-out (RFC 9002, section 6.2.1).
    pub(crate) fn pto(&self) -> Duration {
        self.sample.srtt + 4 * self.sample.rttvar + MAX_ACK_DELAY
    }

    /// Returns the smoothed RTT.
    pub(crate) fn srtt(&self) -> Duration {
        self.sample.srtt
    }

    /// Starts monitoring: a response is awaited from now on.
    pub(crate) fn begin(&mut self, now: MonotonicTime) {
        if self.state == State::Idle {
            self.await_packets(now, 0, now);
        }
    }

    /// Stops monitoring: no response is awaited any more.
    pub(crate) fn end(&mut self) {
        self.state = State::Idle;
    }

    /// Records that something arrived: the path is alive.
    pub(crate) fn packet_arrived(&mut self, now: MonotonicTime) {
        if self.state != State::Idle {
            self.await_packets(now, 0, now);
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.state, State::Silent { .. })
    }

    /// Returns since when it has been silent.
    pub(crate) fn silent_since(&self) -> Option<MonotonicTime> {
        match self.state {
            State::Silent { since, .. } => Some(since),
            _ => None,
        }
    }

    pub(crate) fn deadline(&self) -> Option<MonotonicTime> {
        match self.state {
            State::Idle => None,
            State::Awaited { at, .. } | State::Probed { at, .. } | State::Silent { at, .. } => {
                Some(at)
            }
        }
    }

    /// Reports whether the monitor needs a fresh sample.
    pub(crate) fn is_due(&self, now: MonotonicTime) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// Continues with a fresh sample and returns what to do.
    pub(crate) fn update(&mut self, sample: PathSample, now: MonotonicTime) -> PathAction {
        let came = sample.received > self.sample.received;
        self.sample = sample;
        if !self.is_due(now) {
            // A first sample says how patient to be.
            if let State::Awaited {
                since, answered, ..
            } = self.state
            {
                self.await_packets(since, answered, now);
            }
            return PathAction::Wait;
        }
        match self.state {
            State::Idle => PathAction::Wait,
            State::Awaited { .. } if came => {
                self.packet_arrived(now);
                PathAction::Alive
            }
            State::Awaited {
                since, answered, ..
            } if now < since + self.patience(answered) => {
                self.await_packets(since, answered, now);
                PathAction::Wait
            }
            State::Awaited { answered, .. } => {
                self.start_probe(answered, sample.owed, now);
                PathAction::Probe
            }
            State::Probed { answered, .. } if came => {
                self.await_packets(now, answered + 1, now);
                PathAction::Alive
            }
            State::Probed {
                answered,
                owed: false,
                ..
            } => {
                self.start_probe(answered, sample.owed, now);
                PathAction::Probe
            }
            State::Probed { .. } => self.nudge(now, 0, now),
            State::Silent { .. } if came => {
                self.packet_arrived(now);
                PathAction::Alive
            }
            State::Silent { since, .. } if now >= since + DEAD_AFTER => PathAction::Dead,
            State::Silent { since, nudges, .. } => self.nudge(since, nudges, now),
        }
    }

    /// Records that the path is probed; the answer may take as long as [`silence`](Self::silence).
    fn start_probe(&mut self, answered: usize, owed: bool, now: MonotonicTime) {
        let at = now + self.silence();
        self.state = State::Probed { at, answered, owed };
    }

    fn await_packets(&mut self, since: MonotonicTime, answered: usize, now: MonotonicTime) {
        let quiet_at = since + self.patience(answered);
        let at = match answered {
            0 => quiet_at.min(now + self.silence() / LOOKS),
            _ => quiet_at,
        };
        self.state = State::Awaited {
            since,
            at,
            answered,
        };
    }

    /// Returns how long the path may be silent before it is probed, after `answered` probes in a row were answered.
    fn patience(&self, answered: usize) -> Duration {
        match answered {
            0 => self.silence(),
            _ => Duration::from_secs(PAUSES[(answered - 1).min(PAUSES.len() - 1)]),
        }
    }

    fn nudge(&mut self, since: MonotonicTime, nudges: u32, now: MonotonicTime) -> PathAction {
        let doublings = nudges.saturating_sub(QUICK_NUDGES - 1).min(3);
        let at = now + (NUDGE * (1 << doublings)).min(MAX_NUDGE);
        self.state = State::Silent {
            since,
            at: at.min(since + DEAD_AFTER),
            nudges: nudges.saturating_add(1),
        };
        PathAction::Nudge
    }

    /// Returns how long the path may be silent before it is probed, and then again before the probe has failed.
    pub(crate) fn silence(&self) -> Duration {
        MIN_SILENCE.max(2 * self.pto())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_ns(ms * 1_000_000)
    }

    fn sample(received: u64) -> PathSample {
        let (srtt, rttvar) = (Duration::from_millis(50), Duration::from_millis(5));
        PathSample {
            received,
            owed: true,
            srtt,
            rttvar,
        }
    }

    /// Returns the actions of a monitor whose path receives a packet at each of `packets_ms`.
    fn steps(answers_probes: bool, until_ms: u64) -> Vec<(u64, PathAction)> {
        let mut monitor = PathMonitor::new();
        monitor.update(sample(1), at(0));
        monitor.begin(at(0));
        let (mut received, mut steps) = (1, Vec::new());
        while let Some(due) = monitor.deadline().filter(|due| *due <= at(until_ms)) {
            let step = monitor.update(sample(received), due);
            if matches!(
                step,
                PathAction::Probe | PathAction::Nudge | PathAction::Dead
            ) {
                steps.push((due.ns() / 1_000_000, step));
            }
            if step == PathAction::Dead {
                break;
            }
            if step == PathAction::Probe && answers_probes {
                received += 1;
            }
        }
        steps
    }

    #[test]
    fn a_slow_server_is_probed_ever_more_rarely_and_never_suspected() {
        let probes: Vec<u64> = steps(true, 60_000).iter().map(|(ms, _)| *ms).collect();
        assert!(
            steps(true, 60_000)
                .iter()
                .all(|(_, step)| *step == PathAction::Probe)
        );
        // Half a second of silence, half until the answer is looked for, then 1, 2, 4, 8, 15 s.
        assert_eq!(probes, [500, 2_000, 4_500, 9_000, 17_500, 33_000, 48_500]);
    }

    #[test]
    fn a_silent_path_is_suspected_after_a_second_and_nudged() {
        let steps = steps(false, 60_000);
        assert_eq!(steps[0], (500, PathAction::Probe));
        let nudges = steps.iter().filter(|(_, step)| *step == PathAction::Nudge);
        let nudges: Vec<u64> = nudges.map(|(ms, _)| ms / 1_000).collect();
        assert_eq!(nudges, [1, 2, 3, 4, 5, 6, 8, 12, 20, 28]);
        assert_eq!(steps.last(), Some(&(31_000, PathAction::Dead)));
    }

    #[test]
    fn the_first_sample_says_how_patient_to_be() {
        let mut monitor = PathMonitor::new();
        monitor.begin(at(0));
        monitor.update(sample(1), at(1));
        let mut due = monitor.deadline();
        while let Some(at) = due.take() {
            match monitor.update(sample(1), at) {
                PathAction::Probe => assert_eq!(at.ns(), 500_000_000),
                _ => due = monitor.deadline(),
            }
        }
    }

    #[test]
    fn a_path_that_owes_nothing_is_not_suspected() {
        let nothing_owed = PathSample {
            owed: false,
            ..sample(1)
        };
        let mut monitor = PathMonitor::new();
        monitor.update(nothing_owed, at(0));
        monitor.begin(at(0));
        while let Some(due) = monitor.deadline().filter(|due| *due <= at(60_000)) {
            let step = monitor.update(nothing_owed, due);
            assert!(
                matches!(step, PathAction::Wait | PathAction::Probe),
                "{step:?}"
            );
        }
        // The kernel sends something, and gets no answer for half a second.
        let due = monitor.deadline().unwrap();
        assert_eq!(monitor.update(sample(1), due), PathAction::Probe);
        let next = monitor.deadline().unwrap();
        assert_eq!(next.since(due), MIN_SILENCE);
        assert_eq!(monitor.update(sample(1), next), PathAction::Nudge);
    }

    #[test]
    fn a_packet_ends_suspicion() {
        let mut monitor = PathMonitor::new();
        monitor.update(sample(1), at(0));
        monitor.begin(at(0));
        monitor.update(sample(1), at(500));
        assert_eq!(monitor.update(sample(1), at(1_000)), PathAction::Nudge);
        assert!(monitor.is_silent());
        assert_eq!(monitor.update(sample(2), at(2_000)), PathAction::Alive);
        assert!(!monitor.is_silent());
        monitor.end();
        assert_eq!(monitor.deadline(), None);
    }
}
