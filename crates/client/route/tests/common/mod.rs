//! A world in virtual time for a router: networks, servers and an app that asks.
//!
//! It does what the router commands and checks invariants on the way. Commands name only ids that exist, and no request
//! is sent twice that must not be.

mod network;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use network::SimEvent;
use route::{
    CallId, Config, ConnId, Event, Fault, MonotonicTime, Origin, Policy, Protocol, Reason, Replay,
    RequestTraits, Router, Transport,
};

/// SplitMix64: small, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number between 0 and 1, uniformly distributed.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns an approximately normal number, with mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// What UDP or TCP does on the way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathBehavior {
    Free,
    /// Nothing comes through, in either direction.
    Blocked,
    /// Nothing comes through from then on.
    DiesAt(MonotonicTime),
    /// Handshakes succeed, and nothing comes after them.
    Stalls,
    /// The peer refuses at once.
    Refused,
    /// The handshake fails after an RTT.
    BadHandshake,
    /// The certificate is not accepted.
    BadCertificate,
}

/// How a server answers over one transport.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub path: PathBehavior,
    /// Median time of a small request on an open connection, in ms, and its spread in ln units.
    pub median_ms: f64,
    pub spread: f64,
    /// Of requests this share stalls for three seconds.
    pub stalls: f64,
    /// Of requests this share is reset.
    pub resets: f64,
    /// Of resets this share says that nothing was done.
    pub safe_resets: f64,
    /// Whether it acknowledges requests and answers none.
    pub mute: bool,
    /// How many requests it takes on a connection before it closes that in good order.
    pub conn_requests: usize,
}

#[derive(Clone, Debug)]
pub struct World {
    pub router: Router,
    pub now: MonotonicTime,
    pub rtt: Duration,
    pub quic: Server,
    pub tcp: Server,
    pub protocol: Protocol,
    pub rng: Rng,
    pub calls: BTreeMap<CallId, Log>,
    pub conns: BTreeMap<ConnId, Socket>,
    /// Of every connection that was ever opened.
    pub transports: BTreeMap<ConnId, Transport>,
    /// Connections that were ever opened, by transport.
    pub opened: BTreeMap<Transport, u32>,
    pub nudges: u32,
    /// Share of QUIC and TCP handshakes whose first flight is lost and repeated a second later.
    pub lost_first_flights: f64,
    /// How many TCP connections the server takes at a time; it refuses others.
    pub tcp_limit: usize,
    /// Whether each TCP connection ends with its first response, just before that is complete.
    pub tcp_closes: bool,
    /// Whether the server over HTTP/3 closes a connection without a word when it has answered `conn_requests`.
    pub finishes: bool,
    /// How many requests a connection takes at a time.
    pub streams: usize,
    /// Share of responses over HTTP/3 that are 421.
    pub misdirects: f64,
    /// Share of resets that demand HTTP/1.1.
    pub demands_http1: f64,
    /// Whether connections over QUIC may move.
    pub migrates: bool,
    /// Responses that began.
    pub answers: usize,
    /// Share of handshakes that resume a session in which the server takes no early data.
    pub early_refused: f64,
    /// How many addresses its name has.
    pub addresses: u8,
    /// Whether there is a session to resume: a handshake was done over QUIC.
    has_session: bool,
    /// Size of responses; requests do not reveal it.
    pub body_bytes: u64,
    /// From the head of a response to its end, besides a hundredth of the whole time.
    pub body_time: Duration,
    /// Whether the rest of a body can be asked for elsewhere.
    pub resumable: bool,
    events: BinaryHeap<Reverse<(MonotonicTime, u64, SimEvent)>>,
    count: u64,
}

#[derive(Clone, Debug)]
pub struct Log {
    pub traits: RequestTraits,

    pub sends: Vec<(MonotonicTime, ConnId)>,
    /// Where it was sent and neither failed nor was withdrawn.
    pub live: BTreeSet<ConnId>,
    /// Whether every send so far failed in a way that lets it be repeated.
    pub repeatable: bool,
    pub delivered: Option<ConnId>,
    pub ended: Option<(MonotonicTime, End)>,
    pub reason: Option<Reason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done(Transport),
    /// It was only to connect.
    Connected(Transport),
    Failed(Fault),
    FellBack,
    Cancelled,
}

