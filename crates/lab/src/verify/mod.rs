//! The two checks of a measured cell, both pure: the proof of what the driver claims, and the audit
//! of interference from outside.

pub(crate) mod audit;
pub(crate) mod proof;
