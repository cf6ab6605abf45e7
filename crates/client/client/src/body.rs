//! Bodies of requests: held whole, or streamed while they are sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use route::CallId;
use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::message::Message;

/// Pieces that wait for the transport.
const PIECES: usize = 4;
/// Bodies are sent in pieces of at most this many bytes. A request beside a body waits for one piece at most, and a
/// response to it comes as soon. It is the least that HTTP/2's peers take in a frame.
pub(crate) const PIECE_BYTES: usize = 16 << 10;

/// Writes the body of a request while it is sent. Dropped before [`finish`](Self::finish), it ends
/// the request with [`Error::Unfinished`].
#[derive(Debug)]
pub struct BodyWriter {
    pieces: mpsc::Sender<Piece>,
    /// Bytes that the length promises and that have not been written.
    missing: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum Piece {
    Data(Bytes),
    End,
}

/// The body of a request.
#[derive(Clone)]
pub(crate) enum Body {
    Whole(Bytes),
    Streamed { length: Option<u64>, source: Source },
}

/// Where a streamed body comes from; empty once a connection has taken a piece of it.
type Source = Arc<Mutex<Option<mpsc::Receiver<Piece>>>>;

/// The body of a request on one connection.
pub(crate) struct OutgoingBody {
    pieces: Pieces,
    /// Completes when the [`UploadGuard`] is dropped.
    guard_dropped: oneshot::Receiver<()>,
    call: CallId,
    messages: mpsc::UnboundedSender<Message>,
}

/// Keeps the upload of a body alive for as long as its request. Dropping the guard ends the upload, which would
/// otherwise wait forever for more of the body.
pub(crate) struct UploadGuard(oneshot::Sender<()>);

impl UploadGuard {
    /// Reports whether the upload is over: the body is sent, or will not be.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_closed()
    }
}

enum Pieces {
    Whole(Bytes),
    Streamed(Streamed),
    End,
}

struct Streamed {
    /// None if another connection has taken a piece; such a request was not to be sent again.
    receiver: Option<mpsc::Receiver<Piece>>,
    /// Bytes that have not come from the receiver.
    missing: Option<u64>,
    /// The rest of the last piece from the receiver.
    rest: Bytes,
    /// Where the receiver goes back to if no piece was taken.
    untouched: Option<Source>,
}

impl BodyWriter {
    /// Waits until there is room, then takes the bytes. [`Error::BodyNotTaken`] means that the
    /// response, or its error, says why.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), Error> {
        let length = bytes.len() as u64;
        let missing = match self.missing.map(|missing| missing.checked_sub(length)) {
            Some(None) => {
                let longer = "the body is longer than the length that was given";
                return Err(Error::Invalid(longer.to_owned()));
            }
            missing => missing.flatten(),
        };
        // A caller that gives up here has written nothing.
        let room = self.pieces.reserve().await;
        room.map_err(|_| Error::BodyNotTaken)?
            .send(Piece::Data(bytes));
        self.missing = missing;
        Ok(())
    }

    /// Waits until no more of the body is taken.
    #[cfg(feature = "grpc")]
    pub(crate) async fn refused(&self) {
        self.pieces.closed().await;
    }

    /// Ends the body.
    pub async fn finish(self) -> Result<(), Error> {
        if self.missing.is_some_and(|missing| missing > 0) {
            let shorter = "the body is shorter than the length that was given";
            return Err(Error::Invalid(shorter.to_owned()));
        }
        let sent = self.pieces.send(Piece::End).await;
        sent.map_err(|_| Error::BodyNotTaken)
    }
}

impl Body {
    /// Creates a body and the writer that an app writes it with.
    pub(crate) fn streamed(length: Option<u64>) -> (Self, BodyWriter) {
        let (pieces, receiver) = mpsc::channel(PIECES);
        let source = Arc::new(Mutex::new(Some(receiver)));
        let writer = BodyWriter {
            pieces,
            missing: length,
        };
        (Self::Streamed { length, source }, writer)
    }

