//! The engine's thread: passes events to the router and executes the router's commands.

mod calls;
mod conns;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use route::{
    CallId, Command, Config, ConnId, MonotonicTime, Origin, QueryId, Replay, RequestTraits, Router,
};
use tokio::sync::mpsc;

use self::calls::Call;
use self::conns::Slot;
use crate::error::Error;
use crate::https_records::ExpectedRecords;
use crate::memory::MemoryFile;
use crate::message::{ConnectRequest, Event, Message};
use crate::metrics::{Outcome, SharedMetrics};
use crate::resolver::Resolver;
use crate::tls::Tls;

pub(crate) struct Actor {
    router: Router,
    began: Instant,
    messages: mpsc::UnboundedSender<Message>,
    tls: Tls,
    memory: Option<MemoryFile>,
    resolver: Resolver,
    expected: ExpectedRecords,
    calls: HashMap<CallId, Call>,
    /// Requests beyond those that the router keeps at a time.
    queue: VecDeque<(CallId, RequestTraits)>,
    connecting: HashMap<CallId, ConnectRequest>,
    conns: HashMap<ConnId, Slot>,
    /// When each origin's name was last resolved.
    resolved: HashMap<Origin, Instant>,
    queries: HashMap<QueryId, Origin>,
    metrics: SharedMetrics,
}

