//! Connections that fall silent: probed, nudged, and hedged by another one.

use crate::command::Command;
use crate::conn::ConnState;
use crate::event::{CallId, ConnId, Fault, Origin, PathSample, Policy, Transport};
use crate::router::Router;
use crate::watch::Step;
use crate::why::Why;

/// A connection that falls silent costs a request a second, a failed handshake costs none: it is not
/// tried again for 16 s, and after that for 300 s.
const SILENT_WEIGHT: u8 = 5;

impl Router {
    pub(crate) fn sample(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id)
            && !std::mem::replace(&mut conn.sampling, true)
        {
            self.order(Command::Sample(id));
        }
    }

    pub(crate) fn on_path(&mut self, id: ConnId, sample: PathSample) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        conn.sampling = false;
        let (origin, network) = (conn.origin.clone(), conn.network);
        let (was_silent, idle) = (conn.watch.is_silent(), conn.calls.is_empty());
        let step = conn.watch.look(sample, now);
        let digest = self.book.digest(&origin);
        if sample.received > 0 && !sample.srtt.is_zero() {
            self.book.network(network, now).rtt = Some(sample.srtt);
            self.book.row(network, digest, now).rtt = Some(sample.srtt);
        }
        match step {
            Step::Alive if idle => {
                // It was watched because it had moved, and its path answers.
                if let Some(conn) = self.conns.get_mut(&id) {
                    conn.watch.end();
                }
            }
            Step::Wait | Step::Alive => {}
            Step::Nudge if idle => self.close_silent(id),
            Step::Probe => self.order(Command::Probe(id)),
            Step::Nudge => {
                if !was_silent {
                    for learnt in &mut self.book.row(network, digest, now).learnt {
                        learnt.doubt();
                    }
                }
                self.order(Command::Nudge(id));
                self.rescue(id);
                if !was_silent {
                    // What waited for it to be free needs another one.
                    self.place_waiting(&origin);
                }
            }
        }
    }

    /// A connection is silent: hedges its requests over one that is not, or opens one.
    fn rescue(&mut self, silent: ConnId) {
        let Some(conn) = self.conns.get(&silent) else {
            return;
        };
        let (origin, over) = (conn.origin.clone(), conn.over);
        let policies: Vec<Policy> = conn
            .calls
            .iter()
            .filter_map(|call| Some(self.calls.get(call)?.ask.policy))
            .collect();
        // Another QUIC connection would do no more than the nudge.
        let ways = [over.other(), Transport::Tcp];
        let mut ways = ways.into_iter().filter(|way| {
            let pinned = policies.contains(&Policy::H3);
            let quic = pinned || self.why_not_quic(&origin).is_none();
            (*way == Transport::Tcp || quic)
                && policies.iter().any(|policy| self.allows(*policy, *way))
        });
        if ways
            .clone()
            .any(|way| self.free_conn(&origin, way).is_some())
        {
            self.hedge_silent(&origin);
        } else if let Some(way) = ways.next() {
            self.open_second(&origin, way);
        }
    }

    /// Sends the requests of an origin's silent connections over one that is open, once each.
    pub(crate) fn hedge_silent(&mut self, origin: &Origin) {
        let silent = self
            .conns
            .values()
            .filter(|conn| conn.origin == *origin && conn.watch.is_silent());
        let calls: Vec<CallId> = silent.flat_map(|conn| conn.calls.iter().copied()).collect();
        for id in calls {
            let Some(call) = self.calls.get(&id) else {
                continue;
            };
            let (alone, ask) = (call.copies.len() == 1, call.ask);
            let hedges = alone && !call.delivered && ask.replayable && self.may_hedge();
            let resumes = alone && call.delivered && call.resumable;
            if !hedges && !resumes {
                continue;
            }
            // TCP first: where one path fell silent, it is the less likely to be blocked.
            let other = [Transport::Tcp, Transport::Quic]
                .into_iter()
                .find_map(|over| Some((self.usable(origin, &ask, over)?, over)));
            match other {
                Some((conn, over)) if hedges => {
                    self.hedges += 1;
                    self.send(id, conn, Why::Hedge(over));
                }
                Some((conn, _)) => self.cut_off(id, conn),
                None => {}
            }
        }
    }

    /// Ends a request in the middle of its body, because its connection is silent and `other` is
    /// not: whoever asked then asks for the rest.
    fn cut_off(&mut self, id: CallId, other: ConnId) {
        let copies = self.calls.get(&id).map(|call| call.copies.clone());
        for copy in copies.unwrap_or_default() {
            self.lost_hedge(copy.conn, other);
            self.left(id, copy.conn);
        }
        self.fail(id, Fault::Reset);
    }

    /// The connection `winner` answered a request that `silent` had not: HTTP/3 that fell silent
    /// where TCP answers is broken, and a silent connection takes no more requests.
    pub(crate) fn lost_hedge(&mut self, silent: ConnId, winner: ConnId) {
        let (now, winner) = (self.now, self.conns.get(&winner).map(|conn| conn.over));
        let Some(conn) = self
            .conns
            .get_mut(&silent)
            .filter(|conn| conn.watch.is_silent())
        else {
            return;
        };
        if conn.state != ConnState::Opening {
            conn.state = ConnState::Draining;
        }
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        if over == Transport::Quic && winner == Some(Transport::Tcp) {
            let digest = self.book.digest(&origin);
            let trial = &mut self.book.row(network, digest, now).trial;
            trial.fail(SILENT_WEIGHT, now);
        }
    }

    /// A silent connection has no request left: nothing more is sent on it, and if it is QUIC's and
    /// TCP to the same origin works, HTTP/3 is broken.
    pub(crate) fn close_silent(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get(&id) else {
            return;
        };
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        if over == Transport::Quic && self.tcp_works(&origin, network) {
            let (now, digest) = (self.now, self.book.digest(&origin));
            let trial = &mut self.book.row(network, digest, now).trial;
            trial.fail(SILENT_WEIGHT, now);
        }
        self.close(id);
    }
}
