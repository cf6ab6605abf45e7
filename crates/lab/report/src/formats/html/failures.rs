//! Requests that did not succeed: how many, and of what.

use maud::{Markup, html};
use page::{arm, table, text};

use super::labels::{headings, in_network};
use crate::summary::NetworkSummary;
use crate::summary::measure::Measure;
use crate::words::number::count;

/// Errors that a cell of the table names: messages of libraries may differ with every request.
const MAX_ERRORS: usize = 8;

/// Returns a table of all requests that timed out, failed or were sent twice, or says that none was.
pub(super) fn failures(network: &NetworkSummary) -> Markup {
    let by_request = network.arms.iter().enumerate().flat_map(|(index, arm)| {
        let measures = arm
            .measures
            .iter()
            .filter(|m| m.part.is_by_request() && m.calls > 0);
        measures.map(move |measure| (index, arm, measure))
    });
    let calls: usize = by_request.clone().map(|(.., measure)| measure.calls).sum();
    let lost = |measure: &Measure| measure.timed_out + measure.failed + measure.retried > 0;
    let rows: Vec<Vec<Markup>> = by_request
        .filter(|(.., measure)| lost(measure))
        .map(|(index, summary, measure)| {
            vec![
                arm(index, &summary.name),
                text(&measure.label),
                html! { (measure.calls) },
                html! { (measure.calls - measure.timed_out - measure.failed) },
                html! { (measure.timed_out) },
                html! { (measure.failed) },
                html! { (measure.retried) },
                errors(measure),
            ]
        })
        .collect();
    let names = [
        "Requests",
        "all",
        "succeeded",
        "timed out",
        "failed",
        "seen twice by the server",
        "errors and status codes",
    ];
    html! {
        @if calls > 0 {
            @if rows.is_empty() {
                p { "None: each of " (count(calls, "request")) " succeeded, and the server saw it once." }
            } @else {
                (table(&in_network(network, "requests that did not succeed at once"), &headings("Arm", names), &rows))
                p.note {
                    "Requests that timed out or failed count as at least the timeout. A request that \
                     the server saw twice was repeated by the client without a word."
                }
            }
        }
    }
}

/// Returns the errors with their numbers, the commonest first.
fn errors(measure: &Measure) -> Markup {
    let mut errors: Vec<(&String, &usize)> = measure.errors.iter().collect();
    errors.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let others: usize = errors.iter().skip(MAX_ERRORS).map(|(_, n)| **n).sum();
    html! {
        span.long {
            @for (i, (error, n)) in errors.iter().take(MAX_ERRORS).enumerate() {
                @if i > 0 { br; }
                (n) " × " (error)
            }
            @if others > 0 { br; (others) " × other errors" }
        }
    }
}
