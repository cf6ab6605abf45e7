//! The engine's thread: does what the router commands, and tells it what happens.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use route::{
    Answer, Ask, CallId, Command, Config, ConnId, Fault, Moment, Network, Origin, Protocol,
    QueryId, Records, Replay, Router, Switches, Transport, Why,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::conn::{self, Conn, Exchange, Opened, Target};
use crate::error::Error;
use crate::memory::MemoryFile;
use crate::report::{Phases, Progress, Report};
use crate::response::{Part, Response};
use crate::tls::Tls;

/// What the thread is told.
pub(crate) enum Message {
    Submit(Box<Submission>),
    Cancel(CallId),
    TimedOut(CallId),
    Network(Option<Network>),
    Switches(Switches),
    PlainWorked,
    Explain(Origin, oneshot::Sender<String>),
    Disconnect(oneshot::Sender<()>),
    Event(Event),
    End,
}

/// A request.
pub(crate) struct Submission {
    pub(crate) id: CallId,
    pub(crate) origin: Origin,
    pub(crate) ask: Ask,
    pub(crate) head: http::request::Parts,
    pub(crate) body: Bytes,
    pub(crate) limit: Option<Duration>,
    pub(crate) asked: Instant,
    pub(crate) progress: Progress,
    pub(crate) reply: oneshot::Sender<Result<Response, Error>>,
}

/// What tasks report.
pub(crate) enum Event {
    Resolved {
        query: QueryId,
        answer: Option<Answer>,
        at: Instant,
    },
    Heard {
        conn: ConnId,
        rtt: Duration,
        at: Option<Instant>,
    },
    Opened {
        conn: ConnId,
        opened: Box<Opened>,
    },
    Closed {
        conn: ConnId,
        fault: Fault,
    },
    Sent {
        call: CallId,
        conn: ConnId,
        at: Instant,
    },
    Head {
        call: CallId,
        conn: ConnId,
        at: Instant,
        head: Box<http::response::Parts>,
        body: mpsc::Receiver<Part>,
    },
    Done {
        call: CallId,
        conn: ConnId,
        bytes: u64,
    },
    Failed {
        call: CallId,
        conn: ConnId,
        fault: Fault,
        replay: Replay,
    },
}

pub(crate) struct Actor {
    router: Router,
    began: Instant,
    messages: mpsc::UnboundedSender<Message>,
    tls: Tls,
    memory: Option<MemoryFile>,
    /// Addresses that are used instead of asking.
    known: Vec<(String, Vec<IpAddr>)>,
    calls: HashMap<CallId, Call>,
    conns: HashMap<ConnId, Slot>,
    /// When each origin's name was last resolved.
    resolved: HashMap<Origin, Instant>,
    queries: HashMap<QueryId, Origin>,
}

struct Call {
    head: Arc<http::request::Parts>,
    body: Bytes,
    asked: Instant,
    progress: Progress,
    reply: Option<oneshot::Sender<Result<Response, Error>>>,
    ending: Arc<OnceLock<Error>>,
    copies: HashMap<ConnId, Sending>,
    attempts: u32,
    limit: Option<AbortHandle>,
}

/// A request on a connection.
struct Sending {
    task: AbortHandle,
    reused: bool,
    sent: Option<Instant>,
    head: Option<(Instant, http::response::Parts, mpsc::Receiver<Part>)>,
}

/// A connection, from its first packet on.
struct Slot {
    task: AbortHandle,
    conn: Option<Conn>,
    origin: Origin,
    local_port: u16,
    resumed: bool,
    used: bool,
    resolved: Option<Instant>,
    connected: Option<Instant>,
    tls: Option<Instant>,
}

impl Actor {
    pub(crate) fn new(
        messages: mpsc::UnboundedSender<Message>,
        tls: Tls,
        memory: Option<MemoryFile>,
        salt: [u8; 16],
        known: Vec<(String, Vec<IpAddr>)>,
    ) -> Self {
        let mut router = Router::new(Config {
            salt,
            ..Config::default()
        });
        if let Some(memory) = &memory {
            memory.load(&mut router);
        }
        let (calls, conns, resolved, queries) = Default::default();
        let began = Instant::now();
        Self {
            router,
            began,
            messages,
            tls,
            memory,
            known,
            calls,
            conns,
            resolved,
            queries,
        }
    }

