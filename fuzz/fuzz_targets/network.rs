#![no_main]
//! A network's TOML.

use std::str;

use libfuzzer_sys::fuzz_target;
use link::Network;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = str::from_utf8(data)
        && let Ok(network) = Network::parse("network.toml", text)
    {
        network.numbers();
    }
});
