//! Commands of the router to its caller.

use std::net::SocketAddr;

use crate::event::{CallId, ConnId, Fault, Origin, QueryId, Transport};
use crate::reason::Reason;

/// The type of DNS records to query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsRecords {
    /// A and AAAA.
    Addresses,
    /// HTTPS (RFC 9460).
    Https,
}

/// An output of the router, for its caller to execute.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Resolve a name; answered by [`Event::Resolved`](crate::Event::Resolved).
    Resolve {
        /// The query's number.
        query: QueryId,
        /// The name is its host.
        origin: Origin,
        /// The type of records.
        records: DnsRecords,
        /// Whether an HTTPS record that the app has asked for is worth a wait.
        awaits_record: bool,
    },
    /// Open a connection; answered by `FirstPacket`, then `Ready` or `Closed`.
    Open {
        /// Its number.
        conn: ConnId,
        /// Whose certificate it must show.
        origin: Origin,
        /// Where to.
        address: SocketAddr,
        /// Over what.
        over: Transport,
        /// Whether not to offer HTTP/2.
        http1: bool,
        /// Whether to resume a session with early data, if there is one that allows it; then `Early` comes
        /// first.
        early: bool,
    },
    /// Close a connection, or give up opening it. Nothing is expected to answer.
    Close(ConnId),
    /// Send a request there. A second one while the first is under way is a hedge: the response
    /// that [`Command::Deliver`] names is the app's.
    Send {
        /// The request.
        call: CallId,
        /// The connection.
        conn: ConnId,
    },
    /// Give the app the response on this connection.
    Deliver {
        /// The request.
        call: CallId,
        /// The connection.
        conn: ConnId,
    },
    /// Cancel the request on this connection only.
    Withdraw {
        /// The request.
        call: CallId,
        /// The connection.
        conn: ConnId,
    },
    /// The connection that was wanted is there: the answer to [`Event::Connect`](crate::Event::Connect).
    Connected {
        /// Its number.
        call: CallId,
        /// The connection.
        conn: ConnId,
        /// The reason for this connection.
        reason: Reason,
    },
    /// The request is over, without a response.
    Fail {
        /// The request.
        call: CallId,
        /// Why.
        fault: Fault,
        /// Whether the peer may have acted on it.
        may_have_acted: bool,
    },
    /// The request ends here and falls back: the app's own client may send it.
    FallBack {
        /// The request.
        call: CallId,
        /// The reason.
        reason: Reason,
    },
    /// Answer with [`Event::Path`](crate::Event::Path).
    Sample(ConnId),
    /// Send something that the peer must acknowledge.
    Probe(ConnId),
    /// Send from a new local port, on the network that is now the default one. A middlebox may have forgotten the old
    /// port, or the old network is gone.
    Nudge(ConnId),
}
