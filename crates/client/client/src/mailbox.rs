//! The handle through which messages reach the engine's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use route::{CallId, Origin, Policy, RequestTraits, Transport};
use tokio::sync::{mpsc, oneshot};

use crate::body::Body;
use crate::error::Error;
use crate::limits::Limits;
use crate::message::{ConnectRequest, Message, Submission};
use crate::report::{Connected, Progress};
use crate::response::Response;

/// Passes messages on to the engine's thread. It does not keep the engine alive.
#[derive(Clone)]
pub(crate) struct Mailbox {
    messages: mpsc::UnboundedSender<Message>,
    calls: Arc<AtomicU64>,
    /// Whether requests may be sent before a handshake is done, unless they say otherwise.
    pub(crate) early_data: bool,
}

/// A request that is ready to be sent.
#[derive(Clone)]
pub(crate) struct OutboundRequest {
    pub(crate) origin: Origin,
    pub(crate) traits: RequestTraits,
    /// The app's name for requests of this kind.
    pub(crate) label: Option<String>,
    pub(crate) head: http::request::Parts,
    pub(crate) body: Body,
    #[cfg(feature = "sign")]
    pub(crate) signer: Option<crate::signature::Signer>,
    pub(crate) limits: Limits,
    pub(crate) progress: Progress,
    /// Whether it asks for a part of a response that another request asked for.
    pub(crate) is_part: bool,
}

/// Cancels a request unless it has ended.
#[derive(Debug)]
pub(crate) struct CancelGuard {
    call: CallId,
    messages: Option<mpsc::UnboundedSender<Message>>,
}

impl Mailbox {
    pub(crate) fn new(messages: mpsc::UnboundedSender<Message>, early_data: bool) -> Self {
        let calls = Arc::new(AtomicU64::new(1));
        Self {
            messages,
            calls,
            early_data,
        }
    }

    pub(crate) fn send(&self, message: Message) {
        // An engine that has ended answers no request; each notices by itself.
        self.messages.send(message).ok();
    }

    /// Sends a request and waits for the head of its response. Dropping the future cancels it.
    pub(crate) async fn submit(&self, outbound: OutboundRequest) -> Result<Response, Error> {
        let (call, guard) = self.begin();
        let (reply, response) = oneshot::channel();
        self.send(Message::Submit(Box::new(Submission {
            id: call,
            asked: Instant::now(),
            outbound,
            reply,
        })));
        let mut response = response.await.map_err(|_| Error::Ended)??;
        response.hold(guard);
        Ok(response)
    }

    /// Waits for a connection that can take a request. Dropping the future cancels the wait.
    pub(crate) async fn connect(&self, origin: Origin, policy: Policy) -> Result<Connected, Error> {
        let (id, mut guard) = self.begin();
        let (reply, connected) = oneshot::channel();
        self.send(Message::Connect(Box::new(ConnectRequest {
            id,
            asked: Instant::now(),
            origin,
            policy,
            reply,
        })));
        let connected = connected.await;
        guard.release();
        connected.map_err(|_| Error::Ended)?
    }

    /// Allocates a call id and a guard that cancels the call when dropped, unless it was released.
    pub(crate) fn begin(&self) -> (CallId, CancelGuard) {
        let call = CallId(self.calls.fetch_add(1, Ordering::Relaxed));
        let messages = Some(self.messages.clone());
        (call, CancelGuard { call, messages })
    }

    /// Returns a receiver that completes after this time.
    pub(crate) fn after(&self, time: Duration) -> oneshot::Receiver<()> {
        let (reply, passed) = oneshot::channel();
        self.send(Message::Run(Box::pin(async move {
            tokio::time::sleep(time).await;
            // The receiver may have been dropped.
            reply.send(()).ok();
        })));
        passed
    }

    /// Reports whether the rest of a large body that comes over this transport may be fetched over
    /// the other one, too.
    pub(crate) async fn may_compare(&self, origin: Origin, over: Transport) -> bool {
        let (reply, answer) = oneshot::channel();
        self.send(Message::MayCompare(origin, over, reply));
        answer.await.unwrap_or(false)
    }
}

impl CancelGuard {
    /// Disarms the guard: the request has ended.
    pub(crate) fn release(&mut self) {
        self.messages = None;
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(messages) = self.messages.take() {
            messages.send(Message::Cancel(self.call)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_cancels_its_request_unless_it_was_released() {
        let (messages, mut sent) = mpsc::unbounded_channel();
        let mailbox = Mailbox::new(messages, false);
        let (call, guard) = mailbox.begin();
        drop(guard);
        let cancelled = sent.try_recv();
        assert!(matches!(cancelled, Ok(Message::Cancel(id)) if id == call));
        let (_, mut released) = mailbox.begin();
        released.release();
        drop(released);
        assert!(sent.is_empty());
    }
}
