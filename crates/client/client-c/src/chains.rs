//! Certificate chains that wait for the app's verdict.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::abi::{cm_event, cm_event_kind, cm_status};
use crate::next_id;
use crate::queue::{EventQueue, QueueEntry};

/// Certificate chains that wait for the app's verdict. The engine's thread waits, too: rustls does not continue without
/// a verdict.
pub(crate) struct PendingChains {
    queue: Arc<EventQueue>,
    patience: Duration,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, PendingChain>,
    closed: bool,
}

struct PendingChain {
    /// The host, then the certificates as DER, the leaf first.
    parts: Vec<Vec<u8>>,
    /// The thread that `cm_wait` returned the event to.
    taken_by: Option<ThreadId>,
    verdict: Option<bool>,
}

impl PendingChains {
    pub(crate) fn new(queue: Arc<EventQueue>, patience: Duration) -> Self {
        Self {
            queue,
            patience,
            state: Mutex::default(),
            answered: Condvar::new(),
        }
    }

    /// Returns the host (0) or a certificate (1 and up) of a chain that waits.
    pub(crate) fn part(&self, number: u64, index: usize) -> Result<Vec<u8>, cm_status> {
        let state = self.lock();
        let chain = state.waiting.get(&number).ok_or(cm_status::CM_E_NO_CALL)?;
        chain.parts.get(index).cloned().ok_or(cm_status::CM_END)
    }

    pub(crate) fn answer(&self, number: u64, accepted: bool) -> cm_status {
        let mut state = self.lock();
        match state.waiting.get_mut(&number) {
            Some(chain) if chain.verdict.is_none() => chain.verdict = Some(accepted),
            _ => return cm_status::CM_E_NO_CALL,
        }
        self.answered.notify_all();
        cm_status::CM_OK
    }

    /// Records that the app's thread got these events.
    pub(crate) fn take(&self, events: &[cm_event]) {
        let is_chain = |event: &&cm_event| event.kind == cm_event_kind::CM_EVENT_CHECK_CHAIN;
        for event in events.iter().filter(is_chain) {
            if let Some(chain) = self.lock().waiting.get_mut(&event.number) {
                chain.taken_by = Some(thread::current().id());
            }
        }
    }

    /// Reports whether a chain waits for this thread's answer.
    pub(crate) fn wait_for_this_thread(&self) -> bool {
        let this = Some(thread::current().id());
        let state = self.lock();
        let unanswered = |chain: &PendingChain| chain.taken_by == this && chain.verdict.is_none();
        !state.closed && state.waiting.values().any(unanswered)
    }

    /// Refuses every chain, those that wait and those to come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.answered.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl client::CheckChain for PendingChains {
    fn accepts(&self, chain: &[&[u8]], host: &str) -> bool {
        let parts = std::iter::once(host.as_bytes()).chain(chain.iter().copied());
        let parts = parts.map(<[u8]>::to_vec).collect();
        let number = next_id();
        let mut state = self.lock();
        let chain = PendingChain {
            parts,
            taken_by: None,
            verdict: None,
        };
        state.waiting.insert(number, chain);
        self.queue.push(QueueEntry::Chain(number));
        let undecided = |state: &mut State| {
            let chain = state.waiting.get(&number);
            !state.closed && chain.is_some_and(|chain| chain.verdict.is_none())
        };
        let waited = self
            .answered
            .wait_timeout_while(state, self.patience, undecided);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let chain = state.waiting.remove(&number);
        self.queue.forget_chain(number);
        !state.closed && chain.and_then(|chain| chain.verdict) == Some(true)
    }
}

impl fmt::Debug for PendingChains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingChains").finish_non_exhaustive()
    }
}
