//! Opening connections: races, and what becomes of the attempts in them.

use std::net::IpAddr;
use std::time::Duration;

use crate::book::Row;
use crate::command::Command;
use crate::conn::{Call, Conn, ConnState, Lookup, Purpose, Site, SiteRace};
use crate::event::{CallId, ConnId, Fault, Origin, Policy, Protocol, Transport};
use crate::race::{Mode, Race};
use crate::router::{MAX_CONNS, MAX_H1_CONNS, Router};
use crate::standing::{Trial, Udp};
use crate::trials::{FAILED_WEIGHT, REFUSED_WEIGHT};
use crate::watch::Watch;
use crate::why::Why;

/// Requests after which a second connection is opened to learn.
const LEARN_AFTER: u32 = 3;

impl Router {
    /// Queues a request until a connection can take it, and makes sure that one will come.
    pub(crate) fn wait(&mut self, id: CallId, origin: &Origin, policy: Policy) {
        let site = self.site(origin);
        site.waiting.push_back(id);
        if !site.serves(policy) && !self.is_at_bound(origin, policy) {
            self.look_up(origin, Purpose::Calls(policy));
        }
    }

    /// Handles all that is due: races, hedges, and samples of connections.
    pub(crate) fn on_time(&mut self) {
        let now = self.now;
        for origin in self.sites.keys().cloned().collect::<Vec<_>>() {
            self.begin_race(&origin);
            let overdue: Vec<ConnId> = match self.sites.get(&origin) {
                Some(site) => site
                    .races
                    .iter()
                    .flat_map(|race| race.race.overdue(now))
                    .collect(),
                None => continue,
            };
            for conn in overdue {
                self.order(Command::Close(conn));
                self.on_closed(conn, Fault::Connect);
            }
            self.run_races(&origin);
            self.relieve(&origin);
        }
        self.hedge_due();
        let due = self
            .conns
            .iter()
            .filter(|(_, conn)| !conn.sampling && conn.watch.is_due(now));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.sample(id);
        }
    }

    /// Begins the races once the addresses are there and the HTTPS record has come or is late.
    fn begin_race(&mut self, origin: &Origin) {
        let (now, Some(network)) = (self.now, self.network_id()) else {
            return;
        };
        let Some(site) = self.sites.get_mut(origin) else {
            return;
        };
        let may_begin = |lookup: &mut Lookup| {
            let late = lookup
                .found
                .as_ref()
                .is_some_and(|(_, until)| *until <= now);
            lookup.found.is_some() && (lookup.https_query.is_none() || late)
        };
        let Some(lookup) = site.lookup.take_if(may_begin) else {
            return;
        };
        let digest = site.digest;
        if let Some(query) = lookup.https_query {
            // It is of use to the next race.
            self.late_records.insert(query, digest);
        }
        let addresses: Vec<IpAddr> = lookup.found.map(|(found, _)| found).unwrap_or_default();
        let offer = self.book.offer(digest, now);
        let quic_port = offer.unwrap_or(origin.port);
        let port_of = |over| match over {
            Transport::Quic => quic_port,
            Transport::Tcp => origin.port,
        };
        for purpose in lookup.purposes {
            let mode = match purpose {
                Purpose::Rescue(over) | Purpose::Learning(over) => Mode::Only(over),
                Purpose::Calls(policy) => self.mode(origin, network, policy, offer.is_some()),
            };
            let race = Race::new(now, mode, &addresses, port_of);
            self.site(origin).races.push(SiteRace {
                race,
                purpose,
                network,
                quic_failure: None,
            });
        }
    }

    /// Starts the attempts that are due, and ends races that are over.
    fn run_races(&mut self, origin: &Origin) {
        let now = self.now;
        let early = self.may_be_early(origin);
        let races = match self.sites.get_mut(origin) {
            Some(site) => std::mem::take(&mut site.races),
            None => return,
        };
        let (mut lost, mut ended) = (Vec::new(), false);
        for mut race in races {
            while let Some((over, address)) = race.race.next_attempt(now) {
                self.make_room();
                let id = ConnId(self.next_id());
                let conn = Conn {
                    origin: origin.clone(),
                    network: race.network,
                    over,
                    address: address.ip(),
                    state: ConnState::Opening,
                    migrates: false,
                    full: false,
                    opened: now,
                    heard: None,
                    left_silent: None,
                    rtt: None,
                    calls: Default::default(),
                    watch: Watch::new(),
                    sampling: false,
                    sent: 0,
                    answers: 0,
                    quota: None,
                };
                self.conns.insert(id, conn);
                race.race.began(id, over, now);
                let http1 =
                    race.purpose == Purpose::Calls(Policy::H1) || self.requires_http1(origin);
                let origin = origin.clone();
                self.order(Command::Open {
                    conn: id,
                    origin,
                    address,
                    over,
                    http1: http1 && over == Transport::Tcp,
                    early: early && over == Transport::Quic,
                });
            }
            self.judge(origin, &mut race);
            let over = race.race.is_over();
            ended |= over;
            if !over {
                self.site(origin).races.push(race);
            } else if race.race.winner.is_none() {
                let fault = race.race.fault.unwrap_or(Fault::Connect);
                lost.push((race.purpose, fault));
            }
        }
        if ended && lost.is_empty() {
            // What waited for the transport that lost needs a race of its own.
            self.place_waiting(origin);
        }
        for (purpose, fault) in lost {
            self.fail_waiting(origin, purpose, fault);
        }
    }

    /// Closes the idle connection that was opened first, if there are too many.
    fn make_room(&mut self) {
        if self.conns.len() >= MAX_CONNS {
            let mut idle = self
                .conns
                .iter()
                .filter(|(_, conn)| conn.calls.is_empty() && !conn.state.is_opening());
            if let Some(id) = idle.next().map(|(id, _)| *id) {
                self.close(id);
            }
        }
    }

    pub(crate) fn on_heard(&mut self, id: ConnId, rtt: Duration) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        (conn.heard, conn.rtt) = (Some(now), Some(rtt));
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        if over == Transport::Quic {
            self.book.network(network, now).udp = Udp::Works;
        }
        for race in &mut self.site(&origin).races {
            race.race.heard(id, rtt, now);
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
        conn.heard = Some(now);
        let conn = conn.clone();
        let (origin, over) = (conn.origin.clone(), conn.over);
        self.set_quota(id);
        self.learn_cold(&conn, now.since(conn.opened));
        let rtt = conn.rtt;
        let digest = self.book.digest(&origin);
        let network = self.book.network(conn.network, now);
        network.rtt = rtt.or(network.rtt);
        let row = self.book.row(conn.network, digest, now);
        row.rtt = rtt.or(row.rtt);
        if over == Transport::Quic {
            // Where it failed before, a handshake proves too little.
            if row.trial == Trial::Untried {
                row.trial = Trial::Works;
            }
        }
        let on_probation = over == Transport::Quic && row.trial != Trial::Works;
        if over == Transport::Quic {
            self.book.network(conn.network, now).udp = Udp::Works;
        }
        let mut given_up = Vec::new();
        for race in &mut self.site(&origin).races {
            if on_probation && race.race.mode != Mode::Only(Transport::Quic) {
                race.race.ready_on_probation(id);
            } else if race.race.has(id) {
                given_up.extend(race.race.ready(id, over));
            }
        }
        self.give_up(given_up);
        self.site(&origin).backoffs.clear();
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
        let again = self.take_all_off(attempts);
        self.place_all(again);
    }

    /// Closes attempts. Returns the requests that they took early and that may be sent again.
    fn take_all_off(&mut self, attempts: Vec<ConnId>) -> Vec<CallId> {
        let mut again = Vec::new();
        for id in attempts {
            again.extend(self.take_off(id));
            self.close(id);
        }
        again
    }

    /// Reports whether a waiting request may be sent early. It may not unless HTTP/3 is known to work: the request
    /// would be sent twice for nothing.
    fn may_be_early(&self, origin: &Origin) -> bool {
        let Some(site) = self.sites.get(origin) else {
            return false;
        };
        let waits = |id: &CallId| self.calls.get(id).is_some_and(|call| call.ask.early);
        self.trial(origin) == Trial::Works && site.waiting.iter().any(waits)
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
        let Some(first) = self.sites.get(&conn.origin).and_then(|site| {
            let id = site.waiting.iter().find(|id| self.calls.contains_key(id))?;
            Some(self.calls[id].ask.policy)
        }) else {
            return;
        };
        let (now, port) = (self.now, conn.origin.port);
        let open = self
            .conns
            .values()
            .filter(|other| other.is_of(&conn.origin, conn.over) && other.network == conn.network);
        let room = MAX_H1_CONNS.saturating_sub(open.count());
        let site = self.site(&conn.origin);
        let wanted = site.waiting.len().saturating_sub(1);
        for _ in 0..wanted.min(room) {
            let race = Race::new(now, Mode::Only(Transport::Tcp), &[conn.address], |_| port);
            let (purpose, network) = (Purpose::Calls(first), conn.network);
            site.races.push(SiteRace {
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
        for race in &mut self.site(&origin).races {
            if !race.race.has(id) {
                continue;
            }
            race.race.failed(id, fault, now);
            if conn.over == Transport::Quic && !refused {
                let weight = match fault {
                    Fault::Handshake => REFUSED_WEIGHT,
                    _ => FAILED_WEIGHT,
                };
                race.quic_failure = Some((weight, conn.heard.is_some()));
            }
            failed = Some(race.purpose);
        }
        // A certificate that was refused is an answer, not an obstacle to be walked around.
        if let (true, Some(purpose)) = (refused, failed) {
            self.abandon(&origin, purpose);
        }
    }

    fn abandon(&mut self, origin: &Origin, purpose: Purpose) {
        let site = self.site(origin);
        let (ended, rest) = std::mem::take(&mut site.races)
            .into_iter()
            .partition(|race| race.purpose == purpose && race.race.winner.is_none());
        site.races = rest;
        let ended: Vec<SiteRace> = ended;
        let running = ended.iter().flat_map(|race| race.race.running());
        let again = self.take_all_off(running.collect());
        self.site(origin).waiting.extend(again);
        self.fail_waiting(origin, purpose, Fault::Certificate);
    }

    /// Fails the requests that a race was for, unless something else will give them a connection. The others get a race
    /// of their own.
    pub(crate) fn fail_waiting(&mut self, origin: &Origin, purpose: Purpose, fault: Fault) {
        let Purpose::Calls(policy) = purpose else {
            if purpose == Purpose::Rescue(Transport::Tcp) {
                self.tcp_fails_too(origin);
            }
            return self.place_waiting(origin);
        };
        let waiting = std::mem::take(&mut self.site(origin).waiting);
        let policy_of = |call: Option<&Call>| call.map(|call| call.ask.policy);
        let (fails, others): (Vec<CallId>, Vec<CallId>) = waiting
            .into_iter()
            .partition(|id| policy_of(self.calls.get(id)) == Some(policy));
        let refused = fault == Fault::Certificate;
        let opens = self.site(origin).opens_for(policy);
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
                Some((conn, over)) => self.send(id, conn, Why::OnlyOpen(over)),
                None if (opens || will_be_free) && !refused => {
                    self.site(origin).waiting.push_back(id);
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

    /// Opens a second connection, over the other transport, so that the two can be compared. It does so once an origin
    /// has answered some requests.
    pub(crate) fn open_to_learn(&mut self, call: &Call) {
        let metered = self.network.is_none_or(|network| network.metered);
        if call.ask.policy != Policy::Adaptive || metered || !self.switches.explore {
            return;
        }
        let origin = &call.origin;
        if self.why_not_quic(origin).is_some() || self.is_opening(origin) {
            return;
        }
        let open = |over| self.free_conn(origin, over, Policy::Adaptive).is_some();
        let missing = match Transport::ALL.map(open) {
            [true, false] => Transport::Tcp,
            [false, true] => Transport::Quic,
            _ => return,
        };
        let Some(row) = self.current_row(origin) else {
            return;
        };
        if row.done >= LEARN_AFTER && !std::mem::replace(&mut row.opened_to_learn, true) {
            self.look_up(origin, Purpose::Learning(missing));
        }
    }

    /// Removes a connection and returns it. If it was a QUIC connection that answered some requests, another one may
    /// open beside TCP.
    pub(crate) fn forget(&mut self, id: ConnId) -> Option<Conn> {
        let conn = self.conns.remove(&id)?;
        if conn.over == Transport::Quic && conn.answers >= LEARN_AFTER {
            let digest = self.book.digest(&conn.origin);
            let row = self.book.row(conn.network, digest, self.now);
            row.opened_to_learn = false;
        }
        Some(conn)
    }

    /// Opens a connection over this transport, unless one is on its way.
    pub(crate) fn open_rescue(&mut self, origin: &Origin, over: Transport) {
        let tries = |race: &SiteRace| race.race.tries(over);
        let site = self.site(origin);
        if site.lookup.is_none() && !site.races.iter().any(tries) {
            self.look_up(origin, Purpose::Rescue(over));
        }
    }

    /// Reports whether a lookup or race for this origin is under way.
    fn is_opening(&self, origin: &Origin) -> bool {
        let busy = |site: &Site| site.lookup.is_some() || !site.races.is_empty();
        self.sites.get(origin).is_some_and(busy)
    }

    pub(crate) fn current_row(&mut self, origin: &Origin) -> Option<&mut Row> {
        let (network, now) = (self.network_id()?, self.now);
        let digest = self.book.digest(origin);
        Some(self.book.row(network, digest, now))
    }
}
