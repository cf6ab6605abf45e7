#![no_main]
//! A trace of Mahimahi.

use std::str;

use libfuzzer_sys::fuzz_target;
use link::Trace;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data) {
        Trace::parse(text).ok();
    }
});
