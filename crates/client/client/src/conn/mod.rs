//! Connections: opened over QUIC or TCP, and one request and response at a time on them.

mod frames;
mod h1;
mod h2;
mod h3;
mod tcp;

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, StatusCode};
use http_rules::{MAX_INTERIM_RESPONSES, Version, Violation, check_interim};
use route::{CallId, ConnId, Fault, Origin, PathSample, Protocol, Replay, Transport};
use tokio::sync::{mpsc, watch};

use crate::body::{Body, OutgoingBody, UploadGuard};
use crate::limits::Phase;
use crate::message::{Event, Message};
use crate::response::Part;
use crate::tls::Tls;

/// Longest head of a response, in bytes of its fields; OkHttp's limit.
const MAX_HEAD_BYTES: u32 = 256 << 10;
/// Most fields of a head, over HTTP/1.1 only: h2 and h3 do not count them.
const MAX_FIELDS: usize = 1_024;
/// Pieces of a body that wait for the app.
const BODY_PIECES: usize = 4;
/// What a server may send of one body before the app reads it. quinn-proto gives a connection up whose stream has more
/// than 1024 gaps; a window of 2 MiB has no more packets.
const STREAM_WINDOW: u32 = 2 << 20;
/// The same of all bodies on a connection.
const CONN_WINDOW: u32 = 32 << 20;
/// So many bodies that the app does not read leave a window's worth for another one.
const MAX_UNREAD: usize = (CONN_WINDOW / STREAM_WINDOW) as usize - 1;

/// An open connection.
pub(crate) enum Conn {
    H3(h3::Conn),
    Tcp(tcp::Conn),
}

/// An open connection with facts of its handshake.
pub(crate) struct Opened {
    pub(crate) conn: Conn,
    pub(crate) local_port: u16,
    pub(crate) resumed: bool,
    /// When its handshake was done; nothing if it is not.
    pub(crate) tls: Option<Instant>,
    /// Whether the server took early data, with the sender that announces it once the connection is reported.
    pub(crate) early_taken: Option<(watch::Sender<Option<bool>>, bool)>,
}

/// Where to open a connection, and the channel for its messages.
pub(crate) struct Target {
    pub(crate) id: ConnId,
    pub(crate) origin: Origin,
    pub(crate) address: SocketAddr,
    pub(crate) over: Transport,
    /// Whether HTTP/2 must not be offered.
    pub(crate) http1: bool,
    /// Whether to resume a session with early data, if there is one.
    pub(crate) early: bool,
    pub(crate) messages: mpsc::UnboundedSender<Message>,
}

/// A request for one connection.
pub(crate) struct Exchange {
    pub(crate) call: CallId,
    pub(crate) conn: ConnId,
    pub(crate) head: Arc<http::request::Parts>,
    pub(crate) body: Body,
    pub(crate) idle_limit: Option<Duration>,
    /// Whether the request may be sent again although the server may have acted on it.
    pub(crate) replayable: bool,
    pub(crate) request: CountGuard,
    pub(crate) messages: mpsc::UnboundedSender<Message>,
}

/// The load of a connection: requests and unread bodies.
#[derive(Debug)]
pub(crate) struct ConnLoad {
    requests: AtomicUsize,
    /// Bodies that wait for the app to read them. Each may hold a stream's window of the connection's.
    unread: AtomicUsize,
    /// Whether a request was turned away for it; its sender then gets an event when there is room.
    turned_away: AtomicBool,
    conn: ConnId,
    messages: mpsc::UnboundedSender<Message>,
}

/// Counts one more request or unread body until it is dropped.
#[derive(Debug)]
pub(crate) struct CountGuard {
    load: Arc<ConnLoad>,
    what: fn(&ConnLoad) -> &AtomicUsize,
}

/// Counts the interim responses before the final one.
#[derive(Debug, Default)]
struct InterimCounter {
    count: u32,
}

/// The reason why an exchange failed.
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) replay: Replay,
    pub(crate) drain: Option<DrainReason>,
}

/// The reason why a connection takes no more requests.
#[derive(Clone, Copy)]
pub(crate) enum DrainReason {
    /// Its peer says so, or it has ended.
    GoesAway,
    /// Its peer closed it without an error.
    Finished,
}

