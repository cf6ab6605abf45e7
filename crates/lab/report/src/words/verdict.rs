//! Verdicts in words.

use stats::{Outlook, Verdict};

use crate::summary::measure::Comparison;
use crate::words::number::size;

/// Returns the words for a verdict.
pub fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference => "no difference",
        Verdict::NotSlower => "not slower",
        Verdict::NotFaster => "not faster",
        Verdict::CannotTell { .. } => "cannot tell",
    }
}

/// Returns whether more blocks would decide a comparison.
pub(crate) fn outlook_words(outlook: Outlook) -> &'static str {
    match outlook {
        Outlook::AFewMore => "a few more blocks would probably decide it",
        Outlook::SeveralTimesAsMany => "several times as many blocks would probably decide it",
        Outlook::MayNotSettle => "more blocks may not settle it",
    }
}

/// Returns a verdict in words, with the difference if it is decided, e.g. `118 ms faster`.
pub(crate) fn finding_words(comparison: &Comparison) -> String {
    let words = verdict_words(comparison.verdict);
    let faster = comparison.verdict == Verdict::Faster;
    match (comparison.verdict, size(&comparison.difference, faster)) {
        (Verdict::Faster | Verdict::Slower, Some(size)) => format!("{} {words}", size.value),
        _ => words.to_owned(),
    }
}
