//! The client's routing policy: which connection a request takes.
//!
//! The [`Router`] receives events ([`Event`]) with their time ([`MonotonicTime`]) and returns commands ([`Command`]).
//! It opens nothing, sends nothing and reads no clock. So the same events give the same commands on any machine, and a
//! test can simulate years.
//!
//! # What it decides
//!
//! | question | by | modules |
//! |---|---|---|
//! | Is a connection open that can take the request? | it always beats opening one | `choice`, `room` |
//! | QUIC, TCP, or both, and how much later the second? | what is known of HTTP/3 to this origin on this network, and the RTT | `race_policy`, `race`; carried out by `opening`, `attempts` |
//! | Both are open: which? | what was learnt from requests before: *faster*, *slower*, *no difference*, *cannot tell* | `choice`, `learn` |
//! | Is HTTP/3 broken here? | failures while TCP works | `h3_status` |
//! | Does a long body come too slowly? | its rate, and a part of it over the other transport | `rate_monitor` |
//! | How many requests does the server take on a connection? | closed connections over HTTP/3 | `quota` |
//! | Is this connection dead? | a packet that must be acknowledged was not | `path_monitor`, `paths` |
//! | May the request be sent again? | if the peer cannot have acted, or acting twice does no harm | `resend`; while a copy is under way `paths` and `unanswered`; to a server that restarts `restart` |
//!
//! The caller reports with each failure whether the peer can have acted ([`Replay`]).
//!
//! # A race
//!
//! Only where no connection is open that can take the request. Each transport has a lane that tries the origin's
//! addresses in turn, 250 ms apart, the families alternating (draft-ietf-happy-happyeyeballs-v3):
//!
//! | what is known | QUIC | TCP |
//! |---|---|---|
//! | HTTP/3 is not offered, broken, or switched off; UDP is blocked | - | at once |
//! | HTTP/3 is offered, and not whether UDP passes | at once | 10 ms later |
//! | HTTP/3 worked here, or UDP does | at once | 1.5 RTT later, at least 100 ms, at most 2 s |
//! | TCP was learnt to open faster | as much later | at once |
//! | HTTP/3 failed, and may be tried again | 10 ms later | at once |
//!
//! A lane whose last attempt fails lets the other one begin at once. An attempt that a peer has answered puts the next
//! ones off by an RTT. The first connection that is ready takes the requests that wait. A TCP attempt that lost is
//! given up. A QUIC attempt that lost goes on for up to 10 s, because it may still be of use. A certificate that is
//! refused ends the race.
//!
//! # HTTP/3 to an origin on a network
//!
//! ```text
//! unknown --hint, HTTPS record, Alt-Svc--> untried
//! untried --ready--> works
//! untried, works --failed or silent, and TCP works--> broken (1 s, 4 s if refused, 16 s if silent; up to 300 s)
//! untried, works --failed, and TCP failed, too--> as before: the network is at fault
//! works --two requests in a row failed--> broken
//! broken --time passes--> on probation: TCP first, QUIC beside it
//! on probation --a whole response--> works
//! on probation --failed--> broken, for twice as long
//! ```
//!
//! The page `docs/reference/client-states.md` of the project has the tables of all states, which a test walks.
//!
//! # Silence
//!
//! A connection is probed if it owes a response and nothing arrives for half a second, or two probe time-outs (RFC
//! 9002) if longer. The peer must acknowledge the probe. If nothing arrives for as long again the connection is
//! *silent*. It takes no more requests, and is [nudged](Command::Nudge) every second at first, then less often. Its
//! requests that may be repeated are hedged over another connection, one in twenty and one more. Once a hedge is
//! answered all of them go there, and bodies that can be resumed fail so that their readers ask for the rest. A peer
//! that answers the probe is merely slow, and is probed again after 1, 2, 4, 8 and every 15 s. TCP is suspected only
//! while its peer [owes](PathSample::owed) an acknowledgement.
//!
//! # Learning
//!
//! For each origin, network and [class](ComparisonClass) the router compares ln(time) over both transports, less that
//! of the request's kind. Requests count half after 32 later ones or 15 minutes. The verdict is *faster* if the whole
//! one-sided 95 % interval lies beyond 5 % and 5 ms. It is *no difference* if the interval lies within, else *cannot
//! tell*. To learn, the router opens the second connection after three requests. It sends five small requests there and
//! then ever fewer, or one in eight of 32 to 256 KiB. Requests that are larger, urgent or must not be repeated are
//! never sent there to learn, and none are where data is metered. Large bodies are compared within one body: see
//! [`RateMonitor`].
//!
//! # Bounds
//!
//! | of | at most |
//! |---|---|
//! | requests at a time | [`MAX_CALLS`] |
//! | connections; to one origin over HTTP/1.1, with long responses, over HTTP/2 and HTTP/3 each | [`MAX_CONNS`]; [`MAX_H1_CONNS`], [`MAX_LONG_H1_CONNS`], [`MAX_SHARED_CONNS`] |
//! | requests on a connection over HTTP/3, for 60 s after the origin closed one with H3_NO_ERROR and cut off four requests | as many as it answered there, if at least 8 |
//! | networks, origins on a network, offers, kinds of one | 32, 256, 64, 32 |
//! | sends of a request that its origin may have acted on; that it refuses while it answers nothing else | 3; 4 |
//! | bytes of the memory file | [`MAX_MEMORY_BYTES`] |
//!
//! # Use
//!
//! ```
//! use route::{CallId, Command, Config, Event, MonotonicTime, Origin, Policy, RequestTraits, Router};
//!
//! let mut router = Router::new(Config::default());
//! let origin = Origin::new("api.example", 443);
//! let traits = RequestTraits {
//!     replayable: true,
//!     resends: true,
//!     bytes: None,
//!     kind: 1,
//!     urgent: false,
//!     early: false,
//!     policy: Policy::Adaptive,
//! };
//! let call = Event::Call { id: CallId(1), origin: &origin, traits };
//! router.handle(call, MonotonicTime::from_ns(0));
//! assert!(matches!(router.poll(), Some(Command::Resolve { .. })));
//! assert_eq!(router.poll(), None);
//! ```

#![forbid(unsafe_code)]

pub mod alt_svc;
mod attempts;
mod bounds;
mod calls;
mod choice;
mod circuit_breaker;
mod command;
mod conn;
mod event;
mod explain;
mod feedback;
mod h3_status;
mod knowledge;
mod learn;
mod lookup;
mod memory;
mod opening;
mod path_monitor;
mod paths;
mod quota;
mod race;
mod race_policy;
mod rate_monitor;
mod reason;
mod resend;
mod restart;
mod room;
mod router;
mod switches;
mod time;
mod unanswered;

pub use command::{Command, DnsRecords};
pub use event::{
    CallId, ConnId, DnsAnswer, Event, Fault, H3Record, Network, NetworkId, NetworkKind, Origin,
    PathSample, Policy, Protocol, QueryId, Replay, RequestTraits, Transport,
};
pub use learn::ComparisonClass;
pub use lookup::RESOLUTION_DELAY;
pub use memory::{MAX_MEMORY_BYTES, RecallOutcome};
pub use rate_monitor::{MAX_AHEAD_BYTES, RateAdvice, RateMonitor};
pub use reason::Reason;
pub use router::{
    Config, MAX_CALLS, MAX_CONNS, MAX_H1_CONNS, MAX_LONG_H1_CONNS, MAX_SHARED_CONNS, Router,
};
pub use switches::Switches;
pub use time::{MonotonicTime, WallSeconds};
