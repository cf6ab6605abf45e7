#![no_main]
//! An HTTP/3 stream in two chunks: the limit of its frames does not depend on the split.

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/h3/src/frame_limit.rs"]
mod frame_limit;

use frame_limit::FrameLimit;

fuzz_target!(|data: &[u8]| {
    let Some((&at, stream)) = data.split_first() else {
        return;
    };
    for new in [FrameLimit::bidirectional, FrameLimit::unidirectional] {
        let whole = new().check(stream);
        let (first, second) = stream.split_at(usize::from(at).min(stream.len()));
        let mut limit = new();
        let split = limit.check(first).and_then(|()| limit.check(second));
        assert_eq!(whole, split);
    }
});
