//! A library with compression on top.

use messages::{Compression, Compressor, SIZE_LIMIT_BYTES};

use super::{Library, Refused};

pub(crate) struct Compressed<L> {
    library: L,
    compressor: Compressor,
}

impl<L> Compressed<L> {
    pub(crate) fn new(library: L, compression: Compression) -> Self {
        let compressor = Compressor::new(compression);
        Self {
            library,
            compressor,
        }
    }
}

impl<T, L: Library<T>> Library<T> for Compressed<L> {
    type Own = L::Own;

    fn encode(&mut self, own: &L::Own) -> Result<Vec<u8>, Refused> {
        Ok(self.compressor.compress(self.library.encode(own)?))
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<L::Own, Refused> {
        let bytes = self.compressor.decompress(bytes, SIZE_LIMIT_BYTES)?;
        self.library.decode(&bytes)
    }
}
