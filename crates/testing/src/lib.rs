//! What every crate's tests share: golden files, values checked by a JSON Schema, skips that are loud and
//! counted, a browser, and programs that only tests start.

mod browser;
mod example;
mod golden;
mod page;
mod schema;
mod skip;

pub use browser::{Browser, View};
pub use example::example;
pub use golden::golden;
pub use page::check_page;
pub use schema::assert_valid;
pub use skip::skip;
