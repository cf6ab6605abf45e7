//! What every crate's tests share: golden files, and skips that are loud and counted.

mod golden;
mod skip;

pub use golden::golden;
pub use skip::skip;
