#![no_main]
//! An Ethernet frame on the link.

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/pump/src/datapath/frame.rs"]
#[allow(dead_code, unreachable_pub, reason = "only its parser is used")]
mod frame;

fuzz_target!(|data: &[u8]| {
    frame::parse(data);
});
