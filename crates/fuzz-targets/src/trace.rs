use std::str;

use link::Trace;

/// Parses a trace of Mahimahi.
pub fn trace(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        Trace::parse(text).ok();
    }
}
