//! Whose turn it is on which connection.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use driver::protocol::{CallError, Reconnect};

use crate::{Stack, Trace};

/// A stack's open connections.
pub(crate) struct Pool<S: Stack> {
    stack: S,
    mode: Cell<Reconnect>,
    opened: Cell<u32>,
    /// Of a stack that shares one. Whoever opens it holds the lock, so that others wait.
    shared: tokio::sync::Mutex<Option<Rc<Open<S>>>>,
    /// Of a stack that does not: those without a call.
    idle: RefCell<Vec<Rc<Open<S>>>>,
}

struct Open<S: Stack> {
    number: u32,
    conn: S::Conn,
}

/// A connection on which a call may be sent.
pub(crate) struct Lease<S: Stack> {
    open: Rc<Open<S>>,
}

impl<S: Stack> Lease<S> {
    pub(crate) fn conn(&self) -> &S::Conn {
        &self.open.conn
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

    /// Finds a connection for one call, or opens one.
    pub(crate) async fn lease(&self, trace: &Trace) -> Result<Lease<S>, CallError> {
        let open = if self.stack.shares_connection() {
            let mut shared = self.shared.lock().await;
            match shared.take().filter(|open| self.stack.usable(&open.conn)) {
                Some(open) => Rc::clone(shared.insert(reused(open, trace))),
                None => Rc::clone(shared.insert(self.open(trace).await?)),
            }
        } else {
            let idle = loop {
                let last = self.idle.borrow_mut().pop();
                match last {
                    Some(open) if !self.stack.usable(&open.conn) => {}
                    other => break other,
                }
            };
            match idle {
                Some(open) => reused(open, trace),
                None => self.open(trace).await?,
            }
        };
        let lease = Lease { open };
        self.describe(&lease, trace);
        Ok(lease)
    }

    /// Puts what is known of the call's connection into its row.
    pub(crate) fn describe(&self, lease: &Lease<S>, trace: &Trace) {
        let facts = self.stack.facts(lease.conn());
        trace.edit(|row| {
            row.connection = lease.open.number;
            row.local_port = Some(facts.local_port);
            row.protocol = Some(facts.protocol);
            row.resumed = facts.resumed;
        });
    }

    /// The call was answered whole: its connection may carry another. One whose call was not
    /// is not given back; unless it is shared, it closes with its lease.
    pub(crate) fn give_back(&self, lease: Lease<S>) {
        if !self.stack.shares_connection() {
            self.idle.borrow_mut().push(lease.open);
        }
    }

    /// Closes every connection; the next are opened in `mode`.
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
            self.stack.forget();
        }
        self.mode.set(mode);
    }

    async fn open(&self, trace: &Trace) -> Result<Rc<Open<S>>, CallError> {
        let conn = self.stack.connect(self.mode.get(), trace).await?;
        let number = self.opened.get() + 1;
        self.opened.set(number);
        Ok(Rc::new(Open { number, conn }))
    }
}

fn reused<S: Stack>(open: Rc<Open<S>>, trace: &Trace) -> Rc<Open<S>> {
    trace.edit(|row| row.reused = true);
    open
}
