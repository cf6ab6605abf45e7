//! Codes of a stream's chunks.

use subtle::ConstantTimeEq as _;

use crate::key::Key;
use crate::refusal::Refusal;

/// Length of a chunk's code.
pub const MAC_BYTES: usize = 32;
/// Separates a chunk's code from any other that the same key makes.
const PURPOSE: &[u8] = b"commute chunk 1\0";

/// The chunks of one stream, at either end, in order. Each code covers the one before, beginning with the head's, so
/// that no chunk can be moved. Each code also covers whether its chunk is the last, so that none can be cut off.
#[derive(Debug)]
pub struct Chunks {
    key: Key,
    previous: [u8; MAC_BYTES],
    index: u64,
}

impl Chunks {
    /// Starts a stream whose head has this code.
    pub fn new(key: &Key, head: [u8; 32]) -> Chunks {
        Chunks {
            key: key.clone(),
            previous: head,
            index: 0,
        }
    }

    /// Returns the code of the next chunk.
    pub fn sign(&mut self, chunk: &[u8], last: bool) -> [u8; MAC_BYTES] {
        self.previous = self.code(chunk, last);
        self.index += 1;
        self.previous
    }

    /// Checks the code of the next chunk.
    pub fn verify(&mut self, chunk: &[u8], last: bool, mac: &[u8]) -> Result<(), Refusal> {
        let index = self.index;
        let genuine = self.sign(chunk, last)[..].ct_eq(mac);
        bool::from(genuine)
            .then_some(())
            .ok_or(Refusal::Chunk(index))
    }

    fn code(&self, chunk: &[u8], last: bool) -> [u8; MAC_BYTES] {
        // Of fixed length each, but for the chunk, which comes last.
        self.key
            .mac(&[PURPOSE, &self.previous, &[u8::from(last)], chunk])
    }
}
