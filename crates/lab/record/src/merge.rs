//! What the records of one run have in common.

use crate::data::DataError;
use crate::run::Run;

/// Why runs cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// No run was given.
    #[error("no run to report: name at least one folder that `commute run` wrote")]
    NoRuns,
    /// The runs differ in a setting that decides what was measured.
    #[error(
        "these are different runs: {what} is {one} in one and {other} in another; report them separately"
    )]
    Different {
        /// The setting, with its article.
        what: &'static str,
        /// Its value in the first run.
        one: String,
        /// Its value in the other run.
        other: String,
    },
    /// The runs differ in a list that is too long to print.
    #[error(
        "these are different runs: their {what} differ ({one} in one, {other} in another); report them separately"
    )]
    DifferentLists {
        /// What is listed, in the plural.
        what: &'static str,
        /// Length of the list in the first run.
        one: usize,
        /// Length of the list in the other run.
        other: usize,
    },
    /// The merged records are inconsistent.
    #[error(transparent)]
    Data(#[from] DataError),
}

impl MergeError {
    /// Returns what is wrong with a single run, which cannot differ from itself.
    pub(crate) fn of_one(self) -> DataError {
        match self {
            MergeError::Data(error) => error,
            other => DataError::Run(other.to_string()),
        }
    }
}

/// Checks that two headers agree on everything that decides what was measured. Host, start and
/// self-test may differ.
pub(crate) fn check_same_run(one: &Run, other: &Run) -> Result<(), MergeError> {
    let same = |what, one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        let (one, other) = (one.to_string(), other.to_string());
        if one == other {
            Ok(())
        } else {
            Err(MergeError::Different { what, one, other })
        }
    };
    same("the record format", &one.format, &other.format)?;
    same("the version of commute", &one.commute, &other.commute)?;
    same("the study", &one.study, &other.study)?;
    same("the question", &one.question, &other.question)?;
    same("the seed", &one.seed, &other.seed)?;
    same("the number of blocks", &one.blocks, &other.blocks)?;
    same("the baseline", &one.baseline, &other.baseline)?;
    same("the timeout", &one.timeout_ns, &other.timeout_ns)?;
    let percent =
        |percent: Option<f64>| percent.map_or("not set".into(), |percent| format!("{percent} %"));
    let margin = |run: &Run| {
        run.margin_ns
            .map_or("not set".into(), |ns| format!("{ns} ns"))
    };
    same("the margin", &margin(one), &margin(other))?;
    for (what, of) in [
        (
            "the tail percentile",
            [one, other].map(|run| run.tail_percent),
        ),
        (
            "the least share of clean cells",
            [one, other].map(|run| run.min_clean_percent),
        ),
    ] {
        let [one, other] = of.map(percent);
        same(what, &one, &other)?;
    }
    let same_list = |what, equal: bool, (one, other): (usize, usize)| {
        if equal {
            Ok(())
        } else {
            Err(MergeError::DifferentLists { what, one, other })
        }
    };
    let (payloads, others) = (&one.settings.payloads, &other.settings.payloads);
    same_list(
        "files of requests and responses",
        payloads == others,
        (payloads.len(), others.len()),
    )?;
    same_list(
        "arms",
        one.arms == other.arms,
        (one.arms.len(), other.arms.len()),
    )?;
    same_list(
        "networks",
        one.networks == other.networks,
        (one.networks.len(), other.networks.len()),
    )?;
    same_list(
        "groups of requests",
        one.groups == other.groups,
        (one.groups.len(), other.groups.len()),
    )?;
    same_list(
        "planned calls",
        one.calls == other.calls,
        (one.calls.len(), other.calls.len()),
    )?;
    same_list(
        "planned cells",
        one.plan == other.plan,
        (one.plan.len(), other.plan.len()),
    )
}
