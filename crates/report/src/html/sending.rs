//! The table of what the server told of its sending.

use maud::{Markup, html};

use super::table::{self, table, text};
use crate::sending::words;
use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, PerCell};

/// Returns the table, if a server told anything.
pub(super) fn sending(network: &NetworkSummary) -> Markup {
    let row = |(i, arm): (usize, &ArmSummary)| {
        let sending = &arm.sending;
        let shown = |figure: &Option<PerCell>| text(words(figure.as_ref()));
        vec![
            table::arm(i, &arm.name),
            shown(&sending.sent_packets),
            shown(&sending.lost_packets),
            shown(&sending.dropped_packets),
            shown(&sending.spurious_packets),
            shown(&sending.timeouts),
            shown(&sending.congestion_events),
        ]
    };
    let arms = network.arms.iter();
    if arms.clone().all(|arm| arm.sending.sent_packets.is_none()) {
        return Markup::default();
    }
    let rows: Vec<Vec<Markup>> = arms.enumerate().map(row).collect();
    let headings = [
        "Arm",
        "Packets sent",
        "Taken for lost",
        "Dropped by the link",
        "Taken for lost but arrived",
        "Timeouts",
        "Congestion events",
    ];
    html! {
        (table("How the server sent, by its own account: median over cells (largest)", &headings, &rows))
        p.note {
            "Over TCP, segments that were retransmitted count as taken for lost. quinn does not tell \
             which of its losses had arrived: these are those beyond what the link dropped."
        }
    }
}
