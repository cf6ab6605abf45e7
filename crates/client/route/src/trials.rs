//! Trials of HTTP/3: whether to try it, its head start or delay against TCP, and the outcome of races.

use std::time::Duration;

use crate::conn::SiteRace;
use crate::event::{NetworkId, Origin, Policy, Transport};
use crate::learn::{Class, Verdict};
use crate::race::Mode;
use crate::router::Router;
use crate::standing::{Trial, Udp};
use crate::why::Why;

/// TCP starts as much later where QUIC is offered, but it is not known whether UDP passes.
const UNTRIED_DELAY: Duration = Duration::from_millis(10);
/// The other transport's delay while no RTT is known (Happy Eyeballs v3, section 6), and its
/// bounds.
const UNKNOWN_DELAY: Duration = Duration::from_millis(250);
const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);
/// How much a failure counts for the time without HTTP/3 that follows. A path without answers may have been bad luck,
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
    ) -> Mode {
        match policy {
            Policy::H3 => return Mode::Only(Transport::Quic),
            Policy::H2 | Policy::H1 => return Mode::Only(Transport::Tcp),
            Policy::Adaptive | Policy::Race => {}
        }
        if !offered || self.why_not_quic(origin).is_some() {
            return Mode::Only(Transport::Tcp);
        }
        let now = self.now;
        let (udp, network_rtt) = {
            let row = self.book.network(network, now);
            (row.udp, row.rtt)
        };
        let digest = self.book.digest(origin);
        let row = self.book.row(network, digest, now);
        let known = row.rtt.or(network_rtt).map(|rtt| rtt.mul_f64(1.5));
        let delay = known.unwrap_or(UNKNOWN_DELAY).clamp(MIN_DELAY, MAX_DELAY);
        let cold = row.learnt(Class::Cold).verdict(Class::Cold, None, now);
        if row.trial.on_probation(now) {
            Mode::First(Transport::Tcp, UNTRIED_DELAY)
        } else if policy == Policy::Adaptive && matches!(cold, Verdict::Faster(Transport::Tcp, ..))
        {
            Mode::First(Transport::Tcp, delay)
        } else if row.trial == Trial::Works || udp == Udp::Works {
            Mode::First(Transport::Quic, delay)
        } else {
            Mode::First(Transport::Quic, UNTRIED_DELAY)
        }
    }

    /// Returns why HTTP/3 is not tried now, if it is not.
    pub(crate) fn why_not_quic(&self, origin: &Origin) -> Option<Why> {
        let (now, network) = (self.now, self.network_id()?);
        let digest = self.book.digest(origin);
        if !self.h3_is_on() {
            return Some(Why::SwitchedOff);
        }
        if self
            .book
            .offers
            .get(&digest)
            .is_none_or(|offer| offer.until <= now)
        {
            return Some(Why::NotOffered);
        }
        let trial = self.book.rows.get(&(network, digest)).map(|row| row.trial);
        if let Some(Trial::Broken { times, until }) = trial
            && now < until
        {
            return Some(Why::Broken {
                times,
                retry_in: until.since(now),
            });
        }
        let worked_here = trial == Some(Trial::Works);
        let silent = self
            .book
            .networks
            .get(&network)
            .is_some_and(|row| row.udp.is_silent(now));
        (silent && !worked_here).then_some(Why::UdpSilent)
    }

    /// Records that the head of a response came over HTTP/3. Where HTTP/3 failed before, a head proves too little.
    pub(crate) fn quic_answers(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.book.digest(origin));
        let row = self.book.row(network, digest, now);
        row.quic_unanswered = 0;
        if row.trial == Trial::Untried {
            row.trial = Trial::Works;
        }
    }

    /// Records that a whole response came over HTTP/3.
    pub(crate) fn quic_has_answered(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.book.digest(origin));
        let row = self.book.row(network, digest, now);
        (row.trial, row.quic_failures) = (Trial::Works, 0);
    }

    /// Records that a request failed over HTTP/3, after its handshake. That may be the request's own fault, but not
    /// twice in a row.
    pub(crate) fn quic_failed(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.book.digest(origin));
        let row = self.book.row(network, digest, now);
        row.quic_failures = row.quic_failures.saturating_add(1);
        if row.quic_failures >= MAX_FAILURES {
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
        let digest = self.book.digest(origin);
        self.book.withdraw_offer(digest);
        self.break_quic(origin, network, REFUSED_WEIGHT);
    }

    /// Marks HTTP/3 to this origin as broken, unless it is known to be.
    fn break_quic(&mut self, origin: &Origin, network: NetworkId, weight: u8) {
        let (now, digest) = (self.now, self.book.digest(origin));
        let row = self.book.row(network, digest, now);
        row.quic_unanswered = 0;
        if !row.trial.is_broken(now) {
            row.trial.fail(weight, now);
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
    pub(crate) fn judge(&mut self, origin: &Origin, race: &mut SiteRace) {
        if race.race.tries(Transport::Quic) {
            return;
        }
        if !self.tcp_works(origin, race.network) {
            return;
        }
        let Some((weight, heard)) = race.quic_failure.take() else {
            return;
        };
        let (now, digest) = (self.now, self.book.digest(origin));
        self.book
            .row(race.network, digest, now)
            .trial
            .fail(weight, now);
        if !heard {
            self.book.network(race.network, now).udp.unanswered(now);
        }
    }
}
