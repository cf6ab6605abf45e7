//! Requests over HTTP/3 that get no answer although their path is alive: the server is slow, or its HTTP/3 is broken.
//!
//! Nothing on the path shows which. After two requests in a row without an answer the next ones go over TCP, and if TCP
//! answers, HTTP/3 is broken. Where HTTP/3 is on probation, one request is enough, and it is hedged over TCP. So are
//! requests over either transport that are sent to learn.

use std::time::Duration;

use crate::conn::{Call, Conn};
use crate::event::{CallId, ConnId, NetworkId, Origin, Policy, RequestTraits, Transport};
use crate::learn::{ComparisonClass, key};
use crate::reason::Reason;
use crate::resend::MAX_RETRIES;
use crate::router::Router;
use crate::time::MonotonicTime;

/// After this many requests in a row without an answer the next one goes over TCP.
const MAX_UNANSWERED: u8 = 2;
/// A request that the app cancels earlier says nothing; one over HTTP/3 on probation is hedged then.
const PATIENCE: Duration = Duration::from_secs(1);
/// A request that is sent to learn is hedged after so many standard deviations of ln(time): one in 740 takes as long.
const LONG_DEVIATIONS: f64 = 3.0;
/// It is hedged after so many times the usual time, at least and at most.
const LONG_MIN_TIMES: f64 = 2.0;
const LONG_MAX_TIMES: f64 = 8.0;
/// Where all is fast, a busy phone takes as long by itself.
const LONG_MIN: Duration = Duration::from_millis(20);
/// A limit says nothing that leaves less time than this many round trips.
const MIN_ROUND_TRIPS: u32 = 2;

impl Router {
    /// Ends a request whose time limit passed.
    pub(crate) fn on_timed_out(&mut self, id: CallId) {
        self.count_unanswered(id, |conn| MIN_ROUND_TRIPS * conn.monitor.srtt());
        self.drop_call(id);
    }

    /// Ends a request that the app no longer waits for.
    pub(crate) fn on_cancel(&mut self, id: CallId) {
        self.count_unanswered(id, |conn| PATIENCE.max(2 * conn.monitor.silence()));
        self.drop_call(id);
    }

    /// Counts a request over HTTP/3 that ends without an answer. It counts only if it waited at least `patience` for
    /// one.
    fn count_unanswered(&mut self, id: CallId, patience: impl Fn(&Conn) -> Duration) {
        let Some(call) = self.calls.get(&id).filter(|call| !call.delivered) else {
            return;
        };
        if !self.allows(call.traits.policy, Transport::Tcp) {
            return;
        }
        let (now, origin) = (self.now, call.origin.clone());
        let mut over_quic = call
            .copies
            .iter()
            .filter(|copy| copy.over == Transport::Quic);
        let waited = over_quic.find(|copy| {
            let patience = self.conns.get(&copy.conn).map_or(PATIENCE, &patience);
            now >= copy.sent + patience
        });
        if let Some(network) = waited.map(|copy| copy.network) {
            self.quic_unanswered(&origin, network);
        }
    }

    fn quic_unanswered(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        let entry = self.knowledge.origin(network, digest, now);
        if entry.h3.on_probation(now) {
            return self.fail_probation(origin, network);
        }
        entry.quic_unanswered = entry.quic_unanswered.saturating_add(1);
        if entry.quic_unanswered >= MAX_UNANSWERED && self.network_id() == Some(network) {
            self.open_rescue(origin, Transport::Tcp);
        }
    }

    /// Reports whether HTTP/3 left the last requests to an origin without an answer, so that this one goes over TCP.
    pub(crate) fn is_unanswered(&self, origin: &Origin, traits: &RequestTraits) -> bool {
        let may = matches!(traits.policy, Policy::Adaptive | Policy::Race);
        let digest = self.knowledge.digest(origin);
        let entry = self
            .network_id()
            .and_then(|network| self.knowledge.origins.get(&(network, digest)));
        may && entry.is_some_and(|entry| entry.quic_unanswered >= MAX_UNANSWERED)
    }

