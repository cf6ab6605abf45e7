//! The emulated access link as a model: packets and virtual time in, packets and a deadline out.
//! It has no clock, socket, thread, file or global random source; `crates/pump` carries real
//! packets through it.
//!
//! # The life of a packet
//!
//! A [`Network`] is read from TOML and gives one [`Path`] for each [`Direction`]. The caller has a
//! frame, and the time in nanoseconds at which it arrived. It hands both over as a [`Packet`]:
//! no bytes, only what decides its fate, and a `token` to know it by afterwards.
//!
//! [`Path::offer`] first gives the packet a ticket: which flow it belongs to, counted in order of
//! appearance, and which packet of that flow it is. Every random draw is keyed by this ticket, the seed and
//! the purpose of the draw, and keeps no state. So the tenth packet of a flow meets the same draws
//! in every arm of a comparison; a second flow, a stray ARP or one more stage shift nobody's. What
//! is neither TCP nor UDP gets no ticket: it crosses, waits and queues like the rest, but is never
//! lost by chance.
//!
//! Then the packet goes through the stages its direction asks for, always in this order:
//!
//! 1. *policy*: the operator blocks or polices UDP, from some moment on;
//! 2. *bottleneck*: a drop-tail queue in front of a constant rate or a trace of opportunities. The
//!    gate closes for outages and handovers: meanwhile the rate stands still, and the queue is kept
//!    and goes on filling, or is flushed;
//! 3. *loss*, behind the queue, since what the radio loses has used the link: each packet alone, in
//!    fades by the clock, or in runs of packets;
//! 4. *delay* and jitter, in order;
//! 5. *reorder*, only where it is asked for.
//!
//! [`Path::poll`] tells the end: [`Departure::Deliver`] or [`Departure::Drop`] with its cause, each
//! token exactly once. `at_ns` is the ideal time. It follows from arrival times alone, in integers,
//! whenever the caller gets to poll: a late wake-up makes one packet late and leaves no trace in
//! the model. [`Path::next_deadline`] is when the next packet can leave, not when something moves
//! inside, so a sparse packet costs one wake-up and not one a stage.
//!
//! Traces, gates, policies and fades run on virtual time from an origin: [`Path::start`], or the
//! first packet. Rates and queues count IP bytes. At any moment, for [`Path::counters`]:
//! offered = delivered + dropped + queued.
//!
//! # Growing
//!
//! A stage is a file in `src/stage/` and a line in its table (`docs/new-stage.md`). A network is a
//! file in `networks/` and nothing else (`docs/networks.md`).

#![forbid(unsafe_code)]

mod flows;
mod gate;
mod model;
mod network;
mod path;
mod rng;
mod spec;
mod stage;
mod trace;

pub use gate::{Gate, GateError, OnClose};
pub use model::*;
pub use network::{Network, NetworkError, OverrideError, Overrides, builtin, find};
pub use path::{Counters, Drops, Path};
pub use spec::*;
pub use trace::{Trace, TraceError};
