//! The tables of how connections were set up and how the server sent.

use maud::{Markup, html};
use page::{table, text};

use super::labels::{arm_headings, in_network};
use crate::figures::sending::words;
use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, Sending, Setup, Spread};

/// A row of a table: its heading and its figure.
type Row<T> = (&'static str, fn(&T) -> &Option<Spread>);

const SETUP: [Row<Setup>; 3] = [
    ("Server's initial window, B", |s| &s.initial_window_bytes),
    ("Certificate chain, B", |s| &s.chain_bytes),
    ("Server's first flight (IP), B", |s| &s.first_flight_bytes),
];

const SENDING: [Row<Sending>; 6] = [
    ("Packets sent", |s| &s.sent_packets),
    ("Declared lost", |s| &s.lost_packets),
    ("Dropped by the link", |s| &s.dropped_packets),
    ("Declared lost but arrived", |s| &s.spurious_packets),
    ("Timeouts", |s| &s.timeouts),
    ("Congestion events", |s| &s.congestion_events),
];

/// Returns the table of set-ups, if anything is known of them.
pub(super) fn setup(network: &NetworkSummary) -> Markup {
    let shown = |figure: &Option<Spread>| match figure {
        Some(n) if n.fewest < n.most => html! {
            (format!("{:.0}", n.median))
            br;
            small { (n.fewest) " to " (n.most) }
        },
        Some(n) => html! { (n.most) },
        None => text("-"),
    };
    let rows = rows(network, &SETUP, |arm| &arm.setup, &shown);
    html! {
        @if !rows.is_empty() {
            (table(
                &in_network(network, "set-up of connections with a full handshake, medians over connections"),
                &arm_headings("Figure", network),
                &rows,
            ))
        }
    }
}

/// Returns the table of the server's account, if it told anything.
pub(super) fn sending(network: &NetworkSummary) -> Markup {
    let shown = |figure: &Option<Spread>| text(words(figure.as_ref()));
    let rows = rows(network, &SENDING, |arm| &arm.sending, &shown);
    html! {
        @if !rows.is_empty() {
            (table(
                &in_network(network, "how the server sent, by its own account: median over cells (largest)"),
                &arm_headings("Figure", network),
                &rows,
            ))
            p.note {
                "Over TCP, segments that were retransmitted count as declared lost. quinn does not tell \
                 which of its losses had arrived: these are those beyond what the link dropped."
            }
        }
    }
}

/// Returns a row per figure that any arm has, with a cell per arm.
fn rows<T>(
    network: &NetworkSummary,
    figures: &[Row<T>],
    part: fn(&ArmSummary) -> &T,
    shown: &dyn Fn(&Option<Spread>) -> Markup,
) -> Vec<Vec<Markup>> {
    let arms = || network.arms.iter().map(part);
    let known = figures
        .iter()
        .filter(|(_, of)| arms().any(|all| of(all).is_some()));
    known
        .map(|(what, of)| {
            std::iter::once(text(what))
                .chain(arms().map(|all| shown(of(all))))
                .collect()
        })
        .collect()
}
