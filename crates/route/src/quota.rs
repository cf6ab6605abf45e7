//! Servers that end a connection after so many requests.
//!
//! nginx does at `keepalive_requests`. Over HTTP/2 it tells by GOAWAY which requests it will not answer. Over HTTP/3
//! nginx 1.26 closes the connection without a word, so that requests on it fail, and on the next one fail again.

use std::time::Duration;

use crate::conn::{Conn, ConnState};
use crate::event::{ConnId, NetworkId, Origin, Transport};
use crate::moment::Moment;
use crate::router::Router;

/// Fewer answers than this say nothing of a number: any server that is stopped closes its connections.
const FEWEST: u32 = 8;
/// So long the number is believed.
const MEMORY: Duration = Duration::from_secs(60);

/// How many requests an origin takes on a connection over HTTP/3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    requests: u32,
    until: Moment,
}

impl Router {
    /// A peer ended a connection without an error. If requests were on it, their repetitions go to connections that
    /// are given no more than it had answered.
    pub(crate) fn on_finished(&mut self, id: ConnId) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if !matches!(conn.state, ConnState::Ready(_) | ConnState::Draining) {
            return;
        }
        conn.state = ConnState::Draining;
        let requests = conn.answers;
        if conn.over != Transport::Quic || conn.calls.is_empty() || requests < FEWEST {
            return;
        }
        let (origin, network) = (conn.origin.clone(), conn.network);
        let digest = self.book.digest(&origin);
        self.book.row(network, digest, now).quota = Some(Quota {
            requests,
            until: now + MEMORY,
        });
        let conns = self.conns.values_mut();
        for conn in
            conns.filter(|conn| conn.network == network && conn.is_of(&origin, Transport::Quic))
        {
            conn.spend(requests);
        }
    }

    /// Lets a connection take no more requests once it has had as many as its origin takes.
    pub(crate) fn keep_quota(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get(&id)
            && conn.over == Transport::Quic
            && let Some(requests) = self.quota(&conn.origin, conn.network)
            && let Some(conn) = self.conns.get_mut(&id)
        {
            conn.spend(requests);
        }
    }

    fn quota(&self, origin: &Origin, network: NetworkId) -> Option<u32> {
        let row = self.book.rows.get(&(network, self.book.digest(origin)));
        let quota = row.and_then(|row| row.quota);
        Some(quota.filter(|quota| self.now < quota.until)?.requests)
    }
}

impl Conn {
    fn spend(&mut self, quota: u32) {
        if matches!(self.state, ConnState::Ready(_)) && self.sent >= quota {
            self.state = ConnState::Draining;
        }
    }
}
