//! Lessons about the two transports, drawn from requests and connections.

use std::time::Duration;

use crate::conn::{Call, Conn, Copy};
use crate::event::{Ask, Origin, Transport};
use crate::learn::{Class, OPENING, Verdict, key};
use crate::router::Router;

/// A comparison within one body counts as so many requests of each transport, enough for a verdict.
const COMPARISON_COUNTS: usize = 4;

impl Router {
    /// Learns from a request that ended well.
    pub(crate) fn learn(&mut self, call: &Call, copy: Copy, bytes: u64) {
        let now = self.now;
        let size = bytes.max(call.ask.bytes.unwrap_or(0));
        let Some(row) = self.current_row(&call.origin) else {
            return;
        };
        row.done = row.done.saturating_add(1);
        row.kinds.note_size(call.ask.kind, size, now);
        if !call.teaches {
            return;
        }
        let time = match Class::of_size(size) {
            // By the rate of the response's body; that of the request's tells nothing of its own.
            Class::Bulk => copy
                .head
                .map(|head| now.since(head).as_secs_f64() / bytes as f64)
                .filter(|per_byte| per_byte.is_finite() && *per_byte > 0.0),
            _ => Some(now.since(copy.sent).as_secs_f64()),
        };
        if let Some(time) = time {
            let residual = row.kinds.residual(key(call.ask.kind, size), time, now);
            row.learnt(Class::of_size(size))
                .observe(copy.over, Some(residual), now);
        }
    }

    /// Learns from a request that failed.
    pub(crate) fn learn_failure(&mut self, origin: &Origin, ask: &Ask, over: Transport) {
        let now = self.now;
        if let Some(row) = self.current_row(origin) {
            let class = Class::of_size(row.expected_bytes(ask));
            row.learnt(class).observe(over, None, now);
        }
    }

    /// Reports whether the rest of a large body that comes over `over` may be fetched over the
    /// other transport, too, to compare the two.
    pub fn may_compare(&mut self, origin: &Origin, over: Transport) -> bool {
        let (now, other) = (self.now, over.other());
        let metered = self.network.is_none_or(|network| network.metered);
        let possible = other == Transport::Tcp || self.why_not_quic(origin).is_none();
        if metered || !possible || !self.switches.explore {
            return false;
        }
        let Some(row) = self.current_row(origin) else {
            return false;
        };
        let learnt = row.learnt(Class::Bulk);
        let verdict = learnt.verdict(Class::Bulk, None, now);
        match verdict {
            Verdict::Faster(faster, ..) => faster == other,
            Verdict::NoDifference | Verdict::CannotTell => {
                learnt.explore(Class::Bulk, verdict, now).is_some()
            }
        }
    }

    /// Learns from a body whose rest came over both transports at the same time, one of them much
    /// faster. On a shared bottleneck the two would differ less.
    pub(crate) fn learn_comparison(&mut self, origin: &Origin, faster: Transport, ratio: f64) {
        let now = self.now;
        if let Some(row) = self.current_row(origin) {
            let learnt = row.learnt(Class::Bulk);
            learnt.doubt();
            for _ in 0..COMPARISON_COUNTS {
                learnt.observe(faster, Some(0.0), now);
                learnt.observe(faster.other(), Some(ratio.max(1.0).ln()), now);
            }
        }
    }

    /// Learns how long a connection took to open.
    pub(crate) fn learn_cold(&mut self, conn: &Conn, took: Duration) {
        let (now, over) = (self.now, conn.over);
        let origin = conn.origin.clone();
        if let Some(row) = self.current_row(&origin) {
            let residual = row.kinds.residual(OPENING, took.as_secs_f64(), now);
            row.learnt(Class::Cold).observe(over, Some(residual), now);
        }
    }
}
