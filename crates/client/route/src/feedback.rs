//! Feedback: updates the estimates of both transports after requests and connections.

use std::time::Duration;

use crate::conn::{Call, Conn, RequestCopy};
use crate::event::{Origin, RequestTraits, Transport};
use crate::learn::{ComparisonClass, OPENING, Verdict, key};
use crate::router::Router;

/// A comparison within one body counts as this many requests of each transport, enough for a verdict.
const COMPARISON_COUNTS: usize = 4;

impl Router {
    /// Learns from a request that ended well.
    pub(crate) fn learn(&mut self, call: &Call, copy: RequestCopy, bytes: u64) {
        let now = self.now;
        let size = bytes.max(call.traits.bytes.unwrap_or(0));
        let Some(entry) = self.current_entry(&call.origin) else {
            return;
        };
        entry.done = entry.done.saturating_add(1);
        entry.kinds.record_size(call.traits.kind, size, now);
        if !call.is_sample && !copy.teaches() {
            return;
        }
        let time = match ComparisonClass::of_size(size) {
            // By the rate of the response's body; that of the request's tells nothing of its own.
            ComparisonClass::Bulk => copy
                .head
                .map(|head| now.since(head).as_secs_f64() / bytes as f64)
                .filter(|per_byte| per_byte.is_finite() && *per_byte > 0.0),
            _ => Some(now.since(copy.sent).as_secs_f64()),
        };
        if let Some(time) = time {
            let residual = entry.kinds.residual(key(call.traits.kind, size), time, now);
            entry
                .estimates(ComparisonClass::of_size(size))
                .observe(copy.over, Some(residual), now);
        }
    }

    /// Learns from a request that was sent to learn and answered over the other transport: it took at least so long.
    pub(crate) fn learn_overtaken(
        &mut self,
        origin: &Origin,
        traits: &RequestTraits,
        copy: RequestCopy,
    ) {
        let now = self.now;
        let Some(entry) = self.current_entry(origin) else {
            return;
        };
        let bytes = entry.expected_bytes(traits);
        if let Some(usual_s) = entry.kinds.usual_s(key(traits.kind, bytes)) {
            let least = (now.since(copy.sent).as_secs_f64() / usual_s).ln();
            let class = ComparisonClass::of_size(bytes);
            entry.estimates(class).observe(copy.over, Some(least), now);
        }
    }

    /// Learns from a request that failed.
    pub(crate) fn learn_failure(
        &mut self,
        origin: &Origin,
        traits: &RequestTraits,
        over: Transport,
    ) {
        let now = self.now;
        if let Some(entry) = self.current_entry(origin) {
            let class = ComparisonClass::of_size(entry.expected_bytes(traits));
            entry.estimates(class).observe(over, None, now);
        }
    }

    /// Reports whether the rest of a large body that comes over `over` may be fetched over the
    /// other transport, too, to compare the two.
    pub fn may_compare(&mut self, origin: &Origin, over: Transport) -> bool {
        let (now, other) = (self.now, over.other());
        let metered = self.network.is_none_or(|network| network.metered);
        let possible = other == Transport::Tcp || self.reason_against_quic(origin).is_none();
        if metered || !possible || !self.switches.explore {
            return false;
        }
        let Some(entry) = self.current_entry(origin) else {
            return false;
        };
        let estimates = entry.estimates(ComparisonClass::Bulk);
        let verdict = estimates.verdict(ComparisonClass::Bulk, None, now);
        match verdict {
            Verdict::Faster(faster, ..) => faster == other,
            Verdict::NoDifference | Verdict::CannotTell => estimates
                .explore(ComparisonClass::Bulk, verdict, now)
                .is_some(),
        }
    }

    /// Learns from a body whose rest came over both transports at the same time, one of them much
    /// faster. On a shared bottleneck the two would differ less.
    pub(crate) fn learn_comparison(&mut self, origin: &Origin, faster: Transport, ratio: f64) {
        let now = self.now;
        if let Some(entry) = self.current_entry(origin) {
            let estimates = entry.estimates(ComparisonClass::Bulk);
            estimates.doubt();
            for _ in 0..COMPARISON_COUNTS {
                estimates.observe(faster, Some(0.0), now);
                estimates.observe(faster.other(), Some(ratio.max(1.0).ln()), now);
            }
        }
    }

    /// Learns how long a connection took to open.
    pub(crate) fn learn_cold(&mut self, conn: &Conn, took: Duration) {
        let (now, over) = (self.now, conn.over);
        let origin = conn.origin.clone();
        if let Some(entry) = self.current_entry(&origin) {
            let residual = entry.kinds.residual(OPENING, took.as_secs_f64(), now);
            entry
                .estimates(ComparisonClass::Cold)
                .observe(over, Some(residual), now);
        }
    }
}
