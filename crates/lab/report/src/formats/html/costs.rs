//! What the arms cost besides time: bytes, CPU, energy, memory, start-up.

use maud::{Markup, html};
use page::{table, text};

use super::labels::{arm_headings, in_network};
use crate::answer::wording::{connections_words, energy_words, sender_words};
use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, Costs};
use crate::summary::quantity::Quantity;
use crate::words::number::Column;

/// A row of the table: its heading and its figure.
type Row = (&'static str, fn(&Costs) -> &Option<Quantity>);

const ROWS: [Row; 8] = [
    ("Bytes sent by client per cell (IP)", |c| &c.up_bytes),
    ("Bytes sent by server per cell (IP)", |c| &c.down_bytes),
    ("Of which handshake", |c| &c.handshake_bytes),
    ("Client CPU per request", |c| &c.client_cpu),
    ("Server CPU per request", |c| &c.server_cpu),
    ("CPU wait per request", |c| &c.cpu_wait),
    ("Memory of client, peak", |c| &c.memory),
    ("Start-up time", |c| &c.startup),
];

/// Returns the table of costs: a row per cost, each in one unit, and a column per arm.
pub(super) fn costs(network: &NetworkSummary) -> Markup {
    let figures = ROWS.iter().filter_map(|(what, of)| {
        let quantities = network.arms.iter().map(|arm| of(&arm.costs).as_ref());
        let column = Column::over(quantities.clone().flatten())?;
        // The interval wraps as a whole, so that many arms fit.
        let shown = |q: Option<&Quantity>| {
            let Some(q) = q else { return text("-") };
            let (value, interval) = column.parts(q);
            html! { (value) " " span.range { (interval) } }
        };
        let heading = text(format!("{what}, {}", column.unit()));
        Some(
            std::iter::once(heading)
                .chain(quantities.map(shown))
                .collect(),
        )
    });
    let words = |what: &str, of: &dyn Fn(&ArmSummary) -> String| -> Option<Vec<Markup>> {
        let words: Vec<String> = network.arms.iter().map(of).collect();
        let is_known = words
            .iter()
            .any(|words| words.chars().any(char::is_alphanumeric));
        let cells = words.iter().map(|words| html! { span.long { (words) } });
        is_known.then(|| std::iter::once(text(what)).chain(cells).collect())
    };
    let others = [
        words("Radio's energy per request, by a model", &|arm| {
            energy_words(&arm.costs.energy)
        }),
        words("Connections per cell", &connections_words),
        words("Negotiated protocol", &|arm| {
            arm.negotiated_protocols.join(", ")
        }),
        words("Server · congestion control", &sender_words),
    ];
    let rows: Vec<Vec<Markup>> = figures.chain(others.into_iter().flatten()).collect();
    html! {
        @if !rows.is_empty() {
            (table(
                &in_network(network, "costs, medians over blocks"),
                &arm_headings("Cost", network),
                &rows,
            ))
        }
    }
}