    /// Runs until the last engine is dropped.
    pub(crate) async fn run(
        mut self,
        mut inbox: mpsc::UnboundedReceiver<Message>,
        hints: Vec<(Origin, u16)>,
    ) {
        for (origin, port) in hints {
            self.handle(route::Event::Hint {
                origin: &origin,
                port,
            });
        }
        loop {
            let deadline = self.router.deadline().map(|at| self.instant(at));
            let message = tokio::select! {
                message = inbox.recv() => message,
                () = sleep_until(deadline) => {
                    self.handle(route::Event::Time);
                    continue;
                }
            };
            match message {
                None | Some(Message::End) => break,
                Some(message) => self.take(message),
            }
        }
        for slot in self.conns.values() {
            slot.close();
        }
        // Lets quinn send its close frames.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        if let Some(memory) = &self.memory {
            memory.save_now(&self.router);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Submit(submission) => self.submit(*submission),
            Message::Cancel(call) => self.cancel(call, None),
            Message::TimedOut(call) => self.cancel(call, Some(Error::TimedOut)),
            Message::Network(network) => self.handle(route::Event::Network(network)),
            Message::Switches(switches) => self.handle(route::Event::Switches(switches)),
            Message::PlainWorked => self.handle(route::Event::PlainWorked),
            Message::Explain(origin, reply) => {
                self.handle(route::Event::Time);
                // Whoever asked may have gone.
                reply.send(self.router.explain(&origin)).ok();
            }
            Message::Disconnect(done) => {
                self.disconnect();
                done.send(()).ok();
            }
            Message::Event(event) => self.event(event),
            Message::End => {}
        }
    }

    fn submit(&mut self, submission: Submission) {
        let Submission {
            id,
            origin,
            ask,
            head,
            body,
            limit,
            asked,
            progress,
            reply,
        } = submission;
        let limit = limit.map(|limit| {
            let messages = self.messages.clone();
            let timer = tokio::spawn(async move {
                tokio::time::sleep(limit).await;
                messages.send(Message::TimedOut(id)).ok();
            });
            timer.abort_handle()
        });
        let call = Call {
            head: Arc::new(head),
            body,
            asked,
            progress,
            reply: Some(reply),
            ending: Arc::default(),
            copies: HashMap::new(),
            attempts: 0,
            limit,
        };
        self.calls.insert(id, call);
        self.handle(route::Event::Call {
            id,
            origin: &origin,
            ask,
        });
    }

    /// Ends a request before its time: the app let go of it, or `error`.
    fn cancel(&mut self, id: CallId, error: Option<Error>) {
        if let Some(call) = self.calls.get_mut(&id)
            && let Some(error) = error
        {
            call.ending.set(error.clone()).ok();
            if let Some(reply) = call.reply.take() {
                reply.send(Err(error)).ok();
            }
        }
        self.handle(route::Event::Cancel(id));
        self.end(id);
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Resolved { query, answer, at } => {
                if let Some(origin) = self.queries.remove(&query) {
                    if self.resolved.len() >= route::MAX_CONNS {
                        self.resolved.clear();
                    }
                    self.resolved.insert(origin, at);
                }
                self.handle(route::Event::Resolved { query, answer });
            }
            Event::Heard { conn, rtt, at } => {
                if let Some(slot) = self.conns.get_mut(&conn) {
                    slot.connected = at;
                }
                self.handle(route::Event::Heard { conn, rtt });
            }
            Event::Opened { conn, opened } => {
                let Some(slot) = self.conns.get_mut(&conn) else {
                    return opened.conn.close();
                };
                let protocol = opened.conn.protocol();
                (slot.local_port, slot.tls) = (opened.local_port, Some(opened.tls));
                slot.resumed = opened.resumed;
                slot.conn = Some(opened.conn);
                self.handle(route::Event::Ready { conn, protocol });
            }
            Event::Closed { conn, fault } => {
                if self.conns.remove(&conn).is_some() {
                    self.handle(route::Event::Closed { conn, fault });
                }
            }
            Event::Sent { call, conn, at } => {
                if let Some(sending) = self.sending(call, conn) {
                    sending.sent = Some(at);
                }
            }
            Event::Head {
                call,
                conn,
                at,
                head,
                body,
            } => self.head(call, conn, at, *head, body),
            Event::Done { call, conn, bytes } => {
                self.handle(route::Event::Done { call, conn, bytes });
                self.end(call);
                if let Some(memory) = &mut self.memory {
                    memory.save(&self.router);
                }
            }
            Event::Failed {
                call,
                conn,
                fault,
                replay,
            } => {
                if let Some(call) = self.calls.get_mut(&call) {
                    call.copies.remove(&conn);
                }
                self.handle(route::Event::Failed {
                    call,
                    conn,
                    fault,
                    replay,
                });
            }
        }
    }

    fn head(
        &mut self,
        call: CallId,
        conn: ConnId,
        at: Instant,
        head: http::response::Parts,
        body: mpsc::Receiver<Part>,
    ) {
        let alt_svc = head.headers.get("alt-svc").cloned();
        let Some(sending) = self.sending(call, conn) else {
            return;
        };
        sending.head = Some((at, head, body));
        let alt_svc = alt_svc.as_ref().map_or(&b""[..], |value| value.as_bytes());
        self.handle(route::Event::Head {
            call,
            conn,
            alt_svc,
        });
    }

    fn sending(&mut self, call: CallId, conn: ConnId) -> Option<&mut Sending> {
        self.calls.get_mut(&call)?.copies.get_mut(&conn)
    }

    /// Tells the router, and does what it commands.
    fn handle(&mut self, event: route::Event<'_>) {
        let now = self.now();
        self.router.handle(event, now);
        while let Some(command) = self.router.poll() {
            self.obey(command);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Resolve {
                query,
                origin,
                records,
            } => self.resolve(query, origin, records),
            Command::Open {
                conn,
                origin,
                address,
                over,
            } => {
                self.open(conn, origin, address, over);
            }
            Command::Close(conn) => {
                if let Some(slot) = self.conns.remove(&conn) {
                    slot.close();
                }
            }
            Command::Send { call, conn } => self.send(call, conn),
            Command::Deliver { call, conn } => self.deliver(call, conn),
            Command::Withdraw { call, conn } => {
                if let Some(call) = self.calls.get_mut(&call)
                    && let Some(sending) = call.copies.remove(&conn)
                {
                    sending.task.abort();
                }
            }
            Command::Fail {
                call,
                fault,
                may_have_acted,
            } => {
                self.refuse(
                    call,
                    Error::Failed {
                        fault,
                        may_have_acted,
                    },
                );
            }
            Command::Plain { call, why } => self.refuse(call, Error::Plain(why)),
            Command::Sample(id) => {
                let slot = self.conns.get_mut(&id);
                if let Some(conn) = slot.and_then(|slot| slot.conn.as_mut()) {
                    let sample = conn.sample();
                    let now = self.now();
                    self.router
                        .handle(route::Event::Path { conn: id, sample }, now);
                }
            }
            Command::Probe(id) => {
                if let Some(conn) = self.conns.get_mut(&id).and_then(|slot| slot.conn.as_mut()) {
                    conn.probe();
                }
            }
            Command::Nudge(id) => {
                if let Some(conn) = self.conns.get_mut(&id).and_then(|slot| slot.conn.as_mut()) {
                    conn.nudge();
                }
            }
        }
    }

    fn resolve(&mut self, query: QueryId, origin: Origin, records: Records) {
        let host = origin.host.to_string();
        let ip = host.parse().ok().map(|ip| vec![ip]);
        let named = self.known.iter().find(|(name, _)| *name == host);
        let known = ip.or_else(|| named.map(|(_, addresses)| addresses.clone()));
        let port = origin.port;
        self.queries.insert(query, origin);
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let answer = match (records, known) {
                // The engine asks for none; an answer of nothing is one.
                (Records::Https, _) => None,
                (Records::Addresses, Some(known)) => Some(Answer::Addresses(known)),
                (Records::Addresses, None) => {
                    let found = tokio::net::lookup_host((host, port)).await;
                    let addresses = |found| Iterator::map(found, |at: SocketAddr| at.ip());
                    found
                        .ok()
                        .map(|found| Answer::Addresses(addresses(found).collect()))
                }
            };
            let at = Instant::now();
            messages
                .send(Message::Event(Event::Resolved { query, answer, at }))
                .ok();
        });
    }

    fn open(&mut self, id: ConnId, origin: Origin, address: SocketAddr, over: Transport) {
        let messages = self.messages.clone();
        let target = Target {
            id,
            origin: origin.clone(),
            address,
            over,
            messages,
        };
        let task = tokio::spawn(conn::open(target, self.tls.clone())).abort_handle();
        let slot = Slot {
            task,
            conn: None,
            resolved: self.resolved.get(&origin).copied(),
            origin,
            local_port: 0,
            resumed: false,
            used: false,
            connected: None,
            tls: None,
        };
        self.conns.insert(id, slot);
    }

    fn send(&mut self, id: CallId, conn_id: ConnId) {
        let (Some(call), Some(slot)) = (self.calls.get_mut(&id), self.conns.get_mut(&conn_id))
        else {
            return;
        };
        let Some(conn) = &slot.conn else {
            return;
        };
        call.attempts += 1;
        let exchange = Exchange {
            call: id,
            conn: conn_id,
            head: Arc::clone(&call.head),
            body: call.body.clone(),
            messages: self.messages.clone(),
        };
        let reused = std::mem::replace(&mut slot.used, true);
        let sending = Sending {
            task: conn.start(exchange),
            reused,
            sent: None,
            head: None,
        };
        call.copies.insert(conn_id, sending);
        if let (Some(report), Some(call)) = (self.report(id, conn_id), self.calls.get(&id)) {
            call.progress.set(report);
        }
    }

    fn deliver(&mut self, id: CallId, conn_id: ConnId) {
        let Some(report) = self.report(id, conn_id) else {
            return;
        };
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let head = call
            .copies
            .get_mut(&conn_id)
            .and_then(|sending| sending.head.take());
        if let (Some((_, head, body)), Some(reply)) = (head, call.reply.take()) {
            call.progress.set(report.clone());
            let response = Response::new(head, body, Arc::clone(&call.ending), report);
            // Whoever asked may have gone; then the response's guard cancels.
            reply.send(Ok(response)).ok();
        }
    }

    /// How a request fares on a connection.
    fn report(&self, id: CallId, conn_id: ConnId) -> Option<Report> {
        let (call, slot) = (self.calls.get(&id)?, self.conns.get(&conn_id)?);
        let sending = call.copies.get(&conn_id)?;
        let since = |at: Option<Instant>| {
            let after = at?.checked_duration_since(call.asked)?;
            u64::try_from(after.as_nanos()).ok()
        };
        Some(Report {
            protocol: slot.conn.as_ref().map_or(Protocol::H2, Conn::protocol),
            why: self.router.why(id).unwrap_or(Why::Opening),
            connection: conn_id.0,
            reused: sending.reused || slot.tls.is_some_and(|at| at < call.asked),
            resumed: slot.resumed,
            local_port: slot.local_port,
            attempts: call.attempts,
            phases: Phases {
                dns_ns: since(slot.resolved),
                connect_ns: since(slot.connected),
                tls_ns: since(slot.tls),
                request_sent_ns: since(sending.sent),
                first_byte_ns: since(sending.head.as_ref().map(|(at, ..)| *at)),
            },
        })
    }

    fn refuse(&mut self, id: CallId, error: Error) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.ending.set(error.clone()).ok();
            if let Some(reply) = call.reply.take() {
                reply.send(Err(error)).ok();
            }
        }
        self.end(id);
    }

    fn end(&mut self, id: CallId) {
        if let Some(call) = self.calls.remove(&id) {
            for task in call
                .copies
                .into_values()
                .map(|sending| sending.task)
                .chain(call.limit)
            {
                task.abort();
            }
        }
    }

    /// Closes every connection, as if the network had gone and come back.
    fn disconnect(&mut self) {
        for (conn, slot) in self.conns.drain().collect::<Vec<_>>() {
            slot.close();
            self.handle(route::Event::Closed {
                conn,
                fault: Fault::Reset,
            });
        }
        self.resolved.clear();
        self.tls = self.tls.without_sessions();
    }

    fn now(&self) -> Moment {
        let ns = self.began.elapsed().as_nanos();
        Moment::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn instant(&self, moment: Moment) -> Instant {
        self.began + Duration::from_nanos(moment.ns())
    }
}

impl Slot {
    fn close(&self) {
        self.task.abort();
        if let Some(conn) = &self.conn {
            conn.close();
        }
        tracing::trace!("closed a connection to {}", self.origin.host);
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
