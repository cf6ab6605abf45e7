//! Names, links and headings that several parts of a network's section have.

use maud::{Markup, html};
use page::{arm, text};

use crate::summary::NetworkSummary;
use crate::summary::measure::Measure;

/// Returns the id of the section of a network.
pub(super) fn id(index: usize) -> String {
    format!("network-{index}")
}

/// Returns a link to the section of a network.
pub(super) fn link(index: usize, network: &NetworkSummary) -> Markup {
    html! { a href={ "#" (id(index)) } { (network.name) } }
}

/// Returns the measures of a network, which all its arms have.
pub(super) fn measures(network: &NetworkSummary) -> &[Measure] {
    network.arms.first().map_or(&[], |arm| &arm.measures)
}

/// Returns the headings of columns: first that of the rows.
pub(super) fn headings<'a>(
    first: &'a str,
    others: impl IntoIterator<Item = &'a str>,
) -> Vec<Markup> {
    std::iter::once(first).chain(others).map(text).collect()
}

/// Returns the names of a network's arms with their lines, as headings of columns behind `first`.
pub(super) fn arm_headings(first: &str, network: &NetworkSummary) -> Vec<Markup> {
    let arms = network.arms.iter().enumerate();
    let arms = arms.map(|(i, summary)| arm(i, &summary.name));
    std::iter::once(text(first)).chain(arms).collect()
}

/// Returns the key of a network's figures.
pub(super) fn key(network: &NetworkSummary) -> Markup {
    let measured = network
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.has_figures());
    page::key(measured.map(|(i, arm)| (i, arm.name.as_str())))
}

/// Returns a caption that no other network has.
pub(super) fn in_network(network: &NetworkSummary, caption: &str) -> String {
    format!("{}: {caption}", network.name)
}
