//! The choice among open connections for a request.

use crate::conn::{Conn, ConnState};
use crate::event::{ConnId, Origin, Policy, RequestTraits, Transport};
use crate::h3_status::H3Status;
use crate::learn::{ComparisonClass, Verdict, key};
use crate::reason::Reason;
use crate::router::Router;

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
    pub(crate) fn usable(
        &self,
        origin: &Origin,
        traits: &RequestTraits,
        over: Transport,
    ) -> Option<ConnId> {
        let allowed = self.allows(traits.policy, over);
        let conn = allowed
            .then(|| self.free_conn(origin, over, traits.policy))
            .flatten()?;
        if over == Transport::Tcp || traits.policy == Policy::H3 {
            return Some(conn);
        }
        let trusted = match self.h3_status(origin) {
            H3Status::Untried | H3Status::Works => true,
            H3Status::Broken { until, .. } => {
                let busy = self.conns.get(&conn).is_some_and(|c| !c.calls.is_empty());
                self.now >= until && traits.replayable && !traits.urgent && !busy
            }
        };
        trusted.then_some(conn)
    }

    /// Returns a connection whose handshake is not done but that may take this request early.
    pub(crate) fn early_conn(&self, origin: &Origin, traits: &RequestTraits) -> Option<ConnId> {
        let network = self.network_id()?;
        let takes = |conn: &Conn| {
            conn.origin == *origin
                && conn.network == network
                && conn.state == ConnState::Early
                && !conn.full
                && !conn.is_spent()
                && !conn.monitor.is_silent()
        };
        let may = traits.early && self.allows(traits.policy, Transport::Quic);
        let conn = self.conns.iter().find(|(_, conn)| may && takes(conn))?;
        Some(*conn.0)
    }

    /// Returns the state of HTTP/3 to an origin on this network.
    pub(crate) fn h3_status(&self, origin: &Origin) -> H3Status {
        let digest = self.knowledge.digest(origin);
        let entry = self
            .network_id()
            .and_then(|network| self.knowledge.origins.get(&(network, digest)));
        entry.map_or(H3Status::Untried, |entry| entry.h3)
    }

    /// Chooses a transport by what was learnt, when both have a connection.
    pub(crate) fn choose(
        &mut self,
        origin: &Origin,
        traits: &RequestTraits,
    ) -> (Transport, Reason) {
        if traits.policy == Policy::Race {
            return (Transport::Quic, Reason::Pinned(Transport::Quic));
        }
        let now = self.now;
        let mut explores = self.switches.explore && traits.replayable && !traits.urgent;
        let Some(entry) = self.current_entry(origin) else {
            return (Transport::Quic, Reason::CannotTell(Transport::Quic));
        };
        let bytes = entry.expected_bytes(traits);
        // The first request of a kind teaches nothing, since later ones are compared with it, and may be of
        // any size.
        explores &= entry.kinds.usual_bytes(traits.kind).is_some();
        if entry.h3.on_probation(now) {
            return (Transport::Quic, Reason::Exploring(Transport::Quic));
        }
        let class = ComparisonClass::of_size(bytes);
        let usual_s = entry.kinds.usual_s(key(traits.kind, bytes));
        let estimates = entry.estimates(class);
        let verdict = estimates.verdict(class, usual_s, now);
        // Large bodies are not sent the slow way to learn.
        if explores
            && class != ComparisonClass::Bulk
            && let Some(over) = estimates.explore(class, verdict, now)
        {
            return (over, Reason::Exploring(over));
        }
        match verdict {
            Verdict::Faster(over, low, high) => {
                let counts = Transport::ALL.map(|over| estimates.of(over).count() as u32);
                (
                    over,
                    Reason::Faster {
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
                (over, Reason::NoDifference { over, class })
            }
            Verdict::CannotTell => {
                let over = estimates.leaning(class, usual_s);
                (over, Reason::CannotTell(over))
            }
        }
    }

    /// Returns the reason for the only transport that has a connection: what keeps the other one away, if anything
    /// does.
    pub(crate) fn reason_for_only(
        &self,
        origin: &Origin,
        traits: &RequestTraits,
        over: Transport,
    ) -> Reason {
        match (traits.policy, over) {
            (Policy::H1 | Policy::H2 | Policy::H3, _) => Reason::Pinned(over),
            (_, Transport::Tcp) => self
                .reason_against_quic(origin)
                .unwrap_or(Reason::OnlyOpen(over)),
            (_, Transport::Quic) => Reason::OnlyOpen(over),
        }
    }
}
