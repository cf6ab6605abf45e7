//! What the arms cost besides time: bytes, CPU, energy, memory, start-up.

use maud::{Markup, html};
use page::{table, text};

use super::labels::{arm_headings, in_network};
use crate::answer::wording::{connections_words, energy_note, sender_words};
use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, Costs, Energy};
use crate::summary::quantity::Quantity;
use crate::words::number::Column;

/// A row of the table: its heading and its figure.
type Row = (&'static str, fn(&Costs) -> &Option<Quantity>);

const ROWS: [Row; 9] = [
    ("Bytes sent by client per cell (IP)", |c| &c.up_bytes),
    ("Bytes sent by server per cell (IP)", |c| &c.down_bytes),
    ("Of which handshake", |c| &c.handshake_bytes),
    ("Client CPU per request", |c| &c.client_cpu),
    ("Server CPU per request", |c| &c.server_cpu),
    ("CPU wait per request", |c| &c.cpu_wait),
    ("Memory of client, peak", |c| &c.memory),
    ("Start-up time", |c| &c.startup),
    ("Radio awake per cell", |c| &c.radio_awake),
];

/// A figure of one phone: what it is, and where it is.
type EnergyRow = (&'static str, fn(&Energy) -> &Quantity);

const ENERGY_ROWS: [EnergyRow; 2] = [
    ("Radio's energy per request (model)", |e| &e.per_request),
    ("Radio's energy per cell (model)", |e| &e.per_cell),
];

/// Returns the table of costs: a row per cost, each in one unit, and a column per arm.
pub(super) fn costs(network: &NetworkSummary) -> Markup {
    let row = |what: &str, quantities: Vec<Option<&Quantity>>| {
        let column = Column::over(quantities.iter().copied().flatten())?;
        // The interval wraps as a whole, so that many arms fit.
        let shown = |q: Option<&Quantity>| {
            let Some(q) = q else { return text("-") };
            let (value, interval) = column.parts(q);
            html! { (value) " " span.range { (interval) } }
        };
        let heading = text(format!("{what}, {}", column.unit()));
        let figures = quantities.into_iter().map(shown);
        Some(std::iter::once(heading).chain(figures).collect())
    };
    let figures = ROWS.iter().filter_map(|(what, of)| {
        let quantities = network.arms.iter().map(|arm| of(&arm.costs).as_ref());
        row(what, quantities.collect())
    });
    let energies = phones(network).into_iter().flat_map(|phone| {
        ENERGY_ROWS.map(|(what, of)| {
            let energies = network.arms.iter().map(|arm| energy_of(&arm.costs, phone));
            let quantities = energies.map(|energy| energy.map(of));
            row(&format!("{what}, {phone}"), quantities.collect())
        })
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
        words("Connections per cell", &connections_words),
        words("Negotiated protocol", &|arm| {
            arm.negotiated_protocols.join(", ")
        }),
        words("Server · congestion control", &sender_words),
    ];
    let figures = figures.chain(energies.flatten());
    let rows: Vec<Vec<Markup>> = figures.chain(others.into_iter().flatten()).collect();
    html! {
        @if !rows.is_empty() {
            (table(
                &in_network(network, "costs, medians over blocks"),
                &arm_headings("Cost", network),
                &rows,
            ))
        }
        @if let Some(note) = energy_note(network) { p { (note) } }
    }
}

/// Returns the phones of any arm, each once, in the order of the first arm with it.
fn phones(network: &NetworkSummary) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for energy in network.arms.iter().flat_map(|arm| &arm.costs.energy) {
        if !names.contains(&energy.phone.as_str()) {
            names.push(&energy.phone);
        }
    }
    names
}

fn energy_of<'a>(costs: &'a Costs, phone: &str) -> Option<&'a Energy> {
    costs.energy.iter().find(|energy| energy.phone == phone)
}
