//! When quinn lets a packet go: a bucket that fills a quarter faster than one window a round trip.

/// Linux's TCP has none: without the fq queue it sends what the window allows.
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

    /// When so many bytes may go, in bursts as quinn makes them; by then if not now.
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

    pub(crate) fn sent(&mut self, bytes: u32) {
        self.tokens -= f64::from(bytes);
    }
}

/// Of quinn-proto's pacing.rs.
const BURST_NS: f64 = 2_000_000.0;
/// Packets.
const MIN_BURST: f64 = 10.0;
/// Packets.
const MAX_BURST: f64 = 256.0;
