//! Logs what hyper refuses over HTTP/2.
//!
//! hyper and h2 reset a stream, or end the connection, when a client breaks a rule, and report it to nobody. It shows in
//! the frames that the server sends, which are followed here on their way out. `refusal_reasons.rs` and, for rules that h2
//! does not check, `http2.rs` name the rule.

use std::borrow::Cow;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::ConnectionContext;
use crate::refusal_reasons;

/// A frame's header: length, type, flags, stream (RFC 9113 section 4.1).
const HEADER_BYTES: usize = 9;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
/// The part of a payload that is read: all of RST_STREAM, and the last stream and code of GOAWAY.
const READ_BYTES: usize = 8;
/// The codes that a client gets for what it has sent (RFC 9113 section 7).
const REFUSALS: [(u32, &str); 6] = [
    (1, "PROTOCOL_ERROR"),
    (3, "FLOW_CONTROL_ERROR"),
    (5, "STREAM_CLOSED"),
    (6, "FRAME_SIZE_ERROR"),
    (9, "COMPRESSION_ERROR"),
    (11, "ENHANCE_YOUR_CALM"),
];

/// A stream of bytes that logs which frames refuse something.
pub(crate) struct RefusalLog<S> {
    inner: S,
    /// None over HTTP/1.1.
    frames: Option<Frames>,
    /// The rules that were broken since the last refusal: more than one if several requests arrived at once.
    broken: Vec<Cow<'static, str>>,
    /// The rules that this server's own checks found broken.
    reasons: Reasons,
    connection: ConnectionContext,
}

/// Passes on why a stream is about to be reset, from any thread.
#[derive(Clone, Default)]
pub(crate) struct Reasons(Arc<Mutex<Vec<String>>>);

