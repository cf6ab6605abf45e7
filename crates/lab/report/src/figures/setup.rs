//! The set-up of connections: the server's initial window, its chain and its first flight.

use record::ConnectionSettings;

use crate::figures::cells::Blocks;
use crate::summary::arm::{ArmSummary, Setup, Spread};

/// Returns the figures of an arm, from all its connections with a full handshake.
pub(crate) fn setup(blocks: &Blocks<'_>) -> Setup {
    let of = |fact: fn(&ConnectionSettings) -> Option<u64>| {
        let connections = blocks.values().flat_map(|cell| &cell.connections);
        let full = connections.filter(|connection| !connection.resumed);
        let told: Vec<usize> = full.filter_map(fact).map(|n| n as usize).collect();
        Spread::of(&told)
    };
    Setup {
        initial_window_bytes: of(|c| c.sender.as_ref()?.initial_window_bytes),
        chain_bytes: of(|c| Some(c.chain_bytes).filter(|bytes| *bytes > 0)),
        first_flight_bytes: of(|c| c.first_flight_bytes),
    }
}

/// Returns the medians of initial window, chain and first flight, e.g.
/// `14480 B · 2297 B · 2931 B`.
pub(crate) fn words(arm: &ArmSummary) -> String {
    let setup = &arm.setup;
    [
        &setup.initial_window_bytes,
        &setup.chain_bytes,
        &setup.first_flight_bytes,
    ]
    .map(|figure| bytes_words(figure.as_ref()))
    .join(" · ")
}

/// Returns the median, e.g. `2297 B`.
fn bytes_words(figure: Option<&Spread>) -> String {
    figure.map_or("-".into(), |n| format!("{:.0} B", n.median))
}
