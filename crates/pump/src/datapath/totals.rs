//! What a direction's books come to.

use super::histogram::Histogram;
use super::ledger::PacketLedger;
use crate::window::{ByTransport, Drops, Lateness, Totals};

pub(crate) fn totals(book: &PacketLedger) -> Totals {
    let by_transport = |[tcp, udp, other]: [_; 3]| ByTransport { tcp, udp, other };
    let [policy, gate, queue, loss] = book.dropped;
    Totals {
        sent: by_transport(book.sent),
        delivered: by_transport(book.delivered),
        dropped: Drops {
            policy,
            gate,
            queue,
            loss,
        },
        lateness: lateness(&book.lateness, book.late, book.late_bound_ns),
        foreign_frames: book.foreign_frames,
        oversize_frames: book.oversize_frames,
        retries: book.retries,
        stalls: book.stalls,
    }
}

fn lateness(histogram: &Histogram, late: u64, bound_ns: u64) -> Lateness {
    Lateness {
        packets: histogram.count(),
        p50_ns: histogram.quantile(0.5),
        p99_ns: histogram.quantile(0.99),
        p999_ns: histogram.quantile(0.999),
        max_ns: histogram.max(),
        late,
        bound_ns,
    }
}
