//! Reports: the route that a response took.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use route::{Protocol, Reason};

/// The progress of a request. It is available even if the request has no response.
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
    /// The version of HTTP that was used.
    pub protocol: Protocol,
    /// The reason for this connection.
    pub reason: Reason,
    /// The connection's number in this engine.
    pub connection: u64,
    /// Whether the connection was open before the request was asked for.
    pub reused: bool,
    /// Whether its handshake resumed a TLS session.
    pub resumed: bool,
    /// Whether the server took the request before the handshake was done (0-RTT).
    pub early_data: bool,
    /// The connection's local port.
    pub local_port: u16,
    /// How often the request was sent.
    pub attempts: u32,
    /// How often the rest of the body was asked for on another connection.
    pub resumed_bodies: u32,
    /// When the request was asked for.
    pub asked: Instant,
    /// The times of its phases, in ns after `asked`.
    pub phases: Phases,
    /// When the connection's handshake was done.
    pub(crate) ready: Option<Instant>,
}

/// A connection that is open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connected {
    /// How it was opened. Nothing was sent on it for this, so `attempts` is 0.
    pub report: Report,
    /// Whether it uses TLS 1.3; otherwise TLS 1.2.
    pub is_tls13: bool,
    /// The server's certificates in DER, its own first.
    pub chain: Vec<Vec<u8>>,
}

impl Report {
    /// Counts the opening of its connection, by [`Engine::connect`] just before, as part of the request.
    ///
    /// [`Engine::connect`]: crate::Engine::connect
    pub fn include_opening(&mut self, opening: &Self) {
        let between = self.asked.saturating_duration_since(opening.asked);
        let between = u64::try_from(between.as_nanos()).unwrap_or(u64::MAX);
        let later = |ns: Option<u64>| ns.map(|ns| ns.saturating_add(between));
        self.phases = Phases {
            request_sent_ns: later(self.phases.request_sent_ns),
            first_byte_ns: later(self.phases.first_byte_ns),
            ..opening.phases
        };
        (self.asked, self.reused) = (opening.asked, opening.reused);
    }

    /// Takes over where the rest of the body comes from.
    pub(crate) fn resume(&mut self, rest: &Self) {
        let (attempts, phases) = (self.attempts + rest.attempts, self.phases);
        let (asked, resumed_bodies) = (self.asked, self.resumed_bodies + 1);
        // A connection that was opened since the request was asked for, was opened for it.
        let was_open = rest.ready.is_none_or(|at| at < asked);
        *self = Self {
            reused: rest.reused && was_open,
            attempts,
            asked,
            phases,
            resumed_bodies,
            ..rest.clone()
        };
    }
}

/// The times of a request's phases, in ns after the request was made. Phases before that are missing, e.g. those of
/// opening a connection that is reused.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Creates the report of a part: its connection was ready at `ready`, and it was requested a second later.
    fn part(ready: Instant, reused: bool) -> Report {
        Report {
            protocol: Protocol::H2,
            reason: Reason::Opening,
            connection: 1,
            reused,
            resumed: false,
            early_data: false,
            local_port: 1,
            attempts: 1,
            resumed_bodies: 0,
            asked: ready + Duration::from_secs(1),
            phases: Phases::default(),
            ready: Some(ready),
        }
    }

    #[test]
    fn a_connection_that_was_opened_for_a_body_is_not_reused_by_its_rest() {
        let first = part(Instant::now(), true);
        let (before, after) = (Duration::ZERO, Duration::from_secs(5));
        for (ready, part_reused, reused) in [
            (before, true, true),
            (before, false, false),
            // It was opened for the body, or because its first connection was silent.
            (after, true, false),
            (after, false, false),
        ] {
            let mut report = first.clone();
            let began = first.asked - Duration::from_secs(1);
            report.resume(&part(began + ready, part_reused));
            assert_eq!(report.reused, reused, "{ready:?} {part_reused}");
            assert_eq!((report.attempts, report.resumed_bodies), (2, 1));
            assert_eq!(report.asked, first.asked);
        }
    }
}
