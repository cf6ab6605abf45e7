//! The client's policy: which connection a request takes.
//!
//! The [`Router`] is told what happens and when ([`Event`], [`Moment`]) and says what to do
//! ([`Command`]). It opens nothing, sends nothing and reads no clock, so the same events give the
//! same commands on any machine, and a test can let years pass.
//!
//! # What it decides
//!
//! | question | by |
//! |---|---|
//! | Is a connection open that can take the request? | it always beats opening one |
//! | QUIC, TCP, or both, and how much later the second? | what is known of HTTP/3 to this origin on this network, and the RTT |
//! | Both are open: which? | what was learnt from requests before: *faster*, *slower*, *no difference*, *cannot tell* |
//! | Has this connection died? | something that must be acknowledged had no answer |
//! | May the request be sent again? | if the peer cannot have acted, or acting twice does no harm |
//!
//! # The states of HTTP/3 to an origin on a network
//!
//! ```text
//! unknown --hint, HTTPS record, Alt-Svc--> untried
//! untried --ready--> works
//! untried, works --failed or silent, and TCP works--> broken (1 s, or 16 s if silent; up to 300 s)
//! untried, works --failed, and TCP failed, too--> as before: the network is at fault
//! broken --time passes--> on probation: TCP first, QUIC beside it
//! on probation --a response--> works
//! on probation --failed--> broken, for twice as long
//! ```
//!
//! # Use
//!
//! ```
//! use route::{Ask, CallId, Command, Config, Event, Moment, Origin, Policy, Router};
//!
//! let mut router = Router::new(Config::default());
//! let origin = Origin::new("api.example", 443);
//! let ask = Ask { replayable: true, bytes: None, kind: 1, urgent: false, early: false, policy: Policy::Adaptive };
//! let call = Event::Call { id: CallId(1), origin: &origin, ask };
//! router.handle(call, Moment::from_ns(0));
//! assert!(matches!(router.poll(), Some(Command::Resolve { .. })));
//! assert_eq!(router.poll(), None);
//! ```

pub mod alt_svc;
mod book;
mod calls;
mod command;
mod conn;
mod event;
mod explain;
mod learn;
mod lessons;
mod memory;
mod moment;
mod opening;
mod pace;
mod paths;
mod race;
mod router;
mod standing;
mod switches;
mod trials;
mod watch;
mod why;

pub use command::{Command, Records};
pub use event::{
    Answer, Ask, CallId, ConnId, Event, Fault, H3Record, Network, NetworkId, Origin, PathSample,
    Policy, Protocol, QueryId, Replay, Transport,
};
pub use learn::Class;
pub use memory::{MAX_MEMORY_BYTES, Recalled};
pub use moment::{Moment, WallSeconds};
pub use pace::{Advice, MAX_AHEAD_BYTES, Pace};
pub use router::{Config, MAX_CALLS, MAX_CONNS, MAX_H1_CONNS, Router};
pub use switches::Switches;
pub use why::Why;
