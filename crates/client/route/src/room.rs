//! Connections that have no room for a request, and how many there may be.

use std::time::Duration;

use crate::conn::{Conn, ConnState};
use crate::event::{CallId, ConnId, Origin, Policy, Protocol, Transport};
use crate::router::{MAX_H1_CONNS, MAX_LONG_H1_CONNS, MAX_SHARED_CONNS, Router};
use crate::time::MonotonicTime;

/// A response over HTTP/1.1 that takes longer after its head may take for ever: an event stream, or one that the app
/// does not read. Requests no longer wait for its connection.
const LONG_RESPONSE: Duration = Duration::from_secs(1);

impl Router {
    /// Takes a request off a connection that had no room for it; nothing of the request was sent.
    pub(crate) fn on_full(&mut self, id: CallId, conn_id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&conn_id) {
            conn.full = true;
            conn.calls.remove(&id);
            conn.sent = conn.sent.saturating_sub(1);
            if conn.calls.is_empty() {
                conn.monitor.end();
            }
        }
        if let Some(call) = self.calls.get_mut(&id) {
            let before = call.copies.len();
            call.copies.retain(|copy| copy.conn != conn_id);
            // It may have been taken off since, and wait.
            if call.copies.len() < before && call.copies.is_empty() {
                self.place(id);
            }
        }
    }

    /// Records that a connection may have room again, and places the requests that wait.
    pub(crate) fn on_room(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id)
            && std::mem::take(&mut conn.full)
        {
            let origin = conn.origin.clone();
            self.place_waiting(&origin);
        }
    }

    /// Reports whether no other connection may be opened for a request with this policy, so that it waits for room on
    /// one.
    pub(crate) fn is_at_bound(&self, origin: &Origin, policy: Policy) -> bool {
        let mut ways = Transport::ALL.into_iter();
        ways.all(|over| !self.may_open(origin, over, policy))
    }

    /// Reports whether another connection over this transport may be opened for a request with this policy.
    pub(crate) fn may_open(&self, origin: &Origin, over: Transport, policy: Policy) -> bool {
        let pinned = policy == Policy::H3;
        let tried = over == Transport::Tcp || pinned || self.reason_against_quic(origin).is_none();
        if !self.allows(policy, over) || !tried {
            return false;
        }
        let of = |protocol| {
            self.open_conns(origin, over)
                .filter(move |conn| conn.uses(protocol))
        };
        let waits = of(Protocol::H1).filter(|conn| !self.is_long(conn)).count();
        waits < MAX_H1_CONNS
            && of(Protocol::H1).count() < MAX_LONG_H1_CONNS
            && (policy == Policy::H1 || of(Protocol::H2).count() < MAX_SHARED_CONNS)
            && of(Protocol::H3).count() < MAX_SHARED_CONNS
    }

    /// Reports whether a connection that a request with this policy could use is open and works, so that it will have
    /// room.
    pub(crate) fn will_have_room(&self, origin: &Origin, policy: Policy) -> bool {
        let mut ways = Transport::ALL.into_iter();
        ways.any(|over| {
            let fits = |conn: &Conn| policy != Policy::H1 || conn.uses(Protocol::H1);
            self.allows(policy, over) && self.open_conns(origin, over).any(fits)
        })
    }

    /// Returns the connections to an origin on this network that take requests, now or later.
    fn open_conns(&self, origin: &Origin, over: Transport) -> impl Iterator<Item = &Conn> {
        let network = self.network_id();
        let conns = self.conns.values();
        conns.filter(move |conn| {
            conn.is_of(origin, over)
                && Some(conn.network) == network
                && matches!(conn.state, ConnState::Ready(_))
                && conn.is_alive()
        })
    }

    /// Reports whether the response on a connection over HTTP/1.1 takes long.
    pub(crate) fn is_long(&self, conn: &Conn) -> bool {
        self.is_long_at(conn).is_some_and(|at| at <= self.now)
    }

    /// Returns when the response on a connection takes long, if it has begun.
    fn is_long_at(&self, conn: &Conn) -> Option<MonotonicTime> {
        let call = self.calls.get(conn.calls.first()?)?;
        let head = call.copies.first()?.head?;
        Some(head + LONG_RESPONSE)
    }

    /// Returns when another connection may be opened for requests that wait.
    pub(crate) fn next_opening(&self) -> Option<MonotonicTime> {
        let origins = self
            .origins
            .iter()
            .filter(|(_, state)| !state.waiting.is_empty());
        let times = origins.flat_map(|(origin, state)| {
            let conns = self.open_conns(origin, Transport::Tcp);
            let long = conns.filter(|conn| conn.uses(Protocol::H1));
            let long = long.filter_map(|conn| self.is_long_at(conn));
            long.filter(|at| *at > self.now)
                .chain(state.backoffs.values().filter_map(|backoff| backoff.until))
        });
        times.min()
    }

    /// Opens other connections for requests that wait, once there may be more of them.
    pub(crate) fn open_for_waiting(&mut self, origin: &Origin) {
        let Some(state) = self.origins.get_mut(origin) else {
            return;
        };
        for backoff in state.backoffs.values_mut() {
            backoff.until = backoff.until.filter(|until| *until > self.now);
        }
        let waiting = state.waiting.iter().filter_map(|id| self.calls.get(id));
        let mut policies: Vec<Policy> = waiting.map(|call| call.traits.policy).collect();
        policies.sort_unstable();
        policies.dedup();
        policies.retain(|policy| !state.serves(*policy));
        if policies
            .into_iter()
            .any(|policy| !self.is_at_bound(origin, policy))
        {
            self.place_waiting(origin);
        }
    }
}
