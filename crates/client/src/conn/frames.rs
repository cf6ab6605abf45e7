//! Follows the frames that an HTTP/2 server sends (RFC 9113 section 4), for what h2 does not tell: that it will take no
//! more streams, that its settings may have changed, that trailers had pseudo-fields, which h2 drops, or were too long,
//! which it cuts. DATA frames of length 0 are kept from it: they are legal, and it ends a connection after a hundred.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use http_rules::Violation;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::MAX_HEAD_BYTES;

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
/// Bytes of a HEADERS frame in which its first field begins: after the length of the padding and the priority.
const MAX_PREFIX_BYTES: usize = 1 + 5;
/// Bytes of a field block that say what its first field is: a change of the table's size, and the field's name.
const MAX_FIELD_BYTES: usize = 6 + 3;
/// Streams of which anything is remembered, the newest ones.
const MAX_STREAMS: usize = 1_024;
/// More empty DATA frames in a row are passed on to h2, which ends the connection (RFC 9113 section 10.5).
const MAX_EMPTY: u32 = 10_000;
/// Bytes that are read at a time.
const READ_BYTES: usize = 16 << 10;

/// What a frame says about its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The settings are other ones: there may be room for more streams.
    Settings,
    /// The server takes no more streams.
    GoAway,
}

/// Streams whose last field block breaks a rule that h2 does not see to. A response without a body has its head there,
/// so that only whoever gets trailers has reason to ask.
#[derive(Clone, Debug, Default)]
pub(super) struct LastBlocks(Arc<Mutex<BTreeMap<u32, Violation>>>);

impl LastBlocks {
    /// Forgets a stream; returns the rule that its last field block breaks.
    pub(super) fn take(&self, stream: u32) -> Option<Violation> {
        self.streams().remove(&stream)
    }

