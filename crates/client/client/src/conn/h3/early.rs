//! Requests that are sent before the handshake is done (RFC 8470, RFC 9001 section 4.6).

use std::sync::Arc;

use route::Fault;
use tokio::sync::{RwLock, watch};

use super::super::Failure;

/// The outcome of early data on a connection.
#[derive(Clone)]
pub(super) struct EarlyData {
    /// Whether the server took it, once that is known and reported.
    taken: watch::Receiver<Option<bool>>,
    /// Locked for reading by every request on a stream that may be rejected, for writing by the task that starts HTTP/3
    /// again. After a rejection quinn numbers streams from 0 again and keeps one waker per number. So every old stream
    /// must be gone before a new one is opened.
    streams: Arc<RwLock<()>>,
}

impl EarlyData {
    pub(super) fn new() -> (Self, watch::Sender<Option<bool>>) {
        let (announce, taken) = watch::channel(None);
        let streams = Arc::default();
        (Self { taken, streams }, announce)
    }

    /// Waits until the handshake is done and that is reported. True if it fails: then the connection says
    /// what went wrong.
    pub(super) async fn was_taken(&self) -> bool {
        let mut taken = self.taken.clone();
        let taken = taken.wait_for(Option::is_some).await;
        taken.map_or(true, |taken| *taken == Some(true))
    }

    /// Waits until no stream is left that was opened early.
    pub(super) async fn no_streams(&self) {
        drop(self.streams.write().await);
    }

    /// Sends a request early. If the server did not take it, it is safe to send again: it has not seen it.
    pub(super) async fn or_again(
        &self,
        run: impl Future<Output = Result<u64, Failure>>,
    ) -> Result<u64, Failure> {
        let outcome = {
            let _stream = self.streams.read().await;
            run.await
        };
        match outcome {
            Err(_) if !self.was_taken().await => Err(Failure::before_sending(Fault::Reset)),
            outcome => outcome,
        }
    }
}
