//! The interface of a client library: everything that differs between drivers.

use std::future::Future;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Protocol, Reconnect, Setup};

use crate::auth::Auth;
use crate::origin::Origin;
use crate::stack_error::StackError;
use crate::trace::Trace;

/// One client library, set up for one origin.
///
/// The engine calls `prepare` for each call before the run, and `connect` when a call needs a connection. It makes the
/// `call` on a connection, asks `is_usable` before the connection is used again, and calls `close` in the end. Any of
/// these futures may be dropped when a call times out.
pub trait Stack: Sized + 'static {
    /// A connection.
    type Conn: 'static;
    /// A request that can be sent.
    type Request: StepRequest;

    /// Returns what the driver is and can do.
    fn hello() -> Hello;

    /// Sets the stack up for `setup.url`, without touching the network.
    fn new(setup: &Setup) -> Result<Self, StackError>;

    /// Reports whether one connection carries all calls, concurrent ones included.
    fn shares_connection(&self) -> bool;

    /// Reports whether [`call`](Self::call) itself writes each row's connection, because it chooses one
    /// by itself.
    fn chooses_connections(&self) -> bool {
        false
    }

    /// Returns the origin that it is set up for.
    fn origin(&self) -> &Origin;

    /// Makes the request of a step that [is a call](Action::is_call).
    fn prepare(
        &self,
        id: u32,
        action: &Action,
        payload: Bytes,
    ) -> Result<Self::Request, StackError> {
        StepRequest::new(id, action, payload)
    }

    /// Checks that connections can be opened in this mode, beyond the driver's capabilities.
    fn check_mode(&self, _mode: Reconnect) -> Result<(), StackError> {
        Ok(())
    }

    /// Opens a connection and records the times of name, socket and handshake.
    fn connect(
        &self,
        mode: Reconnect,
        trace: &Trace,
    ) -> impl Future<Output = Result<Self::Conn, CallError>>;

    /// Sends a request, receives its response and records the remaining times.
    fn call(
        &self,
        conn: &Self::Conn,
        request: &Self::Request,
        trace: &Trace,
    ) -> impl Future<Output = Result<(), CallError>>;

    /// Returns what is known about a connection.
    fn conn_info(&self, conn: &Self::Conn) -> ConnInfo;

    /// Reports whether another call may be sent on the connection.
    fn is_usable(&self, conn: &Self::Conn) -> bool;

    /// Closes the connection as a well-behaved application would.
    fn close(&self, conn: Self::Conn) -> impl Future<Output = ()>;

    /// Discards all session tickets.
    fn discard_tickets(&self);

    /// Learns that the device has another default network. Only called if the driver has the capability `network`.
    fn change_network(&self, _id: u32) {}
}

/// The request of a step, which can be sent any number of times; cheap to clone.
pub trait StepRequest: Clone + 'static {
    /// Makes the request of a step that [is a call](Action::is_call). `payload` is that of a step
    /// `fetch`, of any other empty.
    fn new(id: u32, action: &Action, payload: Bytes) -> Result<Self, StackError>;

    /// Returns the request of an exchange or a submission with its message as the body. A submission
    /// in chunks has any number of messages, everything else one.
    fn with_messages(&self, codec: messages::Codec, messages: Vec<Bytes>) -> Self;

    /// Returns the request with its proof of who sends it.
    fn with_proof(&self, auth: &Auth, origin: &Origin) -> Self;
}

/// What is known about a connection, for the row of every call on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnInfo {
    /// The client's port.
    pub local_port: u16,
    /// The negotiated protocol.
    pub protocol: Protocol,
    /// Whether the handshake resumed a TLS session.
    pub resumed: bool,
}
