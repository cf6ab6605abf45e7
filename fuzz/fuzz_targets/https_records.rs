#![no_main]
//! A name server's answer with HTTPS records.

use libfuzzer_sys::fuzz_target;

// What is `pub(super)` in it is visible here.
#[path = "../../crates/client/src/https_records/read.rs"]
mod read;

fuzz_target!(|data: &[u8]| {
    let read = read::h3_in(data, "a.example", 443);
    // Names are compared without case.
    assert_eq!(read, read::h3_in(data, "A.EXAMPLE", 443));
});
