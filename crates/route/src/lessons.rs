//! What requests and connections teach about the two transports.

use std::time::Duration;

use crate::conn::{Call, Conn, Copy};
use crate::event::{Ask, Origin, Transport};
use crate::learn::{Class, OPENING, key};
use crate::router::Router;

impl Router {
    /// Learns from a request that ended well.
    pub(crate) fn learn(&mut self, call: &Call, copy: Copy, over: Transport, bytes: u64) {
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
                .observe(over, Some(residual), now);
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
