//! A call, shared by the app (through `cm_*`) and the engine's thread (through `drive`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use bytes::Bytes;
use client::Progress;
use tokio::sync::Notify;

use crate::abi::{cm_event, cm_event_kind, cm_status, cm_text};
use crate::body::BodyBuffer;
use crate::queue::{EventQueue, EventSource, QueueEntry};
use crate::report;

/// Bytes of a body that wait for the app, and as many for the engine. A piece that the engine
/// received goes over it, by at most itself.
const ROOM: usize = 64 << 10;

/// A call.
pub(crate) struct Call {
    me: Weak<Self>,
    id: u64,
    user: u64,
    queue: Arc<EventQueue>,
    pub(crate) progress: Progress,
    submitted: Instant,
    state: Mutex<State>,
    // Each of these has one waiter, a part of `drive`.
    has_read: Notify,
    has_written: Notify,
    over: Notify,
}

struct State {
    /// Whether the call is in the queue.
    queued: bool,
    due: DueEvents,
    /// Whether the client has the request. If not, nothing was sent.
    asked: bool,
    head: Option<Head>,
    received: BodyBuffer,
    /// Whether the app waits for something to read.
    reading: bool,
    /// None: no streamed body, or all of it was taken.
    upload: Option<BodyBuffer>,
    /// Whether the app waits for room to write.
    writing: bool,
    trailers: Option<Vec<u8>>,
    end: Option<Result<(), Failure>>,
    released: bool,
}

/// Events that are due: the app has not taken them yet.
#[derive(Default)]
struct DueEvents {
    head: bool,
    writable: bool,
    readable: bool,
    done: bool,
}

/// The head of a response.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) fields: Vec<u8>,
}

/// The reason why a call failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: cm_status,
    pub(crate) may_have_acted: bool,
    pub(crate) text: String,
}

