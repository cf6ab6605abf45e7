//! Connections, requests and origins as the router keeps them: values, no sockets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use crate::event::{
    CallId, ConnId, NetworkId, Origin, Policy, Protocol, QueryId, RequestTraits, Transport,
};
use crate::knowledge::OriginDigest;
use crate::path_monitor::PathMonitor;
use crate::race::{Race, RaceMode};
use crate::reason::Reason;
use crate::time::MonotonicTime;

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Conn {
    pub(crate) origin: Origin,
    pub(crate) network: NetworkId,
    pub(crate) over: Transport,
    pub(crate) address: IpAddr,
    pub(crate) state: ConnState,
    /// Whether it may move to another path.
    pub(crate) migrates: bool,
    /// Whether it had no room for a request, and nothing has changed since.
    pub(crate) full: bool,
    pub(crate) opened: MonotonicTime,
    /// When the peer was last known to have sent something.
    pub(crate) last_received: Option<MonotonicTime>,
    /// When its last request left it while it was silent.
    pub(crate) left_silent: Option<MonotonicTime>,
    /// The first RTT.
    pub(crate) rtt: Option<Duration>,
    pub(crate) calls: BTreeSet<CallId>,
    /// Requests that were sent on it and that its peer may count, and those that it answered.
    pub(crate) sent: u32,
    pub(crate) answers: u32,
    /// How many requests its peer answers, if it seems to have such a limit.
    pub(crate) quota: Option<u32>,
    pub(crate) monitor: PathMonitor,
    /// Whether a sample was asked for and has not come.
    pub(crate) sampling: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnState {
    Opening,
    /// Like `Opening`, but takes requests that may be sent early.
    Early,
    Ready(Protocol),
    /// Takes no more requests.
    Draining,
}

impl ConnState {
    pub(crate) fn is_opening(self) -> bool {
        matches!(self, Self::Opening | Self::Early)
    }
}

impl Conn {
    /// Reports whether the connection leads to this origin over this transport.
    pub(crate) fn is_of(&self, origin: &Origin, over: Transport) -> bool {
        self.origin == *origin && self.over == over
    }

    /// Reports whether the connection is ready and uses this version of HTTP.
    pub(crate) fn uses(&self, protocol: Protocol) -> bool {
        self.state == ConnState::Ready(protocol)
    }

    /// Reports whether the connection can take another request now.
    pub(crate) fn is_free(&self) -> bool {
        let has_room = match self.state {
            ConnState::Ready(Protocol::H1) => self.calls.is_empty(),
            ConnState::Ready(_) => true,
            ConnState::Opening | ConnState::Early | ConnState::Draining => false,
        };
        has_room && !self.full && !self.is_spent() && !self.monitor.is_silent()
    }

    /// Records that a response arrived on the connection. Returns whether the connection was silent.
    pub(crate) fn record_response(&mut self, now: MonotonicTime) -> bool {
        let was_silent = self.monitor.is_silent();
        self.monitor.packet_arrived(now);
        self.last_received = Some(now);
        was_silent
    }

    /// Reports whether the connection works: it is open, and nothing that it owes is late.
    pub(crate) fn is_alive(&self) -> bool {
        !self.state.is_opening() && !self.monitor.is_silent()
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) origin: Origin,
    pub(crate) traits: RequestTraits,
    /// Whether it ends once it has a connection, and nothing is sent.
    pub(crate) only_connects: bool,
    /// Where it was sent and is not withdrawn.
    pub(crate) copies: Vec<RequestCopy>,
    /// Whether the app has the head of a response.
    pub(crate) delivered: bool,
    /// Whether the rest of the body can be asked for on another connection.
    pub(crate) resumable: bool,
    /// Whether a copy may have reached the server.
    pub(crate) may_have_acted: bool,
    /// How often it was sent again where it may have acted, or over another connection, too.
    pub(crate) retries: u8,
    /// How often in a row its peer did not take it, while the origin answered nothing else.
    pub(crate) refusals: u8,
    /// The origin's answers when it was last refused.
    pub(crate) answers_seen: u64,
    /// Since when no connection to its origin can be opened.
    pub(crate) failing_since: Option<MonotonicTime>,
    /// When it is sent over TCP, too, unless HTTP/3, which is on probation, has answered.
    pub(crate) hedge_at: Option<MonotonicTime>,
    /// The policy that it had before it failed over HTTP/3 and was to take TCP.
    pub(crate) before: Option<Policy>,
    /// The network on which it failed over HTTP/3, so that it takes TCP now.
    pub(crate) left_quic: Option<NetworkId>,
    /// Whether its time is a sample for the estimates: the request was sent at once, only once, and beside no other.
    pub(crate) is_sample: bool,
    pub(crate) reason: Reason,
}

impl Call {
    /// Reports whether the request is on this connection and on no other.
    pub(crate) fn is_only_on(&self, conn: ConnId) -> bool {
        matches!(self.copies[..], [copy] if copy.conn == conn)
    }
}

/// A request on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestCopy {
    pub(crate) conn: ConnId,
    /// On which it is; the connection may be gone before its requests fail.
    pub(crate) network: NetworkId,
    pub(crate) over: Transport,
    pub(crate) sent: MonotonicTime,
    pub(crate) head: Option<MonotonicTime>,
    /// Whether its connection, which had answered others, was closed without an error.
    pub(crate) cut_off: bool,
    /// Whether it was sent to learn how fast this transport is.
    pub(crate) explores: bool,
    /// Whether nothing else shared its connection when it was sent.
    pub(crate) is_alone: bool,
}

