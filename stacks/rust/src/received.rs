//! A response's body, digested outside the timed path.

use std::collections::VecDeque;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// Bytes held undigested. Beyond it every new chunk has an old one digested, at SHA-256's
/// own pace, so that a large download neither fills memory nor stalls at its end.
const HELD_BYTES: usize = 8 << 20;

/// The chunks of a body, in order.
#[derive(Default)]
pub(crate) struct Received {
    held: VecDeque<Bytes>,
    held_bytes: usize,
    digested: Sha256,
}

impl Received {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.held_bytes += chunk.len();
        self.held.push_back(chunk);
        while self.held_bytes > HELD_BYTES
            && let Some(chunk) = self.held.pop_front()
        {
            self.held_bytes -= chunk.len();
            self.digested.update(&chunk);
        }
    }

    /// All that was pushed, in one piece; what [`HELD_BYTES`] leaves of it.
    pub(crate) fn whole(&self) -> Bytes {
        match self.held.as_slices() {
            ([one], []) => one.clone(),
            (some, more) => some.iter().chain(more).flatten().copied().collect(),
        }
    }

    /// SHA-256 in lower-case hex.
    pub(crate) fn digest(mut self) -> String {
        for chunk in &self.held {
            self.digested.update(chunk);
        }
        wire::hex(&self.digested.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_in_any_pieces_gives_the_files_digest() {
        let length = 2 * HELD_BYTES + 12_345;
        let mut file = vec![0; length];
        wire::fill(0, &mut file);
        let file = Bytes::from(file);
        for piece in [1_000_003, length] {
            let mut received = Received::default();
            for at in (0..length).step_by(piece) {
                received.push(file.slice(at..length.min(at + piece)));
                assert!(received.held_bytes <= HELD_BYTES);
            }
            assert_eq!(received.digest(), wire::digest_of(length as u64));
        }
        assert_eq!(Received::default().digest(), wire::digest_of(0));
    }
}
