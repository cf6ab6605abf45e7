//! Inputs of the router.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::switches::Switches;

/// Where requests go: the host and port of an `https` URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// Host name in lower case, or an IP address.
    pub host: Arc<str>,
    /// TCP port of the URL.
    pub port: u16,
}

/// A request, from when it is asked for until it ends. The caller numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// A connection, from the first packet of the attempt to open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// A DNS query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u64);

/// A network as the platform distinguishes networks, e.g. by a digest of operator or gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkId(pub [u8; 16]);

/// The kind of a network, for monitoring. No decision depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkKind {
    /// Not reported, or none of the others.
    #[default]
    Other,
    /// Wi-Fi.
    Wifi,
    /// 2G to 5G.
    Cellular,
    /// A cable.
    Ethernet,
}

/// A network that the device uses by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The network.
    pub id: NetworkId,
    /// What it is.
    pub kind: NetworkKind,
    /// Whether data costs money there; nothing is opened just to learn.
    pub metered: bool,
}

/// TCP or QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// HTTP/3.
    Quic,
    /// HTTP/2 or HTTP/1.1.
    Tcp,
}

/// The version of HTTP on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// One request at a time.
    H1,
    /// RFC 9113.
    H2,
    /// RFC 9114.
    H3,
}

/// How a request may be routed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// By the estimates learnt from earlier requests.
    #[default]
    Adaptive,
    /// By races alone: whichever connection is ready first, and HTTP/3 if both are.
    Race,
    /// HTTP/3 only.
    H3,
    /// TCP only.
    H2,
    /// HTTP/1.1 only.
    H1,
}

/// The traits of a request that decide its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTraits {
    /// Whether it may be sent twice: an idempotent method (RFC 9110 section 9.2.2), or an
    /// `Idempotency-Key`, and a body that can be produced again.
    pub replayable: bool,
    /// Whether it may be sent again at all, also where the peer cannot have acted.
    pub resends: bool,
    /// Bytes of the larger body, if known.
    pub bytes: Option<u64>,
    /// Requests of one kind are compared with each other: a digest of the app's label, or of
    /// method and size.
    pub kind: u64,
    /// Whether it must not be used to learn.
    pub urgent: bool,
    /// Whether the request may be sent before a handshake is done. An attacker on the path may then replay it (RFC
    /// 8470). Such a request is a GET, HEAD or OPTIONS without a body, and the app allows it.
    pub early: bool,
    /// How it may be routed.
    pub policy: Policy,
}

/// The answer to a DNS query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsAnswer {
    /// Addresses in the order of preference (RFC 6724); none if the name has none.
    Addresses(Vec<IpAddr>),
    /// The HTTPS record (RFC 9460), if it offers `h3`.
    H3(Option<H3Record>),
}

/// An HTTPS record that offers `h3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H3Record {
    /// UDP port.
    pub port: u16,
    /// How long the record holds; longer than a week counts as a week.
    pub ttl: Duration,
}

/// Why a connection or a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Fault {
    /// The name could not be resolved.
    #[error("the name could not be resolved")]
    Name,
    /// Refused, unreachable or silent.
    #[error("no connection")]
    Connect,
    /// A TLS alert, a version that is not supported, or a close during the handshake.
    #[error("the handshake failed")]
    Handshake,
    /// The certificate was refused. No other route is tried.
    #[error("the certificate was refused")]
    Certificate,
    /// The connection broke or the request was reset.
    #[error("the connection broke")]
    Reset,
    /// The peer broke the protocol, and with it the connection.
    #[error("the peer broke the protocol")]
    Protocol,
    /// The response breaks the rules of HTTP. The request is not sent again because of it.
    #[error("the response is malformed")]
    Malformed,
    /// The request's head is larger than the peer accepts.
    #[error("the request's head is larger than the server accepts")]
    HeadTooLarge,
    /// The peer takes the request over HTTP/1.1 only (RFC 9113 section 7, RFC 9114 section 8.1).
    #[error("the server takes the request over HTTP/1.1 only")]
    Http11Required,
    /// The device has no network.
    #[error("there is no network")]
    Offline,
    /// More requests at a time than are kept.
    #[error("too many requests at a time")]
    TooMany,
}

/// Whether a request that failed may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The peer cannot have acted: nothing was written, or it said so (RFC 9113 section 8.7,
    /// RFC 9114 section 4.1.1).
    Safe,
    /// The peer cannot have acted, but the body has been read and is gone.
    BodyGone,
    /// The peer may have acted.
    MayHaveActed,
}

/// A sample of a connection's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSample {
    /// Datagrams or segments received since the connection began.
    pub received: u64,
    /// Whether something was sent that the peer must acknowledge and has not. Without that, silence says
    /// nothing about the path. QUIC can always send such a thing
    /// ([`Command::Probe`](crate::Command::Probe)); TCP's kernel sends it when it pleases.
    pub owed: bool,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Its variation.
    pub rttvar: Duration,
}

