//! What a stack must offer to be driven; all that differs between drivers.

use std::future::Future;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Protocol, Reconnect, Setup};

use crate::Trace;

/// One client library, set up for one origin.
///
/// The engine calls `prepare` for each call before the run, `connect` when a call needs a
/// connection, `carrying` within an exchange, `call` on a connection, `usable` before it is used again, and `close` in the end.
/// Any of these futures may be dropped at a time-out.
pub trait Stack: Sized + 'static {
    /// A connection.
    type Conn: 'static;
    /// A request, ready to be sent.
    type Request: 'static;

    /// Who this is and what it can do.
    fn hello() -> Hello;

    /// Sets up for `setup.url`, without touching the network.
    fn new(setup: &Setup) -> Result<Self, Refused>;

    /// One connection carries all calls, also those side by side.
    fn shares_connection(&self) -> bool;

    /// Makes the request of a step that [is a call](Action::is_call).
    fn prepare(&self, id: u32, action: &Action) -> Result<Self::Request, Refused>;

    /// The request of an exchange, with the message it is to carry.
    fn carrying(
        &self,
        request: &Self::Request,
        codec: wire::Codec,
        message: Bytes,
    ) -> Self::Request;

    /// Opens a connection; stamps name, socket and handshake.
    fn connect(
        &self,
        mode: Reconnect,
        trace: &Trace,
    ) -> impl Future<Output = Result<Self::Conn, CallError>>;

    /// Sends a request and receives its response; stamps the rest.
    fn call(
        &self,
        conn: &Self::Conn,
        request: &Self::Request,
        trace: &Trace,
    ) -> impl Future<Output = Result<(), CallError>>;

    /// What is known of a connection.
    fn facts(&self, conn: &Self::Conn) -> Facts;

    /// Whether a call may be sent on it.
    fn usable(&self, conn: &Self::Conn) -> bool;

    /// Closes it as a well-behaved application would.
    fn close(&self, conn: Self::Conn) -> impl Future<Output = ()>;

    /// Throws every session ticket away.
    fn forget(&self);
}

/// What is known of a connection, for the row of every call on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The client's port.
    pub local_port: u16,
    /// What was agreed on.
    pub protocol: Protocol,
    /// TLS resumed a session.
    pub resumed: bool,
}

/// Why a stack does not do what it was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The stack cannot; the driver is well.
    #[error("{what} is unsupported: {reason}")]
    Unsupported {
        /// What was asked.
        what: String,
        /// Why it cannot be had.
        reason: String,
    },
    /// The request makes no sense, or what it names is not there.
    #[error("{0}")]
    Failed(String),
}

impl Refused {
    /// The stack cannot do `what`.
    pub fn unsupported(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported {
            what: what.into(),
            reason: reason.into(),
        }
    }
}
