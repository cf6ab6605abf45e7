//! What a response's way was.

use std::sync::{Arc, Mutex, PoisonError};

use route::{Protocol, Why};

/// How a request fares, for those who want to know even if it has no response.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Option<Report>>>);

impl Progress {
    /// Returns the report so far; nothing before the request was sent.
    pub fn report(&self) -> Option<Report> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set(&self, report: Report) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }
}

/// How a response came.
#[derive(Clone, Debug)]
pub struct Report {
    /// The version of HTTP that was spoken.
    pub protocol: Protocol,
    /// Why this connection.
    pub why: Why,
    /// The connection's number in this engine.
    pub connection: u64,
    /// Whether the connection was open before the request was asked for.
    pub reused: bool,
    /// Whether its handshake resumed a TLS session.
    pub resumed: bool,
    /// The connection's local port.
    pub local_port: u16,
    /// How often the request was sent.
    pub attempts: u32,
    /// How often the rest of the body was asked for on another connection.
    pub resumed_bodies: u32,
    /// When what happened, in ns after the request was asked for.
    pub phases: Phases,
}

impl Report {
    /// Takes over where the rest of the body comes from.
    pub(crate) fn resume(&mut self, rest: &Self) {
        let (attempts, phases) = (self.attempts + rest.attempts, self.phases);
        let resumed_bodies = self.resumed_bodies + 1;
        *self = Self {
            attempts,
            phases,
            resumed_bodies,
            ..rest.clone()
        };
    }
}

/// When what happened, in ns after the request was asked for. What was done before the request
/// was asked for, e.g. opening a connection that is reused, is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// The name was resolved.
    pub dns_ns: Option<u64>,
    /// TCP was connected.
    pub connect_ns: Option<u64>,
    /// The handshake was done.
    pub tls_ns: Option<u64>,
    /// The request was handed to the transport.
    pub request_sent_ns: Option<u64>,
    /// The head of the response came.
    pub first_byte_ns: Option<u64>,
}
