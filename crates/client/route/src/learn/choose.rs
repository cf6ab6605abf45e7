//! The verdict on two estimates, and what to do while there is none.

use std::time::Duration;

use super::{ComparisonClass, Estimate};
use crate::event::Transport;
use crate::time::MonotonicTime;

/// Observations of each transport before there is a verdict: four that have faded a little.
const MIN_COUNT: f64 = 3.5;
/// One-sided 95 % of the normal distribution.
const Z: f64 = 1.64;
/// Differences below this ratio do not matter.
const MARGIN_RATIO: f64 = 1.05;
/// Differences below this time do not matter, either, except for large bodies.
const MARGIN_S: f64 = 0.005;
/// Small requests that may take the other transport to learn, besides half the square root of all:
/// more and more rarely.
const EXPLORE_FIRST: u32 = 5;
/// One in so many requests with longer bodies may take the other transport to learn. An exploration costs more there:
/// the other connection has not yet found out how fast it may send.
const EXPLORE_MEDIUM_ONE_IN: u32 = 8;
/// The slower transport is looked at again after this time, doubled up to [`MAX_RECHECK`].
const RECHECK: Duration = Duration::from_secs(10 * 60);
const MAX_RECHECK: Duration = Duration::from_secs(160 * 60);

/// Which transport is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// This one is faster; by a ratio of times between these.
    Faster(Transport, f64, f64),
    /// The difference does not matter.
    NoDifference,
    /// Too few observations, or too different ones.
    CannotTell,
}

/// The estimates of both transports for one class.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TransportEstimates {
    quic: Estimate,
    tcp: Estimate,
    /// Requests since the last check, and those of them that took the other transport to learn.
    seen: u32,
    explored: u32,
    recheck: Option<(MonotonicTime, Duration)>,
}

impl TransportEstimates {
    pub(crate) fn new(quic: Estimate, tcp: Estimate) -> Self {
        Self {
            quic,
            tcp,
            ..Self::default()
        }
    }

    pub(crate) fn of(&self, over: Transport) -> &Estimate {
        match over {
            Transport::Quic => &self.quic,
            Transport::Tcp => &self.tcp,
        }
    }

    /// Counts an observation. If the last ones are outliers, the old estimates are discounted.
    pub(crate) fn observe(&mut self, over: Transport, log_ratio: Option<f64>, now: MonotonicTime) {
        let estimate = match over {
            Transport::Quic => &mut self.quic,
            Transport::Tcp => &mut self.tcp,
        };
        if estimate.observe(log_ratio, now) {
            self.doubt();
        }
    }

    /// Discounts both estimates to a tenth after a change of circumstances, and explores both transports again.
    pub(crate) fn doubt(&mut self) {
        self.quic.doubt();
        self.tcp.doubt();
        (self.seen, self.explored, self.recheck) = (0, 0, None);
    }

    /// Compares the two transports. `usual_s` is how long such a request usually takes, in seconds.
    pub(crate) fn verdict(
        &self,
        class: ComparisonClass,
        usual_s: Option<f64>,
        now: MonotonicTime,
    ) -> Verdict {
        if self.quic.count() < MIN_COUNT || self.tcp.count() < MIN_COUNT {
            return Verdict::CannotTell;
        }
        let difference = self.tcp.mean() - self.quic.mean();
        let (of_quic, of_tcp) = (self.quic.standard_error(now), self.tcp.standard_error(now));
        let half = Z * of_quic.hypot(of_tcp);
        let (low, high) = (difference - half, difference + half);
        let margin = margin(class, usual_s);
        if low > margin {
            Verdict::Faster(Transport::Quic, low.exp(), high.exp())
        } else if high < -margin {
            Verdict::Faster(Transport::Tcp, (-high).exp(), (-low).exp())
        } else if low > -margin && high < margin {
            Verdict::NoDifference
        } else {
            Verdict::CannotTell
        }
    }

    /// Returns the transport to take without a verdict: HTTP/3, unless HTTP/2 seems faster by more than the margin.
    pub(crate) fn leaning(&self, class: ComparisonClass, usual_s: Option<f64>) -> Transport {
        let known = self.quic.count() >= MIN_COUNT && self.tcp.count() >= MIN_COUNT;
        if known && self.tcp.mean() < self.quic.mean() - margin(class, usual_s) {
            Transport::Tcp
        } else {
            Transport::Quic
        }
    }

