use std::collections::BTreeSet;

use driver::protocol::{Clock, Protocol, Row};
use link::tap::TapRecord;
use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent};

use crate::cell::measured::Measured;
use crate::cell::refusals;

/// Everything known about a measured trial: the driver's rows, the server's log, the packets.
pub(super) struct Evidence<'a> {
    pub(super) rows: &'a [Row],
    pub(super) requests: Vec<&'a RequestEvent>,
    pub(super) connections: Vec<&'a ConnectionEvent>,
    /// What the server refused first, in words.
    pub(super) refused: Option<String>,
    pub(super) tap: &'a [TapRecord],
    /// CLOCK_MONOTONIC when the driver was sent its steps.
    pub(super) run_ns: u64,
    /// Whether the driver's times are CLOCK_MONOTONIC too.
    pub(super) monotonic: bool,
    pub(super) protocol: Protocol,
}

impl<'a> Evidence<'a> {
    pub(super) fn new(measured: &'a Measured, protocol: Protocol) -> Evidence<'a> {
        let mut evidence = Evidence {
            rows: &measured.rows,
            requests: Vec::new(),
            connections: Vec::new(),
            refused: refusals::first(&measured.log),
            tap: &measured.tap,
            run_ns: measured.started_ns,
            monotonic: measured.clock == Clock::Monotonic,
            protocol,
        };
        for event in &measured.log {
            match event {
                ServerEvent::Request(request) => evidence.requests.push(request),
                ServerEvent::Connection(connection) => evidence.connections.push(connection),
                ServerEvent::Refused(_) | ServerEvent::Closed(_) => {}
            }
        }
        evidence
    }

    pub(super) fn row(&self, id: u32) -> Result<&'a Row, String> {
        let found = self.rows.iter().find(|row| row.id == id);
        found.ok_or_else(|| format!("no row for call {id}"))
    }

    /// Returns the last request with this call's id.
    pub(super) fn request(&self, id: u32) -> Result<&'a RequestEvent, String> {
        let found = self.requests.iter().rfind(|r| r.id == Some(id));
        found
            .copied()
            .ok_or_else(|| format!("the server saw no call {id}"))
    }

    pub(super) fn connection(&self, number: u64) -> Result<&'a ConnectionEvent, String> {
        let found = self.connections.iter().find(|c| c.connection == number);
        found
            .copied()
            .ok_or_else(|| format!("the server saw no handshake of its connection {number}"))
    }

    /// Returns the connection that carried this call.
    pub(super) fn connection_of(&self, id: u32) -> Result<&'a ConnectionEvent, String> {
        self.connection(self.request(id)?.connection)
    }

    /// Returns the server's numbers of the connections that carried requests.
    pub(super) fn used_connections(&self) -> BTreeSet<u64> {
        self.requests.iter().map(|r| r.connection).collect()
    }
}
