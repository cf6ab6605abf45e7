#![no_main]
//! An HTTP/3 request or response in two chunks: what is refused of it, and what is left of it, does not depend on the
//! split.

use std::collections::VecDeque;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/h3/src/messages.rs"]
mod messages;
#[path = "../../crates/h3/src/refused.rs"]
#[allow(dead_code, reason = "its other users are sockets")]
mod refused;
#[path = "../../crates/h3/src/section.rs"]
mod section;
#[path = "../../crates/h3/src/varint.rs"]
mod varint;

use messages::Messages;
use refused::Refused;

/// The longest frame but DATA, bytes.
const LIMIT: u64 = 1 << 10;

fuzz_target!(|data: &[u8]| {
    let Some((&at, stream)) = data.split_first() else {
        return;
    };
    let (first, second) = stream.split_at(usize::from(at).min(stream.len()));
    for is_response in [false, true] {
        let whole = follow(is_response, &[stream]);
        assert_eq!(whole, follow(is_response, &[first, second]));
        if let Ok(seen) = whole {
            assert!(seen.len() <= stream.len());
            // Nothing is left to drop.
            assert_eq!(follow(is_response, &[&seen]).as_ref(), Ok(&seen));
        }
    }
});

fn follow(is_response: bool, chunks: &[&[u8]]) -> Result<Vec<u8>, Refused> {
    let mut messages = Messages::new(is_response, LIMIT);
    let mut seen = VecDeque::new();
    for chunk in chunks {
        messages.push(&Bytes::copy_from_slice(chunk), &mut seen)?;
    }
    messages.end()?;
    Ok(seen.into_iter().flatten().collect())
}
