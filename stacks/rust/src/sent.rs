//! The moment a request has left for the socket.
//!
//! A request body ends inside the library, some time before its last bytes are written.
//! So the body's end only puts the call on a list ([`Sent::wrap`]); the next time the
//! library has flushed everything through TLS into the socket ([`Flushed`]), all calls on
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

use crate::Trace;
use crate::trace::Phase;

/// The calls of one connection whose request ended but may not be in the socket yet, and
/// whether the library still holds the connection's stream.
#[derive(Clone)]
pub struct Sent {
    waiting: Arc<Mutex<Vec<Trace>>>,
    stream: watch::Receiver<()>,
}

impl Sent {
    /// A body that tells when it ends.
    pub fn wrap<B: Body>(&self, body: B, trace: &Trace) -> SentBody<B> {
        if body.is_end_stream() {
            // The library will never ask such a body for anything.
            self.ended(trace);
        }
        SentBody {
            body,
            trace: trace.clone(),
            sent: self.clone(),
        }
    }

    /// The library has let go of the stream.
    pub fn is_closed(&self) -> bool {
        self.stream.has_changed().is_err()
    }

    /// Waits until the library has let go of the stream, or a second is over.
    pub async fn closed(&self) {
        let mut stream = self.stream.clone();
        let closed = async { while stream.changed().await.is_ok() {} };
        tokio::time::timeout(GOODBYE, closed).await.ok();
    }

    fn ended(&self, trace: &Trace) {
        lock(&self.waiting).push(trace.clone());
    }
}

/// A request's body, watched for its end.
pub struct SentBody<B> {
    body: B,
    trace: Trace,
    sent: Sent,
}

impl<B: Body<Data = Bytes> + Unpin> Body for SentBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.sent.ended(&self.trace);
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

/// A connection's stream, watched for its flushes and its end.
pub struct Flushed<T> {
    stream: T,
    waiting: Arc<Mutex<Vec<Trace>>>,
    _open: watch::Sender<()>,
}

impl<T> Flushed<T> {
    /// Watches `stream` for the calls that will run on it.
    pub fn new(stream: T) -> (Self, Sent) {
        let waiting = Arc::<Mutex<Vec<Trace>>>::default();
        let (open, watched) = watch::channel(());
        let sent = Sent {
            waiting: Arc::clone(&waiting),
            stream: watched,
        };
        (
            Self {
                stream,
                waiting,
                _open: open,
            },
            sent,
        )
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Flushed<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Flushed<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        for trace in lock(&self.waiting).drain(..) {
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

fn lock(waiting: &Mutex<Vec<Trace>>) -> MutexGuard<'_, Vec<Trace>> {
    // A panic under this lock leaves a list, whole.
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);
