#![no_main]
//! A study's TOML.

use std::str;

use lab::Study;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data) {
        Study::parse("study.toml", text).ok();
    }
});
