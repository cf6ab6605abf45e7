//! The congestion window: CUBIC (RFC 9438) with what Linux decides beyond it.

use std::time::{Duration, Instant};

use super::hystart::HyStart;

/// Payload of TCP's segments with time stamps in packets of 1,500 bytes.
const SEGMENT_BYTES: u64 = 1_448;
/// Ten segments (RFC 6928).
pub(super) const INITIAL_WINDOW_BYTES: u64 = 10 * SEGMENT_BYTES;
/// Packets up to so many bytes have nothing but acknowledgements.
const ACK_BYTES: u64 = 100;
/// Below it, HyStart does not look.
const HYSTART_BYTES: u64 = 16 * SEGMENT_BYTES;
/// RFC 9438 section 4.6.
const BETA: f64 = 0.7;
/// RFC 9438 section 5, segments per second cubed.
const C: f64 = 0.4;
/// RFC 9438 section 4.3: how fast Reno would grow, in segments per window.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Linux's least variance of the round trip in a retransmission timeout.
const LEAST_VARIANCE: Duration = Duration::from_millis(200);

/// What is known of the path's round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    pub(super) least: Duration,
    pub(super) smoothed: Duration,
}

/// The congestion window of a connection.
#[derive(Clone, Debug)]
pub(super) struct Window {
    bytes: f64,
    /// Slow start ends here.
    threshold: f64,
    mtu: u64,
    in_flight: u64,
    /// The most bytes in flight since this round began, and in the round before.
    most: [u64; 2],
    /// In these rounds the window held packets back.
    was_full: [bool; 2],
    last_sent: Option<(Instant, u64)>,
    /// The round ends when this packet is acknowledged.
    round_end: u64,
    /// Acknowledged bytes that are not yet counted, and the round trip of the newest packet among them.
    acked: u64,
    sample: Duration,
    /// Idle so long, the connection begins again.
    idle: Duration,
    /// Packets sent until then were lost, or their loss has been counted.
    recovery: Option<Instant>,
    /// The window at the last loss.
    at_loss: f64,
    epoch: Option<Epoch>,
    hystart: HyStart,
}

/// A time of growth without a loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// The window that it grows to, and then beyond.
    origin: f64,
    /// Seconds until then.
    k: f64,
    /// What Reno would have.
    reno: f64,
}

