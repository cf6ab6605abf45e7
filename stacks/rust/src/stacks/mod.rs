//! The stacks.

pub mod client;
pub mod hyper;
pub mod quinn;
pub mod tonic;
