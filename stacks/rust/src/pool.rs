//! The open connections of a stack, and which call uses which.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use driver::protocol::{CallError, Reconnect};

use crate::stack::Stack;
use crate::trace::Trace;

/// A stack and its open connections.
pub(crate) struct Pool<S: Stack> {
    stack: S,
    /// How the next connections are opened.
    mode: Cell<Reconnect>,
    opened: Cell<u32>,
    /// The connection of a stack that shares one. The lock is held while it is being opened, so
    /// that other calls wait.
    shared: tokio::sync::Mutex<Option<Rc<Numbered<S>>>>,
    /// The connections without a call, of a stack that does not share one.
    idle: RefCell<Vec<Rc<Numbered<S>>>>,
}

/// A connection and the driver's number of it.
struct Numbered<S: Stack> {
    number: u32,
    conn: S::Conn,
}

/// A connection on which a call may be sent.
pub(crate) struct PooledConn<S: Stack>(Rc<Numbered<S>>);

impl<S: Stack> PooledConn<S> {
    pub(crate) fn get(&self) -> &S::Conn {
        &self.0.conn
    }
}

impl<S: Stack> Pool<S> {
    pub(crate) fn new(stack: S) -> Self {
        Self {
            stack,
            mode: Cell::new(Reconnect::Cold),
            opened: Cell::new(0),
            shared: tokio::sync::Mutex::new(None),
            idle: RefCell::default(),
        }
    }

    pub(crate) fn stack(&self) -> &S {
        &self.stack
    }

    /// Returns a connection for one call. Opens one if none is usable.
    pub(crate) async fn acquire(&self, trace: &Trace) -> Result<PooledConn<S>, CallError> {
        let conn = if self.stack.shares_connection() {
            let mut shared = self.shared.lock().await;
            match shared.take().filter(|open| self.is_usable(open)) {
                Some(open) => Rc::clone(shared.insert(mark_reused(open, trace))),
                None => Rc::clone(shared.insert(self.open(trace).await?)),
            }
        } else {
            match self.take_idle() {
                Some(open) => mark_reused(open, trace),
                None => self.open(trace).await?,
            }
        };
        let conn = PooledConn(conn);
        self.describe(&conn, trace);
        Ok(conn)
    }

    /// Copies what is known about the connection into the call's row.
    pub(crate) fn describe(&self, conn: &PooledConn<S>, trace: &Trace) {
        let info = self.stack.conn_info(conn.get());
        trace.edit(|row| {
            row.connection = conn.0.number;
            row.local_port = Some(info.local_port);
            row.protocol = Some(info.protocol);
            row.resumed = info.resumed;
        });
    }

    /// Makes the connection available to other calls, after a complete response. Without that
    /// it must not be released: unless it is shared, it closes when it is dropped.
    pub(crate) fn release(&self, conn: PooledConn<S>) {
        if !self.stack.shares_connection() {
            self.idle.borrow_mut().push(conn.0);
        }
    }

    /// Closes every connection. The next ones are opened in `mode`.
    pub(crate) async fn reconnect(&self, mode: Reconnect) {
        let shared = self.shared.lock().await.take();
        let idle = self.idle.take();
        for open in shared.into_iter().chain(idle) {
            // A connection that still carries calls closes with the last of them.
            if let Some(open) = Rc::into_inner(open) {
                self.stack.close(open.conn).await;
            }
        }
        if mode == Reconnect::Cold {
            self.stack.discard_tickets();
        }
        self.mode.set(mode);
    }

    /// Takes the idle connection used last. Drops those that are no longer usable.
    fn take_idle(&self) -> Option<Rc<Numbered<S>>> {
        let mut idle = self.idle.borrow_mut();
        std::iter::from_fn(|| idle.pop()).find(|open| self.is_usable(open))
    }

    fn is_usable(&self, open: &Numbered<S>) -> bool {
        self.stack.is_usable(&open.conn)
    }

    async fn open(&self, trace: &Trace) -> Result<Rc<Numbered<S>>, CallError> {
        let conn = self.stack.connect(self.mode.get(), trace).await?;
        let number = self.opened.get() + 1;
        self.opened.set(number);
        Ok(Rc::new(Numbered { number, conn }))
    }
}

fn mark_reused<S: Stack>(open: Rc<Numbered<S>>, trace: &Trace) -> Rc<Numbered<S>> {
    trace.edit(|row| row.reused = true);
    open
}
