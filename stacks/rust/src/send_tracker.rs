//! The time at which a request has been written to the socket.
//!
//! A library reads the end of a request's body some time before it writes the last bytes. So
//! the end of the body only adds the call to a list ([`SendTracker::wrap`]). The next time the
//! library has flushed everything through TLS into the socket ([`TrackedStream`]), all calls on
//! the list have been sent.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use crate::trace::{Phase, Trace};

/// How long to wait for a library to close a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The calls of one connection whose request has ended but may not be in the socket yet. Also
/// reports whether the library has closed the connection's stream.
#[derive(Clone)]
pub struct SendTracker {
    unflushed: Arc<Mutex<Vec<Trace>>>,
    open: watch::Receiver<()>,
}

impl SendTracker {
    /// Wraps a request's body so that its end is noticed.
    pub fn wrap<B: Body>(&self, body: B, trace: &Trace) -> TrackedBody<B> {
        if body.is_end_stream() {
            // The library never polls such a body.
            self.ended(trace);
        }
        TrackedBody {
            body,
            trace: trace.clone(),
            tracker: self.clone(),
        }
    }

    /// Reports whether the library has dropped the stream.
    pub fn is_closed(&self) -> bool {
        self.open.has_changed().is_err()
    }

    /// Waits until the library has dropped the stream, at most for a second.
    pub async fn wait_closed(&self) {
        let mut open = self.open.clone();
        let closed = async { while open.changed().await.is_ok() {} };
        tokio::time::timeout(CLOSE_TIMEOUT, closed).await.ok();
    }

    fn ended(&self, trace: &Trace) {
        lock(&self.unflushed).push(trace.clone());
    }
}

/// A request's body whose end is noticed.
pub struct TrackedBody<B> {
    body: B,
    trace: Trace,
    tracker: SendTracker,
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.tracker.ended(&self.trace);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection's stream whose flushes and end are noticed.
pub struct TrackedStream<T> {
    stream: T,
    unflushed: Arc<Mutex<Vec<Trace>>>,
    _open: watch::Sender<()>,
}

impl<T> TrackedStream<T> {
    /// Wraps `stream` and returns the tracker of the calls that will run on it.
    pub fn new(stream: T) -> (Self, SendTracker) {
        let unflushed = Arc::<Mutex<Vec<Trace>>>::default();
        let (open, seen) = watch::channel(());
        let tracker = SendTracker {
            unflushed: Arc::clone(&unflushed),
            open: seen,
        };
        (
            Self {
                stream,
                unflushed,
                _open: open,
            },
            tracker,
        )
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for TrackedStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TrackedStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        for trace in lock(&self.unflushed).drain(..) {
            trace.stamp(Phase::RequestSent);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

fn lock(unflushed: &Mutex<Vec<Trace>>) -> MutexGuard<'_, Vec<Trace>> {
    // A panic under this lock leaves the list in a consistent state.
    unflushed.lock().unwrap_or_else(PoisonError::into_inner)
}