    /// Lets a request wait for a connection over TCP.
    pub(crate) fn wait_for_tcp(&mut self, id: CallId, origin: &Origin) {
        self.origin_state(origin).waiting.push_back(id);
        if self.may_open(origin, Transport::Tcp, Policy::H2) {
            self.open_rescue(origin, Transport::Tcp);
        }
    }

    /// Forgets unanswered requests over HTTP/3: TCP cannot be opened either, so HTTP/3 is not at fault.
    pub(crate) fn tcp_fails_too(&mut self, origin: &Origin) {
        if let Some(entry) = self.current_entry(origin) {
            entry.quic_unanswered = 0;
        }
    }

    /// Returns when to hedge a request over the other transport that is sent on this connection now, if it is to be
    /// hedged: over HTTP/3 on probation, or to learn.
    pub(crate) fn hedge_at(
        &self,
        call: &Call,
        conn: &Conn,
        reason: &Reason,
    ) -> Option<MonotonicTime> {
        let adaptive = matches!(call.traits.policy, Policy::Adaptive | Policy::Race);
        if !adaptive || !call.traits.replayable || !call.traits.resends {
            return None;
        }
        let on_probation =
            conn.over == Transport::Quic && self.h3_status(&call.origin).on_probation(self.now);
        let patience = if on_probation {
            PATIENCE.max(2 * conn.monitor.silence())
        } else if matches!(reason, Reason::Exploring(_)) {
            self.exploring_patience(call, conn)?
        } else {
            return None;
        };
        Some(self.now + patience)
    }

    /// Returns how long a request that is sent to learn may take: beyond it, hardly any takes so long over the other
    /// transport. So learning seldom costs much more, even where one request in twenty stalls for seconds.
    fn exploring_patience(&self, call: &Call, conn: &Conn) -> Option<Duration> {
        let digest = self.knowledge.digest(&call.origin);
        let entry = self.knowledge.origins.get(&(conn.network, digest))?;
        let bytes = entry.expected_bytes(&call.traits);
        let usual_s = entry.kinds.usual_s(key(call.traits.kind, bytes))?;
        let estimates = &entry.estimates[ComparisonClass::of_size(bytes) as usize];
        let other = estimates.of(conn.over.other());
        let times = (other.mean() + LONG_DEVIATIONS * other.deviation()).exp();
        let patience_s = usual_s * times.clamp(LONG_MIN_TIMES, LONG_MAX_TIMES);
        Some(Duration::from_secs_f64(patience_s).max(LONG_MIN))
    }

    /// Returns when the next request is hedged.
    pub(crate) fn next_hedge(&self) -> Option<MonotonicTime> {
        self.calls.values().filter_map(|call| call.hedge_at).min()
    }

    /// Hedges the requests that are due.
    pub(crate) fn hedge_due(&mut self) {
        let now = self.now;
        let due = self.calls.iter();
        let due = due.filter(|(_, call)| call.hedge_at.is_some_and(|at| at <= now));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(call) = self.calls.get_mut(&id) else {
                continue;
            };
            call.hedge_at = None;
            let (origin, traits) = (call.origin.clone(), call.traits);
            let [copy] = call.copies[..] else { continue };
            let may = call.retries < MAX_RETRIES;
            let over = copy.over.other();
            let Some(conn) = self.usable(&origin, &traits, over).filter(|_| may) else {
                continue;
            };
            self.send(id, conn, Reason::Hedge(over));
            if let Some(call) = self.calls.get_mut(&id) {
                call.retries += 1;
            }
        }
    }

    /// Records that another connection answered a request before this one. If this one was HTTP/3 on probation, HTTP/3
    /// has failed.
    pub(crate) fn lost_probation(&mut self, loser: ConnId) {
        let Some(conn) = self.conns.get(&loser) else {
            return;
        };
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        let (now, digest) = (self.now, self.knowledge.digest(&origin));
        let entry = self.knowledge.origin(network, digest, now);
        if over == Transport::Quic && entry.h3.on_probation(now) {
            self.fail_probation(&origin, network);
        }
    }
}
