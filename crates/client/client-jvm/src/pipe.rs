//! A socket within the process: bounded, with a blocking end for the JVM's threads and an
//! asynchronous one for the engine's.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

/// Bytes that wait in each direction before the writer does. The last piece may go beyond it.
const CAPACITY: usize = 64 << 10;

/// The end of the JVM's threads. Any of them may close it, which wakes the others.
#[derive(Debug)]
pub(crate) struct AppEnd<E>(Arc<Shared<E>>);

/// The end of the engine's thread. Dropped before [`end`](Self::end) was called, it ends the pipe
/// with the default end.
#[derive(Debug)]
pub(crate) struct EngineEnd<E: Default>(Arc<Shared<E>>);

/// The reason why the app's end cannot read or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped<E> {
    /// Nothing came in time.
    TimedOut,
    /// The app has closed its end.
    Closed,
    /// The engine has ended the pipe.
    Ended(E),
    /// The engine reads no more of this request; its response can be read.
    Refused,
}

/// The app has closed its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

#[derive(Debug)]
struct Shared<E> {
    state: Mutex<State<E>>,
    /// Something changed that a thread of the app may wait for.
    changed: Condvar,
}

#[derive(Debug)]
struct State<E> {
    to_engine: BytesMut,
    to_app: BytesMut,
    /// The engine has a connection for the first request.
    connected: bool,
    closed: bool,
    /// Whether bytes of the app are refused.
    refused: bool,
    ended: Option<E>,
    /// The engine's task waits for bytes, or room.
    task: Option<Waker>,
    /// Threads of the app that wait. Without one a change needs no system call.
    waiting: usize,
}

/// Makes a pipe.
pub(crate) fn pipe<E: Clone + Default>() -> (AppEnd<E>, EngineEnd<E>) {
    let state = State {
        to_engine: BytesMut::new(),
        to_app: BytesMut::new(),
        connected: false,
        closed: false,
        refused: false,
        ended: None,
        task: None,
        waiting: 0,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        changed: Condvar::new(),
    });
    (AppEnd(Arc::clone(&shared)), EngineEnd(shared))
}

impl<E: Clone> AppEnd<E> {
    /// Waits until the engine is connected.
    pub(crate) fn connect(&self) -> Result<(), Stopped<E>> {
        let mut state = self.0.lock();
        loop {
            if state.closed {
                return Err(Stopped::Closed);
            }
            if let Some(end) = &state.ended {
                return Err(Stopped::Ended(end.clone()));
            }
            if state.connected {
                return Ok(());
            }
            state = self.0.wait(state, None);
        }
    }

    /// Waits for bytes and returns at most `max` of them.
    pub(crate) fn read(&self, max: usize, limit: Option<Duration>) -> Result<Bytes, Stopped<E>> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = self.0.lock();
        loop {
            if state.closed {
                return Err(Stopped::Closed);
            }
            if !state.to_app.is_empty() {
                let was_full = state.to_app.len() >= CAPACITY;
                let length = max.min(state.to_app.len());
                let bytes = state.to_app.split_to(length).freeze();
                if was_full {
                    wake_engine(state);
                }
                return Ok(bytes);
            }
            if let Some(end) = &state.ended {
                return Err(Stopped::Ended(end.clone()));
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Stopped::TimedOut);
            }
            state = self.0.wait(state, left);
        }
    }

    /// Waits for room and writes all bytes, unless the engine takes no more.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Stopped<E>> {
        let mut state = self.0.lock();
        loop {
            if state.closed {
                return Err(Stopped::Closed);
            }
            // The pipe may have ended since, after the response.
            if state.refused {
                return Err(Stopped::Refused);
            }
            if let Some(end) = &state.ended {
                return Err(Stopped::Ended(end.clone()));
            }
            if state.to_engine.len() < CAPACITY {
                state.to_engine.extend_from_slice(bytes);
                wake_engine(state);
                return Ok(());
            }
            state = self.0.wait(state, None);
        }
    }

    /// Closes the pipe, and wakes waiters at either end.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        drop(state);
        // The app's threads first: its calls are cancelled.
        self.0.changed.notify_all();
        wake_engine(self.0.lock());
    }
}