impl Actor {
    pub(crate) fn new(
        messages: mpsc::UnboundedSender<Message>,
        tls: Tls,
        memory: Option<MemoryFile>,
        salt: [u8; 16],
        resolver: Resolver,
        metrics: SharedMetrics,
    ) -> Self {
        let mut router = Router::new(Config {
            https_records: resolver.has_https_records(),
            salt,
        });
        if let Some(memory) = &memory {
            memory.load(&mut router);
        }
        let (expected, calls, queue, connecting) = Default::default();
        let (conns, resolved, queries) = Default::default();
        let began = Instant::now();
        Self {
            router,
            began,
            messages,
            tls,
            memory,
            resolver,
            expected,
            calls,
            queue,
            connecting,
            conns,
            resolved,
            queries,
            metrics,
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
                Some(message) => self.receive(message),
            }
        }
        for slot in self.conns.values() {
            slot.close();
        }
        // Lets quinn send its close frames.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        if let Some(memory) = &mut self.memory {
            memory.save_now(&self.router).await;
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Submit(submission) => self.submit(*submission),
            Message::Connect(connecting) => self.connect(*connecting),
            Message::Cancel(call) => self.cancel(call),
            Message::Room => self.route_queued(),
            Message::TimedOut(call, phase) => self.time_out(call, phase),
            Message::Unfinished(call) => {
                self.refuse(call, Error::Unfinished);
                self.handle(route::Event::Cancel(call));
            }
            Message::Network(network) => self.handle(route::Event::Network(network)),
            Message::Switches(switches) => self.handle(route::Event::Switches(switches)),
            Message::FallbackSucceeded => self.handle(route::Event::FallbackSucceeded),
            Message::MayCompare(origin, over, reply) => {
                // The receiver may have been dropped.
                reply.send(self.router.may_compare(&origin, over)).ok();
            }
            Message::Compared(origin, faster, ratio) => self.handle(route::Event::Compared {
                origin: &origin,
                faster,
                ratio,
            }),
            Message::RequestEnded(ended) => {
                let attempts = ended.report.as_ref().map_or(0, |report| report.attempts);
                self.record(*ended, attempts);
            }
            Message::Explain(origin, reply) => {
                self.handle(route::Event::Time);
                // The receiver may have been dropped.
                reply.send(self.router.explain(&origin)).ok();
            }
            Message::RecordExpected(origin) => self.expected.expect(origin, Instant::now()),
            Message::HttpsRecord(origin, record) => {
                // Addresses that waited for it must find the offer.
                if let Some(record) = record {
                    let origin = &origin;
                    self.handle(route::Event::HttpsRecord { origin, record });
                }
                self.expected.end(&origin);
            }
            Message::Disconnect(done) => {
                self.disconnect();
                done.send(()).ok();
            }
            Message::CloseIdle => self.handle(route::Event::CloseIdle),
            Message::ForgetSessions => self.tls = self.tls.without_sessions(),
            Message::Save(done) => match &mut self.memory {
                Some(memory) => memory.save_and_reply(&self.router, done),
                None => {
                    // The receiver may have been dropped.
                    done.send(()).ok();
                }
            },
            Message::Event(event) => self.event(event),
            Message::Run(task) => {
                tokio::spawn(task);
            }
            Message::End => {}
        }
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
            Event::FirstPacket { conn, rtt, at } => {
                if let Some(slot) = self.conns.get_mut(&conn) {
                    slot.connected = at;
                }
                self.handle(route::Event::FirstPacket { conn, rtt });
            }
            Event::Early { conn, opened } => {
                let Some(slot) = self.conns.get_mut(&conn) else {
                    return opened.conn.close();
                };
                slot.local_port = opened.local_port;
                slot.conn = Some(opened.conn);
                self.handle(route::Event::Early(conn));
            }
            Event::Opened { conn, opened } => {
                let Some(slot) = self.conns.get_mut(&conn) else {
                    return opened.conn.close();
                };
                let protocol = opened.conn.protocol();
                let migrates = opened.conn.migrates();
                (slot.local_port, slot.tls) = (opened.local_port, opened.tls);
                slot.resumed = opened.resumed;
                slot.conn = Some(opened.conn);
                self.handle(route::Event::Ready {
                    conn,
                    protocol,
                    migrates,
                });
            }
            Event::GoAway(conn) => self.handle(route::Event::GoAway(conn)),
            Event::Finished(conn) => self.handle(route::Event::Finished(conn)),
            Event::Room(conn) => self.handle(route::Event::Room(conn)),
            Event::Closed { conn, fault } => {
                if self.conns.remove(&conn).is_some() {
                    self.handle(route::Event::Closed { conn, fault });
                }
            }
            Event::Sent { call, conn, at } => {
                if let Some(copy) = self.copy(call, conn) {
                    copy.sent = Some(at);
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
                // It may have been withdrawn while this came.
                if self.copy(call, conn).is_none() {
                    return;
                }
                self.measure(call, bytes, Outcome::Done);
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
                self.take_from(call, conn, replay);
                self.handle(route::Event::Failed {
                    call,
                    conn,
                    fault,
                    replay,
                });
            }
        }
    }

    /// Passes an event to the router, and executes its commands.
    fn handle(&mut self, event: route::Event<'_>) {
        let now = self.now();
        self.router.handle(event, now);
        while let Some(command) = self.router.poll() {
            self.execute(command);
        }
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Resolve {
                query,
                origin,
                records,
                awaits_record,
            } => self.resolve(query, origin, records, awaits_record),
            Command::Open {
                conn,
                origin,
                address,
                over,
                http1,
                early,
            } => {
                self.open(conn, origin, address, over, http1, early);
            }
            Command::Close(conn) => {
                if let Some(slot) = self.conns.remove(&conn) {
                    slot.close();
                }
            }
            Command::Send { call, conn } => self.send(call, conn),
            Command::Deliver { call, conn } => self.deliver(call, conn),
            Command::Withdraw { call, conn } => {
                if let Some(copy) = self.take_from(call, conn, Replay::MayHaveActed) {
                    copy.task.abort();
                }
            }
            Command::Connected { call, conn, reason } => self.connected(call, conn, reason),
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
            Command::FallBack { call, reason } => self.refuse(call, Error::FallBack(reason)),
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

    fn now(&self) -> MonotonicTime {
        let ns = self.began.elapsed().as_nanos();
        MonotonicTime::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn instant(&self, moment: MonotonicTime) -> Instant {
        self.began + Duration::from_nanos(moment.ns())
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
