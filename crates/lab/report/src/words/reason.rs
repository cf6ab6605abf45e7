//! The reason of a difference in words.

use super::part::{part_words, round_trip_words};
use crate::summary::reason::{Named, Reason, ReasonOutcome, ReasonPart, in_round_trips};

/// A reason has at most this many parts.
const MOST_PARTS: usize = 3;
/// An arm whose round trips of a kind are less than this share of the baseline's has none of them.
const GONE_SHARE: f64 = 0.05;

/// Returns what a reason says of a difference with this estimate. `taken` is the number of pairs that are taken for
/// it, with and without parts.
pub(crate) fn reason_words(reason: &Reason, estimate_ns: f64, taken: usize, rtt_ns: u64) -> String {
    let estimate = signed_ms(estimate_ns);
    match reason.outcome {
        ReasonOutcome::Explained => because(reason, estimate_ns, rtt_ns),
        ReasonOutcome::SumDiffers => format!(
            "no reason: the parts sum to {}, the estimate is {estimate}",
            signed_ms(reason.sum_ns)
        ),
        ReasonOutcome::Unexplained => format!(
            "no reason: {} of the estimate of {estimate} have no explanation",
            ms(reason.unexplained_ns())
        ),
        ReasonOutcome::Scattered => {
            format!("no reason: no part is 10 % of the estimate of {estimate}")
        }
        ReasonOutcome::Incomplete => {
            format!("no reason: {} of {taken} pairs have parts", reason.pairs)
        }
        ReasonOutcome::Failed => format!(
            "because requests of the slower arm failed in {} of {taken} pairs",
            reason.pairs
        ),
    }
}

/// Returns e.g. `no TCP handshake: -50.0 ms, one round trip`.
fn part_of(named: &Named, rtt_ns: u64) -> String {
    let ns = named.difference_ns();
    let is_gone = named.part.is_round_trip() && named.arm_ns < GONE_SHARE * named.baseline_ns;
    let words = match named.is_handshake_of_both {
        true => "TLS or QUIC handshake",
        false => match named.part {
            ReasonPart::Request(part) => part_words(part),
            ReasonPart::BetweenRequests => "between requests",
        },
    };
    let trips = in_round_trips(named.part, ns.abs(), rtt_ns).and_then(round_trip_words);
    format!(
        "{}{words}: {}{}",
        if is_gone { "no " } else { "" },
        signed_ms(ns),
        trips.map_or(String::new(), |trips| format!(", {trips}"))
    )
}

fn because(reason: &Reason, estimate_ns: f64, rtt_ns: u64) -> String {
    let mut named = reason.named(estimate_ns);
    named.truncate(MOST_PARTS);
    let rest_ns = reason.sum_ns - named.iter().map(Named::difference_ns).sum::<f64>();
    let mut words: Vec<String> = named.iter().map(|part| part_of(part, rtt_ns)).collect();
    if rest_ns.abs() >= Reason::NAMED_SHARE * estimate_ns.abs() {
        words.push(format!("all else: {}", signed_ms(rest_ns)));
    }
    format!("because {}", words.join("; "))
}

/// Formats a time in ms: with one decimal, or with three below 1 ms.
pub(crate) fn ms(ns: f64) -> String {
    match ns.abs() < 1e6 {
        true => format!("{:.3} ms", ns / 1e6),
        false => format!("{:.1} ms", ns / 1e6),
    }
}

/// Formats a difference as [`ms`] does, with its sign.
pub(crate) fn signed_ms(ns: f64) -> String {
    match ns < 0.0 {
        true => ms(ns),
        false => format!("+{}", ms(ns)),
    }
}
