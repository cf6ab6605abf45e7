//! Opening connections: when a race begins, and the attempts that it makes.

use std::net::IpAddr;

use crate::command::Command;
use crate::conn::{Call, Conn, ConnState, DnsLookup, OriginRace, OriginState, RacePurpose};
use crate::event::{CallId, ConnId, Fault, Origin, Policy, Transport};
use crate::h3_status::H3Status;
use crate::knowledge::OriginEntry;
use crate::path_monitor::PathMonitor;
use crate::race::{Race, RaceMode};
use crate::router::{MAX_CONNS, Router};

/// Requests after which a second connection is opened to learn.
const LEARN_AFTER: u32 = 3;

impl Router {
    /// Queues a request until a connection can take it, and makes sure that one will come.
    pub(crate) fn wait(&mut self, id: CallId, origin: &Origin, policy: Policy) {
        let state = self.origin_state(origin);
        state.waiting.push_back(id);
        if !state.serves(policy) && !self.is_at_bound(origin, policy) {
            self.look_up(origin, RacePurpose::Calls(policy));
        }
    }

    /// Handles all that is due: races, hedges, and samples of connections.
    pub(crate) fn on_time(&mut self) {
        let now = self.now;
        for origin in self.origins.keys().cloned().collect::<Vec<_>>() {
            self.begin_race(&origin);
            let overdue: Vec<ConnId> = match self.origins.get(&origin) {
                Some(state) => state
                    .races
                    .iter()
                    .flat_map(|race| race.race.overdue(now))
                    .collect(),
                None => continue,
            };
            for conn in overdue {
                self.push_command(Command::Close(conn));
                self.on_closed(conn, Fault::Connect);
            }
            self.run_races(&origin);
            self.open_for_waiting(&origin);
        }
        self.hedge_due();
        let due = self
            .conns
            .iter()
            .filter(|(_, conn)| !conn.sampling && conn.monitor.is_due(now));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.sample(id);
        }
    }

    /// Begins the races once the addresses are there and the HTTPS record has come or is late.
    fn begin_race(&mut self, origin: &Origin) {
        let (now, Some(network)) = (self.now, self.network_id()) else {
            return;
        };
        let Some(state) = self.origins.get_mut(origin) else {
            return;
        };
        let may_begin = |lookup: &mut DnsLookup| {
            let late = lookup
                .found
                .as_ref()
                .is_some_and(|(_, until)| *until <= now);
            lookup.found.is_some() && (lookup.https_query.is_none() || late)
        };
        let Some(lookup) = state.lookup.take_if(may_begin) else {
            return;
        };
        let digest = state.digest;
        if let Some(query) = lookup.https_query {
            // It is of use to the next race.
            self.late_records.insert(query, digest);
        }
        let addresses: Vec<IpAddr> = lookup.found.map(|(found, _)| found).unwrap_or_default();
        let offer = self.knowledge.offer(digest, now);
        let quic_port = offer.unwrap_or(origin.port);
        let port_of = |over| match over {
            Transport::Quic => quic_port,
            Transport::Tcp => origin.port,
        };
        for purpose in lookup.purposes {
            let mode = match purpose {
                RacePurpose::Rescue(over) | RacePurpose::Learning(over) => RaceMode::Only(over),
                RacePurpose::Calls(policy) => self.mode(origin, network, policy, offer.is_some()),
            };
            let race = Race::new(now, mode, &addresses, port_of);
            self.origin_state(origin).races.push(OriginRace {
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
        let races = match self.origins.get_mut(origin) {
            Some(state) => std::mem::take(&mut state.races),
            None => return,
        };
        let (mut lost, mut ended) = (Vec::new(), false);
        for mut race in races {
            while let Some((over, address)) = race.race.next_attempt(now) {
                self.close_idle_beyond(MAX_CONNS - 1);
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
                    last_received: None,
                    left_silent: None,
                    rtt: None,
                    calls: Default::default(),
                    monitor: PathMonitor::new(),
                    sampling: false,
                    sent: 0,
                    answers: 0,
                    quota: None,
                };
                self.conns.insert(id, conn);
                race.race.began(id, over, now);
                let http1 =
                    race.purpose == RacePurpose::Calls(Policy::H1) || self.requires_http1(origin);
                let origin = origin.clone();
                self.push_command(Command::Open {
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
                self.origin_state(origin).races.push(race);
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

    /// Closes idle connections, those that were opened first, while there are more than so many.
    pub(crate) fn close_idle_beyond(&mut self, most: usize) {
        let idle = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.calls.is_empty() && !conn.state.is_opening());
        let surplus = self.conns.len().saturating_sub(most);
        for id in idle.map(|(id, _)| *id).take(surplus).collect::<Vec<_>>() {
            self.close(id);
        }
    }

    /// Reports whether a waiting request may be sent early. It may not unless HTTP/3 is known to work: the request
    /// would be sent twice for nothing.
    fn may_be_early(&self, origin: &Origin) -> bool {
        let Some(state) = self.origins.get(origin) else {
            return false;
        };
        let waits = |id: &CallId| self.calls.get(id).is_some_and(|call| call.traits.early);
        self.h3_status(origin) == H3Status::Works && state.waiting.iter().any(waits)
    }

    /// Opens a second connection, over the other transport, so that the two can be compared. It does so once an origin
    /// has answered some requests.
    pub(crate) fn open_to_learn(&mut self, call: &Call) {
        let metered = self.network.is_none_or(|network| network.metered);
        if call.traits.policy != Policy::Adaptive || metered || !self.switches.explore {
            return;
        }
        let origin = &call.origin;
        if self.reason_against_quic(origin).is_some() || self.is_opening(origin) {
            return;
        }
        let open = |over| self.free_conn(origin, over, Policy::Adaptive).is_some();
        let missing = match Transport::ALL.map(open) {
            [true, false] => Transport::Tcp,
            [false, true] => Transport::Quic,
            _ => return,
        };
        let Some(entry) = self.current_entry(origin) else {
            return;
        };
        if entry.done >= LEARN_AFTER && !std::mem::replace(&mut entry.opened_to_learn, true) {
            self.look_up(origin, RacePurpose::Learning(missing));
        }
    }

    /// Removes a connection and returns it. If it was a QUIC connection that answered some requests, another one may
    /// open beside TCP.
    pub(crate) fn forget(&mut self, id: ConnId) -> Option<Conn> {
        let conn = self.conns.remove(&id)?;
        if conn.over == Transport::Quic && conn.answers >= LEARN_AFTER {
            let digest = self.knowledge.digest(&conn.origin);
            let entry = self.knowledge.origin(conn.network, digest, self.now);
            entry.opened_to_learn = false;
        }
        Some(conn)
    }

    /// Opens a connection over this transport, unless one is on its way.
    pub(crate) fn open_rescue(&mut self, origin: &Origin, over: Transport) {
        let tries = |race: &OriginRace| race.race.tries(over);
        let state = self.origin_state(origin);
        if state.lookup.is_none() && !state.races.iter().any(tries) {
            self.look_up(origin, RacePurpose::Rescue(over));
        }
    }

    /// Reports whether a lookup or race for this origin is under way.
    fn is_opening(&self, origin: &Origin) -> bool {
        let busy = |state: &OriginState| state.lookup.is_some() || !state.races.is_empty();
        self.origins.get(origin).is_some_and(busy)
    }

    pub(crate) fn current_entry(&mut self, origin: &Origin) -> Option<&mut OriginEntry> {
        let (network, now) = (self.network_id()?, self.now);
        let digest = self.knowledge.digest(origin);
        Some(self.knowledge.origin(network, digest, now))
    }
}
