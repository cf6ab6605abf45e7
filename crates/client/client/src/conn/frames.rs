//! Follows the frames that an HTTP/2 server sends (RFC 9113 section 4), for what h2 does not report. The server may
//! take no more streams, or its settings may have changed. Trailers may have had pseudo-fields, which h2 drops, or were
//! too long, and h2 cuts them. DATA frames of length 0 are kept from h2: they are legal, and h2 ends a connection after
//! a hundred.

mod block;
mod inspected_io;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use block::Block;

pub(super) use block::LastBlocks;
pub(super) use inspected_io::InspectedIo;

const FRAME_HEADER_BYTES: usize = 9;
/// Frame types (RFC 9113 section 6).
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PUSH_PROMISE: u8 = 0x5;
const GOAWAY: u8 = 0x7;
const CONTINUATION: u8 = 0x9;
/// Flags of frames.
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// So many streams are remembered, the newest ones.
const MAX_STREAMS: usize = 1_024;
/// More empty DATA frames in a row are passed on to h2, which ends the connection (RFC 9113 section 10.5).
const MAX_EMPTY: u32 = 10_000;

/// A change of a connection that a frame announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The settings are other ones: there may be room for more streams.
    Settings,
    /// The server takes no more streams.
    GoAway,
}

/// The frames of one connection, byte by byte.
#[derive(Debug, Default)]
struct Frames {
    /// The header of a frame, as far as it has come.
    header: Vec<u8>,
    /// Bytes of the frame's payload that have not come.
    missing_bytes: usize,
    /// The field block of a HEADERS frame that ends its stream, with its CONTINUATION frames.
    block: Option<Block>,
    /// Whether a field block has begun and not ended.
    in_block: bool,
    /// Empty DATA frames in a row.
    empty: u32,
    /// Streams whose head has come and whose end has not, the newest ones.
    open: BTreeSet<u32>,
    last_blocks: LastBlocks,
}

impl Frames {
    /// Follows the next bytes and appends what h2 gets of them.
    fn read(&mut self, mut bytes: &[u8], passed: &mut Vec<u8>, mut notify: impl FnMut(Notice)) {
        while !bytes.is_empty() {
            if self.missing_bytes == 0 {
                let take = (FRAME_HEADER_BYTES - self.header.len()).min(bytes.len());
                let (header, rest) = bytes.split_at(take);
                self.header.extend_from_slice(header);
                bytes = rest;
                if self.header.len() == FRAME_HEADER_BYTES {
                    self.begin_frame(passed, &mut notify);
                }
                continue;
            }
            let (payload, rest) = bytes.split_at(self.missing_bytes.min(bytes.len()));
            passed.extend_from_slice(payload);
            if let Some(block) = &mut self.block {
                block.add(payload);
            }
            self.missing_bytes -= payload.len();
            bytes = rest;
            if self.missing_bytes == 0 {
                self.end_frame(&mut notify);
            }
        }
    }

    /// Ends the connection; returns what has come of another frame's header.
    fn end(&mut self) -> Vec<u8> {
        match self.missing_bytes {
            0 => std::mem::take(&mut self.header),
            _ => Vec::new(),
        }
    }

    fn begin_frame(&mut self, passed: &mut Vec<u8>, notify: &mut impl FnMut(Notice)) {
        let &[a, b, c, kind, flags, ref stream @ ..] = &self.header[..] else {
            return;
        };
        self.missing_bytes = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        let stream = stream.iter().fold(0, |id, byte| id << 8 | u32::from(*byte)) & 0x7fff_ffff;
        // One that is out of place h2 must see.
        let is_empty = kind == DATA
            && self.missing_bytes == 0
            && flags & (END_STREAM | PADDED) == 0
            && self.open.contains(&stream)
            && !self.in_block;
        self.follow(kind, flags, stream);
        self.empty = if is_empty {
            self.empty.saturating_add(1)
        } else {
            0
        };
        if is_empty && self.empty <= MAX_EMPTY {
            return self.header.clear();
        }
        passed.extend_from_slice(&self.header);
        match kind {
            GOAWAY => notify(Notice::GoAway),
            HEADERS if flags & END_STREAM != 0 => self.block = Some(Block::new(stream, flags)),
            // h2 refuses whatever else comes before the block's end.
            CONTINUATION => {}
            _ => self.block = None,
        }
        if self.missing_bytes == 0 {
            self.end_frame(notify);
        }
    }

    /// Updates the set of open streams.
    fn follow(&mut self, kind: u8, flags: u8, stream: u32) {
        match kind {
            DATA | HEADERS if flags & END_STREAM != 0 => self.open.remove(&stream),
            HEADERS => self.open.insert(stream),
            RST_STREAM => self.open.remove(&stream),
            _ => false,
        };
        // Those that this side has reset stay.
        if self.open.len() > MAX_STREAMS {
            self.open.pop_first();
        }
    }

    fn end_frame(&mut self, notify: &mut impl FnMut(Notice)) {
        let &[_, _, _, kind, flags, ..] = &self.header[..] else {
            return;
        };
        self.header.clear();
        if matches!(kind, HEADERS | PUSH_PROMISE | CONTINUATION) {
            self.in_block = flags & END_HEADERS == 0;
        }
        match kind {
            SETTINGS if flags & ACK == 0 => notify(Notice::Settings),
            HEADERS => {
                if let Some(block) = &mut self.block {
                    block.end_first(flags & PADDED != 0);
                }
            }
            _ => {}
        }
        let ends = matches!(kind, HEADERS | CONTINUATION) && flags & END_HEADERS != 0;
        let block = self.block.take_if(|_| ends);
        if let Some((stream, violation)) =
            block.and_then(|block| Some((block.stream, block.violation()?)))
        {
            self.last_blocks.add(stream, violation);
        }
    }
}