    fn add(&self, stream: u32, violation: Violation) {
        let mut streams = self.streams();
        streams.insert(stream, violation);
        if streams.len() > MAX_STREAMS {
            streams.pop_first();
        }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Violation>> {
        // Each use is a single operation on the map, so a panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

#[derive(Debug)]
struct Block {
    stream: u32,
    /// Its beginning.
    first: Vec<u8>,
    /// Bytes of the frame before its fields.
    prefix_bytes: usize,
    /// Of the frames' payloads.
    bytes: usize,
}

impl Frames {
    /// Follows the next bytes and appends what h2 gets of them.
    fn read(&mut self, mut bytes: &[u8], passed: &mut Vec<u8>, mut tell: impl FnMut(Notice)) {
        while !bytes.is_empty() {
            if self.missing_bytes == 0 && self.header.len() < FRAME_HEADER_BYTES {
                let take = (FRAME_HEADER_BYTES - self.header.len()).min(bytes.len());
                let (header, rest) = bytes.split_at(take);
                self.header.extend_from_slice(header);
                bytes = rest;
                if self.header.len() == FRAME_HEADER_BYTES {
                    self.begin_frame(passed, &mut tell);
                }
                continue;
            }
            let (payload, rest) = bytes.split_at(self.missing_bytes.min(bytes.len()));
            passed.extend_from_slice(payload);
            if let Some(block) = &mut self.block {
                let room = (MAX_PREFIX_BYTES + MAX_FIELD_BYTES).saturating_sub(block.first.len());
                let first = &payload[..room.min(payload.len())];
                block.first.extend_from_slice(first);
                block.bytes += payload.len();
            }
            self.missing_bytes -= payload.len();
            bytes = rest;
            if self.missing_bytes == 0 {
                self.end_frame(&mut tell);
            }
        }
    }

    /// The connection has ended; returns what has come of another frame's header.
    fn end(&mut self) -> Vec<u8> {
        match self.missing_bytes {
            0 => std::mem::take(&mut self.header),
            _ => Vec::new(),
        }
    }

    fn begin_frame(&mut self, passed: &mut Vec<u8>, tell: &mut impl FnMut(Notice)) {
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
            GOAWAY => tell(Notice::GoAway),
            HEADERS if flags & END_STREAM != 0 => {
                let padding = usize::from(flags & PADDED != 0);
                self.block = Some(Block {
                    stream,
                    first: Vec::new(),
                    prefix_bytes: padding + 5 * usize::from(flags & PRIORITY != 0),
                    bytes: 0,
                });
            }
            // h2 refuses whatever else comes before the block's end.
            CONTINUATION => {}
            _ => self.block = None,
        }
        if self.missing_bytes == 0 {
            self.end_frame(tell);
        }
    }

    /// Keeps account of which streams are open.
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

    fn end_frame(&mut self, tell: &mut impl FnMut(Notice)) {
        let &[_, _, _, kind, flags, ..] = &self.header[..] else {
            return;
        };
        self.header.clear();
        if matches!(kind, HEADERS | PUSH_PROMISE | CONTINUATION) {
            self.in_block = flags & END_HEADERS == 0;
        }
        match kind {
            SETTINGS if flags & ACK == 0 => tell(Notice::Settings),
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

impl Block {
    /// Its first frame has come: leaves its fields, without what is before them, and padding after them.
    fn end_first(&mut self, is_padded: bool) {
        let padding = match self.first.first() {
            Some(padding) if is_padded => usize::from(*padding),
            _ => 0,
        };
        self.first.truncate(self.bytes.saturating_sub(padding));
        self.first.drain(..self.prefix_bytes.min(self.first.len()));
    }

    fn violation(&self) -> Option<Violation> {
        // h2 leaves fields out where it is longer than h2's own limit. Only codes of Huffman's that no server chooses make
        // it longer on the wire than h2 counts it.
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

/// A connection whose incoming frames are followed.
pub(super) struct Watched<T, F> {
    io: T,
    frames: Frames,
    read: Box<[u8]>,
    /// What h2 gets next, from `given` on.
    passed: Vec<u8>,
    given: usize,
    /// Whether settings have come of which nothing is told yet.
    settings: bool,
    tell: F,
}

impl<T, F: FnMut(Notice)> Watched<T, F> {
    /// Tells of a GOAWAY as its header comes, and of settings once whoever reads has acted on them, which is when it
    /// reads on.
    pub(super) fn new(io: T, tell: F) -> (Self, LastBlocks) {
        let frames = Frames::default();
        let last_blocks = frames.last_blocks.clone();
        let watched = Self {
            io,
            frames,
            read: vec![0; READ_BYTES].into(),
            passed: Vec::with_capacity(READ_BYTES),
            given: 0,
            settings: false,
            tell,
        };
        (watched, last_blocks)
    }
}

impl<T: AsyncRead + Unpin, F: FnMut(Notice) + Unpin> AsyncRead for Watched<T, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            io,
            frames,
            read,
            passed,
            given,
            settings,
            tell,
        } = &mut *self;
        loop {
            let rest = &passed[*given..];
            if !rest.is_empty() {
                let give = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..give]);
                *given += give;
                return Poll::Ready(Ok(()));
            }
            if std::mem::take(settings) {
                tell(Notice::Settings);
            }
            let mut came = ReadBuf::new(read);
            ready!(Pin::new(&mut *io).poll_read(context, &mut came))?;
            *given = 0;
            passed.clear();
            if came.filled().is_empty() {
                *passed = frames.end();
                if passed.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
            frames.read(came.filled(), passed, |notice| match notice {
                Notice::Settings => *settings = true,
                Notice::GoAway => tell(Notice::GoAway),
            });
        }
    }
}

impl<T: AsyncWrite + Unpin, F: Unpin> AsyncWrite for Watched<T, F> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).expect("it is short");
        let mut frame = vec![0, 0, length, kind, flags, 0x80, 0, 0, stream];
        frame.extend_from_slice(payload);
        frame
    }

    /// What was told, the marked streams, and what h2 gets.
    type Read = (Vec<Notice>, Vec<u32>, Vec<u8>);

