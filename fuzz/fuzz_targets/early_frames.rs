#![no_main]
//! The decrypted payload of a 0-RTT packet.

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;

// What is `pub(super)` in it is visible here.
#[path = "../../crates/server/src/early/frames.rs"]
mod frames;

fuzz_target!(|data: &[u8]| {
    frames::record_stream_starts(data, &mut HashSet::new());
});
