//! The queue of events that the app has not taken yet.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::{cm_event, cm_event_kind, cm_status};

/// Sources of events in the order in which they first had one. A call is in it once, however much happens to it, and
/// leaves it when it is released. A chain leaves it when it no longer waits. So it is no longer than there are calls
/// and chains that wait.
#[derive(Default)]
pub(crate) struct EventQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    sources: VecDeque<QueueEntry>,
    /// The reason why no more events will come.
    over: Option<cm_status>,
    /// Threads that wait for events. Without one, an event needs no system call.
    waiting: usize,
}

/// An object that has events of its own: a call.
pub(crate) trait EventSource: Send + Sync {
    /// Returns its id.
    fn id(&self) -> u64;

    /// Moves what is due into `events`, up to `cap` in all. Returns whether some is left.
    fn take_events(&self, events: &mut Vec<cm_event>, cap: usize) -> bool;
}

/// An entry of the queue: the subject of an event.
pub(crate) enum QueueEntry {
    Call(Arc<dyn EventSource>),
    Chain(u64),
}

impl EventQueue {
    pub(crate) fn push(&self, source: QueueEntry) {
        self.add(|sources| sources.push_back(source));
    }

    /// Removes a call whose events are no longer wanted.
    pub(crate) fn forget_call(&self, id: u64) {
        self.forget(|source| matches!(source, QueueEntry::Call(call) if call.id() == id));
    }

    /// Takes out a chain that no longer waits.
    pub(crate) fn forget_chain(&self, number: u64) {
        self.forget(|source| matches!(source, QueueEntry::Chain(waiting) if *waiting == number));
    }

    fn forget(&self, unwanted: impl Fn(&QueueEntry) -> bool) {
        self.with(|state| state.sources.retain(|source| !unwanted(source)));
    }

    /// Ends all waiting, now and later, with this.
    pub(crate) fn end(&self, status: cm_status) {
        self.with(|state| {
            state.over = Some(status);
            state.sources.clear();
        });
        self.changed.notify_all();
    }

    /// Takes up to `cap` events, waiting for the first until the deadline, for ever without one.
    pub(crate) fn wait(
        &self,
        cap: usize,
        wait: Option<Duration>,
    ) -> Result<Vec<cm_event>, cm_status> {
        // A wait too long for a clock is one without an end.
        let deadline = wait.and_then(|wait| Instant::now().checked_add(wait));
        let endless = wait.is_none() || deadline.is_none();
        let mut events = Vec::new();
        while events.len() < cap {
            match self.next(deadline, endless, !events.is_empty())? {
                Some(QueueEntry::Call(call)) => {
                    if call.take_events(&mut events, cap) {
                        // It counted as queued until now, so what came meanwhile has woken no other thread.
                        self.add(|sources| sources.push_front(QueueEntry::Call(call)));
                    }
                }
                Some(QueueEntry::Chain(number)) => events.push(cm_event {
                    kind: cm_event_kind::CM_EVENT_CHECK_CHAIN,
                    status: cm_status::CM_OK,
                    call: 0,
                    user: 0,
                    number,
                }),
                None => break,
            }
        }
        Ok(events)
    }

    fn next(
        &self,
        deadline: Option<Instant>,
        endless: bool,
        have_some: bool,
    ) -> Result<Option<QueueEntry>, cm_status> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(status) = state.over {
                return Err(status);
            }
            if let Some(source) = state.sources.pop_front() {
                return Ok(Some(source));
            }
            if have_some {
                return Ok(None);
            }
            let left = deadline
                .filter(|_| !endless)
                .map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            state.waiting += 1;
            state = match left {
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
        }
    }

    fn add(&self, add: impl FnOnce(&mut VecDeque<QueueEntry>)) {
        let is_awaited = self.with(|state| {
            // Nobody would take it out any more, and a call holds its queue.
            if state.over.is_none() {
                add(&mut state.sources);
            }
            state.waiting > 0
        });
        if is_awaited {
            self.changed.notify_one();
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use bytes::Bytes;
    use client::CheckChain as _;

    use super::*;
    use crate::call::{Call, Head};
    use crate::chains::PendingChains;

    #[test]
    fn what_happens_after_the_end_is_not_kept() {
        let queue = Arc::new(EventQueue::default());
        let call = Call::new(1, 0, false, Arc::clone(&queue));
        queue.end(cm_status::CM_E_CLOSED);
        call.cancel();
        assert_eq!(Arc::strong_count(&call), 1);
        assert_eq!(queue.wait(1, None), Err(cm_status::CM_E_CLOSED));
    }

    #[test]
    fn what_nobody_waits_for_is_not_kept() {
        let queue = Arc::new(EventQueue::default());
        for id in 0..3 {
            let call = Call::new(id, 0, false, Arc::clone(&queue));
            call.end(Ok(()));
            call.release();
            assert_eq!(Arc::strong_count(&call), 1);
        }
        let chains = PendingChains::new(Arc::clone(&queue), Duration::ZERO);
        assert!(!chains.accepts(&[b"leaf"], "localhost"));
        assert_eq!(
            queue.state.lock().map(|state| state.sources.len()).ok(),
            Some(0)
        );
    }

    #[test]
    fn what_one_thread_has_no_room_for_wakes_another() {
        let queue = Arc::new(EventQueue::default());
        let call = Call::new(1, 0, false, Arc::clone(&queue));
        call.set_head(Head {
            status: 200,
            fields: Vec::new(),
        });
        call.receive(Bytes::from_static(b"piece"));
        // It is queued again once both wait.
        queue.forget_call(call.id());
        let (told, events) = mpsc::channel();
        for _ in 0..2 {
            let (queue, told) = (Arc::clone(&queue), told.clone());
            thread::spawn(move || told.send(queue.wait(1, None).unwrap()));
        }
        thread::sleep(Duration::from_millis(200));
        queue.push(QueueEntry::Call(call));
        for _ in 0..2 {
            let events = events.recv_timeout(Duration::from_secs(5));
            assert_eq!(events.expect("it sleeps on").len(), 1);
        }
    }
}
