//! Connections that fall silent: probed, nudged, and hedged by another one.

use std::time::Duration;

use crate::command::Command;
use crate::conn::{Call, Conn, ConnState};
use crate::event::{CallId, ConnId, Fault, Origin, PathSample, Policy, Replay, Transport};
use crate::path_monitor::PathAction;
use crate::reason::Reason;
use crate::resend::MAX_RETRIES;
use crate::router::Router;

/// A failure's weight: a connection that falls silent costs a request a second, a failed handshake costs none. HTTP/3
/// is not tried again for 16 s, and after that for 300 s.
const SILENT_WEIGHT: u8 = 5;
/// A server that was started again does not know the connection, and may be unable to say so.
const FORGOTTEN: Duration = Duration::from_secs(2);
/// How long a silent QUIC connection without requests is kept, unless twice its silence is longer.
const GRACE: Duration = Duration::from_secs(2);

impl Router {
    pub(crate) fn sample(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id)
            && !std::mem::replace(&mut conn.sampling, true)
        {
            self.push_command(Command::Sample(id));
        }
    }

    pub(crate) fn on_path(&mut self, id: ConnId, sample: PathSample) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        conn.sampling = false;
        let (origin, network) = (conn.origin.clone(), conn.network);
        let (was_silent, idle) = (conn.monitor.is_silent(), conn.calls.is_empty());
        let (over, migrates) = (conn.over, conn.migrates);
        let step = conn.monitor.update(sample, now);
        let digest = self.knowledge.digest(&origin);
        if sample.received > 0 && !sample.srtt.is_zero() {
            self.knowledge.network(network, now).rtt = Some(sample.srtt);
            self.knowledge.origin(network, digest, now).rtt = Some(sample.srtt);
        }
        match step {
            PathAction::Alive => {
                if let Some(conn) = self.conns.get_mut(&id) {
                    // Where the kernel tells nothing, nothing was heard either.
                    if !sample.srtt.is_zero() {
                        conn.last_received = Some(now);
                    }
                    if idle {
                        // It was watched because it had moved or been left, and its path answers.
                        conn.monitor.end();
                    }
                }
                if idle {
                    self.close_drained(id);
                }
                if was_silent {
                    // What waits for another connection may take this one again.
                    self.place_waiting(&origin);
                }
            }
            PathAction::Wait => {}
            PathAction::Nudge if idle => self.nudge_idle(id),
            PathAction::Probe => self.push_command(Command::Probe(id)),
            PathAction::Dead => self.bury(id),
            PathAction::Nudge => {
                if !was_silent {
                    for estimates in &mut self.knowledge.origin(network, digest, now).estimates {
                        estimates.doubt();
                    }
                }
                if migrates {
                    self.push_command(Command::Nudge(id));
                }
                self.rescue(id);
                if !was_silent {
                    if over == Transport::Quic {
                        self.ask_idle_tcp(&origin);
                    }
                    // What waited for it to be free needs another one.
                    self.place_waiting(&origin);
                }
            }
        }
    }

    /// Probes idle TCP connections, to distinguish silent HTTP/3 from a silent network.
    fn ask_idle_tcp(&mut self, origin: &Origin) {
        let (now, network) = (self.now, self.network_id());
        let mut asked = Vec::new();
        for (id, conn) in &mut self.conns {
            let is_ready = matches!(conn.state, ConnState::Ready(_));
            let is_ours = conn.is_of(origin, Transport::Tcp) && Some(conn.network) == network;
            if is_ready && is_ours && conn.calls.is_empty() {
                conn.monitor.begin(now);
                asked.push(*id);
            }
        }
        for id in asked {
            self.sample(id);
        }
    }

    /// Closes a connection whose path was silent for too long, and fails the requests on it.
    fn bury(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get(&id) else {
            return;
        };
        let calls = conn.calls.clone();
        self.push_command(Command::Close(id));
        self.on_closed(id, Fault::Reset);
        for call in calls {
            self.on_failed(call, id, Fault::Reset, Replay::MayHaveActed);
        }
    }

    /// Hedges the requests of a silent connection over one that is not silent, or opens one.
    fn rescue(&mut self, silent: ConnId) {
        let Some(conn) = self.conns.get(&silent) else {
            return;
        };
        let (origin, over) = (conn.origin.clone(), conn.over);
        let policies: Vec<Policy> = conn
            .calls
            .iter()
            .filter_map(|call| Some(self.calls.get(call)?.traits.policy))
            .collect();
        // Another QUIC connection does more than the nudge only where the server has forgotten this one.
        let since = conn.monitor.silent_since();
        let for_long = since.is_some_and(|since| self.now >= since + FORGOTTEN);
        let forgotten = over == Transport::Quic && for_long;
        let again = forgotten.then_some(Transport::Quic);
        let ways = [over.other(), Transport::Tcp].into_iter().chain(again);
        let mut ways = ways.filter(|way| {
            let pinned = policies.contains(&Policy::H3);
            let quic = pinned || self.reason_against_quic(&origin).is_none();
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
            .filter(|(_, conn)| conn.origin == *origin && conn.monitor.is_silent());
        let waiting: Vec<(CallId, ConnId)> = silent
            .flat_map(|(id, conn)| conn.calls.iter().map(|call| (*call, *id)))
            .collect();
        for (id, silent) in waiting {
            let Some(call) = self.calls.get(&id).filter(|call| call.is_only_on(silent)) else {
                continue;
            };
            let (traits, may) = (call.traits, call.retries < MAX_RETRIES);
            let hedges =
                !call.delivered && traits.replayable && traits.resends && may && self.may_hedge();
            let resumes = call.delivered && call.resumable;
            if !hedges && !resumes {
                continue;
            }
            // TCP first: where one path fell silent, it is the less likely to be blocked.
            let other = [Transport::Tcp, Transport::Quic]
                .into_iter()
                .find_map(|over| Some((self.usable(origin, &traits, over)?, over)));
            match other {
                Some((conn, over)) if hedges => {
                    self.hedges += 1;
                    self.send(id, conn, Reason::Hedge(over));
                    if let Some(call) = self.calls.get_mut(&id) {
                        call.retries += 1;
                    }
                }
                Some(_) => self.lost_hedge(silent),
                None => {}
            }
        }
    }

    /// Drains a silent connection after another one took over: it gets no more requests, and its requests that may be
    /// sent again move.
    pub(crate) fn lost_hedge(&mut self, silent: ConnId) {
        self.blame_silent(silent);
        let Some(conn) = self
            .conns
            .get_mut(&silent)
            .filter(|conn| conn.monitor.is_silent())
        else {
            return;
        };
        if !conn.state.is_opening() {
            conn.state = ConnState::Draining;
        }
        self.move_calls(silent);
    }

    /// Marks HTTP/3 as broken if TCP to the same origin was heard during its silence and no other connection over HTTP/3
    /// was. If TCP was silent, too, the network may be at fault.
    fn blame_silent(&mut self, silent: ConnId) {
        let now = self.now;
        let Some(conn) = self.conns.get(&silent) else {
            return;
        };
        let Some(since) = conn
            .monitor
            .silent_since()
            .filter(|_| conn.over == Transport::Quic)
        else {
            return;
        };
        let (origin, network) = (conn.origin.clone(), conn.network);
        let heard = |conn: &&Conn| {
            conn.origin == origin
                && conn.network == network
                && conn.is_alive()
                && conn.last_received.is_some_and(|at| at >= since)
        };
        let mut heard = self.conns.values().filter(heard);
        let tcp_was_heard = heard.clone().any(|conn| conn.over == Transport::Tcp);
        if heard.any(|conn| conn.over == Transport::Quic && conn.answers > 0) {
            return;
        }
        let digest = self.knowledge.digest(&origin);
        let h3 = &mut self.knowledge.origin(network, digest, now).h3;
        if tcp_was_heard && !h3.is_broken(now) {
            h3.fail(SILENT_WEIGHT, now);
        }
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
                call.is_only_on(silent) && !(is_early && call.traits.policy == Policy::H3)
            };
            let Some(call) = self.calls.get_mut(&id).filter(moves) else {
                continue;
            };
            if call.delivered && call.resumable {
                // The reader then requests the rest.
                self.left(id, silent);
                self.fail(id, Fault::Reset);
            } else if !call.delivered
                && call.traits.replayable
                && call.traits.resends
                && call.retries < MAX_RETRIES
            {
                call.copies.clear();
                (call.may_have_acted, call.is_sample) = (true, false);
                call.retries += 1;
                self.push_command(Command::Withdraw {
                    call: id,
                    conn: silent,
                });
                self.left(id, silent);
                self.place(id);
            }
        }
    }

    /// Closes a silent connection that its last request left. One over QUIC is kept for [`GRACE`], in which it or TCP may
    /// be heard.
    pub(crate) fn leave_silent(&mut self, id: ConnId) {
        match self.conns.get_mut(&id) {
            Some(conn) if conn.over == Transport::Quic => {
                (conn.state, conn.left_silent) = (ConnState::Draining, Some(self.now));
                self.push_command(Command::Probe(id));
            }
            _ => self.close(id),
        }
    }

    /// Nudges a silent QUIC connection without requests, or closes it after [`GRACE`].
    fn nudge_idle(&mut self, id: ConnId) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if conn.over == Transport::Tcp {
            // It is watched until it is heard again, or dead: the kernel goes on asking.
            return;
        }
        let grace = GRACE.max(2 * conn.monitor.silence());
        let since = conn.monitor.silent_since().max(conn.left_silent);
        let migrates = conn.migrates;
        if since.is_some_and(|since| now < since + grace) {
            self.push_command(Command::Probe(id));
            if migrates {
                self.push_command(Command::Nudge(id));
            }
        } else {
            self.blame_silent(id);
            self.close(id);
        }
    }

    /// Closes a connection that takes no more requests and has none.
    fn close_drained(&mut self, id: ConnId) {
        let drained = |conn: &Conn| conn.state == ConnState::Draining && conn.calls.is_empty();
        if self.conns.get(&id).is_some_and(drained) {
            self.close(id);
        }
    }
}
