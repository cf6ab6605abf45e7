//! The router: events in, commands out.

use std::collections::{BTreeMap, VecDeque};

use crate::circuit_breaker::CircuitBreaker;
use crate::command::Command;
use crate::conn::{Call, Conn, ConnState, OriginState};
use crate::event::{
    CallId, ConnId, Event, Fault, Network, NetworkId, NetworkKind, Origin, Policy, Protocol,
    QueryId, Transport,
};
use crate::knowledge::{KnowledgeStore, OriginDigest};
use crate::path_monitor::PathMonitor;
use crate::reason::Reason;
use crate::switches::{Switches, bucket};
use crate::time::MonotonicTime;

/// Concurrent requests.
pub const MAX_CALLS: usize = 512;
/// Connections that are kept, of all origins: idle ones are closed to make room for another. There
/// are more only while each of them carries a request.
pub const MAX_CONNS: usize = 64;
/// Connections to one origin over HTTP/1.1 whose response has not begun, or began just now: each carries one request.
pub const MAX_H1_CONNS: usize = 6;
/// Connections to one origin over HTTP/1.1, those with long responses included.
pub const MAX_LONG_H1_CONNS: usize = 32;
/// Connections to one origin over HTTP/2, and as many over HTTP/3. There is more than one only while the others have no
/// room.
pub const MAX_SHARED_CONNS: usize = 6;

/// Settings of a router that do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Whether to ask for HTTPS records before a race.
    pub https_records: bool,
    /// Random bytes of this installation; the memory file keeps them.
    pub salt: [u8; 16],
}

/// Decides which connection each request takes. It performs no I/O: after each
/// [`Router::handle`], execute the commands that [`Router::poll`] returns until it returns `None`. Then sleep until
/// [`Router::deadline`] or the next event.
#[derive(Clone, Debug)]
pub struct Router {
    pub(crate) config: Config,
    pub(crate) now: MonotonicTime,
    pub(crate) network: Option<Network>,
    pub(crate) switches: Switches,
    pub(crate) breaker: CircuitBreaker,
    pub(crate) knowledge: KnowledgeStore,
    pub(crate) origins: BTreeMap<Origin, OriginState>,
    /// Queries for HTTPS records whose race began without them.
    pub(crate) late_records: BTreeMap<QueryId, OriginDigest>,
    pub(crate) conns: BTreeMap<ConnId, Conn>,
    pub(crate) calls: BTreeMap<CallId, Call>,
    pub(crate) hedges: u32,
    pub(crate) all_calls: u32,
    pub(crate) commands: VecDeque<Command>,
    ids: u64,
}

