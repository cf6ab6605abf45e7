//! Where the time of a request went: the critical path through its packets.
//!
//! # The walk
//!
//! [`Crossings`] are the packets of one cell with the times at which the bottleneck sent them on. [`Crossings::path`]
//! begins where the response's last byte reached the application and goes back to the call's start. At every event
//! it takes the *binding predecessor*, the latest event that had to happen first, and charges the time between to a
//! [`Part`]:
//!
//! | event | bound by | charged to |
//! |---|---|---|
//! | the application has the byte | the delivery of the packet that completed it | client |
//! | a delivery | the packet's departure from the bottleneck | a round trip, by its reason |
//! | a departure | the packet's arrival, or the departure of the packet in front | link busy, by whose bytes, or link closed |
//! | a packet's emission | the application's write, the receipt that allowed it, or a timer | client, server, timer |
//! | the emission of bytes that were sent before and lost | the acknowledgement or the timer that told of the loss | loss recovery |
//!
//! A link that is busy is followed along its queue. A saturated link is thus charged as bytes over rate, and round
//! trips count only where the link was idle. The steps tile the request's time, so that the parts sum to it exactly.
//!
//! The method is that of Barford and Crovella, *Critical Path Analysis of TCP Transactions* (IEEE/ACM Transactions on
//! Networking 9(3), 2001), with the bottleneck seen from inside.
//!
//! # What it cannot see
//!
//! Packets are encrypted. Which of several concurrent responses a packet carries is unknown, and over QUIC which
//! bytes a packet carries: a retransmission is recognised there by a loss and a pause. Time that no rule explains is
//! [`Part::Unexplained`].

#![forbid(unsafe_code)]

mod crossings;
mod flow;
mod handshake;
mod leg;
mod loss;
mod observed;
mod packet;
mod part;
mod path;
mod queue;
mod reason;
mod receive_window;
mod request;
mod streams;
mod tls;
mod turns;
mod walk;

pub use crossings::Crossings;
pub use leg::Leg;
pub use part::{Part, Parts};
pub use path::{Path, Step};
pub use request::{Http, Request, SenderLog, SenderSample, Served};
pub use tls::{TlsPayload, end_of_tls_handshake};

#[cfg(test)]
mod tests;
