//! Blocks that send the same packets over a link that leaves nothing to chance: they are one
//! observation, however many there are (Floyd and Jacobson, *On traffic phase effects in packet-switched
//! gateways*, 1992).

use std::collections::BTreeMap;

use record::{Arm, CallResult, CompactCall, CompactCell, Network, PacketSeries, Run};

use crate::figures::cells::{Blocks, CellIndex};

/// Ten full segments: what a server sends at once (RFC 6928 section 2). Less does not fill a queue.
const INITIAL_WINDOW_BYTES: u64 = 10 * 1460;

/// Returns a note if blocks repeat each other on some networks. There, every block of an arm sent the same large bodies
/// over a link without chance, and a full queue dropped packets in each.
pub(crate) fn note(run: &Run, cells: &CellIndex<'_>) -> Option<String> {
    let repeats = |network: &&Network| {
        let Some(queues) = queues_without_chance(network) else {
            return false;
        };
        let blocks = |arm: &Arm| cells.first(&network.name, &arm.name);
        (run.arms.iter()).any(|arm| repeat_each_other(&blocks(arm), &queues))
    };
    let names: Vec<&str> = (run.networks.iter())
        .filter(repeats)
        .map(|network| network.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Without loss and jitter each block on {} sends the same packets, and the same of them find \
             the queue full: times of large bodies hold for exactly these sizes. The study's \
             `vary_percent` covers sizes near them.",
            names.join(" and ")
        )
    })
}

/// Returns whether packets dropped otherwise than at random met a full queue, up and down, i.e. where no
/// policy drops any; `None` if blocks differ in what the link does: by loss, jitter, reordering, or where in
/// a trace, a schedule of outages or handovers, or a radio's sleep they begin.
fn queues_without_chance(network: &Network) -> Option<[bool; 2]> {
    let table = network.toml.parse::<toml::Table>().ok()?;
    let queue_only = |direction: &str| {
        let path = table.get(direction)?.as_table()?;
        let jitter = path.get("jitter_ns").and_then(toml::Value::as_integer);
        let trace = path.get("rate").and_then(|rate| rate.get("trace"));
        let mut stages = ["loss", "reorder", "gate", "handovers", "radio"].into_iter();
        let by_chance = jitter.unwrap_or(0) > 0
            || trace.is_some()
            || stages.any(|stage| path.contains_key(stage));
        (!by_chance).then(|| !path.contains_key("policy"))
    };
    Some([queue_only("up")?, queue_only("down")?])
}

/// Returns whether in every block a full queue dropped packets, and a large body was the same. Where the phone moves,
/// packets to a former address are dropped, too.
fn repeat_each_other(blocks: &Blocks<'_>, [up, down]: &[bool; 2]) -> bool {
    let dropped = |cell: &&CompactCell| {
        let mut series = cell.connections.iter().flat_map(|c| &c.packets);
        let counts = |s: &PacketSeries| !s.dropped.is_empty() && if s.up { *up } else { *down };
        cell.is_measured() && cell.moves.is_empty() && series.any(counts)
    };
    let dropping: Vec<&CompactCell> = blocks.values().copied().filter(dropped).collect();
    let mut sizes: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
    for call in dropping.iter().flat_map(|cell| large_calls(cell)) {
        let (bytes, times) = sizes.entry(call.id()).or_insert((size(call), 0));
        *times += usize::from(size(call) == *bytes);
    }
    let in_all = |(_, times): &(u64, usize)| *times == blocks.len();
    blocks.len() > 1 && dropping.len() == blocks.len() && sizes.values().any(in_all)
}

fn large_calls(cell: &CompactCell) -> impl Iterator<Item = CompactCall<'_>> {
    let large = |call: &CompactCall<'_>| {
        *call.result() == CallResult::Ok && size(*call) > INITIAL_WINDOW_BYTES
    };
    cell.calls.iter().filter(large)
}

fn size(call: CompactCall<'_>) -> u64 {
    call.request_bytes().max(call.response_bytes())
}
