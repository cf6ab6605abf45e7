//! What requests and connections teach about the two transports.

use std::time::Duration;

use crate::conn::{Call, Conn, Copy};
use crate::event::{Origin, Transport};
use crate::learn::{BULK_BYTES, Class, SMALL_BYTES};
use crate::router::Router;

/// Marks kinds of rates, so that they are not compared with times.
const RATE: u64 = 1 << 63;
/// The kind of opening a connection, which is none of a request.
const OPENING: u64 = u64::MAX;

impl Router {
    /// Learns from a request that ended well.
    pub(crate) fn learn(&mut self, call: &Call, copy: Copy, over: Transport, bytes: u64) {
        let now = self.now;
        let (kind, teaches) = (call.ask.kind, call.teaches);
        let size = bytes.max(call.ask.bytes.unwrap_or(0));
        let Some(row) = self.current_row(&call.origin) else {
            return;
        };
        row.done = row.done.saturating_add(1);
        let body_time = copy
            .head
            .map(|head| now.since(head))
            .filter(|time| !time.is_zero());
        if !teaches {
            return;
        }
        if size <= SMALL_BYTES {
            let time_s = now.since(copy.sent).as_secs_f64();
            let residual = row.kinds.residual(kind, time_s, now);
            row.learnt(Class::Small).observe(over, Some(residual), now);
        } else if bytes >= BULK_BYTES
            && let Some(time) = body_time
        {
            let per_byte_s = time.as_secs_f64() / bytes as f64;
            let residual = row.kinds.residual(kind | RATE, per_byte_s, now);
            row.learnt(Class::Bulk).observe(over, Some(residual), now);
        }
    }

    /// Learns from a request that failed.
    pub(crate) fn learn_failure(&mut self, origin: &Origin, class: Class, over: Transport) {
        let now = self.now;
        if let Some(row) = self.current_row(origin) {
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
