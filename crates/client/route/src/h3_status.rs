//! Status of HTTP/3 to an origin on a network, and of UDP on a network.

use std::time::Duration;

use crate::time::MonotonicTime;

/// First wait after a failure; doubled each time up to [`MAX_BACKOFF`].
const BACKOFF: Duration = Duration::from_secs(1);
/// Longest wait after failures.
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// How long UDP first counts as blocked; doubled each time up to [`MAX_BLOCKED`].
const BLOCKED: Duration = Duration::from_secs(60);
/// The longest time that UDP counts as blocked.
pub(crate) const MAX_BLOCKED: Duration = Duration::from_secs(3_600);
/// UDP counts as blocked after this many attempts without a packet while TCP worked.
const UNANSWERED_TRIES: u8 = 3;

/// Status of HTTP/3 to one origin on one network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum H3Status {
    /// Not tried.
    #[default]
    Untried,
    /// It worked the last time.
    Works,
    /// It failed where TCP worked, `times` in a row, and is not tried before `until`.
    Broken { times: u8, until: MonotonicTime },
}

impl H3Status {
    /// Records that HTTP/3 failed while TCP worked. A handshake that was refused (`weight` 3) is
    /// less likely to work soon than one that was not answered (`weight` 1).
    pub(crate) fn fail(&mut self, weight: u8, now: MonotonicTime) {
        let before = self.times();
        let times = before.saturating_add(weight).min(20);
        let wait = BACKOFF.saturating_mul(1 << u32::from(times - 1).min(16));
        let until = now + wait.min(MAX_BACKOFF);
        *self = Self::Broken { times, until };
    }

    pub(crate) fn times(self) -> u8 {
        match self {
            Self::Broken { times, .. } => times,
            Self::Untried | Self::Works => 0,
        }
    }

    pub(crate) fn is_broken(self, now: MonotonicTime) -> bool {
        matches!(self, Self::Broken { until, .. } if now < until)
    }

    /// Reports whether HTTP/3 failed and may be tried again, beside TCP.
    pub(crate) fn on_probation(self, now: MonotonicTime) -> bool {
        matches!(self, Self::Broken { until, .. } if now >= until)
    }
}

/// Status of UDP on one network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UdpStatus {
    /// Not tried.
    #[default]
    Unknown,
    /// Attempts without an answer while TCP worked.
    Unanswered { tries: u8, times: u8 },
    /// A packet came.
    Works,
    /// Blocked, for the `times`-th time, until then.
    Blocked { times: u8, until: MonotonicTime },
}

impl UdpStatus {
    /// Records that an attempt had no answer at all, while TCP worked.
    pub(crate) fn unanswered(&mut self, now: MonotonicTime) {
        let (tries, times) = match *self {
            // Where it did work, one origin's silence says nothing about the network.
            Self::Unknown | Self::Works => (1, 0),
            Self::Unanswered { tries, times } => (tries + 1, times),
            Self::Blocked { times, .. } => (UNANSWERED_TRIES, times),
        };
        *self = if tries >= UNANSWERED_TRIES {
            let wait = BLOCKED.saturating_mul(1 << u32::from(times).min(6));
            let until = now + wait.min(MAX_BLOCKED);
            let times = times.saturating_add(1);
            Self::Blocked { times, until }
        } else {
            Self::Unanswered { tries, times }
        };
    }

    pub(crate) fn is_blocked(self, now: MonotonicTime) -> bool {
        matches!(self, Self::Blocked { until, .. } if now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> MonotonicTime {
        MonotonicTime::from_ns(s * 1_000_000_000)
    }

    #[test]
    fn backoff_doubles_to_five_minutes() {
        let mut h3 = H3Status::Works;
        let mut waits = Vec::new();
        for _ in 0..11 {
            h3.fail(1, at(0));
            let H3Status::Broken { until, .. } = h3 else {
                unreachable!()
            };
            waits.push(until.since(at(0)).as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        for _ in 0..300 {
            h3.fail(3, at(0));
        }
        assert!(h3.is_broken(at(299)) && h3.on_probation(at(300)));
    }

    #[test]
    fn udp_is_blocked_after_three_silent_tries_for_longer_each_time() {
        let mut udp = UdpStatus::Unknown;
        for _ in 0..2 {
            udp.unanswered(at(0));
            assert!(!udp.is_blocked(at(0)));
        }
        udp.unanswered(at(0));
        assert!(udp.is_blocked(at(59)) && !udp.is_blocked(at(60)));
        udp.unanswered(at(60));
        assert!(udp.is_blocked(at(179)) && !udp.is_blocked(at(180)));
        for _ in 0..300 {
            udp.unanswered(at(180));
        }
        assert!(udp.is_blocked(at(3_779)) && !udp.is_blocked(at(3_780)));
    }
}
