//! The stacks, one file each.

pub mod hyper;
