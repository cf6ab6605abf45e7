#![no_main]
//! A line of the server's log.

use libfuzzer_sys::fuzz_target;
use record::server_log::ServerEvent;

fuzz_target!(|data: &[u8]| {
    serde_json::from_slice::<ServerEvent>(data).ok();
});