impl Conn {
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::H3(_) => Protocol::H3,
            Self::Tcp(conn) => conn.protocol(),
        }
    }

    /// Reports whether the connection uses TLS 1.3, and returns the server's certificates in DER.
    pub(crate) fn security(&self) -> (bool, Vec<Vec<u8>>) {
        match self {
            Self::H3(conn) => (true, conn.chain()),
            Self::Tcp(conn) => conn.security(),
        }
    }

    /// Reports whether it can carry another request now: its server's limit and the window that unread bodies leave
    /// allow that.
    pub(crate) fn has_room(&self, load: &ConnLoad) -> bool {
        let has_room = || {
            load.unread() < MAX_UNREAD
                && match self {
                    Self::H3(conn) => conn.has_credit(),
                    Self::Tcp(conn) => load.requests() < conn.limit(),
                }
        };
        if has_room() {
            return true;
        }
        // Room that is made before this check is seen now; room that is made after it causes an event.
        load.turned_away.store(true, Ordering::SeqCst);
        has_room()
    }

    /// Starts an exchange as a task of its own, which reports what happens.
    pub(crate) fn start(&self, exchange: Exchange) -> tokio::task::AbortHandle {
        let panicked = Event::Failed {
            call: exchange.call,
            conn: exchange.conn,
            fault: Fault::Protocol,
            replay: Replay::MayHaveActed,
        };
        let messages = exchange.messages.clone();
        let task = match self {
            Self::H3(conn) => tokio::spawn(or_report(conn.exchange(exchange), messages, panicked)),
            Self::Tcp(conn) => tokio::spawn(or_report(conn.exchange(exchange), messages, panicked)),
        };
        task.abort_handle()
    }

    pub(crate) fn sample(&mut self) -> PathSample {
        match self {
            Self::H3(conn) => conn.sample(),
            Self::Tcp(conn) => conn.sample(),
        }
    }

    /// Sends something that the peer must acknowledge.
    pub(crate) fn probe(&mut self) {
        match self {
            Self::H3(conn) => conn.probe(),
            Self::Tcp(conn) => conn.probe(),
        }
    }

    /// Sends from a new port.
    pub(crate) fn nudge(&mut self) {
        if let Self::H3(conn) = self {
            conn.nudge();
        }
    }

    /// Reports whether it may move to another path (RFC 9000 section 9).
    pub(crate) fn migrates(&self) -> bool {
        match self {
            Self::H3(conn) => conn.migrates(),
            Self::Tcp(_) => false,
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::H3(conn) => conn.close(),
            Self::Tcp(conn) => conn.close(),
        }
    }
}

/// Runs a task, and reports if it panics. Otherwise other tasks would wait for it for ever.
async fn or_report(
    task: impl Future<Output = ()>,
    messages: mpsc::UnboundedSender<Message>,
    panicked: Event,
) {
    if AssertUnwindSafe(task).catch_unwind().await.is_err() {
        messages.send(Message::Event(panicked)).ok();
    }
}

/// Opens a connection and reports its progress, and later its end.
pub(crate) async fn open(target: Target, tls: Tls) {
    let panicked = Event::Closed {
        conn: target.id,
        fault: Fault::Handshake,
    };
    let messages = target.messages.clone();
    or_report(open_and_report(target, tls), messages, panicked).await;
}

async fn open_and_report(target: Target, tls: Tls) {
    let (id, messages) = (target.id, target.messages.clone());
    let opened = match target.over {
        Transport::Quic => h3::open(target, &tls).await,
        Transport::Tcp => tcp::open(target, &tls).await,
    };
    let (event, early) = match opened {
        Ok(mut opened) => {
            let early = opened.early_taken.take();
            let opened = Box::new(opened);
            (Event::Opened { conn: id, opened }, early)
        }
        Err(fault) => (Event::Closed { conn: id, fault }, None),
    };
    messages.send(Message::Event(event)).ok();
    if let Some((announce, taken)) = early {
        announce.send_replace(Some(taken));
    }
}

impl Exchange {
    /// Takes the request's body for this connection.
    fn outgoing(&self) -> (OutgoingBody, UploadGuard) {
        self.body.outgoing(self.call, self.messages.clone())
    }

    /// Reports the request sent.
    fn sent(&self) {
        let (call, conn, at) = (self.call, self.conn, Instant::now());
        self.report(Event::Sent { call, conn, at });
    }

    /// Reports the head of the response; returns where its body goes.
    fn head(&self, head: http::response::Parts) -> mpsc::Sender<Part> {
        let (sender, body) = mpsc::channel(BODY_PIECES);
        let (call, conn, at) = (self.call, self.conn, Instant::now());
        self.report(Event::Head {
            call,
            conn,
            at,
            head: Box::new(head),
            body,
        });
        sender
    }

