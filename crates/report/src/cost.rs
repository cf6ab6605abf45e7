//! Computes what an arm cost: bytes, CPU, memory, start-up time.

use record::Cell;
use stats::{Level, Span};

use crate::cells::Blocks;
use crate::quantity::{Quantity, Unit};
use crate::summary::arm::Costs;

/// Returns the medians over blocks.
pub(crate) fn costs(blocks: &Blocks<'_>) -> Costs {
    let median = |unit, cost: &dyn Fn(&Cell) -> Option<f64>| {
        let values: Vec<Span> = blocks
            .values()
            // Zero means not measured, e.g. in imported calls.
            .filter_map(|cell| cost(cell).filter(|cost| *cost > 0.0).map(Span::exact))
            .collect();
        let estimate = stats::estimate(&values, Level::NINETY_FIVE)?;
        Some(Quantity::new(&estimate, unit))
    };
    let per_request = |cell: &Cell, total: u64| {
        (!cell.calls.is_empty()).then(|| total as f64 / cell.calls.len() as f64)
    };
    Costs {
        up_bytes: median(Unit::Bytes, &|c| Some(c.wire.up_bytes as f64)),
        down_bytes: median(Unit::Bytes, &|c| Some(c.wire.down_bytes as f64)),
        handshake_bytes: median(Unit::Bytes, &|c| Some(c.wire.handshake_bytes as f64)),
        client_cpu: median(Unit::Ns, &|c| per_request(c, c.cost.client_cpu_ns)),
        server_cpu: median(Unit::Ns, &|c| per_request(c, c.cost.server_cpu_ns)),
        cpu_wait: median(Unit::Ns, &|c| per_request(c, c.audit.run_queue_wait_ns)),
        memory: median(Unit::Bytes, &|c| Some(c.cost.client_peak_bytes as f64)),
        startup: median(Unit::Ns, &|c| Some(c.cost.startup_ns as f64)),
        kernel_thread_seen: !blocks.is_empty()
            && blocks.values().all(|cell| cell.cost.kernel_thread_seen),
    }
}
