//! The judges: rows, server's log and packets against what the case is about.

use std::collections::BTreeSet;

use driver::protocol::{Clock, ErrorKind, Protocol, Row};
use link::Direction;
use pump::TapRecord;
use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent};

use crate::cell::Measured;

/// All that is known of a trial.
pub(super) struct Seen<'a> {
    rows: &'a [Row],
    requests: Vec<&'a RequestEvent>,
    connections: Vec<&'a ConnectionEvent>,
    tap: &'a [TapRecord],
    run_ns: u64,
    monotonic: bool,
    protocol: Protocol,
}

impl<'a> Seen<'a> {
    pub(super) fn new(measured: &'a Measured, protocol: Protocol) -> Seen<'a> {
        let mut seen = Seen {
            rows: &measured.rows,
            requests: Vec::new(),
            connections: Vec::new(),
            tap: &measured.tap,
            run_ns: measured.started_ns,
            monotonic: measured.clock == Clock::Monotonic,
            protocol,
        };
        for line in &measured.log {
            match line {
                ServerEvent::Request(request) => seen.requests.push(request),
                ServerEvent::Connection(connection) => seen.connections.push(connection),
            }
        }
        seen
    }

    fn request(&self, id: u32) -> Result<&'a RequestEvent, String> {
        let hit = self.requests.iter().rfind(|r| r.id == Some(id));
        hit.copied()
            .ok_or_else(|| format!("the server saw no call {id}"))
    }

    fn connection(&self, number: u64) -> Result<&'a ConnectionEvent, String> {
        let found = self.connections.iter().find(|c| c.connection == number);
        found
            .copied()
            .ok_or_else(|| format!("the server saw no handshake of its connection {number}"))
    }

    /// The server's numbers of the connections that carried requests.
    fn carriers(&self) -> BTreeSet<u64> {
        self.requests.iter().map(|r| r.connection).collect()
    }

    fn carried_by(&self, id: u32) -> Result<&'a ConnectionEvent, String> {
        self.connection(self.request(id)?.connection)
    }
}

type Judged = Result<(), String>;

pub(super) fn all_answered(seen: &Seen<'_>) -> Judged {
    seen.rows.iter().try_for_each(answered)
}

/// That the codec was the one asked for, and each moment after the one before it, has been
/// proven; here, that a message was made exactly where it was to be made.
pub(super) fn exchanged(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    for row in seen.rows {
        let by_rule = row.id == 1;
        if row.created_ns.is_some() != by_rule {
            let what = if by_rule { "within" } else { "before" };
            return Err(format!(
                "call {}: its message is to be made {what} the call, created_ns says otherwise",
                row.id
            ));
        }
    }
    Ok(())
}

pub(super) fn uploads(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    for (row, bytes) in seen.rows.iter().zip(super::sizes::SIZES) {
        let got = seen.request(row.id)?.request_bytes;
        if got != bytes || row.request_bytes != bytes {
            let sent = row.request_bytes;
            return Err(format!(
                "call {}: of {bytes} B the driver says {sent} B were sent, the server got {got} B",
                row.id
            ));
        }
    }
    Ok(())
}

pub(super) fn one_connection(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    match seen.carriers().len() {
        1 => Ok(()),
        n => Err(format!("the server saw {n} connections instead of one")),
    }
}

pub(super) fn three_fresh(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let carriers = seen.carriers();
    if carriers.len() != 3 {
        let n = carriers.len();
        return Err(format!("the server saw {n} connections instead of three"));
    }
    for number in carriers {
        if seen.connection(number)?.resumed {
            return Err(format!(
                "connection {number} resumed a session that `cold` throws away"
            ));
        }
    }
    Ok(())
}

pub(super) fn resumed_then_cold(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let resumed = |id| Ok::<bool, String>(seen.carried_by(id)?.resumed);
    match (resumed(1)?, resumed(4)?, resumed(7)?) {
        (false, true, false) => Ok(()),
        (true, ..) => Err("the first connection resumed a session it cannot have".into()),
        (_, false, _) => Err("`reconnect resume`: the server saw a full handshake".into()),
        (_, _, true) => Err("`reconnect cold` resumed a session".into()),
    }
}

pub(super) fn early_data(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    match (seen.request(4)?.early_data, row(seen, 4)?.early_data) {
        (true, true) => Ok(()),
        (false, _) => Err("the server saw no early data".into()),
        (true, false) => Err("the server saw early data, the driver says none".into()),
    }
}

pub(super) fn early_refused(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    if row(seen, 4)?.early_data {
        return Err("the driver says early data, which this server refuses".into());
    }
    Ok(())
}

pub(super) fn client_known(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    match seen.carried_by(1)?.client_cert {
        Some(_) => Ok(()),
        None => Err("the server was shown no client certificate".into()),
    }
}