    /// Returns the transport that is known less if a request should take it to learn, now that both are open. Counts
    /// the request.
    pub(crate) fn explore(
        &mut self,
        class: ComparisonClass,
        verdict: Verdict,
        now: MonotonicTime,
    ) -> Option<Transport> {
        self.seen = self.seen.saturating_add(1);
        if verdict == Verdict::CannotTell {
            let quota = match class {
                ComparisonClass::Medium => self.seen / EXPLORE_MEDIUM_ONE_IN,
                _ => EXPLORE_FIRST + self.seen.isqrt() / 2,
            };
            if self.explored >= quota {
                return None;
            }
            self.explored += 1;
            let quic_is_known_less = self.quic.weight(now) < self.tcp.weight(now);
            return Some(if quic_is_known_less {
                Transport::Quic
            } else {
                Transport::Tcp
            });
        }
        match self.recheck {
            None => self.recheck = Some((now + RECHECK, RECHECK)),
            Some((at, wait)) if at <= now => {
                let wait = (2 * wait).min(MAX_RECHECK);
                self.recheck = Some((now + wait, wait));
                if let Verdict::Faster(faster, ..) = verdict {
                    return Some(faster.other());
                }
            }
            Some(_) => {}
        }
        None
    }
}

/// Returns the logarithm of the ratio below which a difference does not matter.
fn margin(class: ComparisonClass, usual_s: Option<f64>) -> f64 {
    let in_time = match (class, usual_s) {
        (ComparisonClass::Small | ComparisonClass::Medium, Some(usual_s)) => {
            1.0 + MARGIN_S / usual_s
        }
        _ => 1.0,
    };
    MARGIN_RATIO.max(in_time).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: MonotonicTime = MonotonicTime::from_ns(0);

    fn estimates(quic: &[f64], tcp: &[f64]) -> TransportEstimates {
        let mut estimates = TransportEstimates::default();
        for x in quic {
            estimates.observe(Transport::Quic, Some(*x), NOW);
        }
        for x in tcp {
            estimates.observe(Transport::Tcp, Some(*x), NOW);
        }
        estimates
    }

    #[test]
    fn the_four_words() {
        let verdict = |quic: &[f64], tcp: &[f64]| {
            estimates(quic, tcp).verdict(ComparisonClass::Small, Some(1.0), NOW)
        };
        assert_eq!(verdict(&[0.0; 3], &[1.0; 8]), Verdict::CannotTell);
        assert!(matches!(
            verdict(&[0.0; 8], &[1.0; 8]),
            Verdict::Faster(Transport::Quic, ..)
        ));
        assert!(matches!(
            verdict(&[1.0; 8], &[0.0; 8]),
            Verdict::Faster(Transport::Tcp, ..)
        ));
        assert_eq!(verdict(&[0.0; 60], &[0.0; 60]), Verdict::NoDifference);
        assert_eq!(verdict(&[0.0; 4], &[0.06; 4]), Verdict::CannotTell);
    }

    #[test]
    fn five_ms_of_a_small_request_do_not_matter() {
        let estimates = estimates(&[0.0; 40], &[0.2; 40]);
        let verdict = |class, usual_s| estimates.verdict(class, Some(usual_s), NOW);
        assert_eq!(verdict(ComparisonClass::Small, 0.01), Verdict::NoDifference);
        assert!(matches!(
            verdict(ComparisonClass::Small, 0.1),
            Verdict::Faster(..)
        ));
        assert!(matches!(
            verdict(ComparisonClass::Bulk, 0.01),
            Verdict::Faster(..)
        ));
    }

    #[test]
    fn exploring_has_a_quota_and_ends_with_a_verdict() {
        let mut unknown = TransportEstimates::default();
        let explored = (0..100).filter(|_| {
            unknown
                .explore(ComparisonClass::Small, Verdict::CannotTell, NOW)
                .is_some()
        });
        assert_eq!(explored.count(), 10);
        let mut pictures = TransportEstimates::default();
        let mut explores = || pictures.explore(ComparisonClass::Medium, Verdict::CannotTell, NOW);
        let explored = (1..=100).filter(|_| explores().is_some());
        assert_eq!(explored.take(3).collect::<Vec<_>>(), [8, 16, 24]);
        let mut known = TransportEstimates::default();
        let verdict = Verdict::Faster(Transport::Quic, 1.2, 1.4);
        let minutes = |m: u64| MonotonicTime::from_ns(m * 60_000_000_000);
        let again: Vec<u64> = (0..600)
            .filter(|m| {
                known
                    .explore(ComparisonClass::Small, verdict, minutes(*m))
                    .is_some()
            })
            .collect();
        assert_eq!(again, [10, 30, 70, 150, 310, 470]);
    }
}
