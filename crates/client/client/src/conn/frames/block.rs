//! The last field block of a stream, and the rules that it breaks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_rules::Violation;

use super::{MAX_STREAMS, PADDED, PRIORITY};
use crate::conn::MAX_HEAD_BYTES;

/// Bytes of a HEADERS frame in which its first field begins: after the length of the padding and the priority.
const MAX_PREFIX_BYTES: usize = 1 + 5;
/// Bytes of a field block that say what its first field is: a change of the table's size, and the field's name.
const MAX_FIELD_BYTES: usize = 6 + 3;

/// Streams whose last field block breaks a rule that h2 does not check. A response without a body has its head there,
/// so only a reader of trailers has reason to ask.
#[derive(Clone, Debug, Default)]
pub(in crate::conn) struct LastBlocks(Arc<Mutex<BTreeMap<u32, Violation>>>);

impl LastBlocks {
    /// Forgets a stream; returns the rule that its last field block breaks.
    pub(in crate::conn) fn take(&self, stream: u32) -> Option<Violation> {
        self.streams().remove(&stream)
    }

    pub(super) fn add(&self, stream: u32, violation: Violation) {
        let mut streams = self.streams();
        streams.insert(stream, violation);
        if streams.len() > MAX_STREAMS {
            streams.pop_first();
        }
    }

    pub(super) fn streams(&self) -> MutexGuard<'_, BTreeMap<u32, Violation>> {
        // Each use is a single operation on the map, so a panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A field block that ends its stream, with its CONTINUATION frames.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) stream: u32,
    /// Its beginning.
    first: Vec<u8>,
    /// Bytes of the frame before its fields.
    prefix_bytes: usize,
    /// Of the frames' payloads.
    bytes: usize,
}

impl Block {
    /// Creates a block that begins with a HEADERS frame that has these flags.
    pub(super) fn new(stream: u32, flags: u8) -> Self {
        let padding = usize::from(flags & PADDED != 0);
        Self {
            stream,
            first: Vec::new(),
            prefix_bytes: padding + 5 * usize::from(flags & PRIORITY != 0),
            bytes: 0,
        }
    }

    /// Takes account of the next bytes of its frames' payloads.
    pub(super) fn add(&mut self, payload: &[u8]) {
        let room = (MAX_PREFIX_BYTES + MAX_FIELD_BYTES).saturating_sub(self.first.len());
        let first = &payload[..room.min(payload.len())];
        self.first.extend_from_slice(first);
        self.bytes += payload.len();
    }

    /// Takes account of the end of its first frame: cuts off what is before its fields, and the padding after them.
    pub(super) fn end_first(&mut self, is_padded: bool) {
        let padding = match self.first.first() {
            Some(padding) if is_padded => usize::from(*padding),
            _ => 0,
        };
        self.first.truncate(self.bytes.saturating_sub(padding));
        self.first.drain(..self.prefix_bytes.min(self.first.len()));
    }

    /// Returns the rule that the block breaks, once all of it has come.
    pub(super) fn violation(&self) -> Option<Violation> {
        // h2 leaves fields out of a block that is longer than h2's own limit. On the wire it is longer than h2 counts only
        // by Huffman codes that are longer than their bytes, which no encoder chooses.
        if self.bytes > MAX_HEAD_BYTES as usize {
            Some(Violation::HeadTooLong(MAX_HEAD_BYTES as usize))
        } else if begins_with_pseudo_field(&self.first) {
            Some(Violation::PseudoField)
        } else {
            None
        }
    }
}

/// Reports whether the first field of a block (RFC 7541 section 6) is a pseudo-field. Those that were sent before and are
/// in the dynamic table are not recognised; that would take all of HPACK.
fn begins_with_pseudo_field(mut block: &[u8]) -> bool {
    /// The static table has the pseudo-fields first (RFC 7541 appendix A).
    const LAST_PSEUDO_FIELD: u8 = 14;
    while let [first, rest @ ..] = block {
        return match first {
            0x80.. => (1..=LAST_PSEUDO_FIELD).contains(&(first & 0x7f)),
            // A name in full: its length, then a colon, as it is or in Huffman's code.
            0x40 | 0x00 | 0x10 => match rest {
                [length, name, ..] if length & 0x80 != 0 => name >> 1 == 0b101_1100,
                [_, name, ..] => *name == b':',
                _ => false,
            },
            0x40..0x80 => (1..=LAST_PSEUDO_FIELD).contains(&(first & 0x3f)),
            // A change of the table's size: an integer with a prefix of five bits.
            0x20..0x40 if first & 0x1f != 0x1f => {
                block = rest;
                continue;
            }
            0x20..0x40 => {
                let integer = rest.iter().take_while(|byte| **byte & 0x80 != 0).count();
                block = rest.get(integer + 1..).unwrap_or_default();
                continue;
            }
            _ => (1..=LAST_PSEUDO_FIELD).contains(&(first & 0x0f)),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_of_a_last_block_is_looked_at() {
        for (block, expected) in [
            (&[0x88][..], true),
            (&[0x8e], true),
            (&[0x8f], false),
            (&[0x81], true),
            (&[0xbf], false),
            (&[0x48, 3, b'4', b'2', b'1'], true),
            (&[0x08, 3, b'4', b'2', b'1'], true),
            (&[0x18, 3, b'4', b'2', b'1'], true),
            (&[0x51, 1, b'x'], false),
            (&[0x0f, 0x01, 0], false),
            (&[0x1f, 0x00, 0], false),
            (&[0x00, 7, b':', b's'], true),
            (&[0x40, 1, b'x'], false),
            (&[0x10, 0x85, 0xb8], true),
            (&[0x10, 0x85, 0x41], false),
            (&[0x20, 0x88], true),
            (&[0x3f, 0xe1, 0x1f, 0x88], true),
            (&[0x3f, 0xe1, 0x1f, 0x40, 1, b'x'], false),
            (&[0x3f, 0xff], false),
            (&[0x40], false),
            (&[], false),
        ] {
            assert_eq!(begins_with_pseudo_field(block), expected, "{block:x?}");
        }
    }

    #[test]
    fn streams_are_remembered_once_and_in_bounds() {
        let (blocks, violation) = (LastBlocks::default(), Violation::PseudoField);
        for stream in 0..2 * MAX_STREAMS as u32 {
            blocks.add(stream, violation);
        }
        let last = 2 * MAX_STREAMS as u32 - 1;
        let taken = [last, last].map(|id| blocks.take(id));
        assert_eq!(taken, [Some(violation), None]);
        let (oldest, gone) = (MAX_STREAMS as u32, MAX_STREAMS as u32 - 1);
        let taken = [oldest, gone].map(|id| blocks.take(id));
        assert_eq!(taken, [Some(violation), None]);
    }
}
