#![no_main]
//! A `stack.toml`.

use std::str;

use driver::manifest::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data) {
        Manifest::parse("stack.toml", text).ok();
    }
});
