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
        match self.shows(row, protocol, port)? && !row.resumed && !row.early_data {
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
mod tests {
    use link::Direction;
    use link::tap::{Fate, TCP, TapRecord, UDP};

    use super::super::Traffic;
    use super::super::tests::{claim, row, workload};
    use super::*;

    const MS: u64 = 1_000_000;

    fn packet(
        direction: Direction,
        at_ms: u64,
        protocol: u8,
        opens: bool,
        bytes: u16,
    ) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Direction::Up => (4000, 443),
            Direction::Down => (443, 4000),
        };
        TapRecord {
            arrival_ns: at_ms * MS,
            departure_ns: at_ms * MS + 10,
            seq: at_ms as u32 * 10_000,
            ack: 0,
            ip_bytes: bytes + 40,
            src_port,
            dst_port,
            payload_bytes: bytes,
            protocol,
            tcp_flags: if opens && protocol == TCP { 2 } else { 16 },
            first_byte: if opens && protocol == UDP { 0xc3 } else { 0x43 },
            direction,
            fate: Fate::Delivered,
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: 0,
            options: Default::default(),
        }
    }

    /// Returns a connection opened at 10 ms with two requests, sent at 20 ms and at 101 ms, and the response to each.
    fn tap(protocol: u8) -> Vec<TapRecord> {
        use Direction::{Down, Up};
        vec![
            packet(Up, 10, protocol, true, 300),
            packet(Down, 15, protocol, false, 3_000),
            packet(Up, 20, protocol, false, 300),
            packet(Down, 25, protocol, false, 3_000),
            packet(Up, 101, protocol, false, 300),
            packet(Down, 110, protocol, false, 3_000),
        ]
    }

    fn rows(protocol: Protocol) -> [Row; 2] {
        [(1, 10), (2, 100)].map(|(id, start_ms)| Row {
            first_byte_ns: Some((start_ms + 19) * MS),
            end_ns: (start_ms + 20) * MS,
            protocol: Some(protocol),
            response_bytes: 1_000,
            ..row(id, start_ms * MS)
        })
    }

    fn offer(protocols: &[&str]) -> Vec<Accepted> {
        vec![Accepted {
            port: 4000,
            protocols: protocols.iter().map(|&p| p.to_owned()).collect(),
            congestion: Some("cubic".to_owned()),
        }]
    }

    fn prove(
        protocol: Protocol,
        rows: &[Row],
        tap: &[TapRecord],
        accepted: &[Accepted],
    ) -> Result<Proven, String> {
        let workload = workload();
        let claim = Claim {
            protocol,
            least_rtt_ns: 2 * MS,
            traffic: Traffic::of(tap),
            ..claim(&workload)
        };
        prove_by_packets(&claim, rows, accepted)
    }

    fn proofs(proven: Result<Proven, String>) -> Vec<Proof> {
        proven.unwrap().0.iter().map(|call| call.proof).collect()
    }

    #[test]
    fn packets_prove_the_transport_and_one_offer_the_protocol() {
        let h3 = prove(Protocol::H3, &rows(Protocol::H3), &tap(UDP), &[]);
        assert_eq!(proofs(h3), [Proof::Wire; 2]);
        let h2 = |a: &[Accepted]| prove(Protocol::H2, &rows(Protocol::H2), &tap(TCP), a);
        assert_eq!(proofs(h2(&offer(&["h2"]))), [Proof::Wire; 2]);
        assert_eq!(proofs(h2(&offer(&["h2", "http/1.1"]))), [Proof::Client; 2]);
        assert_eq!(proofs(h2(&[])), [Proof::Client; 2]);
        let (settings, port) = &h2(&offer(&["h2"])).unwrap().1[0];
        assert_eq!((settings.alpn.as_str(), *port), ("h2", 4000));
        assert_eq!(settings.server_library.as_deref(), Some(RELAY_LIBRARY));
        assert_eq!(settings.congestion.as_deref(), Some("cubic"));
    }

    #[test]
    fn what_is_encrypted_is_not_proven() {
        let mut rows = rows(Protocol::H3);
        rows[0].resumed = true;
        let proven = prove(Protocol::H3, &rows, &tap(UDP), &[]);
        assert_eq!(proofs(proven), [Proof::Client, Proof::Wire]);
    }

    #[test]
    fn other_statuses_than_2xx_are_errors() {
        let mut rows = rows(Protocol::H3);
        rows[1].status = Some(301);
        let (calls, _) = prove(Protocol::H3, &rows, &tap(UDP), &[]).unwrap();
        assert_eq!(calls[0].result, CallResult::Ok);
        let CallResult::Error { kind, detail } = &calls[1].result else {
            panic!("{:?}", calls[1].result);
        };
        assert_eq!((kind.as_str(), detail.as_str()), ("status", "status 301"));
    }

    #[test]
    fn contradictions_fail() {
        type Change = fn(&mut [Row; 2], &mut Vec<TapRecord>);
        let cases: [(Change, &str); 9] = [
            (
                |rows, _| rows[0].protocol = Some(Protocol::H2),
                "call 1: the arm asks for h3, the driver reports h2",
            ),
            (
                |_, tap| tap.iter_mut().for_each(|p| p.protocol = TCP),
                "call 1: the driver reports h3, and received nothing over UDP meanwhile",
            ),
            (
                |rows, _| rows[0].local_port = Some(4001),
                "call 1: the driver claims local port 4001, from which no connection over UDP was opened",
            ),
            (
                |rows, _| rows[1].reused = false,
                "call 2: the driver claims a new connection, but opened the last one from its port 90000 µs",
            ),
            (
                |_, tap| tap[4] = packet(Direction::Up, 105, UDP, true, 300),
                "call 2: the driver claims a reused connection, but opened one from its port 5000 µs after",
            ),
            (
                |rows, _| rows[0].response_bytes = 10_000,
                "20000 µs after its start, the link had delivered 6000 B, up to packet 3, of its response of 10000 B",
            ),
            (
                |rows, _| rows[1].first_byte_ns = Some(rows[1].start_ns + MS),
                "call 2: first byte after 1.000 ms on a link with a round trip of 2.000 ms",
            ),
            (
                |_, tap| tap[4].payload_bytes = 0,
                "call 2: the driver had an answer 19000 µs after the driver's start, but its connection carried no data \
                 to the server since that start",
            ),
            (
                |_, tap| tap[5].departure_ns = 120 * MS + 1,
                "call 2: the driver's first byte is 19000 µs after its start, but packet 5, the first with data to the \
                 client since the server had the request, was delivered 20000 µs after the driver's start",
            ),
        ];
        for (change, reason) in cases {
            let (mut rows, mut tap) = (rows(Protocol::H3), tap(UDP));
            change(&mut rows, &mut tap);
            let error = prove(Protocol::H3, &rows, &tap, &[]).unwrap_err();
            assert!(error.contains(reason), "{error:?} should say {reason:?}");
        }
        let error = prove(
            Protocol::H2,
            &rows(Protocol::H2),
            &tap(TCP),
            &offer(&["http/1.1"]),
        );
        let reason = "call 1: the driver reports h2, its client offered only http/1.1";
        assert_eq!(error.unwrap_err(), reason);
    }

    #[test]
    fn a_new_connection_is_opened_by_its_call() {
        let mut rows = rows(Protocol::H3);
        for row in &mut rows {
            (row.start_ns, row.end_ns) = (row.start_ns + 5 * MS, row.end_ns + 5 * MS);
        }
        let error = prove(Protocol::H3, &rows, &tap(UDP), &[]).unwrap_err();
        let reason = "call 1: the driver claims a new connection, but opened the last one from its port 5000";
        assert!(error.starts_with(reason), "{error}");
    }
}
