//! Checks that a call came over the connection that its row claims.

use driver::protocol::{Clock, Protocol, Row};
use record::server_log::{ConnectionEvent, RequestEvent};

use super::traffic::Socket;
use super::{Claim, Log};

/// The longest time between two packets that open the same connection: RFC 6298 doubles a timer of 1 s (section 5.5),
/// and three of them are taken for one handshake.
const MAX_OPENING_GAP_NS: u64 = 4_100_000_000;

impl<'a> Log<'a> {
    pub(super) fn check_connection(
        &self,
        claim: &Claim<'_>,
        row: &Row,
        rows: &[Row],
        hit: &RequestEvent,
    ) -> Result<&'a ConnectionEvent, String> {
        let id = row.id;
        let asked = claim.protocol.name();
        let saw = seen_protocol(hit);
        if let Some(claimed) = row.protocol.map(Protocol::name)
            && claimed != saw
        {
            return Err(format!(
                "call {id}: the driver claims {claimed}, the server saw {saw}"
            ));
        }
        let until_found = claim.discovery.is_some() && saw == Protocol::H2.name();
        let decides = claim.decides();
        if saw != asked && !until_found && !decides {
            return Err(format!(
                "call {id}: the arm asks for {asked}, the server saw {saw}"
            ));
        }
        if row.early_data && !hit.early_data {
            return Err(format!(
                "call {id}: the driver claims accepted early data (0-RTT), the server saw none"
            ));
        }
        let Some(connection) = self.connections.get(&hit.connection) else {
            return Err(format!(
                "call {id}: the server's log has no handshake for its connection {}",
                hit.connection
            ));
        };
        if let Some(port) = row.local_port
            && port != connection.peer_port
        {
            return Err(format!(
                "call {id}: the driver claims local port {port}, the server saw {}",
                connection.peer_port
            ));
        }
        let opened_it = self
            .first
            .get(&hit.connection)
            .is_some_and(|(_, f)| *f == Some(id));
        // Calls that wait for the same handshake may reach the server in any order.
        let after_handshake = claim.clock == Clock::Own || row.start_ns > connection.at_ns;
        // A client that decides may have opened it beforehand, and any that found another one silent.
        let foreseen = decides || self.opened_meanwhile(claim, rows, row);
        if row.reused && opened_it && after_handshake && !foreseen {
            return Err(format!(
                "call {id}: the driver claims a reused connection, the server saw a new one"
            ));
        }
        if !row.reused && !opened_it && after_handshake && !row.early_data {
            return Err(format!(
                "call {id}: the driver claims a new connection, the server saw it on a used one"
            ));
        }
        if let Some(claimed) = row.resumed
            && !row.reused
            && claimed != connection.resumed
        {
            let (claims, was) = (yes(claimed), yes(connection.resumed));
            return Err(format!(
                "call {id}: the driver claims resumed: {claims}, the server saw resumed: {was}"
            ));
        }
        Ok(connection)
    }

    /// Checks that packets carried each request of a call that the server saw before its end. What it saw later, e.g. of a
    /// call that was cancelled, may have been on the link when the tap ended.
    pub(super) fn check_requests(
        &self,
        claim: &Claim<'_>,
        row: &Row,
        hits: &[&RequestEvent],
    ) -> Result<(), String> {
        if claim.clock == Clock::Own {
            return Ok(());
        }
        for hit in hits.iter().filter(|hit| hit.start_ns <= row.end_ns) {
            if let Some(connection) = self.connections.get(&hit.connection) {
                let socket = Socket::of(connection);
                let what = "the server had read the request";
                claim
                    .traffic
                    .check_request(row, socket, what, hit.start_ns)?;
            }
        }
        Ok(())
    }

    /// Returns the request of a call that was answered. Of several, e.g. where a client asked again because its
    /// connection was silent, that is the one from the port that the row claims, or else the last.
    pub fn answered(&self, row: &Row) -> Option<&'a RequestEvent> {
        let hits = self.requests.get(&row.id)?;
        let port_of = |hit: &RequestEvent| Some(self.connections.get(&hit.connection)?.peer_port);
        let mut claimed = hits.iter().rev();
        let claimed =
            claimed.find(|hit| row.local_port.is_some() && port_of(hit) == row.local_port);
        claimed.or(hits.last()).copied()
    }

    /// Reports whether a call's connection was being opened while another call was under way, and no call claims to have
    /// opened it. An example is a connection opened because that of the other call was silent. The handshake then began in
    /// the other call's time, and may complete after that call's end.
    pub(super) fn opened_meanwhile(&self, claim: &Claim<'_>, rows: &[Row], row: &Row) -> bool {
        let hit = self.answered(row);
        let Some(connection) = hit.and_then(|hit| self.connections.get(&hit.connection)) else {
            return false;
        };
        let began_ns = self.began_ns(claim, connection);
        let mut openers = rows.iter().filter(|other| !other.reused);
        let mut others = rows.iter().filter(|other| other.id != row.id);
        claim.clock == Clock::Monotonic
            && openers.all(|opener| opener.connection != row.connection)
            && others.any(|other| other.start_ns <= connection.at_ns && began_ns <= other.end_ns)
    }

    /// Returns when the handshake of a connection began: at the first of the packets that opened it, each of which the
    /// client sent again. It is when the handshake had completed if the tap shows none.
    fn began_ns(&self, claim: &Claim<'_>, connection: &ConnectionEvent) -> u64 {
        let previous_ns = self.previous_on_port(connection);
        let openings = claim.traffic.openings(Socket::of(connection)).iter().rev();
        let within = previous_ns.saturating_add(1)..=connection.at_ns;
        let mut began_ns = connection.at_ns;
        for at_ns in openings.map(|opening| opening.arrival_ns) {
            if !within.contains(&at_ns) {
                continue;
            }
            if began_ns - at_ns > MAX_OPENING_GAP_NS {
                break;
            }
            began_ns = at_ns;
        }
        began_ns
    }

    /// Returns when the last handshake before this one from the same port had completed, 0 for none.
    pub(super) fn previous_on_port(&self, connection: &ConnectionEvent) -> u64 {
        let earlier = self.connections.values().filter(|other| {
            other.peer_port == connection.peer_port
                && other.transport == connection.transport
                && other.at_ns < connection.at_ns
        });
        earlier.map(|other| other.at_ns).max().unwrap_or(0)
    }
}

