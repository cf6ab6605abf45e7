#![no_main]
//! A HAR: whatever study is written from it, `commute run` can read.

use init::{Arms, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = Options {
        name: "app",
        folder: Some("app"),
        keep_values: data.len() % 2 == 0,
        arms: Arms::Apps,
    };
    if let Ok(written) = init::from_har(data, &options) {
        commute_fuzz::expect_study(&written);
    }
});
