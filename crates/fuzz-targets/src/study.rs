use std::str;

use study::Study;

/// Parses a study's TOML.
pub fn study(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        Study::parse("study.toml", text).ok();
    }
}
