//! Proof without a server's log: rows are checked against the packets on the link, and against what
//! clients offered to the relay.
//!
//! Packets show the transport, when a connection was opened, and when how many bytes crossed the link.
//! A ClientHello over TCP shows which protocols its client offers: where that is one, no other can have
//! been agreed on. What was chosen among several, whether a session was resumed, early data and statuses
//! are encrypted. What packets cannot show is not taken as proven, and what they contradict fails the cell.

use driver::protocol::{Clock, Discovery, ErrorKind, Protocol, Row};
use record::server_log::Transport;
use record::{Call, CallResult, ConnectionSettings, Proof};
use study::plan::PlannedStep;

use super::timing::{check_duration, check_order, must_open};
use super::traffic::{CLOCK_TICK_NS, Socket};
use super::{Claim, Proven, check_orphans};

/// What sends downloads over TCP across the link: this host's kernel, for the relay.
const RELAY_LIBRARY: &str = "commute's relay";

/// A connection over TCP that a relay accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The client's port, as the far end saw it.
    pub port: u16,
    /// The protocols that its ClientHello offers, in its order (RFC 7301); empty if it offers none.
    pub protocols: Vec<String>,
    /// The congestion control that sends to the client, read from the socket.
    pub congestion: Option<String>,
}

/// Returns the calls, each proven as far as the packets can, or the first contradiction.
pub fn prove_by_packets(
    claim: &Claim<'_>,
    rows: &[Row],
    accepted: &[Accepted],
) -> Result<Proven, String> {
    let evidence = Evidence {
        claim,
        rows,
        accepted,
    };
    check_orphans(claim, rows, |_| false)?;
    let calls = claim.calls(rows, |row, step, call| {
        Ok(Call {
            proof: evidence.weigh(row, step)?,
            result: result(row, call.result),
            ..call
        })
    })?;
    check_order(claim, rows)?;
    Ok((calls, evidence.connections()))
}

/// Returns the claimed result, or an error where a successful call has no 2xx status. A redirect is an answer, but not
/// the one that the study asks for: nothing follows it.
fn result(row: &Row, claimed: CallResult) -> CallResult {
    let status = row.status.unwrap_or_default();
    match claimed {
        CallResult::Ok if !(200..300).contains(&status) => CallResult::Error {
            kind: ErrorKind::Status.name().to_owned(),
            detail: format!("status {status}"),
        },
        other => other,
    }
}

struct Evidence<'a> {
    claim: &'a Claim<'a>,
    rows: &'a [Row],
    accepted: &'a [Accepted],
}

