//! Race policy: whether to try HTTP/3, its head start or delay against TCP, and what the outcome of a race means.

use std::time::Duration;

use crate::conn::OriginRace;
use crate::event::{NetworkId, Origin, Policy, Transport};
use crate::h3_status::{H3Status, UdpStatus};
use crate::learn::{ComparisonClass, Verdict};
use crate::race::RaceMode;
use crate::reason::Reason;
use crate::router::Router;

/// Delay of TCP where QUIC is offered, but it is not known whether UDP passes.
const UNTRIED_DELAY: Duration = Duration::from_millis(10);
/// The other transport's delay while no RTT is known (Happy Eyeballs v3, section 6), and its
/// bounds.
const UNKNOWN_DELAY: Duration = Duration::from_millis(250);
const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);
/// How much a failure counts for the time without HTTP/3 that follows. A path without answers may have been chance,
/// or the network's fault; a peer that refuses will go on doing so.
pub(crate) const FAILED_WEIGHT: u8 = 1;
pub(crate) const REFUSED_WEIGHT: u8 = 3;
/// Requests over HTTP/3 that fail in a row until it counts as broken.
const MAX_FAILURES: u8 = 2;

impl Router {
    /// Returns which transport goes first, and how much later the other one starts.
    pub(crate) fn mode(
        &mut self,
        origin: &Origin,
        network: NetworkId,
        policy: Policy,
        offered: bool,
    ) -> RaceMode {
        match policy {
            Policy::H3 => return RaceMode::Only(Transport::Quic),
            Policy::H2 | Policy::H1 => return RaceMode::Only(Transport::Tcp),
            Policy::Adaptive | Policy::Race => {}
        }
        if !offered || self.reason_against_quic(origin).is_some() {
            return RaceMode::Only(Transport::Tcp);
        }
        let now = self.now;
        let (udp, network_rtt) = {
            let entry = self.knowledge.network(network, now);
            (entry.udp, entry.rtt)
        };
        let digest = self.knowledge.digest(origin);
        let entry = self.knowledge.origin(network, digest, now);
        let known = entry.rtt.or(network_rtt).map(|rtt| rtt.mul_f64(1.5));
        let delay = known.unwrap_or(UNKNOWN_DELAY).clamp(MIN_DELAY, MAX_DELAY);
        let cold = entry
            .estimates(ComparisonClass::Cold)
            .verdict(ComparisonClass::Cold, None, now);
        if entry.h3.on_probation(now) {
            RaceMode::First(Transport::Tcp, UNTRIED_DELAY)
        } else if policy == Policy::Adaptive && matches!(cold, Verdict::Faster(Transport::Tcp, ..))
        {
            RaceMode::First(Transport::Tcp, delay)
        } else if entry.h3 == H3Status::Works || udp == UdpStatus::Works {
            RaceMode::First(Transport::Quic, delay)
        } else {
            RaceMode::First(Transport::Quic, UNTRIED_DELAY)
        }
    }

    /// Returns why HTTP/3 is not tried now, if it is not.
    pub(crate) fn reason_against_quic(&self, origin: &Origin) -> Option<Reason> {
        let (now, network) = (self.now, self.network_id()?);
        let digest = self.knowledge.digest(origin);
        if !self.h3_is_on() {
            return Some(Reason::SwitchedOff);
        }
        if self
            .knowledge
            .offers
            .get(&digest)
            .is_none_or(|offer| offer.until <= now)
        {
            return Some(Reason::NotOffered);
        }
        let h3 = self
            .knowledge
            .origins
            .get(&(network, digest))
            .map(|entry| entry.h3);
        if let Some(H3Status::Broken { times, until }) = h3
            && now < until
        {
            return Some(Reason::Broken {
                times,
                retry_in: until.since(now),
            });
        }
        let worked_here = h3 == Some(H3Status::Works);
        let silent = self
            .knowledge
            .networks
            .get(&network)
            .is_some_and(|entry| entry.udp.is_blocked(now));
        (silent && !worked_here).then_some(Reason::UdpSilent)
    }

    /// Records that the head of a response came over HTTP/3. Where HTTP/3 failed before, a head proves too little.
    pub(crate) fn quic_answers(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        let entry = self.knowledge.origin(network, digest, now);
        entry.quic_unanswered = 0;
        if entry.h3 == H3Status::Untried {
            entry.h3 = H3Status::Works;
        }
    }

    /// Records that a whole response came over HTTP/3.
    pub(crate) fn quic_has_answered(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        let entry = self.knowledge.origin(network, digest, now);
        (entry.h3, entry.quic_failures) = (H3Status::Works, 0);
    }

    /// Records that a request failed over HTTP/3, after its handshake. That may be the request's own fault, but not
    /// twice in a row.
    pub(crate) fn quic_failed(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        let entry = self.knowledge.origin(network, digest, now);
        entry.quic_failures = entry.quic_failures.saturating_add(1);
        if entry.quic_failures >= MAX_FAILURES {
            self.break_quic(origin, network, FAILED_WEIGHT);
        }
    }

    /// Records that TCP answered a request on the same network that had failed over HTTP/3, or would have gone there.
    pub(crate) fn tcp_answered_instead(&mut self, origin: &Origin, network: NetworkId) {
        self.break_quic(origin, network, REFUSED_WEIGHT);
    }

    /// Records that HTTP/3 on probation left a request without an answer.
    pub(crate) fn fail_probation(&mut self, origin: &Origin, network: NetworkId) {
        self.break_quic(origin, network, FAILED_WEIGHT);
    }

    /// Withdraws the offer of HTTP/3 to this origin, from any source, and marks HTTP/3 as broken. The server there says
    /// that it does not serve the origin.
    pub(crate) fn withdraw_quic(&mut self, origin: &Origin, network: NetworkId) {
        let digest = self.knowledge.digest(origin);
        self.knowledge.withdraw_offer(digest);
        self.break_quic(origin, network, REFUSED_WEIGHT);
    }

    /// Marks HTTP/3 to this origin as broken, unless it is known to be.
    fn break_quic(&mut self, origin: &Origin, network: NetworkId, weight: u8) {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        let entry = self.knowledge.origin(network, digest, now);
        entry.quic_unanswered = 0;
        if !entry.h3.is_broken(now) {
            entry.h3.fail(weight, now);
        }
    }

    /// Reports whether a TCP connection to this origin is open on this network, and nothing on it is late.
    pub(crate) fn tcp_works(&self, origin: &Origin, network: NetworkId) -> bool {
        self.conns.values().any(|conn| {
            conn.origin == *origin
                && conn.network == network
                && conn.over == Transport::Tcp
                && conn.is_alive()
        })
    }

    /// Marks HTTP/3 as broken if QUIC failed in this race and TCP to the same origin works. If nothing works, the
    /// network is at fault.
    pub(crate) fn judge(&mut self, origin: &Origin, race: &mut OriginRace) {
        if race.race.tries(Transport::Quic) {
            return;
        }
        if !self.tcp_works(origin, race.network) {
            return;
        }
        let Some((weight, responded)) = race.quic_failure.take() else {
            return;
        };
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        self.knowledge
            .origin(race.network, digest, now)
            .h3
            .fail(weight, now);
        if !responded {
            self.knowledge
                .network(race.network, now)
                .udp
                .unanswered(now);
        }
    }
}
