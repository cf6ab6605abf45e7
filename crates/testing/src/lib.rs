//! What every crate's tests share: golden files, skips that are loud and counted, and a browser.

mod browser;
mod golden;
mod page;
mod skip;

pub use browser::{Browser, View};
pub use golden::golden;
pub use page::check_page;
pub use skip::skip;
