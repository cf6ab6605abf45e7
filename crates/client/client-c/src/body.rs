//! Buffered bytes of a body.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

#[derive(Default)]
pub(crate) struct BodyBuffer {
    pieces: VecDeque<Bytes>,
    pub(crate) bytes: usize,
    pub(crate) finished: bool,
}

impl BodyBuffer {
    pub(crate) fn push(&mut self, piece: Bytes) {
        self.bytes += piece.len();
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let piece = self.pieces.pop_front()?;
        self.bytes -= piece.len();
        Some(piece)
    }

    pub(crate) fn fill(&mut self, into: &mut [u8]) -> usize {
        let mut got = 0;
        while let Some(piece) = self.pieces.front_mut()
            && got < into.len()
        {
            let part = piece.len().min(into.len() - got);
            piece.copy_to_slice(&mut into[got..got + part]);
            got += part;
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        self.bytes -= got;
        got
    }
}
