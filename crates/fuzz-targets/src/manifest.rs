use std::str;

use driver::manifest::Manifest;

/// Parses a `stack.toml`.
pub fn manifest(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        Manifest::parse("stack.toml", text).ok();
    }
}
