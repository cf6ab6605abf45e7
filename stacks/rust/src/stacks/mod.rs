//! The stacks, one file each.

pub mod hyper;
pub mod quinn;
pub mod tonic;