impl Window {
    pub(super) fn new(now: Instant, mtu: u16) -> Window {
        Window {
            bytes: INITIAL_WINDOW_BYTES as f64,
            threshold: f64::INFINITY,
            mtu: u64::from(mtu),
            in_flight: 0,
            most: [0; 2],
            was_full: [false; 2],
            last_sent: None,
            round_end: 0,
            acked: 0,
            sample: Duration::MAX,
            idle: Duration::from_secs(1),
            recovery: None,
            at_loss: 0.0,
            epoch: None,
            hystart: HyStart::new(now),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub(super) fn threshold(&self) -> u64 {
        self.threshold as u64
    }

    pub(super) fn set_mtu(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.bytes = self.bytes.max(self.least());
    }

    /// Counts a packet, unless it is too short for more than acknowledgements, which are not in flight.
    pub(super) fn sent(&mut self, now: Instant, bytes: u64, number: u64) {
        if bytes <= ACK_BYTES {
            return;
        }
        if let Some((last, _)) = self.last_sent.filter(|_| self.in_flight == 0) {
            self.after_idle(now.saturating_duration_since(last));
        }
        self.in_flight += bytes;
        self.most[0] = self.most[0].max(self.in_flight);
        // quinn sends only what leaves some of the window free.
        self.was_full[0] |= self.in_flight + self.mtu >= self.bytes();
        self.last_sent = Some((now, number));
    }

    /// Counts a packet that was acknowledged, sent at `sent` and acknowledged `took` later.
    pub(super) fn acked(&mut self, sent: Instant, bytes: u64, took: Duration) {
        self.sample = self.sample.min(took);
        // What was sent before a loss says nothing of the window since.
        if self.recovery.is_none_or(|recovery| sent > recovery) {
            self.acked += bytes;
        }
    }

    /// Grows by what was acknowledged.
    pub(super) fn all_acked(
        &mut self,
        now: Instant,
        in_flight: u64,
        largest: Option<u64>,
        rtt: RoundTrip,
    ) {
        let mut is_new_round = false;
        self.in_flight = in_flight;
        self.idle = rtt.smoothed + LEAST_VARIANCE;
        if largest.is_some_and(|largest| largest >= self.round_end) {
            self.round_end = self.last_sent.map_or(0, |(_, number)| number + 1);
            self.hystart = HyStart::new(now);
            is_new_round = true;
        }
        let acked = std::mem::take(&mut self.acked) as f64;
        let sample = std::mem::replace(&mut self.sample, Duration::MAX);
        let slow = acked.min((self.threshold - self.bytes).max(0.0));
        if slow > 0.0 {
            self.slow_start(slow);
            let looks = self.bytes >= HYSTART_BYTES as f64;
            if looks && self.hystart.ends(now, sample, rtt.least) {
                self.threshold = self.bytes;
            }
        }
        if acked > slow && self.was_full.contains(&true) {
            self.avoid(now, acked - slow, rtt.least);
        }
        if is_new_round {
            self.most = [in_flight, self.most[0]];
            self.was_full = [false, self.was_full[0]];
        }
    }

    /// Counts a loss of packets, the last of which was sent at `sent`.
    pub(super) fn lost(&mut self, now: Instant, sent: Instant, bytes: u64, is_persistent: bool) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        if self.recovery.is_some_and(|recovery| sent <= recovery) {
            return;
        }
        self.recovery = Some(now);
        self.epoch = None;
        // RFC 9438 section 4.7: gives way to newer connections.
        self.at_loss = match self.bytes < self.at_loss {
            true => self.bytes * (1.0 + BETA) / 2.0,
            false => self.bytes,
        };
        self.threshold = (self.bytes * BETA).max(self.least());
        self.bytes = self.threshold;
        if is_persistent {
            // RFC 9438 section 4.8: the old window says nothing any more.
            self.at_loss = 0.0;
            self.bytes = self.least();
        }
    }

    fn least(&self) -> f64 {
        (2 * self.mtu) as f64
    }

    /// Grows by what was acknowledged, if the application used more than half of the window. Linux counts what was in
    /// flight, and so lets the window grow to twice what the application has used.
    fn slow_start(&mut self, acked: f64) {
        let used = self.most[0].max(self.most[1]);
        if self.bytes <= 2.0 * used as f64 {
            self.bytes += acked;
        }
    }

    /// Grows in congestion avoidance.
    fn avoid(&mut self, now: Instant, acked: f64, least_rtt: Duration) {
        let segment = SEGMENT_BYTES as f64;
        let bytes = self.bytes;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            origin: self.at_loss.max(bytes),
            k: ((self.at_loss - bytes).max(0.0) / segment / C).cbrt(),
            reno: bytes,
        });
        let seconds = (now.saturating_duration_since(epoch.start) + least_rtt).as_secs_f64();
        let cubic = epoch.origin + C * (seconds - epoch.k).powi(3) * segment;
        epoch.reno += ALPHA * acked / bytes * segment;
        let goal = cubic.max(epoch.reno).max(bytes);
        // Linux adds at most a segment for every second one, and before the first loss at least one for every 20.
        let least_growth = match self.at_loss > 0.0 {
            true => 0.0,
            false => acked / 20.0,
        };
        self.bytes += ((goal - bytes) * acked / bytes).clamp(least_growth, acked / 2.0);
    }

    /// Begins again after a pause, which is no time of growth (RFC 9438 section 5.8). The window halves with every
    /// retransmission timeout, down to the initial window (RFC 5681 section 4.1; tcp_slow_start_after_idle).
    fn after_idle(&mut self, pause: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += pause;
        }
        let timeouts = (pause.as_secs_f64() / self.idle.as_secs_f64()) as i32;
        if timeouts == 0 {
            return;
        }
        let least = self.bytes.min(INITIAL_WINDOW_BYTES as f64);
        self.threshold = self.threshold.max(0.75 * self.bytes);
        self.bytes = (self.bytes / 2f64.powi(timeouts.min(64))).max(least);
        self.epoch = None;
        self.most = [0; 2];
    }
}

#[cfg(test)]
mod tests;
