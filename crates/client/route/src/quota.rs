//! Servers that close a connection over HTTP/3 after a number of requests.
//!
//! nginx does so at `keepalive_requests`. Over HTTP/2 its GOAWAY names the requests that it will not answer. Over
//! HTTP/3, nginx 1.26 closes the connection with H3_NO_ERROR and no GOAWAY. The requests on it fail, and their
//! repetitions would fail again at the end of the next connection.

use std::time::Duration;

use crate::conn::{Conn, ConnState};
use crate::event::{ConnId, Transport};
use crate::knowledge::{OriginEntry, Quota};
use crate::router::Router;
use crate::time::MonotonicTime;

/// With fewer answers, a close is more likely that of a server that stops.
const MIN_ANSWERS: u32 = 8;
/// With fewer requests cut off, repetitions within their own limit do.
const MIN_CUT_OFF: usize = 4;
/// How long a limit that was learnt applies.
const MEMORY: Duration = Duration::from_secs(60);

impl Router {
    /// Drains a connection that its peer closed without an error. If the peer had answered other requests, those that
    /// it cut off say nothing against HTTP/3. If several were cut off, connections to its origin get no more requests
    /// than it had answered.
    pub(crate) fn on_finished(&mut self, id: ConnId) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if conn.state.is_opening() {
            return;
        }
        conn.state = ConnState::Draining;
        let requests = conn.answers;
        let copies = conn.calls.iter().flat_map(|call| {
            let call = self.calls.get(call);
            call.into_iter().flat_map(|call| &call.copies)
        });
        // Those whose bodies it cuts off are no answers.
        let begun = copies.filter(|copy| copy.conn == id && copy.head.is_some());
        let answered_others = requests as usize > begun.count();
        for call in &conn.calls {
            let copies = self.calls.get_mut(call).map(|call| &mut call.copies);
            for copy in copies.into_iter().flatten().filter(|copy| copy.conn == id) {
                copy.cut_off = answered_others;
            }
        }
        if conn.over != Transport::Quic || conn.calls.len() < MIN_CUT_OFF || requests < MIN_ANSWERS
        {
            return;
        }
        let (origin, network) = (conn.origin.clone(), conn.network);
        let of_origin =
            |conn: &&mut Conn| conn.network == network && conn.is_of(&origin, Transport::Quic);
        for conn in self.conns.values_mut().filter(of_origin) {
            conn.quota = Some(requests);
        }
        let digest = self.knowledge.digest(&origin);
        self.knowledge.origin(network, digest, now).quota = Some(Quota {
            requests,
            until: now + MEMORY,
        });
        self.close_spent();
    }

    /// Limits a new connection over HTTP/3 to as many requests as its origin is known to answer.
    pub(crate) fn set_quota(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        let entry = (conn.network, self.knowledge.digest(&conn.origin));
        if conn.over == Transport::Quic {
            let entry = self.knowledge.origins.get(&entry);
            conn.quota = entry.and_then(|entry| entry.requests_by_quic(self.now));
        }
    }

    /// Closes connections that can take no more requests and have none.
    fn close_spent(&mut self) {
        let spent = |conn: &Conn| conn.is_spent() && conn.calls.is_empty();
        let ids = self.conns.iter().filter(|(_, conn)| spent(conn));
        for id in ids.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.close(id);
        }
    }
}

impl OriginEntry {
    /// Returns how many requests the origin answers on a connection over HTTP/3, if it has such a limit.
    pub(crate) fn requests_by_quic(&self, now: MonotonicTime) -> Option<u32> {
        let quota = self.quota.filter(|quota| now < quota.until);
        quota.map(|quota| quota.requests)
    }
}

impl Conn {
    /// Reports whether the connection had as many requests as its peer answers.
    pub(crate) fn is_spent(&self) -> bool {
        self.quota.is_some_and(|quota| self.sent >= quota)
    }
}
