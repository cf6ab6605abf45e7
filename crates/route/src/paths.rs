//! Connections that fall silent: probed, nudged, and hedged by another one.

use std::time::Duration;

use crate::command::Command;
use crate::conn::{Call, ConnState};
use crate::event::{CallId, ConnId, Fault, Origin, PathSample, Policy, Replay, Transport};
use crate::resend::MAX_RETRIES;
use crate::router::Router;
use crate::watch::Step;
use crate::why::Why;

/// A connection that falls silent costs a request a second, a failed handshake costs none: it is not
/// tried again for 16 s, and after that for 300 s.
const SILENT_WEIGHT: u8 = 5;
/// A server that was started again does not know the connection, and may be unable to say so.
const FORGOTTEN: Duration = Duration::from_secs(2);

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
        let migrates = conn.migrates;
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
            Step::Dead => self.bury(id),
            Step::Nudge => {
                if !was_silent {
                    for learnt in &mut self.book.row(network, digest, now).learnt {
                        learnt.doubt();
                    }
                }
                if migrates {
                    self.order(Command::Nudge(id));
                }
                self.rescue(id);
                if !was_silent {
                    // What waited for it to be free needs another one.
                    self.place_waiting(&origin);
                }
            }
        }
    }

    /// A path has been silent for so long that its connection is given up, with what is on it.
    fn bury(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get(&id) else {
            return;
        };
        let calls = conn.calls.clone();
        self.order(Command::Close(id));
        self.on_closed(id, Fault::Reset);
        for call in calls {
            self.on_failed(call, id, Fault::Reset, Replay::MayHaveActed);
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
        // Another QUIC connection does more than the nudge only where the server has forgotten this one.
        let forgotten = over == Transport::Quic && conn.watch.silent_for(self.now) >= FORGOTTEN;
        let again = forgotten.then_some(Transport::Quic);
        let ways = [over.other(), Transport::Tcp].into_iter().chain(again);
        let mut ways = ways.filter(|way| {
            let pinned = policies.contains(&Policy::H3);
            let quic = pinned || self.why_not_quic(&origin).is_none();
            (*way == Transport::Tcp || quic)
                && policies.iter().any(|policy| self.allows(*policy, *way))
        });
        if ways
            .clone()
            .any(|way| self.free_conn(&origin, way, Policy::Adaptive).is_some())
        {
            self.hedge_silent(&origin);
        } else if let Some(way) = ways.next() {
            self.open_rescue(&origin, way);
        }
    }

    /// Sends the requests of an origin's silent connections over one that is open, too.
    pub(crate) fn hedge_silent(&mut self, origin: &Origin) {
        let silent = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.origin == *origin && conn.watch.is_silent());
        let waiting: Vec<(CallId, ConnId)> = silent
            .flat_map(|(id, conn)| conn.calls.iter().map(|call| (*call, *id)))
            .collect();
        for (id, silent) in waiting {
            let Some(call) = self.calls.get(&id).filter(|call| call.is_only_on(silent)) else {
                continue;
            };
            let (ask, may) = (call.ask, call.retries < MAX_RETRIES);
            let hedges =
                !call.delivered && ask.replayable && ask.resends && may && self.may_hedge();
            let resumes = call.delivered && call.resumable;
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
                    if let Some(call) = self.calls.get_mut(&id) {
                        call.retries += 1;
                    }
                }
                Some((conn, _)) => self.lost_hedge(silent, conn),
                None => {}
            }
        }
    }

    /// The connection `winner` answered a request that `silent` had not: HTTP/3 that fell silent
    /// where TCP answers is broken, and a silent connection takes no more requests. Those on it that may
    /// be sent elsewhere are.
    pub(crate) fn lost_hedge(&mut self, silent: ConnId, winner: ConnId) {
        let (now, winner) = (self.now, self.conns.get(&winner).map(|conn| conn.over));
        let Some(conn) = self
            .conns
            .get_mut(&silent)
            .filter(|conn| conn.watch.is_silent())
        else {
            return;
        };
        if !conn.state.is_opening() {
            conn.state = ConnState::Draining;
        }
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        let digest = self.book.digest(&origin);
        let trial = &mut self.book.row(network, digest, now).trial;
        if over == Transport::Quic && winner == Some(Transport::Tcp) && !trial.is_broken(now) {
            trial.fail(SILENT_WEIGHT, now);
        }
        self.move_calls(silent);
    }

    /// Takes the requests off a connection while another one answers: it is silent, or its handshake is not done.
    pub(crate) fn move_calls(&mut self, silent: ConnId) {
        let Some(conn) = self.conns.get(&silent) else {
            return;
        };
        let is_early = conn.state == ConnState::Early;
        for id in conn.calls.clone() {
            // One that may take no other way would be sent again on this one.
            let moves = |call: &&mut Call| {
                call.is_only_on(silent) && !(is_early && call.ask.policy == Policy::H3)
            };
            let Some(call) = self.calls.get_mut(&id).filter(moves) else {
                continue;
            };
            if call.delivered && call.resumable {
                // Whoever asked then asks for the rest.
                self.left(id, silent);
                self.fail(id, Fault::Reset);
            } else if !call.delivered
                && call.ask.replayable
                && call.ask.resends
                && call.retries < MAX_RETRIES
            {
                call.copies.clear();
                (call.may_have_acted, call.teaches) = (true, false);
                call.retries += 1;
                self.order(Command::Withdraw {
                    call: id,
                    conn: silent,
                });
                self.left(id, silent);
                self.place(id);
            }
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
