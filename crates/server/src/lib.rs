//! (in work)
pub mod log;