impl<E: Default> EngineEnd<E> {
    /// Signals the app that the engine is connected.
    pub(crate) fn connected(&self) {
        self.0.lock().connected = true;
        self.0.changed.notify_all();
    }

    /// Waits for bytes and appends them.
    pub(crate) async fn read(&self, into: &mut BytesMut) -> Result<(), Closed> {
        self.poll(|state| {
            if state.to_engine.is_empty() {
                return None;
            }
            let was_full = state.to_engine.len() >= CAPACITY;
            if into.is_empty() {
                std::mem::swap(into, &mut state.to_engine);
            } else {
                into.extend_from_slice(&state.to_engine);
                state.to_engine.clear();
            }
            Some(was_full)
        })
        .await
    }

    /// Waits for room and writes all bytes.
    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<(), Closed> {
        self.write_by(|to_app| to_app.extend_from_slice(bytes))
            .await
    }

    /// Waits for room, does something that must be done before the app sees the bytes, and moves them all.
    pub(crate) async fn move_after(
        &self,
        bytes: &mut BytesMut,
        mut first: impl FnMut(),
    ) -> Result<(), Closed> {
        self.write_by(|to_app| {
            first();
            if to_app.is_empty() {
                std::mem::swap(to_app, bytes);
            } else {
                to_app.extend_from_slice(bytes);
                bytes.clear();
            }
        })
        .await
    }

    async fn write_by(&self, mut write: impl FnMut(&mut BytesMut)) -> Result<(), Closed> {
        self.poll(|state| {
            if state.to_app.len() >= CAPACITY {
                return None;
            }
            write(&mut state.to_app);
            Some(true)
        })
        .await
    }

    /// Lets the app write no more, and appends what it has written.
    pub(crate) fn refuse(&self, into: &mut BytesMut) {
        let mut state = self.0.lock();
        state.refused = true;
        into.extend_from_slice(&state.to_engine);
        state.to_engine.clear();
        drop(state);
        self.0.changed.notify_all();
    }

    /// Lets the app write again.
    pub(crate) fn accept(&self) {
        self.0.lock().refused = false;
    }

    /// Waits until the app closes its end.
    pub(crate) async fn closed(&self) {
        self.poll(|_| None).await.ok();
    }

    /// Ends the pipe. The app still reads what was written.
    pub(crate) fn end(self, end: E) {
        self.set_end(end);
    }

    /// Waits until `step` gives something, and wakes the app if it gives true.
    async fn poll(
        &self,
        mut step: impl FnMut(&mut State<E>) -> Option<bool>,
    ) -> Result<(), Closed> {
        poll_fn(|context: &mut Context<'_>| {
            let mut state = self.0.lock();
            if state.closed {
                return Poll::Ready(Err(Closed));
            }
            let Some(notify) = step(&mut state) else {
                state.task = Some(context.waker().clone());
                return Poll::Pending;
            };
            let notify = notify && state.waiting > 0;
            drop(state);
            if notify {
                self.0.changed.notify_all();
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    fn set_end(&self, end: E) {
        self.0.lock().ended.get_or_insert(end);
        self.0.changed.notify_all();
    }
}

impl<E: Default> Drop for EngineEnd<E> {
    fn drop(&mut self) {
        self.set_end(E::default());
    }
}

impl<E> Shared<E> {
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change, at most for the time that is `left`.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State<E>>,
        left: Option<Duration>,
    ) -> MutexGuard<'a, State<E>> {
        state.waiting += 1;
        let mut state = match left {
            None => self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(left) => {
                let waited = self.changed.wait_timeout(state, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        state.waiting -= 1;
        state
    }
}

/// Wakes the engine's task once the lock is released. Otherwise the task's thread would run into the lock, and might
/// take the processor from the thread that wakes it.
fn wake_engine<E>(mut state: MutexGuard<'_, State<E>>) {
    let task = state.task.take();
    drop(state);
    if let Some(task) = task {
        task.wake();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