pub(super) fn nothing_served(seen: &Seen<'_>) -> Judged {
    failed(
        row(seen, 1)?,
        &[ErrorKind::Tls, ErrorKind::Reset, ErrorKind::Connect],
    )?;
    match seen.requests.len() {
        0 => Ok(()),
        n => Err(format!("the server was asked {n} requests")),
    }
}

pub(super) fn not_trusted(seen: &Seen<'_>) -> Judged {
    failed(row(seen, 1)?, &[ErrorKind::Tls])?;
    match seen.requests.len() {
        0 => Ok(()),
        n => Err(format!(
            "{n} requests were sent to a server not to be trusted"
        )),
    }
}

pub(super) fn broken_then_answered(seen: &Seen<'_>) -> Judged {
    // A gRPC library makes a status of whatever went wrong.
    let kinds: &[ErrorKind] = match seen.protocol {
        Protocol::Grpc => &[ErrorKind::Reset, ErrorKind::Protocol, ErrorKind::Status],
        _ => &[ErrorKind::Reset, ErrorKind::Protocol],
    };
    failed(row(seen, 1)?, kinds)?;
    answered(row(seen, 2)?)
}

/// The server takes half a second for a body in ten pieces.
pub(super) fn slow_body(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let row = row(seen, 1)?;
    let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
    let body_ns = row.end_ns.saturating_sub(first_byte_ns);
    if body_ns < 300_000_000 {
        let ms = body_ns / 1_000_000;
        return Err(format!(
            "the first byte came {ms} ms before the last, not 450 ms"
        ));
    }
    Ok(())
}

pub(super) fn unavailable(seen: &Seen<'_>) -> Judged {
    let row = row(seen, 1)?;
    failed(row, &[ErrorKind::Status])?;
    let expected = if seen.protocol == Protocol::Grpc {
        14
    } else {
        503
    };
    if row.status != Some(expected) {
        return Err(format!("status {:?} instead of {expected}", row.status));
    }
    answered(self::row(seen, 2)?)
}

pub(super) fn redirect(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let row = row(seen, 1)?;
    if row.status != Some(302) {
        return Err(format!("status {:?} instead of 302", row.status));
    }
    match seen.requests.iter().find(|r| r.path == "/health") {
        Some(_) => Err("the redirect was followed".into()),
        None => Ok(()),
    }
}

pub(super) fn timed_out(seen: &Seen<'_>) -> Judged {
    let row = row(seen, 1)?;
    failed(row, &[ErrorKind::Timeout])?;
    ended_after(row, 1_000_000_000, 100_000_000)?;
    answered(self::row(seen, 2)?)
}

pub(super) fn cancelled(seen: &Seen<'_>) -> Judged {
    let row = row(seen, 1)?;
    failed(row, &[ErrorKind::Cancelled])?;
    ended_after(row, CANCEL_NS, 50_000_000)?;
    answered(self::row(seen, 2)?)
}

pub(super) fn parallel(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    // The kept connection of HTTP/1.1 is three round trips ahead of those to be opened, so
    // that its call may be over before they carry any: not all six need overlap.
    let mut spans = (2..=7)
        .map(|id| Ok((seen.request(id)?.start_ns, row(seen, id)?.end_ns)))
        .collect::<Result<Vec<_>, String>>()?;
    spans.sort_unstable();
    if seen.monotonic && spans.windows(2).all(|pair| pair[0].1 <= pair[1].0) {
        return Err("the calls were made one after another".into());
    }
    let carriers = seen.carriers().len();
    match seen.protocol {
        Protocol::H1 if carriers < 6 => Err(format!(
            "six calls at once over {carriers} HTTP/1.1 connections"
        )),
        Protocol::H1 => Ok(()),
        _ if carriers == 1 => Ok(()),
        _ => Err(format!(
            "the server saw {carriers} connections instead of one"
        )),
    }
}

pub(super) fn streamed(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let (row, request) = (row(seen, 1)?, seen.request(1)?);
    // Echoes in order: what came back has the digest of what was sent.
    if row.digest.as_deref() != Some(&request.request_digest) {
        return Err("what came back is not what was sent".into());
    }
    let round_trips = u64::from(MESSAGES) * 2 * super::ONE_WAY_NS;
    if row.end_ns - row.start_ns < round_trips {
        let ms = (row.end_ns - row.start_ns) / 1_000_000;
        return Err(format!(
            "{MESSAGES} messages, one in flight, within {ms} ms"
        ));
    }
    Ok(())
}

