use link::Direction;
use link::tap::{Fate, TCP, TapRecord, UDP};

use super::super::Traffic;
use super::super::tests::{claim, row, workload};
use super::*;

const MS: u64 = 1_000_000;

fn packet(direction: Direction, at_ms: u64, protocol: u8, opens: bool, bytes: u16) -> TapRecord {
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
    rows[0].resumed = Some(true);
    let proven = prove(Protocol::H3, &rows, &tap(UDP), &[]);
    assert_eq!(proofs(proven), [Proof::Client, Proof::Wire]);
    // The second call is on the connection that the first has opened, whatever its handshake did.
    for row in &mut rows {
        row.resumed = None;
    }
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
    let reason =
        "call 1: the driver claims a new connection, but opened the last one from its port 5000";
    assert!(error.starts_with(reason), "{error}");
}
