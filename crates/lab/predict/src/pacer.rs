//! quinn's pacing: a token bucket that refills 1.25 times as fast as one window per round trip.
//!
//! TCP has no pacer here: without the fq queue Linux sends whatever the window allows.

/// The length of a burst at the pacing rate, from quinn-proto's pacing.rs.
const BURST_NS: f64 = 2_000_000.0;
/// The smallest burst, in packets.
const MIN_BURST: f64 = 10.0;
/// The largest burst, in packets.
const MAX_BURST: f64 = 256.0;

pub(crate) struct Pacer {
    tokens: f64,
    filled_ns: u64,
}

impl Pacer {
    pub(crate) fn new(now_ns: u64, datagram: u32) -> Pacer {
        Pacer {
            tokens: MIN_BURST * f64::from(datagram),
            filled_ns: now_ns,
        }
    }

    /// Returns when `bytes` may be sent: now, or else when the bucket is full, since quinn waits
    /// for a whole burst.
    pub(crate) fn ready_ns(&mut self, now_ns: u64, bytes: u32, window: f64, rtt_ns: u64) -> u64 {
        let bytes = f64::from(bytes);
        if self.tokens >= bytes {
            return now_ns;
        }
        let per_ns = window * 1.25 / rtt_ns.max(1) as f64;
        let burst = window * BURST_NS / rtt_ns.max(1) as f64;
        let capacity = burst.clamp(MIN_BURST * bytes, MAX_BURST * bytes);
        let filled = self.tokens + per_ns * (now_ns - self.filled_ns) as f64;
        self.tokens = filled.min(capacity);
        self.filled_ns = now_ns;
        if self.tokens >= bytes {
            return now_ns;
        }
        now_ns + ((capacity - self.tokens) / per_ns).ceil() as u64
    }

    pub(crate) fn on_sent(&mut self, bytes: u32) {
        self.tokens -= f64::from(bytes);
    }
}
