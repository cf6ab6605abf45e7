//! A response as an app reads it.

use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;

use crate::error::Error;
use crate::mailbox::CancelGuard;
use crate::report::Report;
use crate::resume::{RangeFetcher, ResumableBody};

/// A response, whose body may still be on its way. Dropping it cancels the rest.
///
/// If its connection breaks or falls silent, another connection brings the rest of the body where that is possible.
/// That takes an answer to a GET with a length, a strong `ETag` and `Accept-Ranges: bytes`. A large one that comes
/// slowly is fetched over the other transport, too, and taken from there if that is twice as fast.
pub struct Response {
    head: http::response::Parts,
    stream: Stream,
    resumable: Option<Box<ResumableBody>>,
    report: Report,
}

/// The body on one connection.
pub(crate) struct Stream {
    /// Dropped before `body`: the request is cancelled before its connection sees that nobody reads, which ends it.
    guard: Option<CancelGuard>,
    body: mpsc::Receiver<Part>,
    /// Set before the body is cut off.
    ending: Arc<OnceLock<Error>>,
    complete: bool,
    trailers: Option<HeaderMap>,
}

/// A piece of a body.
#[derive(Debug)]
pub(crate) enum Part {
    Data(Bytes),
    End(Option<HeaderMap>),
    Failed(Error),
}

impl Response {
    pub(crate) fn new(
        head: http::response::Parts,
        body: mpsc::Receiver<Part>,
        ending: Arc<OnceLock<Error>>,
        report: Report,
    ) -> Self {
        let stream = Stream {
            body,
            ending,
            complete: false,
            trailers: None,
            guard: None,
        };
        Self {
            head,
            stream,
            resumable: None,
            report,
        }
    }

    pub(crate) fn hold(&mut self, guard: CancelGuard) {
        self.stream.guard = Some(guard);
    }

    /// Lets the rest of the body come from elsewhere from now on; `position` is its first byte.
    pub(crate) fn resume_by(&mut self, fetcher: RangeFetcher, position: u64) {
        self.resumable = Some(Box::new(ResumableBody::new(fetcher, position)));
    }

    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Returns the header fields.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// Returns how the response came, as far as it has.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the next piece of the body, nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        match &mut self.resumable {
            None => self.stream.next().await,
            Some(resumable) => resumable.next(&mut self.stream, &mut self.report).await,
        }
    }

    /// Returns the fields that came after the body; none before [`chunk`](Self::chunk) returned its end.
    pub fn trailers(&self) -> Option<&HeaderMap> {
        self.stream.trailers.as_ref()
    }

    /// Returns the rest of the body, which is refused if it is longer than `limit` bytes.
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, Error> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if all.len() + chunk.len() > limit {
                return Err(Error::Invalid(format!(
                    "the body is longer than {limit} bytes"
                )));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }

    /// Returns the identity of the body, if its rest can be requested later.
    pub(crate) fn resumable(&self) -> Option<&RangeFetcher> {
        self.resumable.as_ref().map(|resumable| resumable.of_what())
    }

    pub(crate) fn head(&self) -> &http::response::Parts {
        &self.head
    }

    pub(crate) fn into_stream(self) -> (Stream, Report) {
        (self.stream, self.report)
    }
}

impl Stream {
    /// Creates the stream of a body that has ended.
    pub(crate) fn ended() -> Self {
        let (_, body) = mpsc::channel(1);
        Self {
            body,
            ending: Arc::default(),
            complete: true,
            trailers: None,
            guard: None,
        }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.complete {
            return Ok(None);
        }
        match self.body.recv().await {
            Some(Part::Data(data)) => Ok(Some(data)),
            Some(Part::End(trailers)) => {
                (self.complete, self.trailers) = (true, trailers);
                if let Some(mut guard) = self.guard.take() {
                    guard.release();
                }
                Ok(None)
            }
            Some(Part::Failed(error)) => Err(error),
            None => Err(self.ending.get().cloned().unwrap_or(Error::Ended)),
        }
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.head.status)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::future::Future as _;
    use std::pin::pin;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake, Waker};

    use super::*;
    use crate::mailbox::Mailbox;
    use crate::message::Message;

    /// A connection that is woken when nobody reads its body any more.
    struct Connection {
        messages: Mutex<mpsc::UnboundedReceiver<Message>>,
        was_cancelled: AtomicBool,
    }

    impl Wake for Connection {
        fn wake(self: Arc<Self>) {
            let message = self.messages.lock().unwrap().try_recv();
            let is_cancelled = matches!(message, Ok(Message::Cancel(_)));
            self.was_cancelled.store(is_cancelled, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_body_that_is_let_go_of_is_cancelled_before_its_connection_sees_it() {
        let (sender, messages) = mpsc::unbounded_channel();
        let (_, guard) = Mailbox::new(sender, false).begin();
        let (pieces, body) = mpsc::channel(1);
        let stream = Stream {
            guard: Some(guard),
            body,
            ..Stream::ended()
        };
        let connection = Arc::new(Connection {
            messages: Mutex::new(messages),
            was_cancelled: AtomicBool::new(false),
        });
        let waker = Waker::from(Arc::clone(&connection));
        let closed = pin!(pieces.closed());
        assert!(closed.poll(&mut Context::from_waker(&waker)).is_pending());
        drop(stream);
        assert!(connection.was_cancelled.load(Ordering::Relaxed));
    }
}