    /// Reads these bytes in every split into two, and byte by byte.
    fn read_all(bytes: &[u8]) -> Read {
        let in_pieces = |pieces: &[&[u8]]| {
            let (mut frames, mut told) = (Frames::default(), Vec::new());
            let mut passed = Vec::new();
            for piece in pieces {
                frames.read(piece, &mut passed, |notice| told.push(notice));
            }
            passed.extend(frames.end());
            let mut streams: Vec<u32> = frames.last_blocks.streams().keys().copied().collect();
            streams.sort_unstable();
            (told, streams, passed)
        };
        let whole = in_pieces(&[bytes]);
        for at in 0..=bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(in_pieces(&[first, second]), whole, "split at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(in_pieces(&single), whole);
        whole
    }

    /// The same for bytes that all are passed on.
    fn read(bytes: &[u8]) -> (Vec<Notice>, Vec<u32>) {
        let (told, streams, passed) = read_all(bytes);
        assert_eq!(passed, bytes);
        (told, streams)
    }

    fn head(stream: u8) -> Vec<u8> {
        frame(HEADERS, END_HEADERS, stream, &[0x88])
    }

    #[test]
    fn empty_data_is_kept_from_h2() {
        let kept = [
            frame(DATA, 0, 1, b"hello"),
            frame(DATA, PADDED, 1, &[1, 0]),
            head(3),
            frame(SETTINGS, 0, 0, &[]),
            frame(DATA, 0, 3, b"hello"),
        ];
        let (mut bytes, mut expected) = (head(1), head(1));
        for (frame_of, stream) in kept.iter().zip([1, 1, 3, 1, 3]) {
            bytes.extend([frame_of.clone(), frame(DATA, 0, stream, &[])].concat());
            expected.extend_from_slice(frame_of);
        }
        let end = [frame(DATA, END_STREAM, 1, &[]), vec![0, 0, 0, DATA]].concat();
        bytes.extend_from_slice(&end);
        expected.extend_from_slice(&end);
        let (told, streams, passed) = read_all(&bytes);
        assert_eq!((told, streams), (vec![Notice::Settings], vec![]));
        assert_eq!(passed, expected);
    }

    #[test]
    fn empty_data_that_is_out_of_place_is_passed_on() {
        let (empty, ends) = (frame(DATA, 0, 1, &[]), END_HEADERS | END_STREAM);
        for before in [
            vec![],
            head(3),
            frame(HEADERS, 0, 1, &[0x88]),
            frame(HEADERS, ends, 1, &[0x88]),
            [head(1), frame(DATA, END_STREAM, 1, b"hello")].concat(),
            [head(1), frame(RST_STREAM, 0, 1, &[0; 4])].concat(),
            [head(1), frame(PUSH_PROMISE, 0, 1, &[0; 5])].concat(),
        ] {
            let (_, _, passed) = read_all(&[before.clone(), empty.clone()].concat());
            assert_eq!(passed, [before, empty.clone()].concat());
        }
        for wrong in [frame(DATA, 0, 0, &[]), frame(DATA, PADDED, 1, &[])] {
            let (_, _, passed) = read_all(&[head(1), wrong.clone()].concat());
            assert_eq!(passed, [head(1), wrong].concat());
        }
    }

    #[test]
    fn endless_empty_data_is_passed_on() {
        let (mut frames, mut passed) = (Frames::default(), Vec::new());
        frames.read(&head(1), &mut Vec::new(), |_| {});
        let empty = frame(DATA, 0, 1, &[]);
        for _ in 0..MAX_EMPTY {
            frames.read(&empty, &mut passed, |_| {});
        }
        assert!(passed.is_empty());
        frames.read(&empty, &mut passed, |_| {});
        assert_eq!(passed, empty);
        frames.read(&frame(SETTINGS, 0, 0, &[]), &mut passed, |_| {});
        let before = passed.len();
        frames.read(&empty, &mut passed, |_| {});
        assert_eq!(passed.len(), before);
    }

    #[test]
    fn streams_that_are_open_are_remembered_in_bounds() {
        let mut frames = Frames::default();
        for stream in 0..2 * MAX_STREAMS as u32 {
            frames.follow(HEADERS, END_HEADERS, stream);
        }
        assert_eq!(frames.open.len(), MAX_STREAMS);
        assert!(frames.open.contains(&(2 * MAX_STREAMS as u32 - 1)));
    }

    #[tokio::test]
    async fn whoever_reads_gets_everything_in_whatever_pieces() {
        let (mut peer, io) = tokio::io::duplex(7);
        let (mut watched, _) = Watched::new(io, |_| {});
        let (data, empty) = (frame(DATA, 0, 1, b"hello"), frame(DATA, 0, 1, &[]));
        let sent = [
            &head(1)[..],
            &data,
            &empty,
            &data,
            &empty,
            &empty,
            &data,
            &data[..5],
        ];
        let sent = sent.concat();
        tokio::spawn(async move { peer.write_all(&sent).await });
        let (mut read, mut piece) = (Vec::new(), [0; 3]);
        loop {
            match watched.read(&mut piece).await.expect("it is open") {
                0 => break,
                bytes => read.extend_from_slice(&piece[..bytes]),
            }
        }
        assert_eq!(
            read,
            [&head(1)[..], &data, &data, &data, &data[..5]].concat()
        );
    }

    #[test]
    fn settings_and_goaway_are_told() {
        let bytes = [
            frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]),
            frame(SETTINGS, ACK, 0, &[]),
            frame(0, 0, 1, &frame(GOAWAY, 0, 0, &[0; 8])),
            frame(6, 0, 0, &[0; 8]),
            frame(GOAWAY, 0, 0, &[0; 8]),
        ];
        let told = vec![Notice::Settings, Notice::GoAway];
        assert_eq!(read(&bytes.concat()), (told, vec![]));
    }

    #[tokio::test]
    async fn settings_are_told_when_they_are_acted_on() {
        let (mut peer, io) = tokio::io::duplex(64);
        let told = RefCell::new(Vec::new());
        let (mut watched, _) = Watched::new(io, |notice| told.borrow_mut().push(notice));
        peer.write_all(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]))
            .await
            .expect("there is room");
        let mut bytes = [0; 64];
        assert_eq!(watched.read(&mut bytes).await.expect("it is open"), 15);
        assert_eq!(*told.borrow(), []);
        assert!(watched.read(&mut bytes).now_or_never().is_none());
        assert_eq!(*told.borrow(), [Notice::Settings]);
    }

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
    fn padding_and_priority_come_before_the_fields() {
        let (ends, other) = (END_STREAM | END_HEADERS, [0x40, 1, b'x', 0]);
        let bytes = [
            frame(HEADERS, ends, 1, &[0x88]),
            frame(HEADERS, END_HEADERS, 3, &[0x88]),
            frame(HEADERS, ends, 5, &other),
            frame(HEADERS, ends | PADDED, 7, &[2, 0x88, 0, 0]),
            frame(HEADERS, ends | PRIORITY, 9, &[0, 0, 0, 0, 0, 0x88]),
            frame(
                HEADERS,
                ends | PADDED | PRIORITY,
                11,
                &[0, 0, 0, 0, 0, 0, 0x88],
            ),
            frame(HEADERS, ends | PADDED, 13, &[0x88, 0x40]),
            frame(HEADERS, ends, 15, &[]),
        ];
        assert_eq!(read(&bytes.concat()), (vec![], vec![1, 7, 9, 11]));
    }

    #[test]
    fn a_block_goes_on_in_other_frames() {
        let padded = END_STREAM | PADDED;
        let bytes = [
            frame(HEADERS, END_STREAM, 1, &[]),
            frame(CONTINUATION, END_HEADERS, 1, &[0x88]),
            frame(HEADERS, END_STREAM, 3, &[0x40, 1]),
            frame(CONTINUATION, 0, 3, &[]),
            frame(CONTINUATION, END_HEADERS, 3, &[b'x', 0]),
            frame(HEADERS, padded, 5, &[3, 0x40, 1, 0, 0, 0]),
            frame(CONTINUATION, END_HEADERS, 5, &[b':', 0]),
            frame(HEADERS, 0, 7, &[]),
            frame(CONTINUATION, END_HEADERS, 7, &[0x88]),
        ];
        assert_eq!(read(&bytes.concat()), (vec![], vec![1, 5]));
    }

    #[test]
    fn blocks_that_are_too_long_are_marked() {
        for (payload, expected) in [(255, None), (257, Some(Violation::HeadTooLong(256 << 10)))] {
            let (mut frames, mut passed) = (Frames::default(), Vec::new());
            let mut first = frame(HEADERS, END_STREAM, 1, &[]);
            let mut block = vec![0x40; payload << 10];
            let mut frame_of = |header: &mut Vec<u8>, bytes: Vec<u8>| {
                header[..3].copy_from_slice(&(bytes.len() as u32).to_be_bytes()[1..]);
                frames.read(header, &mut passed, |_| {});
                frames.read(&bytes, &mut passed, |_| {});
            };
            frame_of(&mut first, block.split_off(block.len() / 2));
            frame_of(&mut frame(CONTINUATION, END_HEADERS, 1, &[]), block);
            assert_eq!(frames.last_blocks.take(1), expected);
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
        assert_eq!(blocks.take(5), None);
    }
}
