//! Sums up a ledger for the window.

use link::window::{ByTransport, Drops, Lateness, Stray, Totals};

use super::histogram::Histogram;
use super::ledger::{PacketLedger, STRAY};

pub(crate) fn totals(ledger: &PacketLedger) -> Totals {
    let by_transport = |[tcp, udp, other, _]: [_; 4]| ByTransport { tcp, udp, other };
    let [policy, gate, queue, loss, aqm] = ledger.dropped;
    Totals {
        sent: by_transport(ledger.sent),
        delivered: by_transport(ledger.delivered),
        dropped: Drops {
            policy,
            gate,
            queue,
            aqm,
            loss,
            nat: ledger.unmapped,
        },
        stray: Stray {
            sent: ledger.sent[STRAY],
            delivered: ledger.delivered[STRAY],
            dropped: ledger.stray_dropped,
        },
        lateness: lateness(&ledger.lateness, ledger.late, ledger.late_bound_ns),
        foreign_frames: ledger.foreign_frames,
        oversize_frames: ledger.oversize_frames,
        retries: ledger.retries,
        stalls: ledger.stalls,
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
