//! Computes what an arm cost: bytes, CPU, memory, start-up time.

use record::{CompactCell, Network};
use stats::{Level, Span};

use crate::figures::cells::Blocks;
use crate::figures::energy::{Model, Traffic, awake_ns, idle_state, models};
use crate::summary::arm::{ArmSummary, Costs, Energy};
use crate::summary::quantity::{Quantity, Unit};

/// Returns the energy in J of a cell by a model: that of all its requests and of the tail after them. `None` where its
/// radio's states are not known to the end.
pub(crate) fn joules(cell: &CompactCell, model: &Model) -> Option<f64> {
    let mut traffic = Traffic::default();
    for bin in &cell.wire.activity {
        traffic.up_bytes += bin.up_bytes;
        traffic.down_bytes += bin.down_bytes;
    }
    model.joules(&cell.radio, traffic)
}

/// Returns the energy in J of a cell by a model, divided by its requests.
pub(crate) fn joules_per_request(cell: &CompactCell, model: &Model) -> Option<f64> {
    let requests = cell.made();
    (requests > 0).then(|| Some(joules(cell, model)? / requests as f64))?
}

/// Returns the medians over blocks.
pub(crate) fn costs(blocks: &Blocks<'_>, network: &Network) -> Costs {
    let median = |unit, cost: &dyn Fn(&CompactCell) -> Option<f64>| {
        let values: Vec<Span> = blocks
            .values()
            // Zero means not measured, e.g. in imported calls.
            .filter_map(|cell| cost(cell).filter(|cost| *cost > 0.0).map(Span::exact))
            .collect();
        let estimate = stats::estimate(&values, Level::NINETY_FIVE)?;
        Some(Quantity::new(&estimate, unit))
    };
    let per_request = |cell: &CompactCell, total: u64| {
        (cell.made() > 0).then(|| total as f64 / cell.made() as f64)
    };
    Costs {
        up_bytes: median(Unit::Bytes, &|c| Some(c.wire.up_bytes as f64)),
        down_bytes: median(Unit::Bytes, &|c| Some(c.wire.down_bytes as f64)),
        handshake_bytes: median(Unit::Bytes, &|c| Some(c.wire.handshake_bytes as f64)),
        client_cpu: median(Unit::Ns, &|c| per_request(c, c.cost.client_cpu_ns)),
        // Of the user's own server, only the far end's kernel thread is seen.
        server_cpu: median(Unit::Ns, &|c| match c.relay {
            Some(_) => None,
            None => per_request(c, c.cost.server_cpu_ns),
        }),
        cpu_wait: median(Unit::Ns, &|c| per_request(c, c.audit.run_queue_wait_ns)),
        radio_awake: idle_state(network)
            .and_then(|idle| median(Unit::Ns, &|c| Some(awake_ns(&c.radio, &idle)? as f64))),
        energy: (models(network).unwrap_or_default().iter())
            .filter_map(|model| {
                Some(Energy {
                    phone: model.phone.name.to_owned(),
                    source: model.phone.source.to_owned(),
                    per_request: median(Unit::Joules, &|c| joules_per_request(c, model))?,
                    per_cell: median(Unit::Joules, &|c| joules(c, model))?,
                })
            })
            .collect(),
        memory: median(Unit::Bytes, &|c| Some(c.cost.client_peak_bytes as f64)),
        startup: median(Unit::Ns, &|c| Some(c.cost.startup_ns as f64)),
        kernel_thread_seen: !blocks.is_empty()
            && blocks.values().all(|cell| cell.cost.kernel_thread_seen),
    }
}

/// Returns why no arm has an energy of the radio; `None` where one has.
pub(crate) fn energy_unknown(network: &Network, arms: &[ArmSummary]) -> Option<String> {
    if arms.iter().any(|arm| !arm.costs.energy.is_empty()) {
        return None;
    }
    let unrecorded = "no cell has the states of its radio to the end";
    Some(
        models(network)
            .err()
            .unwrap_or_else(|| unrecorded.to_owned()),
    )
}
