//! Shards become one run again.

use crate::{DataError, Run, RunData};

/// The union of all: commutative, associative, and the same shard twice is one. Refuses to
/// put together what does not answer the same question.
pub fn merge(shards: Vec<RunData>) -> Result<RunData, MergeError> {
    let mut heads: Vec<Run> = Vec::new();
    let mut cells = Vec::new();
    for shard in shards {
        for head in shard.heads {
            if let Some(first) = heads.first() {
                comparable(first, &head)?;
            }
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
        cells.extend(shard.cells);
    }
    if heads.is_empty() {
        return Err(MergeError::Nothing);
    }
    // By time and then by content, so that no order of arguments shows.
    heads.sort_by_cached_key(|head| (head.started_unix_ns, format!("{head:?}")));
    Ok(RunData::from_heads(heads, cells)?)
}

/// Why runs cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// No run was given.
    #[error("no run to report: name at least one folder that `commute run` wrote")]
    Nothing,
    /// They differ in what makes a run.
    #[error(
        "these are different runs: {what} is {one} in one and {other} in another; report them apart"
    )]
    Different {
        /// What they differ in.
        what: &'static str,
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
    /// Together they contradict each other.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// Two heads belong to one run when all is equal that decides what was measured. Where and
/// when they ran, and how the self-test went there, may differ.
fn comparable(one: &Run, other: &Run) -> Result<(), MergeError> {
    let short = |what, one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        let different = MergeError::Different {
            what,
            one: one.to_string(),
            other: other.to_string(),
        };
        if one.to_string() == other.to_string() {
            Ok(())
        } else {
            Err(different)
        }
    };
    short("the record format", &one.format, &other.format)?;
    short("the version of commute", &one.commute, &other.commute)?;
    short("the study", &one.study, &other.study)?;
    short("the question", &one.question, &other.question)?;
    short("the seed", &one.seed, &other.seed)?;
    short("the number of blocks", &one.blocks, &other.blocks)?;
    short("the baseline", &one.baseline, &other.baseline)?;
    short("the time-out", &one.timeout_ns, &other.timeout_ns)?;
    let long = |what, equal: bool, sizes: (usize, usize)| {
        let words = |n: usize| format!("one list of {n}");
        let different = MergeError::Different {
            what,
            one: words(sizes.0),
            other: words(sizes.1),
        };
        if equal { Ok(()) } else { Err(different) }
    };
    let margin = |run: &Run| {
        run.margin_ns
            .map_or("not set".into(), |ns| format!("{ns} ns"))
    };
    short("the margin", &margin(one), &margin(other))?;
    long(
        "the arms",
        one.arms == other.arms,
        (one.arms.len(), other.arms.len()),
    )?;
    let networks = (one.networks.len(), other.networks.len());
    long("the networks", one.networks == other.networks, networks)?;
    long(
        "the workload",
        one.groups == other.groups,
        (one.groups.len(), other.groups.len()),
    )?;
    long(
        "the plan",
        one.plan == other.plan,
        (one.plan.len(), other.plan.len()),
    )
}