impl Router {
    /// Creates a router that knows nothing and is on an unnamed network.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            now: MonotonicTime::default(),
            network: Some(Network {
                id: NetworkId([0; 16]),
                kind: NetworkKind::Other,
                metered: false,
            }),
            switches: Switches::default(),
            breaker: CircuitBreaker::default(),
            knowledge: KnowledgeStore::new(config.salt),
            origins: BTreeMap::new(),
            late_records: BTreeMap::new(),
            conns: BTreeMap::new(),
            calls: BTreeMap::new(),
            hedges: 0,
            all_calls: 0,
            commands: VecDeque::new(),
            ids: 0,
        }
    }

    /// Handles an event. A moment before the last one counts as the last one; an event about an unknown id is ignored.
    pub fn handle(&mut self, event: Event<'_>, now: MonotonicTime) {
        self.now = self.now.max(now);
        match event {
            Event::Time => {}
            Event::Switches(switches) => {
                if switches.generation >= self.switches.generation {
                    self.switches = switches;
                }
            }
            Event::Network(network) => self.on_network(network),
            Event::Disconnect => self.on_disconnect(),
            Event::CloseIdle => self.on_close_idle(),
            Event::Hint { origin, port } => self.on_hint(origin, port),
            Event::HttpsRecord { origin, record } => self.on_record_offered(origin, record),
            Event::Call { id, origin, traits } => self.on_call(id, origin, traits),
            Event::Connect { id, origin, policy } => self.on_connect(id, origin, policy),
            Event::Cancel(call) => self.on_cancel(call),
            Event::TimedOut(call) => self.on_timed_out(call),
            Event::Resolved { query, answer } => self.on_resolved(query, answer),
            Event::FirstPacket { conn, rtt } => self.on_first_packet(conn, rtt),
            Event::Early(conn) => self.on_early(conn),
            Event::Ready {
                conn,
                protocol,
                migrates,
            } => self.on_ready(conn, protocol, migrates),
            Event::Closed { conn, fault } => self.on_closed(conn, fault),
            Event::GoAway(conn) => self.drain(conn),
            Event::Finished(conn) => self.on_finished(conn),
            Event::Full { call, conn } => self.on_full(call, conn),
            Event::Room(conn) => self.on_room(conn),
            Event::Head {
                call,
                conn,
                misdirected,
                kept,
                alt_svc,
                resumable,
            } => {
                // The alternative that a misdirected response offers is not one (RFC 7838 section 6).
                let alt_svc = if misdirected { b"" } else { alt_svc };
                if !(misdirected && self.on_misdirected(call, conn, kept)) {
                    self.on_head(call, conn, alt_svc, resumable);
                }
            }
            Event::Done { call, conn, bytes } => self.on_done(call, conn, bytes),
            Event::Failed {
                call,
                conn,
                fault,
                replay,
            } => {
                self.on_failed(call, conn, fault, replay);
            }
            Event::Path { conn, sample } => self.on_path(conn, sample),
            Event::Compared {
                origin,
                faster,
                ratio,
            } => self.learn_comparison(origin, faster, ratio),
            Event::FallbackSucceeded => self.breaker.record_fallback_success(),
        }
        self.on_time();
        self.close_idle_beyond(MAX_CONNS);
        self.origins.retain(|_, state| !state.is_idle());
    }

    /// Returns the next thing to do.
    pub fn poll(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Returns when to call [`Router::handle`] with [`Event::Time`], if nothing happens before.
    pub fn deadline(&self) -> Option<MonotonicTime> {
        let lookups = self
            .origins
            .values()
            .filter_map(|state| state.lookup.as_ref());
        let answers = lookups.filter_map(|lookup| lookup.found.as_ref().map(|(_, until)| *until));
        let races = self.origins.values().flat_map(|state| &state.races);
        let races = races.filter_map(|race| race.race.deadline());
        let conns = self.conns.values().filter(|conn| !conn.sampling);
        let monitors = conns.filter_map(|conn| conn.monitor.deadline());
        let hedges = self.next_hedge();
        let others = hedges.into_iter().chain(self.next_opening());
        answers.chain(races).chain(monitors).chain(others).min()
    }

    /// Returns the reason for a request's route, until the request has ended.
    pub fn reason(&self, call: CallId) -> Option<Reason> {
        self.calls.get(&call).map(|call| call.reason)
    }

    pub(crate) fn push_command(&mut self, command: Command) {
        self.commands.push_back(command);
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    pub(crate) fn next_query(&mut self) -> QueryId {
        QueryId(self.next_id())
    }

    /// Returns the number of the current network; connections are opened on no other.
    pub(crate) fn network_id(&self) -> Option<NetworkId> {
        self.network.map(|network| network.id)
    }

    /// Returns the default network.
    pub fn network(&self) -> Option<Network> {
        self.network
    }

    /// Reports whether HTTP/3 is switched on for this installation.
    pub fn h3_is_on(&self) -> bool {
        bucket(&self.config.salt, "h3") < self.switches.h3_percent
    }

    pub(crate) fn origin_state(&mut self, origin: &Origin) -> &mut OriginState {
        let digest = self.knowledge.digest(origin);
        self.origins
            .entry(origin.clone())
            .or_insert_with(|| OriginState::new(digest))
    }

    /// Switches to another default network, or to none. Attempts that are not open yet are given up, and TCP
    /// connections take no more requests. QUIC connections migrate (RFC 9000 section 9).
    fn on_network(&mut self, network: Option<Network>) {
        let before = self.network_id();
        self.network = network;
        if self.network_id() == before {
            return;
        }
        for state in self.origins.values_mut() {
            state.races.clear();
            if network.is_none() {
                state.lookup = None;
            }
        }
        self.end_pauses();
        for id in self.conns.keys().copied().collect::<Vec<_>>() {
            self.leave(id);
        }
        self.place_waiting_everywhere();
    }

    /// Takes a connection away from a network that is no longer the default one.
    fn leave(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get(&id) else {
            return;
        };
        let moves = conn.state == ConnState::Ready(Protocol::H3) && conn.migrates;
        let origin = conn.origin.clone();
        let (network, now) = (self.network_id(), self.now);
        // What they take from now on tells nothing of either network.
        for call in &conn.calls {
            if let Some(call) = self.calls.get_mut(call) {
                call.is_sample = false;
                call.copies
                    .iter_mut()
                    .for_each(|copy| copy.is_alone = false);
            }
        }
        if !moves || network.is_some() && self.reason_against_quic(&origin).is_some() {
            return self.drain(id);
        }
        if let (Some(network), Some(conn)) = (network, self.conns.get_mut(&id)) {
            conn.network = network;
            for call in &conn.calls {
                let copies = self.calls.get_mut(call).map(|call| &mut call.copies);
                for copy in copies.into_iter().flatten() {
                    if copy.conn == id {
                        copy.network = network;
                    }
                }
            }
            // The path that answers is a new one.
            conn.monitor = PathMonitor::new();
            conn.monitor.begin(now);
            self.push_command(Command::Nudge(id));
            self.sample(id);
        }
    }

    /// Lets a connection end: no new requests, and closed once it has none.
    pub(crate) fn drain(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if conn.state.is_opening() {
            let again = self.detach_calls(id);
            self.push_command(Command::Close(id));
            self.on_closed(id, Fault::Connect);
            return self.place_all(again);
        }
        conn.state = ConnState::Draining;
        if conn.calls.is_empty() {
            self.close(id);
        }
    }

    /// Closes every connection on behalf of the app. That says nothing against any of them.
    fn on_disconnect(&mut self) {
        let open = self.conns.values_mut();
        for conn in open.filter(|conn| !conn.state.is_opening()) {
            conn.state = ConnState::Draining;
        }
        let mut again = Vec::new();
        for id in self.conns.keys().copied().collect::<Vec<_>>() {
            again.extend(self.detach_calls(id));
            if self.conns.contains_key(&id) {
                self.push_command(Command::Close(id));
                self.on_closed(id, Fault::Reset);
            }
        }
        self.place_all(again);
    }

    fn on_close_idle(&mut self) {
        let idle = |conn: &Conn| conn.calls.is_empty() && !conn.state.is_opening();
        let ids = self.conns.iter().filter(|(_, conn)| idle(conn));
        for id in ids.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.close(id);
        }
    }

    pub(crate) fn place_all(&mut self, calls: Vec<CallId>) {
        for id in calls {
            self.place(id);
        }
    }

    pub(crate) fn close(&mut self, id: ConnId) {
        if self.forget(id).is_some() {
            self.push_command(Command::Close(id));
        }
    }

    /// Returns a connection for a request with this policy: one that is open, on this network, over this transport, and
    /// has room.
    pub(crate) fn free_conn(
        &self,
        origin: &Origin,
        over: Transport,
        policy: Policy,
    ) -> Option<ConnId> {
        let network = self.network_id()?;
        let mut conns = self.conns.iter().rev();
        let fits = |conn: &Conn| {
            let uses = policy != Policy::H1 || conn.state == ConnState::Ready(Protocol::H1);
            conn.is_of(origin, over) && conn.network == network && uses && conn.is_free()
        };
        conns.find(|(_, conn)| fits(conn)).map(|(id, _)| *id)
    }

    pub(crate) fn fail(&mut self, id: CallId, fault: Fault) {
        if let Some(call) = self.calls.remove(&id) {
            self.breaker.record_call();
            let may_have_acted = call.may_have_acted;
            self.push_command(Command::Fail {
                call: id,
                fault,
                may_have_acted,
            });
        }
    }
}
