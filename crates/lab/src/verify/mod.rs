//! Decides what a measured cell is worth.

pub(crate) mod audit;
pub(crate) mod proof;
