//! Messages to the engine's thread, from the app and from its own tasks.

use std::pin::Pin;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use route::{
    CallId, ConnId, DnsAnswer, Fault, H3Record, Network, Origin, Policy, QueryId, Replay, Switches,
    Transport,
};
use tokio::sync::{mpsc, oneshot};

use crate::conn::Opened;
use crate::error::Error;
use crate::limits::Phase;
use crate::mailbox::OutboundRequest;
use crate::metrics::Outcome;
use crate::report::{Connected, Report};
use crate::response::{Part, Response};

/// A message to the engine's thread.
pub(crate) enum Message {
    Submit(Box<Submission>),
    Connect(Box<ConnectRequest>),
    Cancel(CallId),
    /// A request has ended, and others wait for its place.
    Room,
    TimedOut(CallId, Phase),
    Unfinished(CallId),
    Network(Option<Network>),
    Switches(Switches),
    FallbackSucceeded,
    MayCompare(Origin, Transport, oneshot::Sender<bool>),
    Compared(Origin, Transport, f64),
    RequestEnded(Box<EndedRequest>),
    Explain(Origin, oneshot::Sender<String>),
    /// The app has asked for an HTTPS record.
    RecordExpected(Origin),
    /// The app's resolver has answered.
    HttpsRecord(Origin, Option<H3Record>),
    Disconnect(oneshot::Sender<()>),
    CloseIdle,
    ForgetSessions,
    Save(oneshot::Sender<()>),
    Event(Event),
    Run(Pin<Box<dyn Future<Output = ()> + Send>>),
    End,
}

/// A request for the engine to send.
pub(crate) struct Submission {
    pub(crate) id: CallId,
    pub(crate) asked: Instant,
    pub(crate) outbound: OutboundRequest,
    pub(crate) reply: oneshot::Sender<Result<Response, Error>>,
}

/// The end of a request whose response may have come over several connections.
pub(crate) struct EndedRequest {
    pub(crate) origin: Origin,
    pub(crate) method: Method,
    pub(crate) status: Option<StatusCode>,
    pub(crate) label: Option<String>,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
    pub(crate) report: Option<Report>,
    pub(crate) asked: Instant,
    pub(crate) outcome: Outcome,
}

/// A request for a connection.
pub(crate) struct ConnectRequest {
    pub(crate) id: CallId,
    pub(crate) asked: Instant,
    pub(crate) origin: Origin,
    pub(crate) policy: Policy,
    pub(crate) reply: oneshot::Sender<Result<Connected, Error>>,
}

/// An event that a task reports.
pub(crate) enum Event {
    Resolved {
        query: QueryId,
        answer: Option<DnsAnswer>,
        at: Instant,
    },
    FirstPacket {
        conn: ConnId,
        rtt: Duration,
        at: Option<Instant>,
    },
    /// Its handshake is not done, but it takes requests that may be sent early.
    Early {
        conn: ConnId,
        opened: Box<Opened>,
    },
    Opened {
        conn: ConnId,
        opened: Box<Opened>,
    },
    /// It takes no more requests.
    GoAway(ConnId),
    /// Its peer closed it without an error.
    Finished(ConnId),
    /// It may take another request, after it had no room for one.
    Room(ConnId),
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
