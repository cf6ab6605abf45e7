//! The checks of the cases: rows, server log and packets against what each case asks for.

use driver::protocol::{ErrorKind, Protocol, Row};
use link::Direction;
use link::tap::TapRecord;

use super::evidence::Evidence;
use super::sizes::{ONE_WAY_NS, SIZES};

/// When a cancelled call is given up.
pub(super) const CANCEL_NS: u64 = 300_000_000;
/// Messages of a stream.
pub(super) const MESSAGES: u32 = 10;
/// Pause between calls, so that their packets do not mix.
pub(super) const REST_NS: u64 = 200_000_000;
/// A QUIC packet that carries only acknowledgements is smaller, one of a response is not.
const MAX_ACK_BYTES: u16 = 45;
/// The server sends a slow body in ten pieces, 50 ms apart: 450 ms from first to last byte. Buffers
/// on the way may hide up to a third of that.
const MIN_SLOW_BODY_NS: u64 = 300_000_000;
/// `timeout_ns` of the time-out case, and the 10 % that the driver protocol allows.
const TIMEOUT_NS: u64 = 1_000_000_000;
const TIMEOUT_MARGIN_NS: u64 = TIMEOUT_NS / 10;
/// How far from [`CANCEL_NS`] a cancelled call may end: three frames at 60 Hz.
const CANCEL_MARGIN_NS: u64 = 50_000_000;
/// How far from a frame of 16.7 ms a call may end.
const FRAME_MARGIN_NS: u64 = 2_000_000;

type Checked = Result<(), String>;

pub(super) fn all_answered(evidence: &Evidence<'_>) -> Checked {
    evidence.rows.iter().try_for_each(answered)
}

/// Checks that the message was made within the call exactly where it should be. The proof has
/// checked the codec and the order of phases.
pub(super) fn exchanged(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    for row in evidence.rows {
        let within_call = row.id == 1;
        if row.created_ns.is_some() != within_call {
            let when = if within_call { "within" } else { "before" };
            return Err(format!(
                "call {}: created_ns contradicts that its message is made {when} the call",
                row.id
            ));
        }
    }
    Ok(())
}

pub(super) fn uploads(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    for (row, bytes) in evidence.rows.iter().zip(SIZES) {
        let received = evidence.request(row.id)?.request_bytes;
        if received != bytes || row.request_bytes != bytes {
            let sent = row.request_bytes;
            return Err(format!(
                "call {}: of {bytes} B, the driver reports {sent} B sent, the server received \
                 {received} B",
                row.id
            ));
        }
    }
    Ok(())
}

pub(super) fn one_connection(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    match evidence.used_connections().len() {
        1 => Ok(()),
        n => Err(format!("the server saw {n} connections instead of one")),
    }
}

pub(super) fn three_new_connections(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let connections = evidence.used_connections();
    if connections.len() != 3 {
        let n = connections.len();
        return Err(format!("the server saw {n} connections instead of three"));
    }
    for number in connections {
        if evidence.connection(number)?.resumed {
            return Err(format!(
                "connection {number} resumed a session, which `cold` must not"
            ));
        }
    }
    Ok(())
}

pub(super) fn resumed_then_cold(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let resumed = |id| Ok::<bool, String>(evidence.connection_of(id)?.resumed);
    match (resumed(1)?, resumed(4)?, resumed(7)?) {
        (false, true, false) => Ok(()),
        (true, ..) => Err("the first connection resumed a session, before there was one".into()),
        (_, false, _) => Err("`reconnect resume`: the server saw a full handshake".into()),
        (_, _, true) => Err("`reconnect cold` resumed a session".into()),
    }
}

pub(super) fn early_data(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    match (evidence.request(4)?.early_data, evidence.row(4)?.early_data) {
        (true, true) => Ok(()),
        (false, _) => Err("the server saw no early data".into()),
        (true, false) => Err("the server saw early data, the driver reports none".into()),
    }
}