/// An input of the router.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The deadline passed.
    Time,
    /// The app set its switches.
    Switches(Switches),
    /// The default network changed, or there is none.
    Network(Option<Network>),
    /// The app wants all connections closed. Requests on them that may be sent again are.
    Disconnect,
    /// The app wants the connections closed that carry no request.
    CloseIdle,
    /// The app says that the origin supports HTTP/3 on this port.
    Hint {
        /// The origin.
        origin: &'a Origin,
        /// UDP port.
        port: u16,
    },
    /// The app's resolver has an HTTPS record that offers `h3`.
    HttpsRecord {
        /// The origin.
        origin: &'a Origin,
        /// The record.
        record: H3Record,
    },
    /// A request.
    Call {
        /// Not yet in use.
        id: CallId,
        /// Where to.
        origin: &'a Origin,
        /// Its traits.
        traits: RequestTraits,
    },
    /// A connection is wanted for the requests that will come; answered by
    /// [`Command::Connected`](crate::Command::Connected).
    Connect {
        /// Not yet in use; it ends as a request does.
        id: CallId,
        /// Where to.
        origin: &'a Origin,
        /// Over what.
        policy: Policy,
    },
    /// The app no longer waits.
    Cancel(CallId),
    /// A limit that the app set passed.
    TimedOut(CallId),
    /// A name server answered; `None` if it failed.
    Resolved {
        /// The question.
        query: QueryId,
        /// The answer.
        answer: Option<DnsAnswer>,
    },
    /// The peer's first packet arrived: TCP is connected, or QUIC's handshake continues.
    FirstPacket {
        /// The connection.
        conn: ConnId,
        /// From the first packet sent until then.
        rtt: Duration,
    },
    /// A session is being resumed: requests that may be sent early can be, before the handshake is done.
    /// Those that the server does not take fail by [`Event::Failed`] with [`Replay::Safe`], after `Ready`.
    Early(ConnId),
    /// The handshake is done, the certificate accepted, and the protocol agreed on.
    Ready {
        /// The connection.
        conn: ConnId,
        /// The version of HTTP that it uses.
        protocol: Protocol,
        /// Whether it may move to another path (RFC 9000 section 9): never over TCP.
        migrates: bool,
    },
    /// A connection failed to open, broke or was closed. Calls on it fail by their own events.
    Closed {
        /// The connection.
        conn: ConnId,
        /// Why.
        fault: Fault,
    },
    /// The peer takes no more requests on it.
    GoAway(ConnId),
    /// The peer closed the connection without an error. Calls on it fail by their own events.
    Finished(ConnId),
    /// The connection could not take a request, and nothing of the request was sent. The peer's limit is reached, or
    /// bodies that nobody reads hold its window.
    Full {
        /// The request.
        call: CallId,
        /// The connection.
        conn: ConnId,
    },
    /// A connection that was full may take another request.
    Room(ConnId),
    /// The head of a response came.
    Head {
        /// The request.
        call: CallId,
        /// The connection that it came on.
        conn: ConnId,
        /// Whether the status is 421: the peer is not one for this origin (RFC 9110 section 15.5.20).
        misdirected: bool,
        /// Whether the request can be sent again as it was: the peer has not acted on one that it misdirects.
        kept: bool,
        /// The value of `Alt-Svc`, or nothing.
        alt_svc: &'a [u8],
        /// Whether another connection can send the rest of the body. The request must be a GET, and the response must
        /// have a known length, ranges (RFC 9110 section 14) and a strong validator.
        resumable: bool,
    },
    /// A response is complete.
    Done {
        /// The request.
        call: CallId,
        /// The connection that it came on.
        conn: ConnId,
        /// Bytes of the response's body.
        bytes: u64,
    },
    /// A request failed on this connection.
    Failed {
        /// The request.
        call: CallId,
        /// The connection.
        conn: ConnId,
        /// Why.
        fault: Fault,
        /// Whether the peer may have acted.
        replay: Replay,
    },
    /// The answer to [`Command::Sample`](crate::Command::Sample).
    Path {
        /// The connection.
        conn: ConnId,
        /// Its path.
        sample: PathSample,
    },
    /// The rest of a body came over both transports; this one was faster.
    Compared {
        /// The origin.
        origin: &'a Origin,
        /// The faster one.
        faster: Transport,
        /// Its rate over the other's.
        ratio: f64,
    },
    /// A request that failed in the engine succeeded in the app's own client.
    FallbackSucceeded,
}

impl Origin {
    /// Creates the origin of `https://host:port`.
    pub fn new(host: &str, port: u16) -> Self {
        let host = host.to_ascii_lowercase().into();
        Self { host, port }
    }
}

impl Transport {
    /// Both, HTTP/3's first.
    pub const ALL: [Self; 2] = [Self::Quic, Self::Tcp];

    /// Returns the other transport.
    pub const fn other(self) -> Self {
        match self {
            Self::Quic => Self::Tcp,
            Self::Tcp => Self::Quic,
        }
    }
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quic => "HTTP/3",
            Self::Tcp => "HTTP/2",
        })
    }
}
