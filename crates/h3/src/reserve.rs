//! Streams that are opened before a request needs them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use quinn::ConnectionError;

/// A stream's two halves.
pub(crate) type Bidi = (quinn::SendStream, quinn::RecvStream);

/// Request streams opened in advance, which shows whether the peer's limit (RFC 9000 section 4.6) allows another one:
/// quinn does not tell the limit. The next requests on the connection use them; opening alone sends nothing.
#[derive(Clone)]
pub struct Reserve {
    connection: quinn::Connection,
    streams: Arc<Mutex<VecDeque<Bidi>>>,
}

impl Reserve {
    pub(crate) fn new(connection: quinn::Connection) -> Self {
        let streams = Arc::default();
        Self {
            connection,
            streams,
        }
    }

    /// Opens streams until so many are in reserve. Returns false if the peer does not allow that now.
    pub fn fill(&self, streams: usize) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        while self.streams().len() < streams {
            match pin!(self.connection.open_bi()).poll(&mut context) {
                Poll::Pending => return false,
                Poll::Ready(Ok(stream)) => self.streams().push_back(stream),
                // What is opened next says why.
                Poll::Ready(Err(_)) => return true,
            }
        }
        true
    }

    /// Waits until the peer allows another stream, and opens it.
    ///
    /// # Errors
    ///
    /// Fails if the connection ends before that.
    pub async fn grow(&self) -> Result<(), ConnectionError> {
        let stream = self.connection.open_bi().await?;
        self.streams().push_back(stream);
        Ok(())
    }

    pub(crate) fn take(&self) -> Option<Bidi> {
        self.streams().pop_front()
    }

    fn streams(&self) -> MutexGuard<'_, VecDeque<Bidi>> {
        // Each use is a single operation on the queue, so a panic cannot leave it half changed.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