#[derive(Clone, Debug)]
pub struct Socket {
    pub over: Transport,
    pub origin: Origin,
    pub ready: bool,
    /// Whether HTTP/2 is not offered.
    pub http1: bool,
    /// Whether it takes requests that may be sent early.
    early: bool,
    /// When its handshake is done, if nothing goes wrong.
    ready_at: MonotonicTime,
    received: u64,
    /// Requests that it took, and that it answered.
    requests: usize,
    answered: usize,
    /// Since when the peer of a TCP connection owes an acknowledgement.
    owed_at: Option<MonotonicTime>,
}

pub fn origin() -> Origin {
    Origin::new("api.example", 443)
}

pub fn traits() -> RequestTraits {
    RequestTraits {
        replayable: true,
        resends: true,
        bytes: Some(1_000),
        kind: 1,
        urgent: false,
        early: false,
        policy: Policy::Adaptive,
    }
}

impl Server {
    pub const fn of(path: PathBehavior, median_ms: f64) -> Self {
        Self {
            path,
            median_ms,
            spread: 0.1,
            stalls: 0.0,
            resets: 0.0,
            safe_resets: 0.5,
            mute: false,
            conn_requests: usize::MAX,
        }
    }
}

impl World {
    pub fn new(seed: u64, rtt_ms: u64, quic: Server, tcp: Server) -> Self {
        Self {
            router: Router::new(Config {
                salt: [3; 16],
                ..Config::default()
            }),
            now: MonotonicTime::from_ns(0),
            rtt: Duration::from_millis(rtt_ms),
            quic,
            tcp,
            protocol: Protocol::H2,
            rng: Rng(seed),
            calls: BTreeMap::new(),
            conns: BTreeMap::new(),
            transports: BTreeMap::new(),
            opened: BTreeMap::new(),
            nudges: 0,
            lost_first_flights: 0.0,
            tcp_limit: usize::MAX,
            tcp_closes: false,
            finishes: false,
            streams: usize::MAX,
            misdirects: 0.0,
            demands_http1: 0.0,
            migrates: true,
            answers: 0,
            early_refused: 0.0,
            addresses: 1,
            has_session: false,
            body_bytes: 1_000,
            body_time: Duration::ZERO,
            resumable: false,
            events: BinaryHeap::new(),
            count: 0,
        }
    }

    pub fn handle(&mut self, event: Event<'_>) {
        self.router.handle(event, self.now);
        while let Some(command) = self.router.poll() {
            self.execute(command);
        }
        if let Some(deadline) = self.router.deadline() {
            assert!(
                deadline > self.now,
                "what is due at {deadline:?} was not done"
            );
        }
        assert!(self.router_is_bounded());
    }

