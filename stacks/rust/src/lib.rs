//! The step engine of the Rust drivers, and the stacks it drives.
//!
//! A driver is this engine around one [`Stack`](stack::Stack). Everything that must be the same
//! for every stack is in the engine, so that a comparison compares only the stacks. The life of
//! a run:
//!
//! 1. [`serve`] reads `hello`, `setup` and `run` from the lab. The stack prepares every request
//!    of the run before the clock starts, so that making bodies is never timed.
//! 2. The [`schedule`] decides which steps may start: in order, after another, or at a time.
//! 3. An exchange first makes and encodes its message, and last decodes the response
//!    ([`exchange`]); in between, it is a call like any other.
//!    Where the setup asks for it, each request is then signed ([`auth`]).
//! 4. A call takes a connection from the pool and records its times in a
//!    [`Trace`](trace::Trace). Stacks that share one connection wait for it together; HTTP/1.1
//!    opens as many as it needs. A call that times out keeps the times recorded so far.
//! 5. A group ends with its last call. Once no call is running either, the engine digests the
//!    group's bodies, compares its messages and sends its rows: never between timed calls.
//!
//! Times are `CLOCK_MONOTONIC`, taken where the event happens. Name, socket and handshake are
//! taken as each is awaited ([`dial`]). *Request sent* is when the bytes have left TLS for the
//! socket ([`send_tracker`]). *First byte* is when the library delivers the response's head, and
//! *end* comes with the last byte. One thread does everything, so that no time depends on another core.
//!
//! Nothing is retried. A connection found closed is replaced before a call is sent on it; one
//! that breaks during a call fails the call.

#![forbid(unsafe_code)]

pub mod auth;
pub mod body;
pub mod call_error;
pub mod channel;
pub mod dial;
pub mod exchange;
pub mod origin;
pub mod request;
pub mod schedule;
pub mod send_tracker;
pub mod serve;
pub mod stack;
pub mod stack_error;
pub mod stacks;
pub mod tls;
pub mod trace;

mod coding;
mod pool;
mod response_body;
mod run;
