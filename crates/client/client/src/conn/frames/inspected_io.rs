//! An I/O stream that inspects incoming frames before h2 gets them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::{Frames, LastBlocks, Notice};

/// An I/O stream whose incoming frames are inspected.
pub(in crate::conn) struct InspectedIo<T, F> {
    io: T,
    frames: Frames,
    /// Bytes for h2; those before `given` have been passed on.
    passed: Vec<u8>,
    given: usize,
    /// Whether settings have come that are not reported yet.
    settings: bool,
    notify: F,
}

impl<T, F: FnMut(Notice)> InspectedIo<T, F> {
    /// Wraps a stream. It reports a GOAWAY as its header comes, and settings once the reader has acted on them, which
    /// is when it reads on.
    pub(in crate::conn) fn new(io: T, notify: F) -> (Self, LastBlocks) {
        let frames = Frames::default();
        let last_blocks = frames.last_blocks.clone();
        let inspected = Self {
            io,
            frames,
            passed: Vec::new(),
            given: 0,
            settings: false,
            notify,
        };
        (inspected, last_blocks)
    }
}

impl<T: AsyncBufRead + Unpin, F: FnMut(Notice) + Unpin> AsyncRead for InspectedIo<T, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            io,
            frames,
            passed,
            given,
            settings,
            notify,
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
                notify(Notice::Settings);
            }
            let came = ready!(Pin::new(&mut *io).poll_fill_buf(context))?;
            *given = 0;
            passed.clear();
            if came.is_empty() {
                *passed = frames.end();
                if passed.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
            frames.read(came, passed, |notice| match notice {
                Notice::Settings => *settings = true,
                Notice::GoAway => notify(Notice::GoAway),
            });
            let bytes = came.len();
            Pin::new(&mut *io).consume(bytes);
        }
    }
}

impl<T: AsyncWrite + Unpin, F: Unpin> AsyncWrite for InspectedIo<T, F> {
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
