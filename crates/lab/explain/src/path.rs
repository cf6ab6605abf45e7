//! The critical path of a request.

use crate::request::Request;
use crate::{Part, Parts};

/// A stretch of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its start.
    pub from_ns: u64,
    /// Its end, which is the start of the next step.
    pub to_ns: u64,
    /// The reason for its time.
    pub part: Part,
    /// The packet concerned, by its index among the cell's packets.
    pub packet: Option<usize>,
}

/// The critical path of a request: its steps in order of time, from the call to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The steps, none of which is empty.
    pub steps: Vec<Step>,
}

impl Path {
    pub(crate) fn unexplained(request: &Request<'_>) -> Path {
        let step = Step {
            from_ns: request.start_ns,
            to_ns: request.end_ns,
            part: Part::Unexplained,
            packet: None,
        };
        let takes_time = step.to_ns > step.from_ns;
        Path {
            steps: takes_time.then_some(step).into_iter().collect(),
        }
    }

    /// Returns the time of each part.
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        for step in &self.steps {
            parts[step.part] += step.to_ns - step.from_ns;
        }
        parts
    }
}
