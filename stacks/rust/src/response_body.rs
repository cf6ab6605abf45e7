//! A response's body, digested outside the timed path.

use std::collections::VecDeque;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// Most bytes kept undigested. Beyond that every new chunk has an old one digested, so that a
/// large download neither fills memory nor stalls at its end.
const MAX_UNDIGESTED_BYTES: usize = 8 << 20;

/// The chunks of a response's body, in order.
#[derive(Default)]
pub(crate) struct ResponseBody {
    undigested: VecDeque<Bytes>,
    undigested_bytes: usize,
    digest: Sha256,
    /// Nothing is digested before the end, however long the body is.
    pub(crate) is_kept: bool,
}

impl ResponseBody {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.undigested_bytes += chunk.len();
        self.undigested.push_back(chunk);
        while !self.is_kept
            && self.undigested_bytes > MAX_UNDIGESTED_BYTES
            && let Some(chunk) = self.undigested.pop_front()
        {
            self.undigested_bytes -= chunk.len();
            self.digest.update(&chunk);
        }
    }

    /// Returns the undigested bytes in one piece: the whole body if it is kept, or not longer than
    /// [`MAX_UNDIGESTED_BYTES`].
    pub(crate) fn bytes(&self) -> Bytes {
        match self.undigested.as_slices() {
            ([only], []) => only.clone(),
            (front, back) => front.iter().chain(back).flatten().copied().collect(),
        }
    }

    /// Returns the body's SHA-256 in lower-case hex.
    pub(crate) fn digest(mut self) -> String {
        for chunk in &self.undigested {
            self.digest.update(chunk);
        }
        messages::hex(&self.digest.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_does_not_depend_on_chunk_size() {
        let length = 2 * MAX_UNDIGESTED_BYTES + 12_345;
        let mut file = vec![0; length];
        messages::fill(0, &mut file);
        let file = Bytes::from(file);
        for chunk in [1_000_003, length] {
            let mut body = ResponseBody::default();
            for at in (0..length).step_by(chunk) {
                body.push(file.slice(at..length.min(at + chunk)));
                assert!(body.undigested_bytes <= MAX_UNDIGESTED_BYTES);
            }
            assert_eq!(body.digest(), messages::digest_of(length as u64));
        }
        assert_eq!(ResponseBody::default().digest(), messages::digest_of(0));
    }
}
