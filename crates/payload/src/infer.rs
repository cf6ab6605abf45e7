//! From samples to a schema.

use crate::lower::lower;
use crate::place::{Kind, Place};
use crate::read::{ReadPlace, Walk};
use crate::{Sample, SampleError, Schema};

/// Why there is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// There is nothing to infer from.
    #[error("no sample was given; give at least one")]
    NoSample,
    /// A sample cannot be read.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A sample is one string, number, boolean or null.
    #[error("{name} is a single {what}; a message is an object or a list")]
    Scalar {
        /// The sample.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// Messages would nest deeper than their readers go.
    #[error("{path}: messages nest deeper than the 100 levels that Protobuf's readers accept")]
    TooDeep {
        /// Where.
        path: String,
    },
    /// Protobuf's rules forbid what was made of the samples: a fault of this crate.
    #[error("Protobuf refuses the schema, which is a bug here: {why}")]
    Refused {
        /// What it says.
        why: String,
    },
}

/// The schema that holds all the samples.
pub fn infer(samples: &[Sample<'_>]) -> Result<Schema, InferError> {
    if samples.is_empty() {
        return Err(InferError::NoSample);
    }
    let mut top = Place::default();
    let mut walk = Walk::default();
    for (number, sample) in (0..).zip(samples) {
        walk.sample = number;
        sample.read(ReadPlace {
            walk: &mut walk,
            place: &mut top,
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

fn scalar(top: &Place) -> Option<&'static str> {
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