pub(super) fn seen_protocol(hit: &RequestEvent) -> &str {
    match hit.protocol.as_str() {
        "http/1.1" => "h1",
        other => other,
    }
}

fn yes(b: bool) -> &'static str {
    if b { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::super::prove;
    use super::super::tests::{asked, claim, connection, delivered, request, row, workload};
    use super::*;
    use crate::Traffic;
    use driver::protocol::{CallError, ErrorKind};
    use link::tap::{SYN, TapRecord};
    use record::server_log::ServerEvent;

    /// Returns the server's second connection, opened at this time from another port.
    fn second(at_ns: u64) -> ServerEvent {
        let ServerEvent::Connection(first) = connection() else {
            unreachable!()
        };
        ServerEvent::Connection(ConnectionEvent {
            connection: 2,
            peer_port: 4001,
            at_ns,
            ..first
        })
    }

    /// Returns the packets of both connections.
    fn on_both() -> Traffic {
        let (mut asked_second, mut delivered_second) = (asked(), delivered());
        (asked_second.src_port, delivered_second.dst_port) = (4001, 4001);
        Traffic::of(&[asked(), asked_second, delivered(), delivered_second])
    }

    fn on_second(id: u32, start_ns: u64) -> ServerEvent {
        let ServerEvent::Request(first) = request(id, start_ns) else {
            unreachable!()
        };
        ServerEvent::Request(RequestEvent {
            connection: 2,
            ..first
        })
    }

    #[test]
    fn a_connection_may_be_opened_while_another_call_is_under_way() {
        let mut rows = [row(1, 1_100), row(2, 2_000)];
        (rows[1].connection, rows[1].local_port) = (2, Some(4001));
        let w = workload();
        let mut claim = claim(&w);
        claim.traffic = on_both();
        let opened_at = |at_ns| {
            let log = [
                connection(),
                request(1, 1_400),
                second(at_ns),
                on_second(2, 2_300),
            ];
            prove(&claim, &rows, &log)
        };
        let (calls, _) = opened_at(1_600).unwrap();
        assert!(!calls[1].first);
        // Between the calls, where it would cost nobody's time, or within its own.
        for at_ns in [1_800, 2_200] {
            let error = opened_at(at_ns).unwrap_err();
            assert!(error.contains("but no call that opened it"), "{error}");
        }
    }

    #[test]
    fn a_handshake_that_began_during_another_call_may_complete_after_it() {
        let mut rows = [row(1, 1_100), row(2, 2_000)];
        (rows[1].connection, rows[1].local_port) = (2, Some(4001));
        let w = workload();
        let began_at = |arrival_ns| {
            let mut claim = claim(&w);
            let (mut asked_second, mut delivered_second) = (asked(), delivered());
            (asked_second.src_port, delivered_second.dst_port) = (4001, 4001);
            let syn = TapRecord {
                arrival_ns,
                tcp_flags: SYN,
                payload_bytes: 0,
                ..asked_second
            };
            claim.traffic =
                Traffic::of(&[asked(), syn, asked_second, delivered(), delivered_second]);
            let log = [
                connection(),
                request(1, 1_400),
                second(1_800),
                on_second(2, 2_300),
            ];
            prove(&claim, &rows, &log)
        };
        let (calls, _) = began_at(rows[0].end_ns).unwrap();
        assert!(!calls[1].first);
        let error = began_at(rows[0].end_ns + 1).unwrap_err();
        assert!(error.contains("but no call that opened it"), "{error}");
    }

    #[test]
    fn packets_that_open_a_connection_much_later_begin_another_handshake() {
        let mut opened = connection();
        let at_ns = 60_000 * 1_000_000;
        if let ServerEvent::Connection(event) = &mut opened {
            event.at_ns = at_ns;
        }
        let events = [opened];
        let log = Log::new(&events).unwrap();
        let workload = workload();
        let began = |gaps_ns: &[u64]| {
            let mut claim = claim(&workload);
            let syn = |ago_ns| TapRecord {
                arrival_ns: at_ns - ago_ns,
                tcp_flags: SYN,
                ..asked()
            };
            let tap: Vec<TapRecord> = gaps_ns.iter().map(|ago_ns| syn(*ago_ns)).collect();
            claim.traffic = Traffic::of(&tap);
            at_ns - log.began_ns(&claim, log.connections[&1])
        };
        assert_eq!(began(&[]), 0);
        assert_eq!(began(&[5_000, 100]), 5_000);
        let far = MAX_OPENING_GAP_NS + 101;
        assert_eq!(began(&[far - 1, 100]), far - 1);
        assert_eq!(began(&[far, 100]), 100);
    }

    #[test]
    fn the_request_of_a_cancelled_call_may_arrive_when_the_tap_has_ended() {
        let w = workload();
        let mut claim = claim(&w);
        claim.traffic = Traffic::default();
        let mut cancelled = row(1, 1_100);
        cancelled.error = Some(CallError {
            kind: ErrorKind::Cancelled,
            detail: String::new(),
        });
        let rows = [cancelled];
        let read_at = |ns| prove(&claim, &rows, &[connection(), request(1, ns)]);
        let (calls, _) = read_at(rows[0].end_ns + 1).unwrap();
        assert_eq!(calls[0].server_hits, 1);
        let error = read_at(rows[0].end_ns).unwrap_err();
        assert!(error.contains("carried no data to the server"), "{error}");
    }

    #[test]
    fn of_several_requests_of_a_call_the_one_counts_whose_connection_the_driver_claims() {
        let w = workload();
        let mut claim = claim(&w);
        claim.traffic = on_both();
        let log = [
            connection(),
            second(1_300),
            request(1, 1_400),
            on_second(1, 1_450),
            request(2, 2_300),
        ];
        let (calls, _) = prove(&claim, &[row(1, 1_100), row(2, 2_000)], &log).unwrap();
        assert_eq!(calls[0].server_hits, 2);
        let mut elsewhere = row(1, 1_100);
        elsewhere.local_port = Some(4002);
        let error = prove(&claim, &[elsewhere, row(2, 2_000)], &log).unwrap_err();
        assert!(
            error.contains("local port 4002, the server saw 4001"),
            "{error}"
        );
    }
}
