//! Bodies of requests: bytes in memory, or seeded bytes that are made while they are sent.

use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// Bytes handed to the library at a time: the largest HTTP/2 frame that every peer must accept
/// (RFC 9113 section 4.2). With larger chunks the body would end long before it is sent.
pub const CHUNK_BYTES: usize = 16 << 10;
/// Longest upload that is made before the run starts. Of longer ones, the time to make a chunk, some
/// microseconds, is part of the call.
const PREPARED_BYTES: u64 = 32 << 20;

/// The content of a request, or what is left of it.
#[derive(Clone)]
pub enum Content {
    /// Made before.
    Bytes(Bytes),
    /// This part of the seeded file.
    Seeded(Range<u64>),
}

impl Content {
    /// Returns the seeded bytes that a step `put` of this length uploads.
    pub fn upload(length: u64) -> Self {
        let mut all = Self::Seeded(0..length);
        if length > PREPARED_BYTES {
            return all;
        }
        Self::Bytes(all.take(PREPARED_BYTES as usize))
    }

    /// Returns its length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Seeded(range) => range.end - range.start,
        }
    }

    /// Removes and returns at most `most` bytes from its beginning.
    pub fn take(&mut self, most: usize) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes.split_to(most.min(bytes.len())),
            Self::Seeded(range) => {
                let left = usize::try_from(range.end - range.start).unwrap_or(most);
                let mut bytes = vec![0; most.min(left)];
                messages::fill(range.start, &mut bytes);
                range.start += bytes.len() as u64;
                bytes.into()
            }
        }
    }

    /// Returns the SHA-256 of all of it.
    pub fn sha256(&self) -> [u8; 32] {
        let mut rest = self.clone();
        let mut sha = Sha256::new();
        while rest.length() > 0 {
            sha.update(rest.take(CHUNK_BYTES));
        }
        sha.finalize().into()
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Bytes(Bytes::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_uploads_are_the_same_bytes_as_those_in_memory() {
        let length = PREPARED_BYTES + 5;
        let long = Content::upload(length);
        assert!(matches!(long, Content::Seeded(_)));
        assert_eq!(messages::hex(&long.sha256()), messages::digest_of(length));
        let short = Content::upload(PREPARED_BYTES);
        assert!(matches!(short, Content::Bytes(_)));
        assert_eq!(
            messages::hex(&short.sha256()),
            messages::digest_of(PREPARED_BYTES)
        );
    }
}
