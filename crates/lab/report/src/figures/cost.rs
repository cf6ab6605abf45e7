//! Computes what an arm cost: bytes, CPU, memory, start-up time.

use record::{ACTIVITY_BIN_MS, CompactCell, Network};
use stats::{Level, Span};

use crate::figures::cells::Blocks;
use crate::figures::energy::{self, BIN_MS, LTE, Radio, UMTS, WIFI};
use crate::summary::arm::{Costs, Energy};
use crate::summary::quantity::{Quantity, Unit};

/// The radios of the model, each by two sources.
pub(crate) const RADIOS: [[Radio; 2]; 3] = [LTE, UMTS, WIFI];

// A record's bins are those of the model.
const _: () = assert!(ACTIVITY_BIN_MS == BIN_MS);

/// A median over blocks.
type Median<'a> = dyn Fn(Unit, &dyn Fn(&CompactCell) -> Option<f64>) -> Option<Quantity> + 'a;

/// Returns what a request of a cell cost a radio, by the model; 0 where its packets were not recorded. `None` if no such
/// radio can have the network.
pub(crate) fn joules_per_request(
    cell: &CompactCell,
    network: &Network,
    radio: &Radio,
) -> Option<f64> {
    if !radio.carries(network.rtt_ns, network.down_bps) {
        return None;
    }
    let activity: Vec<energy::Activity> = (cell.wire.activity.iter())
        .map(|bin| energy::Activity {
            at_ms: bin.at_ms,
            up_bytes: bin.up_bytes,
            down_bytes: bin.down_bytes,
        })
        .collect();
    let joules = energy::joules(&activity, radio).total_j();
    (cell.made() > 0).then(|| joules / cell.made() as f64)
}

/// Returns the energy per request of a radio that both sources describe.
fn energy(sources: &[Radio; 2], network: &Network, median: &Median<'_>) -> Option<Energy> {
    let by = |radio: &Radio| {
        median(Unit::Joules, &|cell| {
            joules_per_request(cell, network, radio)
        })
    };
    let mut both = [by(&sources[0])?, by(&sources[1])?];
    both.sort_by(|a, b| {
        a.value
            .partial_cmp(&b.value)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let [least, most] = both;
    Some(Energy {
        radio: sources[0].name.to_owned(),
        least,
        most,
    })
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
        energy: RADIOS
            .iter()
            .filter_map(|sources| energy(sources, network, &median))
            .collect(),
        memory: median(Unit::Bytes, &|c| Some(c.cost.client_peak_bytes as f64)),
        startup: median(Unit::Ns, &|c| Some(c.cost.startup_ns as f64)),
        kernel_thread_seen: !blocks.is_empty()
            && blocks.values().all(|cell| cell.cost.kernel_thread_seen),
    }
}
