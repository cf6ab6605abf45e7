//! What is known of accepted requests and h3 does not show.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use h3::quic::StreamId;

use crate::stream_id;

/// The facts of every request stream accepted and still open, by stream id.
#[derive(Clone, Debug, Default)]
pub struct Accepted(Arc<Mutex<HashMap<StreamId, Facts>>>);

/// What is known of one accepted request stream.
#[derive(Debug)]
pub struct Facts {
    /// It was accepted before the handshake was over: the request is early data.
    pub early_data: bool,
    /// When its response has reached the client.
    pub delivered: Delivered,
}

/// When a response has reached the client.
pub struct Delivered(Pin<Box<dyn Future<Output = bool> + Send + Sync>>);

impl Accepted {
    /// Takes the facts of a request stream; they are forgotten when the stream ends.
    pub fn take(&self, id: StreamId) -> Option<Facts> {
        self.map().remove(&id)
    }

    pub(crate) fn enter(&self, send: &quinn::SendStream, recv: &quinn::RecvStream) -> Entry {
        let id = stream_id(send.id());
        let stopped = send.stopped();
        let delivered = Delivered(Box::pin(async move { matches!(stopped.await, Ok(None)) }));
        self.map().insert(
            id,
            Facts {
                early_data: recv.is_0rtt(),
                delivered,
            },
        );
        Entry {
            of: self.clone(),
            id,
        }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<StreamId, Facts>> {
        // Each use is one call on the map: a panic elsewhere cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delivered {
    /// Waits until the client has acknowledged the whole response (true), or has refused
    /// it or is gone (false).
    pub async fn wait(self) -> bool {
        self.0.await
    }
}

impl fmt::Debug for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delivered")
    }
}

/// Removes what nobody took when its stream is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    of: Accepted,
    id: StreamId,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.of.map().remove(&self.id);
    }
}