impl Reasons {
    /// Adds a rule that was broken.
    pub(crate) fn add(&self, rule: String) {
        self.lock().push(rule);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        // Each use is a single operation, so a panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream, or the whole connection, that is refused with a code.
type Refusal = (Option<u64>, &'static str);

/// Follows the frames that are sent.
#[derive(Default)]
struct Frames {
    /// The first bytes of a frame: its header, and what is read of its payload.
    begun: Vec<u8>,
    /// Bytes of its payload that are skipped.
    skipped: usize,
}

impl<S> RefusalLog<S> {
    /// Wraps a connection over HTTP/2; `h2` is none if the first byte that is sent is to decide.
    pub(crate) fn new(inner: S, h2: Option<bool>, connection: &ConnectionContext) -> Self {
        Self {
            inner,
            frames: (h2 != Some(false)).then(Frames::default),
            broken: Vec::new(),
            reasons: Reasons::default(),
            connection: connection.clone(),
        }
    }

    /// Returns where to add why a stream is about to be reset.
    pub(crate) fn reasons(&self) -> Reasons {
        self.reasons.clone()
    }

    fn follow(&mut self, sent: &[u8]) {
        let Some(frames) = &mut self.frames else {
            return;
        };
        let (connection, broken) = (&self.connection, &self.broken);
        let mut has_refused = false;
        let is_h2 = frames.follow(sent, |(stream, code)| {
            connection.log_refused(stream, code, &broken.join("; "));
            has_refused = true;
        });
        if has_refused {
            self.broken.clear();
        }
        if !is_h2 {
            self.frames = None;
        }
    }
}

impl<S> RefusalLog<S> {
    /// Keeps the rules that were broken since this connection last read or wrote.
    fn take_reasons(&mut self) {
        let own = std::mem::take(&mut *self.reasons.lock());
        let rules = refusal_reasons::take().into_iter().map(Cow::Borrowed);
        for rule in rules.chain(own.into_iter().map(Cow::Owned)) {
            if !self.broken.contains(&rule) {
                self.broken.push(rule);
            }
        }
    }
}

impl<S> Drop for RefusalLog<S> {
    fn drop(&mut self) {
        // The next connection on this thread has not broken it.
        refusal_reasons::take();
    }
}

impl Frames {
    /// Takes the next bytes. Returns false if they are not those of HTTP/2.
    fn follow(&mut self, mut sent: &[u8], mut refused: impl FnMut(Refusal)) -> bool {
        loop {
            let skipped = self.skipped.min(sent.len());
            self.skipped -= skipped;
            sent = &sent[skipped..];
            if sent.is_empty() {
                return true;
            }
            let wanted = match self.begun.len() {
                ..HEADER_BYTES => HEADER_BYTES,
                _ => HEADER_BYTES + self.read_bytes(),
            };
            let taken = (wanted - self.begun.len()).min(sent.len());
            self.begun.extend_from_slice(&sent[..taken]);
            sent = &sent[taken..];
            // A frame of HTTP/2 that begins with these bytes would be longer than any that is sent.
            if self.begun.starts_with(b"HTTP") {
                return false;
            }
            if self.begun.len() >= HEADER_BYTES
                && self.begun.len() == HEADER_BYTES + self.read_bytes()
            {
                self.skipped = self.payload_bytes() - self.read_bytes();
                if let Some(refusal) = self.refusal() {
                    refused(refusal);
                }
                self.begun.clear();
            }
        }
    }

    /// Returns the length of the payload, whose frame's header has been taken.
    fn payload_bytes(&self) -> usize {
        let length = [0, self.begun[0], self.begun[1], self.begun[2]];
        u32::from_be_bytes(length) as usize
    }

    /// Returns how much of the payload is read.
    fn read_bytes(&self) -> usize {
        match self.begun[3] {
            RST_STREAM | GOAWAY => self.payload_bytes().min(READ_BYTES),
            _ => 0,
        }
    }

    /// Returns what the frame refuses.
    fn refusal(&self) -> Option<Refusal> {
        let word = |at: usize| {
            let bytes = self.begun.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let (stream, code) = match self.begun[3] {
            RST_STREAM => (Some(u64::from(word(5)? & 0x7fff_ffff)), word(HEADER_BYTES)?),
            GOAWAY => (None, word(HEADER_BYTES + 4)?),
            _ => return None,
        };
        let (_, name) = REFUSALS.iter().find(|(refusal, _)| *refusal == code)?;
        Some((stream, name))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RefusalLog<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.take_reasons();
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RefusalLog<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.take_reasons();
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, buf))?;
        self.follow(&buf[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.take_reasons();
        let written = ready!(Pin::new(&mut self.inner).poll_write_vectored(cx, bufs))?;
        let mut left = written;
        for buf in bufs {
            let sent = left.min(buf.len());
            self.follow(&buf[..sent]);
            left -= sent;
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &[u8] = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64";
    /// A DATA frame whose payload looks like RST_STREAM.
    const DATA: &[u8] =
        b"\x00\x00\x0d\x00\x00\x00\x00\x00\x01\x00\x00\x04\x03\x00\x00\x00\x00\x05\x00\x00\x00\x01";
    const RESET: &[u8] = b"\x00\x00\x04\x03\x00\x00\x00\x00\x07\x00\x00\x00\x01";
    const CANCEL: &[u8] = b"\x00\x00\x04\x03\x00\x00\x00\x00\x09\x00\x00\x00\x08";
    const GO_AWAY: &[u8] =
        b"\x00\x00\x0a\x07\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x09no";

    /// Returns what a connection refuses, whatever pieces its bytes are sent in.
    fn refusals(sent: &[&[u8]]) -> (Vec<Refusal>, bool) {
        let sent = sent.concat();
        let in_pieces = |bytes: usize| {
            let (mut frames, mut seen) = (Frames::default(), Vec::new());
            let mut pieces = sent.chunks(bytes);
            let is_h2 = pieces.all(|piece| frames.follow(piece, |refusal| seen.push(refusal)));
            (seen, is_h2)
        };
        let whole = in_pieces(sent.len());
        for bytes in 1..sent.len() {
            assert_eq!(in_pieces(bytes), whole, "{bytes}");
        }
        whole
    }

    #[test]
    fn refusals_are_found_among_other_frames() {
        let (seen, is_h2) = refusals(&[SETTINGS, DATA, RESET, CANCEL, DATA, GO_AWAY]);
        let reset = (Some(7), "PROTOCOL_ERROR");
        assert_eq!(seen, [reset, (None, "COMPRESSION_ERROR")]);
        assert!(is_h2);
        assert_eq!(refusals(&[SETTINGS, DATA, CANCEL]), (Vec::new(), true));
    }

    #[test]
    fn http1_is_not_followed() {
        let (seen, is_h2) = refusals(&[b"HTTP/1.1 200 OK\r\n\r\n", RESET]);
        assert!(seen.is_empty() && !is_h2);
    }
}
