//! What our runs do with the claims of a study, and the words for it on the page.

use serde::Deserialize;

/// What our runs do with the claims of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Relation {
    /// They repeat what the study measured.
    Repeats,
    /// They answer its claims by measurements of their own.
    #[default]
    Answers,
    /// They test what commute's own client promises, which nobody has published.
    Promises,
}

impl Relation {
    /// Returns the words before the name of the study.
    pub(crate) fn lead(self) -> &'static str {
        match self {
            Relation::Repeats => "Repeats",
            Relation::Answers => "Answers",
            Relation::Promises => "Tests the promises of",
        }
    }

    /// Returns the word for one of its claims.
    pub(crate) fn claim(self) -> &'static str {
        match self {
            Relation::Repeats | Relation::Answers => "published claim",
            Relation::Promises => "promise",
        }
    }

    /// Returns the words for the result that confounds are about.
    pub(crate) fn result(self) -> &'static str {
        match self {
            Relation::Repeats => "the published result",
            Relation::Answers | Relation::Promises => "the result",
        }
    }

    /// Returns the words for the figures on which claims rest.
    pub(crate) fn figures(self) -> &'static str {
        match self {
            Relation::Repeats | Relation::Answers => "published figures",
            Relation::Promises => "promised figures",
        }
    }
}