/// Calls after a rest, so that what crosses the link is theirs.
pub(super) fn phases(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    if !seen.monotonic {
        return Ok(());
    }
    for row in seen.rows {
        let request = seen.request(row.id)?;
        let port = seen.connection(request.connection)?.peer_port;
        let crossing = |direction| {
            seen.tap.iter().filter(move |p| {
                let (source, other) = (p.src_port, p.dst_port);
                let ours = if direction == Direction::Up {
                    source
                } else {
                    other
                };
                p.direction == direction && ours == port && p.payload_bytes > ACK_BYTES
            })
        };
        // Whatever goes up over TCP between two calls went before its call began. QUIC has
        // reasons of its own to send, as probes of the path's MTU.
        let before = |p: &&TapRecord| {
            row.start_ns - REST_NS / 2 < p.arrival_ns && p.arrival_ns < row.start_ns
        };
        let over_tcp = seen.protocol != Protocol::H3;
        if over_tcp && row.reused && crossing(Direction::Up).any(|p| before(&p)) {
            return Err(format!(
                "call {}: its request left before its start",
                row.id
            ));
        }
        if row
            .request_sent_ns
            .is_some_and(|sent| sent > request.start_ns)
        {
            return Err(format!(
                "call {}: request_sent is after the server had the request",
                row.id
            ));
        }
        let answer = crossing(Direction::Down).find(|p| p.arrival_ns >= request.start_ns);
        let Some(answer) = answer else {
            return Err(format!("call {}: no packet carried its response", row.id));
        };
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        if first_byte_ns < answer.departure_ns {
            let us = (answer.departure_ns - first_byte_ns) / 1000;
            return Err(format!(
                "call {}: first_byte is {us} us before the first packet of the response",
                row.id
            ));
        }
    }
    Ok(())
}

pub(super) fn untouched_before(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    if let Some(early) = seen.connections.iter().find(|c| c.at_ns < seen.run_ns) {
        let n = early.connection;
        return Err(format!("connection {n} was opened before the run"));
    }
    if seen.requests.len() != seen.rows.len() {
        let (n, calls) = (seen.requests.len(), seen.rows.len());
        return Err(format!("{n} requests for {calls} calls"));
    }
    match seen.carried_by(1)?.resumed {
        true => Err("the first connection resumed a session of the warm-up".into()),
        false => Ok(()),
    }
}

pub(super) fn on_frames(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let frame_ns = 1_000_000_000 / 60;
    let first = seen.rows[0].end_ns;
    for row in &seen.rows[1..] {
        let off = (row.end_ns - first) % frame_ns;
        if off.min(frame_ns - off) > 2_000_000 {
            let ms = off as f64 / 1e6;
            return Err(format!("call {}: ended {ms:.1} ms after a frame", row.id));
        }
    }
    Ok(())
}

pub(super) fn learnt(seen: &Seen<'_>) -> Judged {
    all_answered(seen)?;
    let spoken: Vec<&str> = (seen.rows.iter())
        .map(|row| seen.request(row.id).map(|r| r.protocol.as_str()))
        .collect::<Result<_, _>>()?;
    match (spoken.first(), spoken.last()) {
        (Some(&"h2"), Some(&"h3")) => Ok(()),
        _ => Err(format!("the server saw {}", spoken.join(", "))),
    }
}

fn row<'a>(seen: &Seen<'a>, id: u32) -> Result<&'a Row, String> {
    let found = seen.rows.iter().find(|row| row.id == id);
    found.ok_or_else(|| format!("no row for call {id}"))
}

fn answered(row: &Row) -> Judged {
    match &row.error {
        None => Ok(()),
        Some(e) => Err(format!("call {}: {:?}: {}", row.id, e.kind, e.detail)),
    }
}

fn failed(row: &Row, kinds: &[ErrorKind]) -> Judged {
    match &row.error {
        None => Err(format!("call {}: the driver says it succeeded", row.id)),
        Some(e) if kinds.contains(&e.kind) => Ok(()),
        Some(e) => Err(format!(
            "call {}: error kind {:?} ({}), expected {kinds:?}",
            row.id, e.kind, e.detail
        )),
    }
}

fn ended_after(row: &Row, expected_ns: u64, margin_ns: u64) -> Judged {
    let took_ns = row.end_ns - row.start_ns;
    if took_ns.abs_diff(expected_ns) > margin_ns {
        let (took, expected) = (took_ns as f64 / 1e6, expected_ns / 1_000_000);
        return Err(format!(
            "call {}: ended after {took:.0} ms, not {expected}",
            row.id
        ));
    }
    Ok(())
}

pub(super) const CANCEL_NS: u64 = 300_000_000;
pub(super) const MESSAGES: u32 = 10;
/// Between calls, so that their packets do not mix.
pub(super) const REST_NS: u64 = 200_000_000;
/// A QUIC packet of acknowledgements alone is smaller, a response's is not.
const ACK_BYTES: u16 = 45;
