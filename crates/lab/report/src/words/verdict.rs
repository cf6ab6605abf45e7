//! Verdicts in words.

use stats::Verdict;

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
