//! The choice among open connections for a request.

use crate::conn::{Conn, ConnState};
use crate::event::{Ask, ConnId, Origin, Policy, Transport};
use crate::learn::{Class, Verdict, key};
use crate::router::Router;
use crate::standing::Trial;
use crate::why::Why;

impl Router {
    /// Reports whether a request with this policy may go over this transport.
    pub(crate) fn allows(&self, policy: Policy, over: Transport) -> bool {
        match (policy, over) {
            (Policy::H3, Transport::Tcp) | (Policy::H2 | Policy::H1, Transport::Quic) => false,
            (Policy::Adaptive | Policy::Race, Transport::Quic) => self.h3_is_on(),
            _ => true,
        }
    }

    /// Returns a free connection over this transport, if the policy allows that. Where HTTP/3 has failed, it has to
    /// prove itself by one request at a time that may be repeated.
    pub(crate) fn usable(&self, origin: &Origin, ask: &Ask, over: Transport) -> Option<ConnId> {
        let allowed = self.allows(ask.policy, over);
        let conn = allowed
            .then(|| self.free_conn(origin, over, ask.policy))
            .flatten()?;
        if over == Transport::Tcp || ask.policy == Policy::H3 {
            return Some(conn);
        }
        let trusted = match self.trial(origin) {
            Trial::Untried | Trial::Works => true,
            Trial::Broken { until, .. } => {
                let busy = self.conns.get(&conn).is_some_and(|c| !c.calls.is_empty());
                self.now >= until && ask.replayable && !ask.urgent && !busy
            }
        };
        trusted.then_some(conn)
    }

    /// Returns a connection whose handshake is not done but that may take this request early.
    pub(crate) fn early_conn(&self, origin: &Origin, ask: &Ask) -> Option<ConnId> {
        let network = self.network_id()?;
        let takes = |conn: &Conn| {
            conn.origin == *origin
                && conn.network == network
                && conn.state == ConnState::Early
                && !conn.full
                && !conn.is_spent()
                && !conn.watch.is_silent()
        };
        let may = ask.early && self.allows(ask.policy, Transport::Quic);
        let conn = self.conns.iter().find(|(_, conn)| may && takes(conn))?;
        Some(*conn.0)
    }

    /// Returns the state of HTTP/3 to an origin on this network.
    pub(crate) fn trial(&self, origin: &Origin) -> Trial {
        let digest = self.book.digest(origin);
        let row = self
            .network_id()
            .and_then(|network| self.book.rows.get(&(network, digest)));
        row.map_or(Trial::Untried, |row| row.trial)
    }

    /// Chooses a transport by what was learnt, when both have a connection.
    pub(crate) fn choose(&mut self, origin: &Origin, ask: &Ask) -> (Transport, Why) {
        if ask.policy == Policy::Race {
            return (Transport::Quic, Why::Pinned(Transport::Quic));
        }
        let now = self.now;
        let mut explores = self.switches.explore && ask.replayable && !ask.urgent;
        let Some(row) = self.current_row(origin) else {
            return (Transport::Quic, Why::CannotTell(Transport::Quic));
        };
        let bytes = row.expected_bytes(ask);
        // The first request of a kind teaches nothing, since later ones are compared with it, and may be of
        // any size.
        explores &= row.kinds.usual_bytes(ask.kind).is_some();
        if row.trial.on_probation(now) {
            return (Transport::Quic, Why::Exploring(Transport::Quic));
        }
        let class = Class::of_size(bytes);
        let usual_s = row.kinds.usual_s(key(ask.kind, bytes));
        let learnt = row.learnt(class);
        let verdict = learnt.verdict(class, usual_s, now);
        // Large bodies are not sent the slow way to learn.
        if explores
            && class != Class::Bulk
            && let Some(over) = learnt.explore(class, verdict, now)
        {
            return (over, Why::Exploring(over));
        }
        match verdict {
            Verdict::Faster(over, low, high) => {
                let counts = Transport::ALL.map(|over| learnt.of(over).count() as u32);
                (
                    over,
                    Why::Faster {
                        over,
                        class,
                        low,
                        high,
                        counts,
                    },
                )
            }
            Verdict::NoDifference => {
                let over = Transport::Quic;
                (over, Why::NoDifference { over, class })
            }
            Verdict::CannotTell => {
                let over = learnt.leaning(class, usual_s);
                (over, Why::CannotTell(over))
            }
        }
    }

    /// Returns the reason for the only transport that has a connection: what keeps the other one away, if anything
    /// does.
    pub(crate) fn why_only(&self, origin: &Origin, ask: &Ask, over: Transport) -> Why {
        match (ask.policy, over) {
            (Policy::H1 | Policy::H2 | Policy::H3, _) => Why::Pinned(over),
            (_, Transport::Tcp) => self.why_not_quic(origin).unwrap_or(Why::OnlyOpen(over)),
            (_, Transport::Quic) => Why::OnlyOpen(over),
        }
    }
}
