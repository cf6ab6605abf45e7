//! The load of a connection, counted by guards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use route::ConnId;
use tokio::sync::mpsc;

use crate::message::{Event, Message};

/// The load of a connection: requests and unread bodies.
#[derive(Debug)]
pub(crate) struct ConnLoad {
    requests: AtomicUsize,
    /// Bodies that wait for the app to read them. Each may hold a stream's window of the connection's.
    unread: AtomicUsize,
    /// Whether a request was turned away for it; its sender then gets an event when there is room.
    turned_away: AtomicBool,
    conn: ConnId,
    messages: mpsc::UnboundedSender<Message>,
}

/// Counts one more request or unread body until it is dropped.
#[derive(Debug)]
pub(crate) struct CountGuard {
    load: Arc<ConnLoad>,
    what: fn(&ConnLoad) -> &AtomicUsize,
}

impl ConnLoad {
    /// Creates the load of a connection without requests.
    pub(crate) fn new(conn: ConnId, messages: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            requests: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            turned_away: AtomicBool::new(false),
            conn,
            messages,
        }
    }

    /// Counts a request until what is returned is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> CountGuard {
        CountGuard::new(self, |load| &load.requests)
    }

    /// Remembers that a request was turned away, so that an event follows once there is room.
    pub(super) fn turn_away(&self) {
        self.turned_away.store(true, Ordering::SeqCst);
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub(super) fn unread(&self) -> usize {
        self.unread.load(Ordering::SeqCst)
    }
}

impl CountGuard {
    /// Counts an unread body on the same connection until what is returned is dropped.
    pub(super) fn unread(&self) -> Self {
        Self::new(&self.load, |load| &load.unread)
    }

    fn new(load: &Arc<ConnLoad>, what: fn(&ConnLoad) -> &AtomicUsize) -> Self {
        what(load).fetch_add(1, Ordering::SeqCst);
        let load = Arc::clone(load);
        Self { load, what }
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        (self.what)(&self.load).fetch_sub(1, Ordering::SeqCst);
        // A request that was let go of ends only here, after the router has sent another one in its place.
        if self.load.turned_away.swap(false, Ordering::SeqCst) {
            let room = Event::Room(self.load.conn);
            self.load.messages.send(Message::Event(room)).ok();
        }
    }
}
