//! Servers that restart: requests wait for them, with growing pauses, instead of failing at once.

use std::time::Duration;

use crate::event::{CallId, Fault, Origin, Policy};
use crate::router::Router;
use crate::time::MonotonicTime;

/// An origin whose last answer is more recent than this is expected back.
const MEMORY: Duration = Duration::from_secs(60);
/// How long a request waits for its server, unless its own limits end it before.
const PATIENCE: Duration = Duration::from_secs(10);
/// First pause before a connection is tried again; doubled each time up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(2);

impl Router {
    /// Reports whether a request waits for its server to come back, although no connection can be opened.
    pub(crate) fn may_come_back(&self, id: CallId, fault: Fault) -> bool {
        let (Some(call), Some(network)) = (self.calls.get(&id), self.network_id()) else {
            return false;
        };
        let digest = self.knowledge.digest(&call.origin);
        let entry = self.knowledge.origins.get(&(network, digest));
        let within =
            |since: Option<MonotonicTime>, time| since.is_some_and(|at| self.now < at + time);
        let answered = within(entry.and_then(|entry| entry.last_answer), MEMORY);
        let patient = call.failing_since.is_none() || within(call.failing_since, PATIENCE);
        fault == Fault::Connect && answered && patient && call.traits.resends
    }

    /// Lets a request wait for its server, and tries again after a pause.
    pub(crate) fn back_off(&mut self, id: CallId) {
        let now = self.now;
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        call.failing_since.get_or_insert(now);
        let (origin, policy) = (call.origin.clone(), call.traits.policy);
        self.origin_state(&origin).waiting.push_back(id);
        self.pause(&origin, policy);
    }

    /// Opens no connection for requests with this policy for a while, unless a pause is under way.
    pub(crate) fn pause(&mut self, origin: &Origin, policy: Policy) {
        let now = self.now;
        let backoff = self
            .origin_state(origin)
            .backoffs
            .entry(policy)
            .or_default();
        if backoff.until.is_none() {
            let doublings = u32::from(backoff.times.min(4));
            let pause = (PAUSE * (1 << doublings)).min(MAX_PAUSE);
            backoff.times = backoff.times.saturating_add(1);
            backoff.until = Some(now + pause);
        }
    }

    /// Ends all pauses: failures on another network say nothing of this one.
    pub(crate) fn end_pauses(&mut self) {
        for state in self.origins.values_mut() {
            state.backoffs.clear();
        }
        for call in self.calls.values_mut() {
            call.failing_since = None;
        }
    }
}
