//! The router: events in, commands out.

use std::collections::{BTreeMap, VecDeque};

use crate::book::{Book, Digest};
use crate::command::Command;
use crate::conn::{Call, Conn, ConnState, Site};
use crate::event::{
    CallId, ConnId, Event, Fault, Network, NetworkId, NetworkKind, Origin, Policy, Protocol,
    QueryId, Transport,
};
use crate::moment::Moment;
use crate::switches::{Switches, Trip, bucket};
use crate::watch::Watch;
use crate::why::Why;

/// Requests at a time.
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

/// What does not change while a router lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Whether to ask for HTTPS records before a race.
    pub https_records: bool,
    /// Random bytes of this installation; the memory file keeps them.
    pub salt: [u8; 16],
}

/// Decides which connection each request takes. It does nothing itself: after each
/// [`Router::handle`] do what [`Router::poll`] returns until that is nothing, then sleep until
/// [`Router::deadline`] or the next event.
#[derive(Clone, Debug)]
pub struct Router {
    pub(crate) config: Config,
    pub(crate) now: Moment,
    pub(crate) network: Option<Network>,
    pub(crate) switches: Switches,
    pub(crate) trip: Trip,
    pub(crate) book: Book,
    pub(crate) sites: BTreeMap<Origin, Site>,
    /// Questions for HTTPS records whose race began without them.
    pub(crate) late_records: BTreeMap<QueryId, Digest>,
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
            now: Moment::default(),
            network: Some(Network {
                id: NetworkId([0; 16]),
                kind: NetworkKind::Other,
                metered: false,
            }),
            switches: Switches::default(),
            trip: Trip::default(),
            book: Book::new(config.salt),
            sites: BTreeMap::new(),
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
    pub fn handle(&mut self, event: Event<'_>, now: Moment) {
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
            Event::Call { id, origin, ask } => self.on_call(id, origin, ask),
            Event::Connect { id, origin, policy } => self.on_connect(id, origin, policy),
            Event::Cancel(call) => self.on_cancel(call),
            Event::TimedOut(call) => self.on_timed_out(call),
            Event::Resolved { query, answer } => self.on_resolved(query, answer),
            Event::Heard { conn, rtt } => self.on_heard(conn, rtt),
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
            Event::PlainWorked => self.trip.worked_without(),
        }
        self.on_time();
        self.sites.retain(|_, site| !site.is_idle());
    }

    /// Returns the next thing to do.
    pub fn poll(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// Returns when to call [`Router::handle`] with [`Event::Time`], if nothing happens before.
    pub fn deadline(&self) -> Option<Moment> {
        let lookups = self.sites.values().filter_map(|site| site.lookup.as_ref());
        let answers = lookups.filter_map(|lookup| lookup.found.as_ref().map(|(_, until)| *until));
        let races = self.sites.values().flat_map(|site| &site.races);
        let races = races.filter_map(|race| race.race.deadline());
        let conns = self.conns.values().filter(|conn| !conn.sampling);
        let watches = conns.filter_map(|conn| conn.watch.deadline());
        let hedges = self.next_hedge();
        let others = hedges.into_iter().chain(self.next_opening());
        answers.chain(races).chain(watches).chain(others).min()
    }

    /// Returns the reason for a request's route, until the request has ended.
    pub fn why(&self, call: CallId) -> Option<Why> {
        self.calls.get(&call).map(|call| call.why)
    }

    pub(crate) fn order(&mut self, command: Command) {
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

    pub(crate) fn site(&mut self, origin: &Origin) -> &mut Site {
        let digest = self.book.digest(origin);
        self.sites
            .entry(origin.clone())
            .or_insert_with(|| Site::new(digest))
    }

    /// Switches to another default network, or to none. Attempts that are not open yet are given up, and TCP
    /// connections take no more requests. QUIC connections migrate (RFC 9000 section 9).
    fn on_network(&mut self, network: Option<Network>) {
        let before = self.network_id();
        self.network = network;
        if self.network_id() == before {
            return;
        }
        for site in self.sites.values_mut() {
            site.races.clear();
            if network.is_none() {
                site.lookup = None;
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
        if !moves || network.is_some() && self.why_not_quic(&origin).is_some() {
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
            conn.watch = Watch::new();
            conn.watch.begin(now);
            self.order(Command::Nudge(id));
            self.sample(id);
        }
    }

    /// Lets a connection end: no new requests, and closed once it has none.
    pub(crate) fn drain(&mut self, id: ConnId) {
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        if conn.state.is_opening() {
            let again = self.take_off(id);
            self.order(Command::Close(id));
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
            again.extend(self.take_off(id));
            if self.conns.contains_key(&id) {
                self.order(Command::Close(id));
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
            self.order(Command::Close(id));
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
            let speaks = policy != Policy::H1 || conn.state == ConnState::Ready(Protocol::H1);
            conn.is_of(origin, over) && conn.network == network && speaks && conn.is_free()
        };
        conns.find(|(_, conn)| fits(conn)).map(|(id, _)| *id)
    }

    pub(crate) fn fail(&mut self, id: CallId, fault: Fault) {
        if let Some(call) = self.calls.remove(&id) {
            self.trip.call();
            let may_have_acted = call.may_have_acted;
            self.order(Command::Fail {
                call: id,
                fault,
                may_have_acted,
            });
        }
    }
}
