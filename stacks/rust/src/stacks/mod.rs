//! The stacks.

pub mod hyper;
pub mod quinn;
pub mod tonic;