impl RequestCopy {
    /// Reports whether its time counts even if another copy was sent later.
    pub(crate) fn teaches(&self) -> bool {
        self.explores && self.is_alone
    }
}

/// The state of an origin that has a lookup, a race, a pause or waiting requests.
#[derive(Clone, Debug)]
pub(crate) struct OriginState {
    pub(crate) digest: OriginDigest,
    /// Requests that wait for a connection.
    pub(crate) waiting: VecDeque<CallId>,
    pub(crate) lookup: Option<DnsLookup>,
    pub(crate) races: Vec<OriginRace>,
    /// Of requests with each policy.
    pub(crate) backoffs: BTreeMap<Policy, Backoff>,
}

/// When to try again to open a connection to an origin that answered not long ago: its server may be starting again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    pub(crate) times: u8,
    pub(crate) until: Option<MonotonicTime>,
}

/// DNS queries before a race.
#[derive(Clone, Debug)]
pub(crate) struct DnsLookup {
    pub(crate) addresses_query: QueryId,
    pub(crate) https_query: Option<QueryId>,
    /// The addresses, and until when to wait for the HTTPS record.
    pub(crate) found: Option<(Vec<IpAddr>, MonotonicTime)>,
    /// The purposes of the addresses: a race each.
    pub(crate) purposes: Vec<RacePurpose>,
}

/// The purpose of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RacePurpose {
    /// Requests that wait, the first of them with this policy.
    Calls(Policy),
    /// A connection over this transport beside one that fell silent, for the requests there and for those that come.
    Rescue(Transport),
    /// A second connection over this transport, to learn how fast it is.
    Learning(Transport),
}

/// A race of an origin.
#[derive(Clone, Debug)]
pub(crate) struct OriginRace {
    pub(crate) race: Race,
    pub(crate) purpose: RacePurpose,
    pub(crate) network: NetworkId,
    /// QUIC failed with this weight, and whether the peer ever answered; not yet judged.
    pub(crate) quic_failure: Option<(u8, bool)>,
}

impl OriginState {
    pub(crate) fn new(digest: OriginDigest) -> Self {
        let (waiting, races, backoffs) = Default::default();
        Self {
            digest,
            waiting,
            lookup: None,
            races,
            backoffs,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.lookup.is_none() && self.races.is_empty()
    }

    /// Reports whether a lookup, a race or a pause may give a request with this policy a connection.
    pub(crate) fn serves(&self, policy: Policy) -> bool {
        let pauses = |backoff: &Backoff| backoff.until.is_some();
        self.backoffs.get(&policy).is_some_and(pauses) || self.opens_for(policy)
    }

    /// Reports whether a lookup or a race is under way that may give a request with this policy a connection.
    pub(crate) fn opens_for(&self, policy: Policy) -> bool {
        let serves = |purpose: &RacePurpose| match purpose {
            RacePurpose::Calls(of) => {
                *of == policy || *of == Policy::Adaptive && policy == Policy::Race
            }
            RacePurpose::Rescue(_) | RacePurpose::Learning(_) => false,
        };
        let lookup = self.lookup.as_ref();
        let looks = lookup.is_some_and(|lookup| lookup.purposes.iter().any(serves));
        looks || self.races.iter().any(|race| race.serves(policy))
    }
}

impl OriginRace {
    pub(crate) fn serves(&self, policy: Policy) -> bool {
        let open = self.race.winner.is_none();
        match policy {
            Policy::H3 => self.race.tries(Transport::Quic),
            Policy::H2 => open && self.race.tries(Transport::Tcp),
            Policy::H1 => open && self.purpose == RacePurpose::Calls(Policy::H1),
            Policy::Adaptive | Policy::Race => {
                // One lane that is left of a pinned race would do, but TCP must be beside QUIC. Nor is there a
                // reason to wait for TCP alone where it opens only to learn.
                let learns = matches!(self.purpose, RacePurpose::Learning(_));
                open && !learns && self.race.mode != RaceMode::Only(Transport::Quic)
            }
        }
    }
}