pub(super) fn early_refused(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    if evidence.row(4)?.early_data {
        return Err("the driver reports early data, which this server rejects".into());
    }
    Ok(())
}

pub(super) fn client_identified(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    match evidence.connection_of(1)?.client_cert {
        Some(_) => Ok(()),
        None => Err("the client sent no certificate".into()),
    }
}

pub(super) fn nothing_served(evidence: &Evidence<'_>) -> Checked {
    failed(
        evidence.row(1)?,
        &[ErrorKind::Tls, ErrorKind::Reset, ErrorKind::Connect],
    )?;
    match evidence.requests.len() {
        0 => Ok(()),
        n => Err(format!("the server received {n} requests")),
    }
}

pub(super) fn server_rejected(evidence: &Evidence<'_>) -> Checked {
    failed(evidence.row(1)?, &[ErrorKind::Tls])?;
    match evidence.requests.len() {
        0 => Ok(()),
        n => Err(format!("{n} requests were sent to an untrusted server")),
    }
}

pub(super) fn failed_then_answered(evidence: &Evidence<'_>) -> Checked {
    // gRPC libraries turn every error into a status.
    let kinds: &[ErrorKind] = match evidence.protocol {
        Protocol::Grpc => &[ErrorKind::Reset, ErrorKind::Protocol, ErrorKind::Status],
        _ => &[ErrorKind::Reset, ErrorKind::Protocol],
    };
    failed(evidence.row(1)?, kinds)?;
    answered(evidence.row(2)?)
}

pub(super) fn slow_body(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let row = evidence.row(1)?;
    let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
    let body_ns = row.end_ns.saturating_sub(first_byte_ns);
    if body_ns < MIN_SLOW_BODY_NS {
        let ms = body_ns / 1_000_000;
        return Err(format!(
            "the first byte arrived {ms} ms before the last instead of 450 ms"
        ));
    }
    Ok(())
}

pub(super) fn unavailable(evidence: &Evidence<'_>) -> Checked {
    let row = evidence.row(1)?;
    failed(row, &[ErrorKind::Status])?;
    let expected = if evidence.protocol == Protocol::Grpc {
        14
    } else {
        503
    };
    if row.status != Some(expected) {
        return Err(format!("{} instead of {expected}", status_of(row)));
    }
    answered(evidence.row(2)?)
}

pub(super) fn redirect(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let row = evidence.row(1)?;
    if row.status != Some(302) {
        return Err(format!("{} instead of 302", status_of(row)));
    }
    match evidence.requests.iter().find(|r| r.path == "/health") {
        Some(_) => Err("the redirect was followed".into()),
        None => Ok(()),
    }
}

pub(super) fn timed_out(evidence: &Evidence<'_>) -> Checked {
    let row = evidence.row(1)?;
    failed(row, &[ErrorKind::Timeout])?;
    ended_after(row, TIMEOUT_NS, TIMEOUT_MARGIN_NS)?;
    answered(evidence.row(2)?)
}

pub(super) fn cancelled(evidence: &Evidence<'_>) -> Checked {
    let row = evidence.row(1)?;
    failed(row, &[ErrorKind::Cancelled])?;
    ended_after(row, CANCEL_NS, CANCEL_MARGIN_NS)?;
    answered(evidence.row(2)?)
}

pub(super) fn parallel(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    // HTTP/1.1's open connection is three round trips ahead of the new ones, so its call may end
    // before they carry one: not all six need to overlap.
    let mut spans = (2..=7)
        .map(|id| Ok((evidence.request(id)?.start_ns, evidence.row(id)?.end_ns)))
        .collect::<Result<Vec<_>, String>>()?;
    spans.sort_unstable();
    if evidence.monotonic && spans.windows(2).all(|pair| pair[0].1 <= pair[1].0) {
        return Err("the calls ran one after another".into());
    }
    let connections = evidence.used_connections().len();
    match evidence.protocol {
        // A call may take the first connection that is free again instead of the one opened for it.
        Protocol::H1 if connections < 2 => Err(format!(
            "six parallel calls used {connections} HTTP/1.1 connections"
        )),
        Protocol::H1 => Ok(()),
        _ if connections == 1 => Ok(()),
        _ => Err(format!(
            "the server saw {connections} connections instead of one"
        )),
    }
}

