//! What is measured, and the store it lies in.

mod cell;
mod run;

pub use cell::*;
pub use run::*;
