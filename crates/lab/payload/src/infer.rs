//! Infers a schema from samples.

use crate::lower::lower;
use crate::observe::{ObserveValue, Traversal};
use crate::observed::{Kind, Observed};
use crate::{Sample, SampleError, Schema};

/// Why there is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// The list of samples is empty.
    #[error("no sample was given; give at least one")]
    NoSample,
    /// A sample cannot be read.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A sample is a single string, number, boolean or null.
    #[error("{name} is a single {what}; a message is an object or a list")]
    Scalar {
        /// The sample's name.
        name: String,
        /// The kind of value: `string`, `number`, `boolean` or `null`.
        what: &'static str,
    },
    /// Messages would nest deeper than Protobuf's readers accept.
    #[error("{path}: messages nest deeper than the 100 levels that Protobuf's readers accept")]
    TooDeep {
        /// The path of the first message that is too deep.
        path: String,
    },
    /// The inferred schema breaks Protobuf's rules: a bug in this crate.
    #[error("the inferred schema is not valid Protobuf, which is a bug in commute: {reason}")]
    Invalid {
        /// The Protobuf library's error.
        reason: String,
    },
}

/// Infers a schema that holds all samples.
pub fn infer(samples: &[Sample<'_>]) -> Result<Schema, InferError> {
    if samples.is_empty() {
        return Err(InferError::NoSample);
    }
    let mut top = Observed::default();
    let mut traversal = Traversal::default();
    for (index, sample) in (0..).zip(samples) {
        traversal.sample = index;
        sample.read(ObserveValue {
            traversal: &mut traversal,
            observed: &mut top,
        })?;
        if let Some(what) = scalar(&top) {
            return Err(InferError::Scalar {
                name: sample.name.to_owned(),
                what,
            });
        }
    }
    let names = samples.iter().map(|sample| sample.name.to_owned());
    lower(top, names.collect())
}

fn scalar(top: &Observed) -> Option<&'static str> {
    let kinds = top.kinds();
    [
        (top.null.seen(), "null"),
        (kinds.contains(&Kind::Bool), "boolean"),
        (kinds.contains(&Kind::Number), "number"),
        (kinds.contains(&Kind::String), "string"),
    ]
    .into_iter()
    .find_map(|(seen, what)| seen.then_some(what))
}