pub(super) fn streamed(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let (row, request) = (evidence.row(1)?, evidence.request(1)?);
    // Echoes in order have the same digest as what was sent.
    if row.digest.as_deref() != Some(&request.request_digest) {
        return Err("the messages received differ from those sent".into());
    }
    let round_trips = u64::from(MESSAGES) * 2 * ONE_WAY_NS;
    if row.end_ns - row.start_ns < round_trips {
        let ms = (row.end_ns - row.start_ns) / 1_000_000;
        return Err(format!(
            "{MESSAGES} messages took {ms} ms, too little for one in flight"
        ));
    }
    Ok(())
}

/// Checks the times of phases against the packets. The calls are spaced by pauses, so that every
/// packet near a call belongs to it.
pub(super) fn phases(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    if !evidence.monotonic {
        return Ok(());
    }
    for row in evidence.rows {
        let request = evidence.request(row.id)?;
        let port = evidence.connection(request.connection)?.peer_port;
        let crossing = |direction| {
            evidence.tap.iter().filter(move |p| {
                let (source, other) = (p.src_port, p.dst_port);
                let ours = if direction == Direction::Up {
                    source
                } else {
                    other
                };
                p.direction == direction && ours == port && p.payload_bytes > MAX_ACK_BYTES
            })
        };
        // Data sent over TCP between two calls was sent before its call began. QUIC sends for
        // reasons of its own, e.g. to probe the path's MTU.
        let before = |p: &&TapRecord| {
            row.start_ns - REST_NS / 2 < p.arrival_ns && p.arrival_ns < row.start_ns
        };
        let over_tcp = evidence.protocol != Protocol::H3;
        if over_tcp && row.reused && crossing(Direction::Up).any(|p| before(&p)) {
            return Err(format!(
                "call {}: its request was sent before its start",
                row.id
            ));
        }
        if row
            .request_sent_ns
            .is_some_and(|sent| sent > request.start_ns)
        {
            return Err(format!(
                "call {}: request_sent is later than the server's receipt of the request",
                row.id
            ));
        }
        let response = crossing(Direction::Down).find(|p| p.arrival_ns >= request.start_ns);
        let Some(response) = response else {
            return Err(format!("call {}: no packet carried its response", row.id));
        };
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        if first_byte_ns < response.departure_ns {
            let us = (response.departure_ns - first_byte_ns) / 1000;
            return Err(format!(
                "call {}: first_byte is {us} µs before the first packet of the response",
                row.id
            ));
        }
    }
    Ok(())
}

pub(super) fn origin_untouched(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    if let Some(early) = evidence
        .connections
        .iter()
        .find(|c| c.at_ns < evidence.run_ns)
    {
        let n = early.connection;
        return Err(format!("connection {n} was opened before the run"));
    }
    if evidence.requests.len() != evidence.rows.len() {
        let (n, calls) = (evidence.requests.len(), evidence.rows.len());
        return Err(format!("{n} requests for {calls} calls"));
    }
    match evidence.connection_of(1)?.resumed {
        true => Err("the first connection resumed a session of the warm-up".into()),
        false => Ok(()),
    }
}

pub(super) fn ended_on_frames(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let frame_ns = 1_000_000_000 / 60;
    let first = evidence.rows[0].end_ns;
    for row in &evidence.rows[1..] {
        let off = (row.end_ns - first) % frame_ns;
        if off.min(frame_ns - off) > FRAME_MARGIN_NS {
            let ms = off as f64 / 1e6;
            return Err(format!("call {}: ended {ms:.1} ms after a frame", row.id));
        }
    }
    Ok(())
}

