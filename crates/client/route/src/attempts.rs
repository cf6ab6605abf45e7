//! Attempts to connect: what follows when one is answered, ready or closed.

use std::time::Duration;

use crate::conn::{Call, Conn, ConnState, OriginRace, RacePurpose};
use crate::event::{CallId, ConnId, Fault, Origin, Policy, Protocol, Transport};
use crate::h3_status::{H3Status, UdpStatus};
use crate::race::{Race, RaceMode};
use crate::race_policy::{FAILED_WEIGHT, REFUSED_WEIGHT};
use crate::reason::Reason;
use crate::router::{MAX_H1_CONNS, Router};

impl Router {
    pub(crate) fn on_first_packet(&mut self, id: ConnId, rtt: Duration) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        (conn.last_received, conn.rtt) = (Some(now), Some(rtt));
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        if over == Transport::Quic {
            self.knowledge.network(network, now).udp = UdpStatus::Works;
        }
        for race in &mut self.origin_state(&origin).races {
            race.race.peer_responded(id, rtt, now);
        }
    }

    pub(crate) fn on_ready(&mut self, id: ConnId, protocol: Protocol, migrates: bool) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if !conn.state.is_opening() {
            return;
        }
        (conn.state, conn.migrates) = (ConnState::Ready(protocol), migrates);
        conn.last_received = Some(now);
        let conn = conn.clone();
        let (origin, over) = (conn.origin.clone(), conn.over);
        self.set_quota(id);
        self.learn_cold(&conn, now.since(conn.opened));
        let rtt = conn.rtt;
        let digest = self.knowledge.digest(&origin);
        let network = self.knowledge.network(conn.network, now);
        network.rtt = rtt.or(network.rtt);
        let entry = self.knowledge.origin(conn.network, digest, now);
        entry.rtt = rtt.or(entry.rtt);
        if over == Transport::Quic {
            // Where it failed before, a handshake proves too little.
            if entry.h3 == H3Status::Untried {
                entry.h3 = H3Status::Works;
            }
        }
        let on_probation = over == Transport::Quic && entry.h3 != H3Status::Works;
        if over == Transport::Quic {
            self.knowledge.network(conn.network, now).udp = UdpStatus::Works;
        }
        let mut given_up = Vec::new();
        for race in &mut self.origin_state(&origin).races {
            if on_probation && race.race.mode != RaceMode::Only(Transport::Quic) {
                race.race.ready_on_probation(id);
            } else if race.race.has(id) {
                given_up.extend(race.race.ready(id, over));
            }
        }
        self.give_up(given_up);
        self.origin_state(&origin).backoffs.clear();
        if protocol == Protocol::H1 {
            self.open_siblings(&conn);
        }
        self.leave_early(&origin);
        self.place_waiting(&origin);
        self.hedge_silent(&origin);
    }

    /// Closes attempts that lost their race. Requests that they took early are placed elsewhere, and losing says
    /// nothing against any attempt.
    fn give_up(&mut self, attempts: Vec<ConnId>) {
        let again = self.detach_all_calls(attempts);
        self.place_all(again);
    }

    /// Closes attempts. Returns the requests that they took early and that may be sent again.
    fn detach_all_calls(&mut self, attempts: Vec<ConnId>) -> Vec<CallId> {
        let mut again = Vec::new();
        for id in attempts {
            again.extend(self.detach_calls(id));
            self.close(id);
        }
        again
    }

    pub(crate) fn on_early(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if conn.state == ConnState::Opening {
            conn.state = ConnState::Early;
            let origin = conn.origin.clone();
            self.set_quota(id);
            self.place_waiting(&origin);
        }
    }

    /// Moves requests away from connections that took them early and whose handshake is not done. They lost their race,
    /// because another connection is ready.
    fn leave_early(&mut self, origin: &Origin) {
        let early = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.origin == *origin && conn.state == ConnState::Early);
        for id in early.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.move_calls(id);
        }
    }

    /// Opens connections like this one for the requests that wait: it carries only one at a time.
    fn open_siblings(&mut self, conn: &Conn) {
        let Some(first) = self.origins.get(&conn.origin).and_then(|state| {
            let id = state
                .waiting
                .iter()
                .find(|id| self.calls.contains_key(id))?;
            Some(self.calls[id].traits.policy)
        }) else {
            return;
        };
        let (now, port) = (self.now, conn.origin.port);
        let open = self
            .conns
            .values()
            .filter(|other| other.is_of(&conn.origin, conn.over) && other.network == conn.network);
        let room = MAX_H1_CONNS.saturating_sub(open.count());
        let state = self.origin_state(&conn.origin);
        let wanted = state.waiting.len().saturating_sub(1);
        for _ in 0..wanted.min(room) {
            let race = Race::new(now, RaceMode::Only(Transport::Tcp), &[conn.address], |_| {
                port
            });
            let (purpose, network) = (RacePurpose::Calls(first), conn.network);
            state.races.push(OriginRace {
                race,
                purpose,
                network,
                quic_failure: None,
            });
        }
    }

    pub(crate) fn on_closed(&mut self, id: ConnId, fault: Fault) {
        let now = self.now;
        let Some(conn) = self.forget(id) else {
            return;
        };
        if !conn.state.is_opening() {
            // What waited for it to be free needs another one.
            return self.place_waiting(&conn.origin);
        }
        let origin = conn.origin.clone();
        let refused = fault == Fault::Certificate;
        let mut failed = None;
        for race in &mut self.origin_state(&origin).races {
            if !race.race.has(id) {
                continue;
            }
            race.race.failed(id, fault, now);
            if conn.over == Transport::Quic && !refused {
                let weight = match fault {
                    Fault::Handshake => REFUSED_WEIGHT,
                    _ => FAILED_WEIGHT,
                };
                race.quic_failure = Some((weight, conn.last_received.is_some()));
            }
            failed = Some(race.purpose);
        }
        // A certificate that was refused is an answer, not an obstacle to be walked around.
        if let (true, Some(purpose)) = (refused, failed) {
            self.abandon(&origin, purpose);
        }
    }

    fn abandon(&mut self, origin: &Origin, purpose: RacePurpose) {
        let state = self.origin_state(origin);
        let (ended, rest) = std::mem::take(&mut state.races)
            .into_iter()
            .partition(|race| race.purpose == purpose && race.race.winner.is_none());
        state.races = rest;
        let ended: Vec<OriginRace> = ended;
        let running = ended.iter().flat_map(|race| race.race.running());
        let again = self.detach_all_calls(running.collect());
        self.origin_state(origin).waiting.extend(again);
        self.fail_waiting(origin, purpose, Fault::Certificate);
    }

    /// Fails the requests that a race was for, unless something else will give them a connection. The others get a race
    /// of their own.
    pub(crate) fn fail_waiting(&mut self, origin: &Origin, purpose: RacePurpose, fault: Fault) {
        let RacePurpose::Calls(policy) = purpose else {
            if purpose == RacePurpose::Rescue(Transport::Tcp) {
                self.tcp_fails_too(origin);
            }
            return self.place_waiting(origin);
        };
        let waiting = std::mem::take(&mut self.origin_state(origin).waiting);
        let policy_of = |call: Option<&Call>| call.map(|call| call.traits.policy);
        let (fails, others): (Vec<CallId>, Vec<CallId>) = waiting
            .into_iter()
            .partition(|id| policy_of(self.calls.get(id)) == Some(policy));
        let refused = fault == Fault::Certificate;
        let opens = self.origin_state(origin).opens_for(policy);
        let will_be_free = self.will_have_room(origin, policy);
        for id in fails {
            // HTTP/3 that has still to prove itself is better than nothing.
            let open = [Transport::Tcp, Transport::Quic]
                .into_iter()
                .find_map(|over| {
                    let allowed = self.allows(policy, over) && !refused;
                    let conn = self.free_conn(origin, over, policy);
                    Some((conn.filter(|_| allowed)?, over))
                });
            match open {
                Some((conn, over)) => self.send(id, conn, Reason::OnlyOpen(over)),
                None if (opens || will_be_free) && !refused => {
                    self.origin_state(origin).waiting.push_back(id);
                    if !opens {
                        self.pause(origin, policy);
                    }
                }
                None if policy == Policy::H2 && !refused && self.returns_to_quic(id) => {
                    self.place(id);
                }
                None if self.may_come_back(id, fault) => self.back_off(id),
                None => self.fail(id, fault),
            }
        }
        for id in others {
            self.place(id);
        }
    }
}