impl Evidence<'_> {
    /// Returns who vouches for a row, or what contradicts it.
    fn weigh(&self, row: &Row, step: &PlannedStep<'_>) -> Result<Proof, String> {
        let (id, claim) = (row.id, self.claim);
        let Some(protocol) = row.protocol else {
            return Ok(Proof::Client);
        };
        let until_found = claim.discovery == Some(Discovery::AltSvc) && protocol == Protocol::H2;
        if protocol != claim.protocol && !until_found && !claim.decides() {
            return Err(format!(
                "call {id}: the arm asks for {}, the driver reports {}",
                claim.protocol.name(),
                protocol.name()
            ));
        }
        let failed = |e: &driver::protocol::CallError| e.kind != ErrorKind::Status;
        if row.error.as_ref().is_some_and(failed) {
            return Ok(Proof::Client);
        }
        check_duration(claim, row)?;
        let transport = transport_of(protocol);
        let (from_ns, to_ns) = match claim.clock {
            Clock::Monotonic => (row.start_ns, row.end_ns),
            Clock::Own => (0, u64::MAX - CLOCK_TICK_NS),
        };
        if !claim.traffic.has_received(transport, from_ns, to_ns) {
            return Err(format!(
                "call {id}: the driver reports {}, and received nothing over {} meanwhile",
                protocol.name(),
                name_of(transport)
            ));
        }
        let (Some(port), Clock::Monotonic) = (row.local_port, claim.clock) else {
            return Ok(Proof::Client);
        };
        let socket = Socket { transport, port };
        self.check_opening(row, step, socket)?;
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        let asked_ns = (claim.traffic).check_request(
            row,
            socket,
            "the driver had an answer",
            first_byte_ns,
        )?;
        claim.traffic.check_first_byte(row, socket, asked_ns)?;
        // A server may refuse a request before it has all of it.
        if row.error.is_none() {
            claim.traffic.check_bytes(row, socket)?;
        }
        // Whether a session was resumed is encrypted.
        let is_full = row.reused || row.resumed == Some(false);
        match self.shows(row, protocol, port)? && is_full && !row.early_data {
            true => Ok(Proof::Wire),
            false => Ok(Proof::Client),
        }
    }

    /// Checks when the connection of a row was opened.
    fn check_opening(
        &self,
        row: &Row,
        step: &PlannedStep<'_>,
        socket: Socket,
    ) -> Result<(), String> {
        let id = row.id;
        let openings = self.claim.traffic.openings(socket);
        let end_ns = row.end_ns + CLOCK_TICK_NS;
        let Some(latest) = openings.iter().rfind(|o| o.arrival_ns <= end_ns) else {
            return Err(format!(
                "call {id}: the driver claims local port {}, from which no connection over {} was opened",
                socket.port,
                name_of(socket.transport)
            ));
        };
        if !row.reused
            && self.opens_by_itself(row, step)
            && latest.arrival_ns < self.claim.traffic.earliest_since(row)
        {
            return Err(format!(
                "call {id}: the driver claims a new connection, but opened the last one from its port {} µs \
                 before its start, with packet {}",
                (row.start_ns - latest.arrival_ns) / 1000,
                latest.number
            ));
        }
        if row.reused && self.was_open(row) && latest.arrival_ns > row.start_ns + CLOCK_TICK_NS {
            return Err(format!(
                "call {id}: the driver claims a reused connection, but opened one from its port {} µs after \
                 its start, with packet {}",
                (latest.arrival_ns - row.start_ns) / 1000,
                latest.number
            ));
        }
        Ok(())
    }

    /// Returns whether a connection that a row claims to have opened can have been opened by its call alone: no
    /// other starts with it, and the client opens none beforehand.
    fn opens_by_itself(&self, row: &Row, step: &PlannedStep<'_>) -> bool {
        let claim = self.claim;
        let foresees = claim.decides() || claim.discovery.is_some();
        must_open(claim, step, row) || (step.starts_alone() && !foresees)
    }

    /// Returns whether an earlier call on a row's connection had succeeded before its start: the client then
    /// sends no more packets that open it.
    fn was_open(&self, row: &Row) -> bool {
        let earlier = |other: &&Row| other.connection == row.connection && other.error.is_none();
        let mut earlier = self.rows.iter().filter(earlier);
        earlier.any(|other| other.end_ns <= row.start_ns)
    }

    /// Returns whether packets show the protocol of a row. Over QUIC there is only one.
    fn shows(&self, row: &Row, protocol: Protocol, port: u16) -> Result<bool, String> {
        let (id, expected) = (row.id, alpn_of(protocol));
        if transport_of(protocol) == Transport::Quic {
            return Ok(true);
        }
        let Some(accepted) = self.accepted_from(port) else {
            return Ok(false);
        };
        let offered = &accepted.protocols;
        // A client that offers nothing uses HTTP/1.1.
        let may_be = offered.iter().any(|name| name == expected)
            || (offered.is_empty() && protocol == Protocol::H1);
        match may_be {
            true => Ok(offered.len() <= 1),
            false => Err(format!(
                "call {id}: the driver reports {}, its client offered only {}",
                protocol.name(),
                offered.join(", ")
            )),
        }
    }

    /// Returns the latest connection over TCP from a port.
    fn accepted_from(&self, port: u16) -> Option<&Accepted> {
        self.accepted.iter().rfind(|accepted| accepted.port == port)
    }

    /// Returns what is known of each connection, with the client's port.
    fn connections(&self) -> Vec<(ConnectionSettings, u16)> {
        let settings = |(socket, ip_version): (Socket, u8)| {
            let transport = match socket.transport {
                Transport::Tcp => "tcp",
                Transport::Quic => "quic",
            };
            let accepted = self.accepted_from(socket.port);
            let accepted = accepted.filter(|_| socket.transport == Transport::Tcp);
            let alpn = match accepted.map(|accepted| &accepted.protocols[..]) {
                Some([only]) => only.clone(),
                _ => String::new(),
            };
            let settings = ConnectionSettings {
                transport: transport.to_owned(),
                ip_version: Some(ip_version),
                alpn,
                congestion: accepted.and_then(|accepted| accepted.congestion.clone()),
                server_library: accepted.map(|_| RELAY_LIBRARY.to_owned()),
                ..ConnectionSettings::default()
            };
            (settings, socket.port)
        };
        self.claim.traffic.answered().map(settings).collect()
    }
}

fn transport_of(protocol: Protocol) -> Transport {
    match protocol {
        Protocol::H3 => Transport::Quic,
        Protocol::H1 | Protocol::H2 | Protocol::Grpc | Protocol::Auto => Transport::Tcp,
    }
}

fn name_of(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Quic => "UDP",
    }
}

/// Returns the protocol's name in ALPN (RFC 7301 section 6, RFC 9113 section 3.2, RFC 9114 section 3.1).
fn alpn_of(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::H1 => "http/1.1",
        Protocol::H2 | Protocol::Grpc | Protocol::Auto => "h2",
        Protocol::H3 => "h3",
    }
}

#[cfg(test)]
mod tests;
