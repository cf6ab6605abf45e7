//! The step engine of the Rust drivers, and the stacks it drives.
//!
//! A driver is this engine around one [`Stack`]; the engine holds all that must be the
//! same for every stack, so that a comparison compares the stacks. The life of a run:
//!
//! 1. [`serve()`] reads `hello`, `setup`, `run` from the lab. The stack prepares every
//!    request of the run before the clock starts, so that making bodies is never timed.
//! 2. The [`schedule`] says which steps may start: in order, after another, or at a time.
//! 3. An exchange first makes its message and encodes it, and decodes the answer last
//!    ([`exchange`]); between, it is a call like any other.
//! 4. A call takes a connection from the pool (stacks that share one connection wait for
//!    it together, HTTP/1.1 opens as many as it needs) and leaves its stamps in a
//!    [`Trace`]. It is cut off at the time-out; what was stamped by then is kept.
//! 5. When a group's last call has ended, and no call is under way, its bodies are
//!    digested, its messages compared and its rows sent: never between timed calls.
//!
//! Times are `CLOCK_MONOTONIC`, taken where a thing happens: name, socket and handshake as
//! each is awaited ([`dial`]), *request sent* when the bytes have left TLS for the socket
//! ([`sent`]), *first byte* when the response's head is handed up, *end* with its last
//! byte. One thread does everything, so that a stamp waits for no other core.
//!
//! Nothing is retried. A connection found closed is replaced before a call is sent on it;
//! one that breaks under a call fails the call.

pub mod clock;
pub mod dial;
pub mod exchange;
pub mod failure;
pub mod request;
pub mod schedule;
pub mod sent;
pub mod serve;
pub mod stack;
pub mod stacks;
pub mod tls;
pub mod trace;

mod pool;
mod received;
mod run;

pub use serve::{Out, serve};
pub use stack::{Facts, Refused, Stack};
pub use trace::Trace;
