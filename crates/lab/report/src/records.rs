//! The run that a report is made of.

use std::borrow::Cow;

use record::{CompactRun, RunData};

/// A run, in either form.
pub trait Records {
    /// Returns the run in the form that reports take; copies it if it has the other.
    fn compact(&self) -> Cow<'_, CompactRun>;
}

impl Records for CompactRun {
    fn compact(&self) -> Cow<'_, CompactRun> {
        Cow::Borrowed(self)
    }
}

impl Records for RunData {
    fn compact(&self) -> Cow<'_, CompactRun> {
        Cow::Owned(CompactRun::from(self))
    }
}
