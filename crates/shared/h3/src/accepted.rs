//! Information about accepted requests that h3 does not expose.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use h3::quic::StreamId;

use crate::convert::stream_id;

/// Information about every accepted request whose stream is open, by stream id.
#[derive(Clone, Debug, Default)]
pub struct AcceptedRequests(Arc<Mutex<HashMap<StreamId, RequestInfo>>>);

/// Information about one accepted request.
#[derive(Debug)]
pub struct RequestInfo {
    /// Whether the stream was accepted before the handshake was over: the request is early data.
    pub early_data: bool,
    /// The delivery of the response.
    pub delivery: Delivery,
}

/// The delivery of a response to the client.
pub struct Delivery(Pin<Box<dyn Future<Output = bool> + Send + Sync>>);

impl AcceptedRequests {
    /// Takes the information about a request. Returns `None` if it was taken before or the stream
    /// has ended.
    pub fn take(&self, id: StreamId) -> Option<RequestInfo> {
        self.map().remove(&id)
    }

    /// Adds a request until the returned guard is dropped.
    pub(crate) fn insert(
        &self,
        send: &quinn::SendStream,
        recv: &quinn::RecvStream,
    ) -> AcceptedGuard {
        let id = stream_id(send.id());
        let stopped = send.stopped();
        let delivery = Delivery(Box::pin(async move { matches!(stopped.await, Ok(None)) }));
        self.map().insert(
            id,
            RequestInfo {
                early_data: recv.is_0rtt(),
                delivery,
            },
        );
        AcceptedGuard {
            requests: self.clone(),
            id,
        }
    }

    fn map(&self) -> MutexGuard<'_, HashMap<StreamId, RequestInfo>> {
        // Each use is a single operation on the map, so a panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delivery {
    /// Waits until the client has acknowledged the whole response (true), or has stopped it or
    /// disconnected (false).
    pub async fn wait(self) -> bool {
        self.0.await
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delivery")
    }
}

/// Removes a request that nobody took when its stream is dropped.
#[derive(Debug)]
pub(crate) struct AcceptedGuard {
    requests: AcceptedRequests,
    id: StreamId,
}

impl AcceptedGuard {
    /// Reports whether somebody has taken the information.
    pub(crate) fn is_taken(&self) -> bool {
        !self.requests.map().contains_key(&self.id)
    }
}

impl Drop for AcceptedGuard {
    fn drop(&mut self) {
        self.requests.map().remove(&self.id);
    }
}
