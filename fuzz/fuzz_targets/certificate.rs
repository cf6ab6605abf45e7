#![no_main]
//! The subject of a client's X.509 certificate.

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/server/src/certificate.rs"]
mod certificate;

fuzz_target!(|data: &[u8]| {
    certificate::common_name(data);
});