impl Call {
    pub(crate) fn new(id: u64, user: u64, streamed: bool, queue: Arc<EventQueue>) -> Arc<Self> {
        let state = State {
            queued: false,
            due: DueEvents::default(),
            asked: false,
            head: None,
            received: BodyBuffer::default(),
            reading: true,
            upload: streamed.then(BodyBuffer::default),
            writing: false,
            trailers: None,
            end: None,
            released: false,
        };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            id,
            user,
            queue,
            progress: Progress::default(),
            submitted: Instant::now(),
            state: Mutex::new(state),
            has_read: Notify::new(),
            has_written: Notify::new(),
            over: Notify::new(),
        })
    }

    // What the app does.

    /// Takes as much of the next bytes of the body as there is room for.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, cm_status> {
        let mut state = self.lock();
        if state.end.is_some() {
            return Err(cm_status::CM_END);
        }
        let state = &mut *state;
        let Some(upload) = state.upload.as_mut().filter(|upload| !upload.finished) else {
            return Err(cm_status::CM_E_ARGUMENT);
        };
        let taken = bytes.len().min(ROOM.saturating_sub(upload.bytes));
        if taken == 0 && !bytes.is_empty() {
            state.writing = true;
            return Err(cm_status::CM_AGAIN);
        }
        upload.push(Bytes::copy_from_slice(&bytes[..taken]));
        self.has_written.notify_one();
        Ok(taken)
    }

    /// Ends the body.
    pub(crate) fn finish(&self) -> cm_status {
        let mut state = self.lock();
        if state.end.is_some() {
            return cm_status::CM_END;
        }
        let Some(upload) = state.upload.as_mut().filter(|upload| !upload.finished) else {
            return cm_status::CM_E_ARGUMENT;
        };
        upload.finished = true;
        self.has_written.notify_one();
        cm_status::CM_OK
    }

    /// Fills the buffer with the bytes of the body that have come. An empty buffer finds out whether the body ended.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, cm_status> {
        let mut state = self.lock();
        if state.received.bytes == 0 {
            return match &state.end {
                Some(Ok(())) => Err(cm_status::CM_END),
                Some(Err(failure)) => Err(failure.status),
                None => {
                    state.reading = true;
                    Err(cm_status::CM_AGAIN)
                }
            };
        }
        let got = state.received.fill(into);
        self.has_read.notify_one();
        Ok(got)
    }

    /// Returns a text; `CM_AGAIN` if it is not there yet, `CM_END` if it never will be.
    pub(crate) fn text(&self, what: u32) -> Result<Vec<u8>, cm_status> {
        let state = self.lock();
        let found = match what {
            _ if what == cm_text::CM_TEXT_HEADERS as u32 => {
                state.head.as_ref().map(|head| head.fields.clone())
            }
            _ if what == cm_text::CM_TEXT_REPORT as u32 => {
                let report = self.progress.report();
                report.map(|report| report::report(&report, self.submitted).into_bytes())
            }
            _ if what == cm_text::CM_TEXT_TRAILERS as u32 => state.trailers.clone(),
            _ if what == cm_text::CM_TEXT_ERROR as u32 => match &state.end {
                Some(Err(failure)) => Some(failure.text.clone().into_bytes()),
                _ => None,
            },
            _ => return Err(cm_status::CM_E_ARGUMENT),
        };
        match (found, &state.end) {
            (Some(text), _) => Ok(text),
            (None, None) => Err(cm_status::CM_AGAIN),
            (None, Some(_)) => Err(cm_status::CM_END),
        }
    }

    pub(crate) fn cancel(&self) {
        self.stop(cm_status::CM_E_CANCELLED, "cancelled");
    }

    /// Cancels the call, and drops all events of it that are still to come.
    pub(crate) fn release(&self) {
        let mut state = self.lock();
        state.released = true;
        let queued = state.queued;
        drop(state);
        self.cancel();
        if queued {
            self.queue.forget_call(self.id);
        }
    }

    // What the engine's thread does.

    /// Records that the client is about to get the request. Returns whether it may: not once the call has ended.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        state.asked = state.end.is_none();
        state.asked
    }

    pub(crate) fn set_head(&self, head: Head) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.head = Some(head);
            state.due.head = true;
            self.post(state);
        }
    }

    pub(crate) fn receive(&self, piece: Bytes) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.received.push(piece);
            if std::mem::take(&mut state.reading) {
                state.due.readable = true;
                self.post(state);
            }
        }
    }

    pub(crate) fn set_trailers(&self, trailers: Vec<u8>) {
        self.lock().trailers = Some(trailers);
    }

    /// Waits until the app has read enough that more may come.
    pub(crate) async fn room(&self) {
        while self.lock().received.bytes >= ROOM {
            self.has_read.notified().await;
        }
    }

    /// Waits for the next piece of the body; nothing at its end.
    pub(crate) async fn next_piece(&self) -> Option<Bytes> {
        loop {
            {
                let mut state = self.lock();
                let upload = state.upload.as_mut()?;
                if let Some(piece) = upload.pop() {
                    if std::mem::take(&mut state.writing) {
                        state.due.writable = true;
                        self.post(state);
                    }
                    return Some(piece);
                }
                if upload.finished {
                    state.upload = None;
                    return None;
                }
            }
            self.has_written.notified().await;
        }
    }

    /// Waits until the call has ended otherwise.
    pub(crate) async fn ended(&self) {
        while self.lock().end.is_none() {
            self.over.notified().await;
        }
    }

    // What both do.

    /// Ends the call, unless it has ended.
    pub(crate) fn end(&self, end: Result<(), Failure>) {
        self.end_in(self.lock(), end);
    }

    /// Ends the call, unless it has ended, independently of its request. The request may be sent at this very moment if
    /// the client has it.
    pub(crate) fn stop(&self, status: cm_status, text: &str) {
        let state = self.lock();
        let failure = Failure {
            may_have_acted: state.asked,
            ..Failure::new(status, text)
        };
        self.end_in(state, Err(failure));
    }

    fn end_in(&self, mut state: MutexGuard<'_, State>, end: Result<(), Failure>) {
        if state.end.is_some() {
            return;
        }
        if matches!(&end, Err(failure) if failure.status == cm_status::CM_E_CANCELLED) {
            state.received = BodyBuffer::default();
        }
        state.end = Some(end);
        state.upload = None;
        state.due.done = true;
        self.post(state);
        self.over.notify_one();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    fn post(&self, mut state: MutexGuard<'_, State>) {
        let must_queue = !state.released && !state.queued;
        if must_queue && let Some(me) = self.me.upgrade() {
            state.queued = true;
            drop(state);
            self.queue.push(QueueEntry::Call(me));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSource for Call {
    fn id(&self) -> u64 {
        self.id
    }

    fn take_events(&self, events: &mut Vec<cm_event>, cap: usize) -> bool {
        let mut state = self.lock();
        while let Some((kind, status, number)) = state.next_due(events.len() < cap) {
            let (call, user) = (self.id, self.user);
            events.push(cm_event {
                kind,
                status,
                call,
                user,
                number,
            });
        }
        state.queued = state.due.any();
        state.queued
    }
}

impl State {
    /// Takes the next event that is due, as kind, status and number, if there is room for it.
    fn next_due(&mut self, room: bool) -> Option<(cm_event_kind, cm_status, u64)> {
        use cm_event_kind::{CM_EVENT_DONE, CM_EVENT_HEAD, CM_EVENT_READABLE, CM_EVENT_WRITABLE};
        if self.released {
            self.due = DueEvents::default();
        }
        if !room {
            return None;
        }
        if std::mem::take(&mut self.due.head) {
            let status = self.head.as_ref().map_or(0, |head| head.status);
            return Some((CM_EVENT_HEAD, cm_status::CM_OK, status.into()));
        }
        if std::mem::take(&mut self.due.writable) {
            return Some((CM_EVENT_WRITABLE, cm_status::CM_OK, 0));
        }
        if std::mem::take(&mut self.due.readable) {
            return Some((CM_EVENT_READABLE, cm_status::CM_OK, 0));
        }
        std::mem::take(&mut self.due.done).then(|| match &self.end {
            Some(Err(failure)) => (CM_EVENT_DONE, failure.status, failure.may_have_acted.into()),
            _ => (CM_EVENT_DONE, cm_status::CM_OK, 0),
        })
    }
}

impl DueEvents {
    fn any(&self) -> bool {
        self.head || self.writable || self.readable || self.done
    }
}

impl Failure {
    pub(crate) fn new(status: cm_status, text: impl Into<String>) -> Self {
        Self {
            status,
            may_have_acted: false,
            text: text.into(),
        }
    }
}
