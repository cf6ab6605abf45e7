//! The congestion window: slow start, HyStart and CUBIC.

use crate::Protocol;

/// TCP's initial window (RFC 6928).
const TCP_INITIAL_SEGMENTS: f64 = 10.0;
/// quinn's initial window: RFC 9002's 14,720 bytes, capped at ten datagrams of 1200.
const QUIC_INITIAL_BYTES: f64 = 12_000.0;
/// The factor of the window after a loss (RFC 9438 section 4.6); Linux uses 717 / 1024.
const BETA: f64 = 0.7;
/// The growth of CUBIC in segments per second cubed (RFC 9438 section 5).
const C: f64 = 0.4;
/// Smaller windows, in segments, stay in slow start (hystart_low_window).
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgements at most this far apart form a train (hystart_ack_delta_us).
const TRAIN_GAP_NS: u64 = 2_000_000;
/// Round-trip samples that a round needs (HYSTART_MIN_SAMPLES).
const MIN_SAMPLES: u32 = 8;
/// The smallest growth of the round trip that counts (HYSTART_DELAY_MIN).
const DELAY_MIN_NS: u64 = 4_000_000;
/// The largest growth of the round trip that is tolerated (HYSTART_DELAY_MAX).
const DELAY_MAX_NS: u64 = 16_000_000;

/// The congestion window, in bytes of payload.
pub(crate) struct Congestion {
    window: f64,
    slow_start_threshold: f64,
    segment: f64,
    hystart: Option<HyStart>,
    /// The CUBIC epoch, once slow start has ended.
    curve: Option<Curve>,
}

/// CUBIC's curve (RFC 9438 section 4.2), in segments and seconds.
#[derive(Clone, Copy)]
struct Curve {
    since_ns: u64,
    /// The window where the curve is flat (W_max).
    plateau: f64,
    /// Seconds from `since_ns` to the plateau (K).
    k: f64,
}

impl Congestion {
    pub(crate) fn new(protocol: Protocol, segment: u32, rtt_ns: u64) -> Congestion {
        let segment = f64::from(segment);
        let (window, hystart) = match protocol {
            Protocol::H2 => (TCP_INITIAL_SEGMENTS * segment, Some(HyStart::new(rtt_ns))),
            Protocol::H3 => (QUIC_INITIAL_BYTES, None),
        };
        Congestion {
            window,
            slow_start_threshold: f64::INFINITY,
            segment,
            hystart,
            curve: None,
        }
    }

    pub(crate) fn window(&self) -> f64 {
        self.window
    }

    /// Grows the window for packets that were sent after the last loss.
    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        if self.window >= self.slow_start_threshold {
            self.avoid_congestion(ack);
            return;
        }
        self.window += ack.bytes;
        if let Some(hystart) = &mut self.hystart
            && hystart.ends_slow_start(ack, self.window / self.segment)
        {
            self.slow_start_threshold = self.window;
        }
    }

    /// Shrinks the window for the first loss among packets sent after the previous one.
    pub(crate) fn on_loss(&mut self, now_ns: u64) {
        let plateau = self.window / self.segment;
        self.curve = Some(Curve {
            since_ns: now_ns,
            plateau,
            k: (plateau * (1.0 - BETA) / C).cbrt(),
        });
        self.window = (self.window * BETA).max(2.0 * self.segment);
        self.slow_start_threshold = self.window;
    }

    /// Grows the window in congestion avoidance (RFC 9438 sections 4.2 to 4.5).
    fn avoid_congestion(&mut self, ack: &Ack) {
        let window = self.window / self.segment;
        // When HyStart ended slow start without a loss, the curve starts at its plateau.
        let curve = *self.curve.get_or_insert(Curve {
            since_ns: ack.now_ns,
            plateau: window,
            k: 0.0,
        });
        let seconds = |ns: u64| ns as f64 / 1e9;
        let (t, rtt) = (seconds(ack.now_ns - curve.since_ns), seconds(ack.rtt_ns));
        let cubic = C * (t + rtt - curve.k).powi(3) + curve.plateau;
        let reno = curve.plateau * BETA + 3.0 * (1.0 - BETA) / (1.0 + BETA) * (t / rtt.max(1e-6));
        let target = cubic.max(reno).clamp(window, 1.5 * window);
        self.window += (target - window) / window * ack.bytes;
    }
}

/// The part of an acknowledgement that congestion control uses.
pub(crate) struct Ack {
    pub(crate) now_ns: u64,
    pub(crate) bytes: f64,
    pub(crate) rtt_ns: u64,
    /// The latest packet acknowledged, as a position in sending order.
    pub(crate) order: u64,
    /// The position of the packet that will be sent next.
    pub(crate) next_order: u64,
}

/// Linux's exit from slow start before packets are lost (net/ipv4/tcp_cubic.c): when
/// acknowledgements have come close together for half a round trip, or when the round trip has
/// grown.
struct HyStart {
    min_rtt_ns: u64,
    /// The round ends when this packet is acknowledged.
    round_end: u64,
    round_start_ns: u64,
    last_ack_ns: u64,
    round_rtt_ns: u64,
    samples: u32,
}

impl HyStart {
    fn new(rtt_ns: u64) -> HyStart {
        HyStart {
            min_rtt_ns: rtt_ns,
            round_end: 0,
            round_start_ns: 0,
            last_ack_ns: 0,
            round_rtt_ns: u64::MAX,
            samples: 0,
        }
    }

    fn ends_slow_start(&mut self, ack: &Ack, segments: f64) -> bool {
        self.min_rtt_ns = self.min_rtt_ns.min(ack.rtt_ns);
        if ack.order >= self.round_end {
            self.round_end = ack.next_order;
            self.round_start_ns = ack.now_ns;
            self.last_ack_ns = ack.now_ns;
            self.round_rtt_ns = u64::MAX;
            self.samples = 0;
        }
        if segments < LOW_WINDOW {
            return false;
        }
        if ack.now_ns - self.last_ack_ns <= TRAIN_GAP_NS {
            self.last_ack_ns = ack.now_ns;
            if ack.now_ns - self.round_start_ns > self.min_rtt_ns / 2 {
                return true;
            }
        }
        self.round_rtt_ns = self.round_rtt_ns.min(ack.rtt_ns);
        self.samples += 1;
        let threshold_ns = (self.min_rtt_ns / 8).clamp(DELAY_MIN_NS, DELAY_MAX_NS);
        self.samples > MIN_SAMPLES && self.round_rtt_ns > self.min_rtt_ns + threshold_ns
    }
}
