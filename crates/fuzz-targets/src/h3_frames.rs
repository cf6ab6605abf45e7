use std::collections::VecDeque;

use bytes::Bytes;

use crate::messages::Messages;
use crate::refused::Refused;

/// The longest frame but DATA, bytes.
const LIMIT: u64 = 1 << 10;

/// Checks the frames of an HTTP/3 request or response in two chunks. The split must change neither what is refused nor
/// what is left.
pub fn h3_frames(data: &[u8]) {
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
}

fn follow(is_response: bool, chunks: &[&[u8]]) -> Result<Vec<u8>, Refused> {
    let mut messages = Messages::new(is_response, LIMIT);
    let mut seen = VecDeque::new();
    for chunk in chunks {
        messages.push(&Bytes::copy_from_slice(chunk), &mut seen)?;
    }
    messages.end()?;
    Ok(seen.into_iter().flatten().collect())
}
