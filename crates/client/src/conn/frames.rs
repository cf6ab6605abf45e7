//! Follows the frames that an HTTP/2 server sends (RFC 9113 section 4), for what h2 does not tell: that it will take no
//! more streams, that its settings may have changed, and that trailers had pseudo-fields, which h2 drops.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const FRAME_HEADER_BYTES: usize = 9;
/// Frame types (RFC 9113 section 6).
const HEADERS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const GOAWAY: u8 = 0x7;
/// Flags of frames.
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// Bytes of a HEADERS frame in which its first field begins: after the length of the padding and the priority.
const MAX_PREFIX_BYTES: usize = 1 + 5;
/// Bytes of a field block that say what its first field is: a change of the table's size, and the field's name.
const MAX_FIELD_BYTES: usize = 6 + 3;
/// Streams whose last block is remembered; a client that has more open does not learn of the rest.
const MAX_STREAMS: usize = 1_024;

/// What a frame says about its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// The settings are other ones: there may be room for more streams.
    Settings,
    /// The server takes no more streams.
    GoAway,
}

/// Streams whose last field block begins with a pseudo-field. A response without a body has its head there, so that
/// only whoever gets trailers has reason to ask.
#[derive(Clone, Debug, Default)]
pub(super) struct PseudoTrailers(Arc<Mutex<HashSet<u32>>>);

impl PseudoTrailers {
    /// Forgets a stream; returns whether its last field block begins with a pseudo-field.
    pub(super) fn take(&self, stream: u32) -> bool {
        self.streams().remove(&stream)
    }

    fn add(&self, stream: u32) {
        let mut streams = self.streams();
        if streams.len() < MAX_STREAMS {
            streams.insert(stream);
        }
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, HashSet<u32>> {
        // Each use is a single operation on the set, so a panic cannot leave it half changed.
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
    /// The beginning of a HEADERS frame that ends its stream.
    block: Option<Vec<u8>>,
    pseudo_trailers: PseudoTrailers,
}

impl Frames {
    /// Follows the next bytes.
    fn read(&mut self, mut bytes: &[u8], mut tell: impl FnMut(Notice)) {
        while !bytes.is_empty() {
            if self.missing_bytes == 0 && self.header.len() < FRAME_HEADER_BYTES {
                let take = (FRAME_HEADER_BYTES - self.header.len()).min(bytes.len());
                let (header, rest) = bytes.split_at(take);
                self.header.extend_from_slice(header);
                bytes = rest;
                if self.header.len() == FRAME_HEADER_BYTES {
                    self.begin_frame(&mut tell);
                }
                continue;
            }
            let (payload, rest) = bytes.split_at(self.missing_bytes.min(bytes.len()));
            if let Some(block) = &mut self.block {
                let room = (MAX_PREFIX_BYTES + MAX_FIELD_BYTES).saturating_sub(block.len());
                block.extend_from_slice(&payload[..room.min(payload.len())]);
            }
            self.missing_bytes -= payload.len();
            bytes = rest;
            if self.missing_bytes == 0 {
                self.end_frame(&mut tell);
            }
        }
    }

    fn begin_frame(&mut self, tell: &mut impl FnMut(Notice)) {
        let &[a, b, c, kind, flags, ..] = &self.header[..] else {
            return;
        };
        self.missing_bytes = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        match kind {
            GOAWAY => tell(Notice::GoAway),
            HEADERS if flags & END_STREAM != 0 => self.block = Some(Vec::new()),
            _ => {}
        }
        if self.missing_bytes == 0 {
            self.end_frame(tell);
        }
    }

    fn end_frame(&mut self, tell: &mut impl FnMut(Notice)) {
        if matches!(&self.header[..], &[_, _, _, SETTINGS, flags, ..] if flags & ACK == 0) {
            tell(Notice::Settings);
        }
        if let (Some(block), &[_, _, _, _, flags, a, b, c, d]) =
            (self.block.take(), &self.header[..])
        {
            let prefix = usize::from(flags & PADDED != 0) + 5 * usize::from(flags & PRIORITY != 0);
            if begins_with_pseudo_field(block.get(prefix..).unwrap_or_default()) {
                let stream = u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff;
                self.pseudo_trailers.add(stream);
            }
        }
        self.header.clear();
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
    /// Whether settings have come of which nothing is told yet.
    settings: bool,
    tell: F,
}

impl<T, F: FnMut(Notice)> Watched<T, F> {
    /// Tells of a GOAWAY as its header comes, and of settings once whoever reads has acted on them, which is when it
    /// reads on.
    pub(super) fn new(io: T, tell: F) -> (Self, PseudoTrailers) {
        let frames = Frames::default();
        let pseudo_trailers = frames.pseudo_trailers.clone();
        let watched = Self {
            io,
            frames,
            settings: false,
            tell,
        };
        (watched, pseudo_trailers)
    }
}

impl<T: AsyncRead + Unpin, F: FnMut(Notice) + Unpin> AsyncRead for Watched<T, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let Self {
            io,
            frames,
            settings,
            tell,
        } = &mut *self;
        if std::mem::take(settings) {
            tell(Notice::Settings);
        }
        ready!(Pin::new(io).poll_read(context, buffer))?;
        frames.read(&buffer.filled()[before..], |notice| match notice {
            Notice::Settings => *settings = true,
            Notice::GoAway => tell(Notice::GoAway),
        });
        Poll::Ready(Ok(()))
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

    /// Reads these bytes in every split into two, and byte by byte; returns what was told and the marked streams.
    fn read(bytes: &[u8]) -> (Vec<Notice>, Vec<u32>) {
        let in_pieces = |pieces: &[&[u8]]| {
            let (mut frames, mut told) = (Frames::default(), Vec::new());
            for piece in pieces {
                frames.read(piece, |notice| told.push(notice));
            }
            let mut streams: Vec<u32> = frames.pseudo_trailers.streams().iter().copied().collect();
            streams.sort_unstable();
            (told, streams)
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
        let (ends, other) = (END_STREAM, [0x40, 1, b'x', 0]);
        let bytes = [
            frame(HEADERS, ends, 1, &[0x88]),
            frame(HEADERS, 0, 3, &[0x88]),
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
    fn streams_are_remembered_once_and_in_bounds() {
        let trailers = PseudoTrailers::default();
        for stream in 0..2 * MAX_STREAMS as u32 {
            trailers.add(stream);
        }
        assert!(trailers.take(5) && !trailers.take(5));
        assert!(!trailers.take(MAX_STREAMS as u32));
    }
}