pub(super) fn alt_svc_learned(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let spoken: Vec<&str> = (evidence.rows.iter())
        .map(|row| evidence.request(row.id).map(|r| r.protocol.as_str()))
        .collect::<Result<_, _>>()?;
    match (spoken.first(), spoken.last()) {
        (Some(&"h2"), Some(&"h3")) => Ok(()),
        _ => Err(format!("the server saw {}", spoken.join(", "))),
    }
}

/// Checks how much of the message arrived. The proof has checked path, codec and bytes.
pub(super) fn submitted(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let bytes: Vec<u64> = evidence.rows.iter().map(|row| row.request_bytes).collect();
    match bytes[..] {
        // Every part repeats the heads of the record.
        [whole, in_parts, one_part] if in_parts <= whole || one_part != whole => Err(format!(
            "a message of {whole} B became {in_parts} B in parts, and {one_part} B in one part"
        )),
        _ => Ok(()),
    }
}

pub(super) fn without_tls(evidence: &Evidence<'_>) -> Checked {
    one_connection(evidence)?;
    let row = evidence.row(1)?;
    if row.tls_ns.is_some() || row.resumed == Some(true) {
        return Err("the driver reports a handshake of TLS".into());
    }
    match evidence.connection_of(1)?.tls_version.as_str() {
        "" => Ok(()),
        version => Err(format!("the server saw {version}")),
    }
}

/// Checks that exactly the calls 1, 3 and 4 have rows. The proof has checked that the server saw no
/// request of a call without a row.
pub(super) fn late_calls_left_out(evidence: &Evidence<'_>) -> Checked {
    all_answered(evidence)?;
    let ids: Vec<u32> = evidence.rows.iter().map(|row| row.id).collect();
    match ids[..] {
        [1, 3, 4] => Ok(()),
        _ => Err(format!("calls 1, 3 and 4 should have rows, not {ids:?}")),
    }
}

/// Checks that the server has refused nothing that the driver sent. Every case demands that.
pub(super) fn nothing_refused(evidence: &Evidence<'_>) -> Checked {
    evidence.refused.clone().map_or(Ok(()), Err)
}

fn status_of(row: &Row) -> String {
    row.status.map_or_else(
        || "no status".to_owned(),
        |status| format!("status {status}"),
    )
}

fn answered(row: &Row) -> Checked {
    match &row.error {
        None => Ok(()),
        Some(e) => Err(format!("call {}: {}: {}", row.id, e.kind.name(), e.detail)),
    }
}

fn failed(row: &Row, kinds: &[ErrorKind]) -> Checked {
    match &row.error {
        None => Err(format!("call {}: the driver reports success", row.id)),
        Some(e) if kinds.contains(&e.kind) => Ok(()),
        Some(e) => Err(format!(
            "call {}: error kind {} ({}), expected {}",
            row.id,
            e.kind.name(),
            e.detail,
            kinds
                .iter()
                .map(|kind| kind.name())
                .collect::<Vec<_>>()
                .join(" or ")
        )),
    }
}

fn ended_after(row: &Row, expected_ns: u64, margin_ns: u64) -> Checked {
    let took_ns = row.end_ns - row.start_ns;
    if took_ns.abs_diff(expected_ns) > margin_ns {
        let (took, expected) = (took_ns as f64 / 1e6, expected_ns / 1_000_000);
        return Err(format!(
            "call {}: ended after {took:.0} ms instead of {expected} ms",
            row.id
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_message_fails_every_case() {
        let with = |refused| Evidence {
            rows: &[],
            requests: Vec::new(),
            connections: Vec::new(),
            refused,
            tap: &[],
            run_ns: 0,
            monotonic: true,
            protocol: Protocol::H3,
        };
        assert_eq!(nothing_refused(&with(None)), Ok(()));
        let refused = "the server refused a message".to_owned();
        assert_eq!(nothing_refused(&with(Some(refused.clone()))), Err(refused));
    }
}
