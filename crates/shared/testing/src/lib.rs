//! Helpers of every crate's tests: golden files, checks by a JSON Schema, skips that are loud and counted, browsers,
//! and programs that only tests start.

#![forbid(unsafe_code)]

mod browser;
mod example;
mod firefox;
mod golden;
mod hostile;
mod nss;
mod page;
mod schema;
mod skip;

pub use browser::{Browser, Recorder, View};
pub use example::example;
pub use firefox::record_in_firefox;
pub use golden::golden;
pub use hostile::{HOSTILE_NAME, INTERPRETED, check_harmless, rendered};
pub use page::check_page;
pub use schema::assert_valid;
pub use skip::skip;
