//! A model of an access link: packets and virtual time in, packets and a deadline out. It has no
//! clock, socket, thread, file or global random source; `crates/lab/pump` carries real packets through
//! it.
//!
//! # The life of a packet
//!
//! A [`Network`] is parsed from TOML and gives one [`PathSpec`] for each [`Direction`], and a
//! [`Path`] is built from that. The caller has a frame and its time of arrival in nanoseconds. It
//! passes both as a [`Packet`]: no payload, only the properties that decide its fate, and a `token`
//! by which the caller recognises it later.
//!
//! The packet carries the number of its flow, which a [`FlowTable`] assigns in order of opening, the
//! same in both directions. [`Path::offer`] first gives the packet a ticket: the number of its flow,
//! whether it is full-size (more than 1000 bytes), and its number among such packets of the flow.
//! Every random draw for a packet is a function of this ticket, the seed and the purpose of the draw;
//! there is no state. (Fades and jitter come and go by the clock, the same for all packets.) These are
//! common random numbers: the tenth full-size packet of a flow gets the same draws in every arm of a
//! comparison. A second flow, one more acknowledgement, a stray ARP or one more stage shifts no
//! other packet's draws. A packet without a flow number gets no ticket: it waits and queues
//! like the rest, but is never lost at random. Such are packets that are neither TCP nor UDP and,
//! in a cell, those of connections from before its window ([`FlowRule::Opening`]).
//!
//! Then the packet goes through the stages that its direction asks for, always in this order:
//!
//! 1. *policy*: the operator blocks or polices UDP, from some moment on;
//! 2. *bottleneck*: a queue in front of a constant rate or a trace of delivery opportunities. It
//!    drops arrivals while it is full; with CoDel or FQ-CoDel ([`AqmSpec`]) it drops packets sooner.
//!    A gate closes for outages and handovers: service then stops, and the queue is either kept, and
//!    fills further, or flushed;
//! 3. *loss*, after the queue because packets lost on the radio have used the link: each packet
//!    independently, in fades by the clock, or in runs of packets;
//! 4. *delay* and jitter, which follows the clock and so keeps the order;
//! 5. *reorder*, only if the direction asks for it.
//!
//! A network may have [`Handovers`]: at their times both directions close for a while, and the delay is another one
//! afterwards.
//!
//! A network may have a [`Radio`], which both directions share and which sleeps when no packet comes. Packets from the phone
//! meet it first. Packets to the phone meet it after policy and delay, which are then between the server and the radio.
//!
//! [`Path::poll`] returns how the packet left: [`Departure::Deliver`] or [`Departure::Drop`] with
//! its cause, each token exactly once. Its ideal time, `at_ns`, follows from arrival times alone, in
//! integers, whenever the caller polls: a late wake-up delays one packet and leaves no trace in the
//! model. (With [`AqmSpec`] the caller first offers what has arrived, see [`Path::poll`].)
//! [`Path::next_deadline`] is the time of the next delivery, not of the next event inside.
//! A lone packet thus costs one wake-up and not one per stage, and a second where a queue is managed.
//!
//! Traces, gates, handovers, policies, fades and jitter run on virtual time from an origin: [`Path::start`], or the
//! first packet. Rates and queues count IP bytes. At any moment [`Path::counters`] satisfies
//! offered = delivered + dropped + queued.
//!
//! A network may have a NAT that drops its mappings ([`NatTable`]). It stands outside the paths,
//! between the up direction's end and the server: the caller rewrites ports, and goes on to name
//! flows by the client's own.
//!
//! # What a link shows
//!
//! [`tap`] and [`window`] are plain data: the packets that reached a link, and the figures of a window. `crates/lab/pump`
//! fills them; `crates/lab/proof` checks a driver's rows against them.
//!
//! # Extending it
//!
//! A stage is one new file in `src/stage/` and edits to `stage/mod.rs` and `spec.rs`
//! (`docs/how-to/add-a-stage.md`). A network is one new file in `networks/` (`docs/how-to/add-a-network.md`).

#![forbid(unsafe_code)]

mod closings;
mod flows;
mod gate;
mod handover;
mod model;
mod nat;
mod network;
mod path;
mod radio;
mod rng;
mod spec;
mod stage;
mod table;
pub mod tap;
mod tcp_options;
mod text;
mod time;
mod trace;
pub mod window;

pub use closings::OnClose;
pub use flows::{FULL_SIZE_ABOVE_BYTES, FlowNumber, FlowRule, FlowTable};
pub use gate::{Gate, GateError};
pub use handover::{HandoverError, Handovers, StationSpec};
pub use model::*;
pub use nat::{Endpoint, Mapping, NatExpiry, NatSpec, NatTable, Outbound};
pub use network::{Basis, Network, NetworkError, OverrideError, Overrides, builtin, find};
pub use path::{Counters, Drops, Path};
pub use radio::{
    Begins, Radio, RadioChange, RadioError, RadioLog, RadioSpec, RadioState, RadioStateSpec,
    Technology,
};
pub use spec::*;
pub use time::NS_PER_MS;
pub use trace::{Trace, TraceError, TracePlace};
