//! Whether a verdict holds for every server that was measured.

use stats::Verdict;

/// What the verdicts on one protocol say together, each with another server or congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// All are decided and the same.
    Same,
    /// Two of them contradict each other: the server decides.
    Different,
    /// None contradicts another, but they are not one verdict either.
    Undecided,
}

/// Returns what these verdicts say together. One alone agrees with itself if it is decided.
pub fn agreement(verdicts: &[Verdict]) -> Agreement {
    let contradicted = |one: &Verdict| verdicts.iter().any(|other| one.contradicts(*other));
    if verdicts.iter().any(contradicted) {
        return Agreement::Different;
    }
    let same = verdicts.iter().all(|one| Some(one) == verdicts.first());
    match same && verdicts.iter().all(|one| one.is_decided()) {
        true => Agreement::Same,
        false => Agreement::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_agree_contradict_or_stay_open() {
        use Verdict::{Faster, NoDifference, NotFaster, NotSlower, Slower};
        let open = Verdict::CannotTell {
            blocks: 8,
            outlook: stats::Outlook::MayNotSettle,
        };
        for (verdicts, expected) in [
            (&[Faster, Faster][..], Agreement::Same),
            (&[NoDifference], Agreement::Same),
            (&[Faster, Slower], Agreement::Different),
            (&[NoDifference, Faster], Agreement::Different),
            (&[Slower, NoDifference], Agreement::Different),
            (&[Faster, open, NotFaster], Agreement::Different),
            (&[NotSlower, Slower], Agreement::Different),
            (&[Faster, open], Agreement::Undecided),
            (&[open], Agreement::Undecided),
            (&[open, open], Agreement::Undecided),
            (&[NotFaster, NotSlower], Agreement::Undecided),
            (&[Faster, NotSlower], Agreement::Undecided),
            (&[NotFaster, NoDifference], Agreement::Undecided),
        ] {
            assert_eq!(agreement(verdicts), expected, "{verdicts:?}");
        }
    }
}
