#![no_main]
//! A curl command: whatever study is written from it, `commute run` can read.

use std::str;

use init::{Arms, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(command) = str::from_utf8(data) else {
        return;
    };
    let options = Options {
        name: "app",
        folder: Some("app"),
        keep_values: data.len() % 2 == 0,
        arms: Arms::BuiltIn,
    };
    let body = |_: &str| Ok(br#"{"a": [1, "b"]}"#.to_vec());
    if let Ok(written) = init::from_curl(command, &options, &body) {
        commute_fuzz::expect_study(&written);
    }
});
