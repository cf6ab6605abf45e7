//! The tables of how connections were set up and how the server sent.

use maud::{Markup, html};

use super::table::{self, table, text};
use crate::sending::words;
use crate::setup::bytes_words;
use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, Setup, Spread};

/// Returns the table of set-ups, if anything is known of them.
pub(super) fn setup(network: &NetworkSummary) -> Markup {
    let arms = network.arms.iter();
    if arms.clone().all(|arm| arm.setup == Setup::default()) {
        return Markup::default();
    }
    let row = |(i, arm): (usize, &ArmSummary)| {
        let setup = &arm.setup;
        let shown = |figure: &Option<Spread>| match figure {
            Some(n) if n.fewest < n.most => html! {
                (bytes_words(figure.as_ref()))
                br;
                small { (n.fewest) " to " (n.most) " B" }
            },
            _ => text(bytes_words(figure.as_ref())),
        };
        vec![
            table::arm(i, &arm.name),
            shown(&setup.initial_window_bytes),
            shown(&setup.chain_bytes),
            shown(&setup.first_flight_bytes),
        ]
    };
    let rows: Vec<Vec<Markup>> = arms.enumerate().map(row).collect();
    let headings = [
        "Arm",
        "Server's initial window",
        "Certificate chain",
        "Server's first flight (IP)",
    ];
    table(
        "Set-up of connections with a full handshake: medians over connections",
        &headings,
        &rows,
    )
}

/// Returns the table of the server's account, if it told anything.
pub(super) fn sending(network: &NetworkSummary) -> Markup {
    let row = |(i, arm): (usize, &ArmSummary)| {
        let sending = &arm.sending;
        let shown = |figure: &Option<Spread>| text(words(figure.as_ref()));
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
