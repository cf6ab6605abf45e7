//! Whether the server allows another request stream (RFC 9000 section 4.6).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use h3_quic::Reserve;
use route::ConnId;
use tokio::sync::mpsc;

use crate::message::{Event, Message};

/// The stream credit of one connection.
pub(super) struct Credit {
    reserve: Reserve,
    conn: ConnId,
    messages: mpsc::UnboundedSender<Message>,
    /// Requests that have not opened their streams.
    opening: Arc<AtomicUsize>,
    is_waiting: Arc<AtomicBool>,
}

/// Counts a request that has not opened its stream.
pub(super) struct Opening(Arc<AtomicUsize>);

impl Credit {
    pub(super) fn new(
        reserve: Reserve,
        conn: ConnId,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        Self {
            reserve,
            conn,
            messages,
            opening: Arc::default(),
            is_waiting: Arc::default(),
        }
    }

    /// Counts a request until it has opened its stream.
    pub(super) fn opening(&self) -> Opening {
        self.opening.fetch_add(1, Ordering::Relaxed);
        Opening(Arc::clone(&self.opening))
    }

    /// Reports whether another request would get a stream at once. If not, an event says when that may have changed.
    pub(super) fn allows_another(&self) -> bool {
        let streams = self.opening.load(Ordering::Relaxed) + 1;
        let allows = self.reserve.fill(streams);
        if !allows && !self.is_waiting.swap(true, Ordering::Relaxed) {
            let (reserve, is_waiting) = (self.reserve.clone(), Arc::clone(&self.is_waiting));
            let (messages, room) = (self.messages.clone(), Event::Room(self.conn));
            tokio::spawn(async move {
                // If the connection ends first, another event says so.
                if reserve.grow().await.is_ok() {
                    is_waiting.store(false, Ordering::Relaxed);
                    messages.send(Message::Event(room)).ok();
                }
            });
        }
        allows
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
