//! The fate of the router's commands: on the network, and at the servers.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use route::{
    CallId, Command, ConnId, DnsAnswer, Event, Fault, MonotonicTime, Origin, PathSample, Policy,
    Protocol, QueryId, Replay, Transport,
};

use super::{End, PathBehavior, Server, Socket, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SimEvent {
    Resolved(u64),
    Early(u64),
    FirstPacket(u64),
    Ready(u64),
    Closed(u64, Fault),
    Head(u64, u64),
    Done(u64, u64),
    Reset(u64, u64),
    /// Its connection takes no more, and did not take it.
    Refused(u64, u64),
    /// Its connection was closed under it.
    Cut(u64, u64),
    Packet(u64),
}

impl World {
    fn server(&self, over: Transport) -> Server {
        match over {
            Transport::Quic => self.quic,
            Transport::Tcp => self.tcp,
        }
    }

    /// Reports whether packets pass at this moment.
    pub(super) fn passes(&self, over: Transport, at: MonotonicTime) -> bool {
        match self.server(over).path {
            PathBehavior::Free
            | PathBehavior::BadHandshake
            | PathBehavior::BadCertificate
            | PathBehavior::Stalls => true,
            PathBehavior::DiesAt(death) => at < death,
            PathBehavior::Blocked | PathBehavior::Refused => false,
        }
    }

    pub(super) fn later(&mut self, wait: Duration, event: SimEvent) {
        self.count += 1;
        self.events
            .push(Reverse((self.now + wait, self.count, event)));
    }

    pub(super) fn execute(&mut self, command: Command) {
        match command {
            Command::Resolve { query, .. } => {
                self.later(Duration::from_millis(1), SimEvent::Resolved(query.0));
            }
            Command::Open {
                conn,
                origin,
                over,
                http1,
                early,
                ..
            } => {
                self.open(conn, origin, over, http1);
                if early && self.has_session {
                    self.later(Duration::ZERO, SimEvent::Early(conn.0));
                }
            }
            Command::Close(conn) => {
                assert!(
                    self.conns.remove(&conn).is_some(),
                    "{conn:?} is closed twice"
                );
                let on_it = self
                    .calls
                    .iter()
                    .filter(|(_, log)| log.live.contains(&conn));
                for call in on_it.map(|(call, _)| call.0).collect::<Vec<_>>() {
                    self.later(Duration::ZERO, SimEvent::Cut(call, conn.0));
                }
            }
            Command::Send { call, conn } => self.send(call, conn),
            Command::Deliver { call, conn } => {
                let log = self.calls.get_mut(&call).expect("it was asked");
                assert_eq!(
                    log.delivered.replace(conn),
                    None,
                    "{call:?} is delivered twice"
                );
                assert!(log.ended.is_none());
                log.reason = self.router.reason(call);
            }
            Command::Withdraw { call, conn } => self.forget(call, conn),
            Command::Connected { call, conn, .. } => {
                let socket = &self.conns[&conn];
                assert!(socket.ready, "{conn:?} is not open");
                let over = socket.over;
                self.end(call, End::Connected(over));
            }
            Command::Fail { call, fault, .. } => self.end(call, End::Failed(fault)),
            Command::FallBack { call, .. } => self.end(call, End::FellBack),
            Command::Sample(conn) => {
                let socket = &self.conns[&conn];
                let (received, srtt, rttvar) = (socket.received, self.rtt, self.rtt / 8);
                let owed = socket.owed_at.is_some_and(|at| at <= self.now);
                let over = socket.over;
                if owed
                    && self.passes(over, self.now)
                    && self.server(over).path != PathBehavior::Stalls
                {
                    // The kernel has repeated what is not acknowledged.
                    self.later(self.rtt, SimEvent::Packet(conn.0));
                }
                let sample = PathSample {
                    received,
                    owed: owed || over == Transport::Quic,
                    srtt,
                    rttvar,
                };
                self.handle(Event::Path { conn, sample });
            }
            Command::Probe(conn) | Command::Nudge(conn) => {
                self.nudges += u32::from(matches!(command, Command::Nudge(_)));
                let over = self.conns[&conn].over;
                let stalls = self.server(over).path == PathBehavior::Stalls;
                // A kernel's keep-alive goes out once nothing has come for a second.
                let wait = match over {
                    Transport::Quic => Duration::ZERO,
                    Transport::Tcp => Duration::from_millis(500),
                };
                if self.passes(over, self.now) && !stalls {
                    self.later(wait + self.rtt, SimEvent::Packet(conn.0));
                } else if let Some(socket) = self.conns.get_mut(&conn) {
                    socket.owed_at.get_or_insert(self.now + wait);
                }
            }
        }
    }

    fn open(&mut self, conn: ConnId, origin: Origin, over: Transport, http1: bool) {
        let socket = Socket {
            over,
            origin,
            ready: false,
            http1,
            early: false,
            ready_at: self.now,
            received: 0,
            requests: 0,
            answered: 0,
            owed_at: None,
        };
        assert!(self.conns.insert(conn, socket).is_none());
        self.transports.insert(conn, over);
        *self.opened.entry(over).or_default() += 1;
        let done = if over == Transport::Quic {
            self.rtt
        } else {
            2 * self.rtt
        };
        let late = self.rng.share() < self.lost_first_flights;
        let repeated = if late {
            Duration::from_secs(1)
        } else {
            Duration::ZERO
        };
        let (rtt, done, id) = (self.rtt + repeated, done + repeated, conn.0);
        if let Some(socket) = self.conns.get_mut(&conn) {
            socket.ready_at = self.now + done;
        }
        let of_tcp = self
            .conns
            .values()
            .filter(|socket| socket.over == Transport::Tcp);
        let is_full = over == Transport::Tcp && of_tcp.count() > self.tcp_limit;
        match self.server(over).path {
            _ if is_full => self.later(rtt, SimEvent::Closed(id, Fault::Connect)),
            PathBehavior::Refused => self.later(rtt, SimEvent::Closed(id, Fault::Connect)),
            PathBehavior::BadHandshake => self.later(rtt, SimEvent::Closed(id, Fault::Handshake)),
            PathBehavior::BadCertificate => {
                self.later(done, SimEvent::Closed(id, Fault::Certificate));
            }
            PathBehavior::Free
            | PathBehavior::Blocked
            | PathBehavior::DiesAt(_)
            | PathBehavior::Stalls => {
                if self.passes(over, self.now) {
                    self.later(rtt, SimEvent::FirstPacket(id));
                    self.later(done, SimEvent::Ready(id));
                }
            }
        }
    }

    fn send(&mut self, call: CallId, conn: ConnId) {
        let socket = &self.conns[&conn];
        let early = !socket.ready;
        let may_be_early = socket.early && self.calls[&call].traits.early;
        assert!(
            socket.ready || may_be_early,
            "{call:?} is sent on a connection that is not open"
        );
        let ready_at = socket.ready_at;
        let (over, http1) = (socket.over, socket.http1 || self.protocol == Protocol::H1);
        let on_it = self.calls.values();
        let on_it = on_it.filter(|log| log.live.contains(&conn) && log.ended.is_none());
        if on_it.count() >= self.streams {
            return self.handle(Event::Full { call, conn });
        }
        let log = self.calls.get_mut(&call).expect("it was asked");
        let allowed = match log.traits.policy {
            Policy::Adaptive | Policy::Race => true,
            Policy::H3 => over == Transport::Quic,
            Policy::H2 => over == Transport::Tcp,
            Policy::H1 => over == Transport::Tcp && http1,
        };
        assert!(allowed, "{call:?} is sent against its policy");
        assert!(log.ended.is_none(), "{call:?} is sent after its end");
        let again = !log.sends.is_empty();
        assert!(
            !again || log.traits.replayable || log.repeatable,
            "{call:?} must not be sent twice"
        );
        log.repeatable = false;
        log.sends.push((self.now, conn));
        log.live.insert(conn);
        let server = self.server(over);
        let socket = self.conns.get_mut(&conn).expect("it is open");
        socket.requests += 1;
        if socket.requests > server.conn_requests && self.finishes && over == Transport::Quic {
            return;
        }
        if socket.requests > server.conn_requests {
            return self.later(self.rtt, SimEvent::Refused(call.0, conn.0));
        }
        if server.mute {
            return;
        }
        if !self.passes(over, self.now) || server.path == PathBehavior::Stalls {
            if let Some(socket) = self.conns.get_mut(&conn) {
                socket.owed_at.get_or_insert(self.now);
            }
            return;
        }
        let mut ms = server.median_ms * (server.spread * self.rng.normal()).exp();
        if self.rng.share() < server.stalls {
            ms += 3_000.0;
        }
        let wait = Duration::from_secs_f64(ms / 1e3);
        // Of early requests nothing comes before the handshake is done.
        let at_least = if early {
            ready_at.since(self.now) + Duration::from_nanos(1)
        } else {
            Duration::ZERO
        };
        if self.rng.share() < server.resets {
            self.later(wait.max(at_least), SimEvent::Reset(call.0, conn.0));
        } else {
            let head = wait.mul_f64(0.99).max(at_least);
            self.later(head, SimEvent::Head(call.0, conn.0));
            let done = wait.max(at_least) + self.body_time;
            self.later(done, SimEvent::Done(call.0, conn.0));
        }
    }

    fn end(&mut self, call: CallId, end: End) {
        let log = self.calls.get_mut(&call).expect("it was asked");
        assert_eq!(
            log.ended.replace((self.now, end)),
            None,
            "{call:?} ends twice"
        );
    }

    /// Cancels what was to happen to a request on a connection.
    pub(super) fn forget(&mut self, call: CallId, conn: ConnId) {
        if let Some(log) = self.calls.get_mut(&call) {
            log.live.remove(&conn);
        }
        let of = |event: &SimEvent| match event {
            SimEvent::Head(a, b)
            | SimEvent::Done(a, b)
            | SimEvent::Reset(a, b)
            | SimEvent::Refused(a, b)
            | SimEvent::Cut(a, b) => (*a, *b) == (call.0, conn.0),
            _ => false,
        };
        self.events.retain(|Reverse((_, _, event))| !of(event));
    }

    pub(super) fn happen(&mut self, event: SimEvent) {
        let alive = |id: u64| self.conns.contains_key(&ConnId(id));
        let gone = match &event {
            SimEvent::Resolved(_) => false,
            SimEvent::Cut(call, id) => !self.calls[&CallId(*call)].live.contains(&ConnId(*id)),
            SimEvent::Early(id)
            | SimEvent::FirstPacket(id)
            | SimEvent::Ready(id)
            | SimEvent::Packet(id) => !alive(*id),
            SimEvent::Closed(id, _) => !alive(*id),
            SimEvent::Head(_, id)
            | SimEvent::Done(_, id)
            | SimEvent::Refused(_, id)
            | SimEvent::Reset(_, id) => {
                // A response that was on its way when the path stopped working does not arrive.
                !alive(*id) || !self.passes(self.conns[&ConnId(*id)].over, self.now)
            }
        };
        if gone {
            return;
        }
        match event {
            SimEvent::Resolved(query) => {
                let address = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
                let addresses = (1..=self.addresses).map(address).collect();
                let answer = Some(DnsAnswer::Addresses(addresses));
                self.handle(Event::Resolved {
                    query: QueryId(query),
                    answer,
                });
            }
            SimEvent::FirstPacket(id) => {
                let (conn, rtt) = (self.received(id), self.rtt);
                self.handle(Event::FirstPacket { conn, rtt });
            }
            SimEvent::Ready(id) => {
                let conn = self.received(id);
                let socket = self.conns.get_mut(&conn).expect("it is alive");
                socket.ready = true;
                let (quic, early) = (socket.over == Transport::Quic, socket.early);
                let protocol = match quic {
                    true => Protocol::H3,
                    false if socket.http1 => Protocol::H1,
                    false => self.protocol,
                };
                self.has_session |= quic;
                let refused = early && self.rng.share() < self.early_refused;
                let waiting = self.waiting_on(conn);
                self.handle(Event::Ready {
                    conn,
                    protocol,
                    migrates: quic && self.migrates,
                });
                if refused {
                    self.fail_on(conn, &waiting, Replay::Safe);
                }
            }
            SimEvent::Early(id) => {
                let conn = ConnId(id);
                self.conns.get_mut(&conn).expect("it is alive").early = true;
                self.handle(Event::Early(conn));
            }
            SimEvent::Closed(id, fault) => {
                let conn = ConnId(id);
                let waiting = self.waiting_on(conn);
                self.conns.remove(&conn);
                self.handle(Event::Closed { conn, fault });
                self.fail_on(conn, &waiting, Replay::MayHaveActed);
            }
            SimEvent::Head(call, id) => {
                let conn = self.received(id);
                let quic = self.conns[&conn].over == Transport::Quic;
                let misdirected =
                    quic && self.misdirects > 0.0 && self.rng.share() < self.misdirects;
                self.answers += 1;
                if misdirected && let Some(log) = self.calls.get_mut(&CallId(call)) {
                    log.repeatable = true;
                }
                self.handle(Event::Head {
                    call: CallId(call),
                    conn,
                    misdirected,
                    kept: true,
                    alt_svc: b"",
                    resumable: self.resumable,
                });
            }
            SimEvent::Done(call, id) => {
                let (conn, call) = (self.received(id), CallId(call));
                let over = self.conns[&conn].over;
                assert_eq!(self.calls[&call].delivered, Some(conn));
                self.end(call, End::Done(over));
                let bytes = self.body_bytes;
                if over == Transport::Tcp && self.tcp_closes {
                    self.conns.remove(&conn);
                    let fault = Fault::Reset;
                    self.handle(Event::Closed { conn, fault });
                }
                self.handle(Event::Done { call, conn, bytes });
                if self.finishes && over == Transport::Quic {
                    self.finish_if_spent(conn);
                }
            }
            SimEvent::Reset(call, id) => {
                let (conn, call) = (self.received(id), CallId(call));
                let over = self.conns[&conn].over;
                let safe = self.rng.share() < self.server(over).safe_resets;
                let replay = if safe {
                    Replay::Safe
                } else {
                    Replay::MayHaveActed
                };
                let socket = &self.conns[&conn];
                let http1 = socket.http1 || over == Transport::Tcp && self.protocol == Protocol::H1;
                let demands = safe
                    && !http1
                    && self.demands_http1 > 0.0
                    && self.rng.share() < self.demands_http1;
                let fault = match demands {
                    true => Fault::Http11Required,
                    false => Fault::Reset,
                };
                let log = self.calls.get_mut(&call).expect("it was asked");
                log.repeatable = safe;
                log.live.remove(&conn);
                self.handle(Event::Failed {
                    call,
                    conn,
                    fault,
                    replay,
                });
            }
            SimEvent::Refused(call, id) => {
                let conn = self.received(id);
                self.handle(Event::GoAway(conn));
                self.fail_on(conn, &[CallId(call)], Replay::Safe);
            }
            SimEvent::Cut(call, id) => {
                self.fail_on(ConnId(id), &[CallId(call)], Replay::MayHaveActed);
            }
            SimEvent::Packet(id) => {
                self.received(id);
            }
        }
    }

    fn finish_if_spent(&mut self, conn: ConnId) {
        let limit = self.quic.conn_requests;
        let Some(socket) = self.conns.get_mut(&conn) else {
            return;
        };
        socket.answered += 1;
        if socket.answered == limit {
            self.finish(conn);
        }
    }

    /// Closes a connection as its server would: without an error, with the requests on it.
    pub fn finish(&mut self, conn: ConnId) {
        let waiting = self.waiting_on(conn);
        self.conns.remove(&conn);
        self.handle(Event::Finished(conn));
        let fault = Fault::Reset;
        self.handle(Event::Closed { conn, fault });
        self.fail_on(conn, &waiting, Replay::MayHaveActed);
    }

    fn received(&mut self, id: u64) -> ConnId {
        if let Some(socket) = self.conns.get_mut(&ConnId(id)) {
            socket.received += 1;
            socket.owed_at = None;
        }
        ConnId(id)
    }
}