    /// Returns the length, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Streamed { length, .. } => *length,
        }
    }

    /// Reports whether the body can be sent once more.
    pub(crate) fn is_kept(&self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Streamed { source, .. } => lock(source).is_some(),
        }
    }

    /// Takes the body for one connection.
    pub(crate) fn outgoing(
        &self,
        call: CallId,
        messages: mpsc::UnboundedSender<Message>,
    ) -> (OutgoingBody, UploadGuard) {
        let pieces = match self {
            Self::Whole(bytes) if bytes.is_empty() => Pieces::End,
            Self::Whole(bytes) => Pieces::Whole(bytes.clone()),
            Self::Streamed { length, source } => Pieces::Streamed(Streamed {
                receiver: lock(source).take(),
                missing: *length,
                rest: Bytes::new(),
                untouched: Some(Arc::clone(source)),
            }),
        };
        let (sender, guard_dropped) = oneshot::channel();
        let outgoing = OutgoingBody {
            pieces,
            guard_dropped,
            call,
            messages,
        };
        (outgoing, UploadGuard(sender))
    }
}

impl OutgoingBody {
    /// Returns the next piece, nothing at the end.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let rest = match &mut self.pieces {
            Pieces::End => return Poll::Ready(None),
            Pieces::Whole(bytes) => bytes,
            Pieces::Streamed(streamed) => {
                while streamed.rest.is_empty() {
                    match ready!(streamed.poll_next(context)) {
                        Some(Piece::Data(bytes)) => streamed.rest = bytes,
                        Some(Piece::End) => {
                            self.pieces = Pieces::End;
                            return Poll::Ready(None);
                        }
                        None => {
                            // The request must not look complete. It is cancelled, so nothing waits here.
                            self.messages.send(Message::Unfinished(self.call)).ok();
                            return Poll::Pending;
                        }
                    }
                }
                &mut streamed.rest
            }
        };
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        if matches!(&self.pieces, Pieces::Whole(rest) if rest.is_empty()) {
            self.pieces = Pieces::End;
        }
        Poll::Ready(Some(piece))
    }

    /// Reports whether nothing follows.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.pieces, Pieces::End)
    }
}

impl Streamed {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        let Some(receiver) = &mut self.receiver else {
            return Poll::Ready(None);
        };
        let piece = ready!(receiver.poll_recv(context));
        self.untouched = None;
        if let (Some(Piece::Data(bytes)), Some(missing)) = (&piece, &mut self.missing) {
            *missing -= bytes.len() as u64;
        }
        Poll::Ready(piece)
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        if let Some(source) = self.untouched.take() {
            *lock(&source) = self.receiver.take();
        }
    }
}

impl hyper::body::Body for OutgoingBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(piece) = self.poll_next(context) {
            return Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))));
        }
        ready!(Pin::new(&mut self.guard_dropped).poll(context)).ok();
        Poll::Ready(Some(Err(Error::BodyNotTaken)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.pieces {
            Pieces::End => SizeHint::with_exact(0),
            Pieces::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Pieces::Streamed(streamed) => streamed
                .missing
                .map(|missing| missing + streamed.rest.len() as u64)
                .map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

fn lock(source: &Source) -> std::sync::MutexGuard<'_, Option<mpsc::Receiver<Piece>>> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_write_that_is_given_up_counts_nothing() {
        let (body, mut writer) = Body::streamed(Some(6));
        let mut write = |text: &'static str| {
            let write = writer.write(Bytes::from_static(text.as_bytes()));
            write.now_or_never()
        };
        for _ in 0..PIECES {
            assert!(matches!(write("x"), Some(Ok(()))));
        }
        assert!(write("yz").is_none());
        let Body::Streamed { source, .. } = &body else {
            panic!("it is streamed");
        };
        lock(source).as_mut().map(mpsc::Receiver::try_recv);
        assert!(matches!(write("yz"), Some(Ok(()))));
        lock(source).as_mut().map(mpsc::Receiver::try_recv);
        assert!(matches!(write("z"), Some(Err(Error::Invalid(_)))));
        assert!(matches!(writer.finish().now_or_never(), Some(Ok(()))));
    }
}