    /// Gives the router an earlier moment than before; nothing may be due twice.
    pub fn handle_before(&mut self, time: Duration) {
        let now = self.now;
        let before = now
            .ns()
            .saturating_sub(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.now = MonotonicTime::from_ns(before);
        self.router.handle(Event::Time, self.now);
        self.now = now;
        self.handle(Event::Time);
    }

    /// Closes the connection that was opened first, as its peer would, with the requests on it.
    pub fn close_first(&mut self) {
        let Some((conn, _)) = self.conns.iter().find(|(_, socket)| socket.ready) else {
            return;
        };
        let conn = *conn;
        let waiting = self.waiting_on(conn);
        self.conns.remove(&conn);
        self.handle(Event::Closed {
            conn,
            fault: Fault::Reset,
        });
        self.fail_on(conn, &waiting, Replay::MayHaveActed);
    }

    /// Fails the last copy of a request.
    pub fn fail(&mut self, call: CallId, fault: Fault, replay: Replay) {
        let log = self.calls.get_mut(&call).expect("it was asked");
        let (_, conn) = *log.sends.last().expect("it was sent");
        log.repeatable = replay == Replay::Safe;
        self.forget(call, conn);
        self.handle(Event::Failed {
            call,
            conn,
            fault,
            replay,
        });
    }

    /// Returns the transports over which a request was sent, in turn. Connections that are gone count by what they
    /// were.
    pub fn ways(&self, call: CallId) -> Vec<Transport> {
        let sends = self.calls[&call].sends.iter();
        sends.map(|(_, conn)| self.transports[conn]).collect()
    }

    /// Returns how a request ended, if it has.
    pub fn end_of(&self, call: CallId) -> Option<End> {
        self.calls[&call].ended.map(|(_, end)| end)
    }

    /// Returns the requests that were sent on a connection and have not ended.
    fn waiting_on(&self, conn: ConnId) -> Vec<CallId> {
        let waits = |log: &Log| log.ended.is_none() && log.sends.iter().any(|(_, on)| *on == conn);
        let calls = self.calls.iter().filter(|(_, log)| waits(log));
        calls.map(|(call, _)| *call).collect()
    }

    /// Fails requests on a connection; the router knows which are no longer on it.
    fn fail_on(&mut self, conn: ConnId, calls: &[CallId], replay: Replay) {
        for call in calls {
            self.forget(*call, conn);
            if replay == Replay::Safe
                && let Some(log) = self.calls.get_mut(call)
            {
                log.repeatable = true;
            }
            self.handle(Event::Failed {
                call: *call,
                conn,
                fault: Fault::Reset,
                replay,
            });
        }
    }

    pub fn hint(&mut self) {
        self.handle(Event::Hint {
            origin: &origin(),
            port: 443,
        });
    }

    /// Asks, and returns the request's number.
    pub fn request(&mut self, traits: RequestTraits) -> CallId {
        let id = self.log(traits);
        let origin = &origin();
        self.handle(Event::Call { id, origin, traits });
        id
    }

    /// Requests a connection, and returns the number of that request.
    pub fn connect(&mut self, policy: Policy) -> CallId {
        let id = self.log(RequestTraits { policy, ..traits() });
        let origin = &origin();
        self.handle(Event::Connect { id, origin, policy });
        id
    }

    fn log(&mut self, traits: RequestTraits) -> CallId {
        let id = CallId(self.calls.len() as u64 + 1);
        let log = Log {
            traits,

            sends: Vec::new(),
            live: BTreeSet::new(),
            repeatable: true,
            delivered: None,
            ended: None,
            reason: None,
        };
        self.calls.insert(id, log);
        id
    }

    pub fn cancel(&mut self, id: CallId) {
        let log = self.calls.get_mut(&id).expect("it was asked");
        if log.ended.is_none() {
            log.ended = Some((self.now, End::Cancelled));
        }
        self.handle(Event::Cancel(id));
    }

    /// Lets a limit of a request pass.
    pub fn time_out(&mut self, id: CallId) {
        let log = self.calls.get_mut(&id).expect("it was asked");
        if log.ended.is_none() {
            log.ended = Some((self.now, End::Cancelled));
        }
        self.handle(Event::TimedOut(id));
    }

    /// Asks and lets time pass until it ends. Returns how long that took.
    pub fn request_and_wait(&mut self, traits: RequestTraits) -> (Duration, End) {
        let id = self.request(traits);
        self.wait(id)
    }

    /// Lets time pass until a request ends. Returns how long that took, and how it ended.
    pub fn wait(&mut self, id: CallId) -> (Duration, End) {
        let asked = self.now;
        let limit = asked + Duration::from_secs(120);
        while self.calls[&id].ended.is_none() && self.now < limit {
            assert!(
                self.step(limit),
                "nothing will happen any more, and {id:?} waits"
            );
        }
        let (at, end) = self.calls[&id]
            .ended
            .expect("a request ends within two minutes");
        (at.since(asked), end)
    }

    pub fn pass_time(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Lets the next thing happen, if it does before `until`.
    pub fn step(&mut self, until: MonotonicTime) -> bool {
        let event = self.events.peek().map(|Reverse((at, ..))| *at);
        let deadline = self.router.deadline();
        let Some(next) = event
            .into_iter()
            .chain(deadline)
            .min()
            .filter(|at| *at <= until)
        else {
            return false;
        };
        self.now = self.now.max(next);
        if event == Some(next) {
            if let Some(Reverse((_, _, event))) = self.events.pop() {
                self.happen(event);
            }
        } else {
            self.handle(Event::Time);
        }
        true
    }

    fn router_is_bounded(&self) -> bool {
        self.conns.len() <= route::MAX_CONNS + 12
    }
}
