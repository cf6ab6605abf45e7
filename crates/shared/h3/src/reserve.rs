//! Streams that are opened before a request needs them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use quinn::ConnectionError;
use tokio::sync::Notify;

/// A stream's two halves.
pub(crate) type Bidi = (quinn::SendStream, quinn::RecvStream);

/// Request streams opened in advance. They show whether the peer's limit (RFC 9000 section 4.6) allows another one:
/// quinn does not report the limit. The next requests on the connection use them; opening alone sends nothing.
#[derive(Clone)]
pub struct Reserve {
    connection: quinn::Connection,
    streams: Arc<Mutex<VecDeque<Bidi>>>,
    /// Signals requests that wait for a stream that one is in reserve.
    came: Arc<Notify>,
}

impl Reserve {
    pub(crate) fn new(connection: quinn::Connection) -> Self {
        Self {
            connection,
            streams: Arc::default(),
            came: Arc::default(),
        }
    }

    /// Opens streams until `streams` are in reserve. Returns false if the peer does not allow that now.
    pub fn fill(&self, streams: usize) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        while self.streams().len() < streams {
            match pin!(self.connection.open_bi()).poll(&mut context) {
                Poll::Pending => return false,
                Poll::Ready(Ok(stream)) => self.put(stream),
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
        self.put(stream);
        Ok(())
    }

    /// Takes a stream out of the reserve, or waits for whichever comes first: one there, or one from the peer.
    pub(crate) async fn open(self) -> Result<Bidi, ConnectionError> {
        let mut opening = pin!(self.connection.open_bi());
        loop {
            let came = self.came.notified();
            if let Some(stream) = self.streams().pop_front() {
                return Ok(stream);
            }
            tokio::select! {
                opened = &mut opening => return opened,
                () = came => {}
            }
        }
    }

    fn put(&self, stream: Bidi) {
        self.streams().push_back(stream);
        self.came.notify_one();
    }

    fn streams(&self) -> MutexGuard<'_, VecDeque<Bidi>> {
        // Each use is a single operation on the queue, so a panic cannot leave it half changed.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
