//! The open connections of a stack, and which call uses which.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use driver::protocol::{CallError, Reconnect, Setup};

use crate::stack::Stack;
use crate::stack_error::StackError;
use crate::trace::Trace;

/// The pools of all origins. They share nothing but the numbers of their connections: none of these
/// libraries uses a connection for another name than the one that it was opened for.
pub(crate) struct Pools<S: Stack> {
    /// Of `setup.url`.
    first: Pool<S>,
    /// Of `setup.origins`.
    named: BTreeMap<String, Pool<S>>,
}

impl<S: Stack> Pools<S> {
    pub(crate) fn new(setup: &Setup) -> Result<Self, StackError> {
        let first = Pool::new(S::new(setup)?);
        let pool = |(name, url): (&String, &String)| {
            let of_origin = Setup {
                url: url.clone(),
                ..setup.clone()
            };
            let pool = Pool {
                opened: Rc::clone(&first.opened),
                ..Pool::new(S::new(&of_origin)?)
            };
            Ok((name.clone(), pool))
        };
        let named = setup.origins.iter().map(pool).collect::<Result<_, _>>()?;
        Ok(Self { first, named })
    }

    /// Returns the pool of the origin that a step names.
    pub(crate) fn of(&self, origin: Option<&str>) -> Result<&Pool<S>, StackError> {
        let Some(name) = origin else {
            return Ok(&self.first);
        };
        let unknown = || StackError::Failed(format!("setup has no origin {name:?}"));
        self.named.get(name).ok_or_else(unknown)
    }

    /// Passes on that the device has another default network.
    pub(crate) fn change_network(&self, id: u32) {
        for pool in self.named.values().chain([&self.first]) {
            pool.stack.change_network(id);
        }
    }

    /// Closes every connection to every origin. The next ones are opened in `mode`.
    pub(crate) async fn reconnect(&self, mode: Reconnect) {
        for pool in self.named.values().chain([&self.first]) {
            pool.reconnect(mode).await;
        }
    }
}

/// A stack and its open connections to one origin.
pub(crate) struct Pool<S: Stack> {
    stack: S,
    /// How the next connections are opened.
    mode: Cell<Reconnect>,
    /// How many connections have been opened, to all origins.
    opened: Rc<Cell<u32>>,
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
            opened: Rc::new(Cell::new(0)),
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
                Some(open) if self.stack.chooses_connections() => Rc::clone(shared.insert(open)),
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
        if self.stack.chooses_connections() {
            return;
        }
        let info = self.stack.conn_info(conn.get());
        trace.edit(|row| {
            row.connection = conn.0.number;
            row.local_port = Some(info.local_port);
            row.protocol = Some(info.protocol);
            row.resumed = Some(info.resumed);
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
