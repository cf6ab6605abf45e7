//! Helpers of every crate's tests: golden files, checks by a JSON Schema, skips that are loud and counted, browsers,
//! the project's Markdown, and programs that only tests start.

#![forbid(unsafe_code)]

mod browser;
mod example;
mod firefox;
mod golden;
mod hostile;
mod markdown;
mod nss;
mod page;
mod schema;
mod skip;

pub use browser::{Browser, Recorder, View};
pub use example::example;
pub use firefox::record_in_firefox;
pub use golden::golden;
pub use hostile::{HOSTILE_NAME, INTERPRETED, check_harmless, rendered};
pub use markdown::{CodeBlock, Markdown, project_files, project_pages, project_root};
pub use page::check_page;
pub use schema::assert_valid;
pub use skip::skip;