    /// Waits for the next piece of the response's body, at most for as long as the request allows.
    async fn piece<T>(&self, piece: impl Future<Output = T>) -> T {
        let mut piece = pin!(piece);
        if let Some(limit) = self.idle_limit {
            match tokio::time::timeout(limit, &mut piece).await {
                Ok(piece) => return piece,
                Err(_) => {
                    let late = Message::TimedOut(self.call, Phase::Idle);
                    self.messages.send(late).ok();
                    // The request is cancelled.
                }
            }
        }
        piece.await
    }

    /// Passes a piece of the body on to the app. Returns false if the app dropped the response, whose guard cancels the
    /// request.
    async fn pass_on(&self, body: &mpsc::Sender<Part>, chunk: Bytes) -> bool {
        let chunk = match body.try_send(Part::Data(chunk)) {
            Ok(()) => return true,
            Err(mpsc::error::TrySendError::Full(chunk)) => chunk,
            Err(mpsc::error::TrySendError::Closed(_)) => return false,
        };
        let _unread = CountGuard::new(&self.request.load, |load| &load.unread);
        body.send(chunk).await.is_ok()
    }

    /// Reports how the exchange ended.
    fn ended(&self, outcome: Result<u64, Failure>) {
        let (call, conn) = (self.call, self.conn);
        match outcome {
            Ok(bytes) => self.report(Event::Done { call, conn, bytes }),
            Err(failure) => self.failed(&failure),
        }
    }

    fn failed(&self, failure: &Failure) {
        let (call, conn) = (self.call, self.conn);
        let &Failure {
            fault,
            mut replay,
            drain,
        } = failure;
        match drain {
            Some(DrainReason::GoesAway) => self.report(Event::GoAway(conn)),
            Some(DrainReason::Finished) => self.report(Event::Finished(conn)),
            None => {}
        }
        if replay == Replay::Safe && !self.body.is_kept() {
            replay = Replay::BodyGone;
        }
        self.report(Event::Failed {
            call,
            conn,
            fault,
            replay,
        });
    }

    fn report(&self, event: Event) {
        self.messages.send(Message::Event(event)).ok();
    }
}

impl ConnLoad {
    /// Creates the load of a connection without requests.
    pub(crate) fn new(conn: ConnId, messages: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            requests: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            turned_away: AtomicBool::new(false),
            conn,
            messages,
        }
    }

    /// Counts a request until what is returned is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> CountGuard {
        CountGuard::new(self, |load| &load.requests)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn unread(&self) -> usize {
        self.unread.load(Ordering::SeqCst)
    }
}

impl CountGuard {
    fn new(load: &Arc<ConnLoad>, what: fn(&ConnLoad) -> &AtomicUsize) -> Self {
        what(load).fetch_add(1, Ordering::SeqCst);
        let load = Arc::clone(load);
        Self { load, what }
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        (self.what)(&self.load).fetch_sub(1, Ordering::SeqCst);
        // A request that was let go of ends only here, after the router has sent another one in its place.
        if self.load.turned_away.swap(false, Ordering::SeqCst) {
            let room = Event::Room(self.load.conn);
            self.load.messages.send(Message::Event(room)).ok();
        }
    }
}

impl InterimCounter {
    /// Checks and counts a response before the final one.
    fn add(
        &mut self,
        version: Version,
        status: StatusCode,
        fields: &HeaderMap,
    ) -> Result<(), Violation> {
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Violation::SwitchingProtocols);
        }
        check_interim(version, fields)?;
        self.count += 1;
        if self.count > MAX_INTERIM_RESPONSES {
            return Err(Violation::TooManyInterim(MAX_INTERIM_RESPONSES));
        }
        Ok(())
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        tracing::debug!("malformed response: {violation} ({})", violation.section());
        Self::after_sending(Fault::Malformed)
    }
}

impl Failure {
    /// Creates a failure before anything was sent.
    fn before_sending(fault: Fault) -> Self {
        Self {
            fault,
            replay: Replay::Safe,
            drain: None,
        }
    }

    /// Creates the failure of a request that had no effect, because the connection takes no more requests. Its peer
    /// sent GOAWAY (RFC 9113 section 6.8, RFC 9114 section 5.2), or the connection has ended.
    fn gone_away() -> Self {
        Self {
            drain: Some(DrainReason::GoesAway),
            ..Self::before_sending(Fault::Reset)
        }
    }

    fn after_sending(fault: Fault) -> Self {
        Self {
            fault,
            replay: Replay::MayHaveActed,
            drain: None,
        }
    }
}

/// Passes a failure on as the end of a body whose head the app already has.
async fn cut_off(body: &mpsc::Sender<Part>, failure: &Failure) {
    let error = crate::Error::Failed {
        fault: failure.fault,
        may_have_acted: true,
    };
    body.send(Part::Failed(error)).await.ok();
}
