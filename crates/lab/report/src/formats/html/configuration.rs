//! The configuration of the arms: what differs, and what all have in common.

use std::collections::BTreeSet;

use maud::{Markup, html};
use page::{table, text};

use super::labels::{arm_headings, headings, in_network};
use crate::figures::configuration::SETTING;
use crate::summary::NetworkSummary;
use crate::summary::arm::ArmSummary;

/// Returns a table of the settings in which arms differ, a row each; the others are folded below it.
pub(super) fn configuration(network: &NetworkSummary) -> Markup {
    let settings: BTreeSet<&String> = network
        .arms
        .iter()
        .flat_map(|arm| arm.configuration.keys())
        .collect();
    let measured: Vec<&ArmSummary> = network
        .arms
        .iter()
        .filter(|arm| arm.has_figures())
        .collect();
    let distinct = |what: &String| -> BTreeSet<Option<&BTreeSet<String>>> {
        let values = measured.iter().map(|arm| arm.configuration.get(what));
        values.collect()
    };
    let (differing, common): (Vec<&String>, Vec<&String>) = settings
        .into_iter()
        .partition(|what| distinct(what).len() > 1);
    // Nearly all that libraries report of themselves is reported by one of them only.
    let (reported, seen): (Vec<&String>, Vec<&String>) =
        (differing.into_iter()).partition(|what| what.starts_with(SETTING));
    let row = |what: &&String| {
        let cells = network.arms.iter().map(|arm| value(arm, what));
        let name = what.strip_prefix(SETTING).unwrap_or(what);
        std::iter::once(text(name)).chain(cells).collect()
    };
    let by_arm = |settings: &[&String], caption: &str| {
        let rows: Vec<Vec<Markup>> = settings.iter().map(row).collect();
        let headings = arm_headings("Setting", network);
        html! {
            @if !rows.is_empty() { (table(&in_network(network, caption), &headings, &rows)) }
        }
    };
    let common: Vec<Vec<Markup>> = (common.iter())
        .filter_map(|what| Some(vec![text(what), value(measured.first()?, what)]))
        .collect();
    html! {
        (by_arm(&seen, "settings in which arms differ; bold: other than the baseline's"))
        @if !reported.is_empty() {
            details {
                summary { "What the libraries report of themselves" }
                (by_arm(&reported, "settings as the libraries report them"))
            }
        }
        @if !common.is_empty() {
            details {
                summary { "Settings that all arms have in common" }
                (table(&in_network(network, "common settings"), &headings("Setting", ["Value"]), &common))
            }
        }
    }
}

/// Returns the values of a setting that were seen, in bold if the baseline's differ.
fn value(arm: &ArmSummary, what: &str) -> Markup {
    let values = arm.configuration.get(what).into_iter().flatten();
    let lines = html! {
        span.long {
            @for (i, value) in values.enumerate() {
                @if i > 0 { br; }
                (value)
            }
        }
    };
    match arm.differences.iter().any(|d| d.what == what) {
        true => html! { strong { (lines) } },
        false => lines,
    }
}
