//! Figures that the server reports of its sending, and what the link did to those packets.

use record::{CompactCell, ConnectionSettings, Sender};

use crate::figures::cells::Blocks;
use crate::summary::arm::{ArmSummary, Sending, Spread};

/// A remark says so where at least this many packets of a cell were declared lost although they
/// had arrived. Fewer cost one reduction of the window, as a loss does.
const REMARKABLE_SPURIOUS_PACKETS: f64 = 10.0;

/// Returns the figures of an arm.
pub(crate) fn sending(blocks: &Blocks<'_>) -> Sending {
    let of = |fact: &dyn Fn(&ConnectionSettings) -> Option<u64>| {
        let of_cell = |cell: &&CompactCell| {
            let told: Vec<u64> = cell.connections.iter().filter_map(fact).collect();
            let sum = told.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
            (!told.is_empty()).then_some(sum as usize)
        };
        let cells: Vec<usize> = blocks.values().filter_map(of_cell).collect();
        Spread::of(&cells)
    };
    let told = |fact: fn(&Sender) -> Option<u64>| {
        of(&|connection| connection.sender.as_ref().and_then(fact))
    };
    // The record of a connection has only its packets of the first address, so after a move drops are unknown.
    let stays = blocks.values().all(|cell| cell.moves.is_empty());
    let unless_moved = |figure: Option<Spread>| figure.filter(|_| stays);
    Sending {
        sent_packets: told(|sender| sender.sent_packets),
        lost_packets: told(|sender| sender.lost_packets),
        // Of connections whose sender told nothing, it would say nothing either.
        dropped_packets: unless_moved(of(&|connection| {
            connection.sender.as_ref()?;
            connection.dropped_down()
        })),
        spurious_packets: unless_moved(of(&ConnectionSettings::spurious_packets)),
        timeouts: told(|sender| sender.timeouts),
        congestion_events: told(|sender| sender.congestion_events),
    }
}

/// Returns packets declared lost, dropped by the link, spurious, and timeouts, e.g.
/// `12 (31) · 4 (9) · 8 (22) · 0`.
pub(crate) fn loss_words(arm: &ArmSummary) -> String {
    let sending = &arm.sending;
    [
        sending.lost_packets,
        sending.dropped_packets,
        sending.spurious_packets,
        sending.timeouts,
    ]
    .map(|figure| words(figure.as_ref()))
    .join(" · ")
}

/// Returns the median over cells and, if it is another, the largest number, e.g. `12 (31)`.
pub(crate) fn words(figure: Option<&Spread>) -> String {
    match figure {
        None => "-".into(),
        Some(n) if n.fewest == n.most => n.most.to_string(),
        Some(n) => format!("{} ({})", n.median, n.most),
    }
}

/// Returns a remark if the server mistook reordering for loss.
pub(crate) fn remark(arm: &ArmSummary) -> Option<String> {
    let (lost, spurious) = (arm.sending.lost_packets?, arm.sending.spurious_packets?);
    let remarkable =
        spurious.median >= REMARKABLE_SPURIOUS_PACKETS && 2.0 * spurious.median >= lost.median;
    remarkable.then(|| {
        format!(
            "in the median cell its server took {} packets for lost, of which {} had arrived",
            lost.median, spurious.median
        )
    })
}
