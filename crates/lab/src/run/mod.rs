//! Runs what remains of a plan.

pub(crate) mod scheduler;
pub(crate) mod worker;
