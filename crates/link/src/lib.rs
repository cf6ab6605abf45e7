//! The emulated access link as a model.

mod model;

pub use model::*;
