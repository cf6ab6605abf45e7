//! The exchanges of a connection: requests with their responses, as far as they can be told apart without decryption.
//!
//! An exchange begins with payload from the client whose answer can only be later payload, since the server's next one
//! arrives a least round trip later or more. It ends with the server's last payload before the next exchange begins.
//! The first exchange begins with the SYN, and includes the handshake of TLS. Concurrent requests are one exchange.

use crate::ranges::Ranges;
use crate::transit::Transit;

/// The types of TLS records that a flight begins with, as in `explain`.
const TLS_HANDSHAKE: u8 = 22;
const TLS_CIPHER_CHANGE: u8 = 20;
const TLS_DATA: u8 = 23;
const CIPHER_CHANGE_BYTES: u64 = 6;
/// A record of TLS 1.3 with an alert (RFC 8446 section 6).
const TLS_ALERT_BYTES: u64 = 24;
/// A record of TLS with a frame of HTTP/2 that is no request is at most so long: a PING (RFC 9113 section 6.7).
const TLS_CONTROL_BYTES: u64 = 39;

/// A request with its response, or several that overlap. Times are the client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Payload from the client, without that before the end of the TLS handshake.
    pub(crate) request_bytes: u64,
    /// Payload from the server.
    pub(crate) response_bytes: u64,
}

/// Payload that was new, when the client sent or received it.
#[derive(Clone, Copy, Debug)]
struct Payload {
    at_ns: u64,
    side: usize,
    bytes: u64,
    first_byte: Option<u8>,
}

/// Returns a connection's exchanges that have a response. `rtt_ns` is its least round trip.
pub(crate) fn exchanges(transits: &[Transit], rtt_ns: u64) -> Vec<Span> {
    let payloads = payloads(transits);
    let Some(syn) = transits.iter().find(|transit| transit.placed.side == 0) else {
        return Vec::new();
    };
    let (is_tls, handshake) = handshake(&payloads);
    let mut starts: Vec<(usize, u64)> = vec![(0, syn.sent_ns)];
    let mut at = handshake;
    while let Some(run) = next_run(&payloads, at) {
        let (from, to) = run;
        at = to;
        let start = begins(&payloads[from..to], is_tls) + from;
        let begun = starts[starts.len() - 1].0.max(handshake.saturating_sub(1));
        let had_response = payloads[begun..start]
            .iter()
            .any(|payload| payload.side == 1);
        let answer = payloads.get(to);
        let answers = |answer: &Payload| answer.at_ns - payloads[start].at_ns >= rtt_ns / 10 * 9;
        if had_response && answer.is_some_and(answers) {
            starts.push((start, payloads[start].at_ns));
        }
    }
    let ends = starts.iter().skip(1).map(|&(start, _)| start);
    let ends = ends.chain([payloads.len()]);
    let spans = starts
        .iter()
        .zip(ends)
        .filter_map(|(&(from, start_ns), to)| {
            let responses = payloads[from..to]
                .iter()
                .filter(|payload| payload.side == 1);
            let requests = payloads[from.max(handshake.saturating_sub(1)).min(to)..to].iter();
            Some(Span {
                start_ns,
                end_ns: responses.clone().next_back()?.at_ns,
                request_bytes: requests.filter(|p| p.side == 0).map(|p| p.bytes).sum(),
                response_bytes: responses.map(|payload| payload.bytes).sum(),
            })
        });
    spans.collect()
}

/// Returns the payload that was new, in the order in which the client saw it. An alert at the end is left out: it answers
/// nothing.
fn payloads(transits: &[Transit]) -> Vec<Payload> {
    let mut order: Vec<(u64, &Transit)> = transits
        .iter()
        .filter(|transit| transit.placed.payload_bytes() > 0)
        .filter(|transit| transit.placed.side == 0 || transit.was_delivered())
        .map(|transit| match transit.placed.side {
            0 => (transit.sent_ns, transit),
            _ => (transit.received_ns, transit),
        })
        .collect();
    order.sort_by_key(|&(at_ns, _)| at_ns);
    let mut had = [Ranges::default(), Ranges::default()];
    let mut payloads: Vec<Payload> = Vec::new();
    for (at_ns, transit) in order {
        let placed = &transit.placed;
        if had[placed.side].add(placed.start, placed.end) > 0 {
            payloads.push(Payload {
                at_ns,
                side: placed.side,
                bytes: placed.payload_bytes(),
                first_byte: placed.first_byte,
            });
        }
    }
    let last = payloads.iter().rposition(|payload| payload.side == 1);
    let is_tls = payloads
        .first()
        .is_some_and(|first| first.first_byte == Some(TLS_HANDSHAKE));
    if let Some(last) = last
        && is_tls
        && payloads[last].bytes == TLS_ALERT_BYTES
    {
        payloads.remove(last);
    }
    payloads
}

/// Reports whether a connection begins with a handshake of TLS, and returns where the payload after it begins: behind
/// the client's last message of the handshake.
fn handshake(payloads: &[Payload]) -> (bool, usize) {
    let mut client = payloads
        .iter()
        .enumerate()
        .filter(|(_, payload)| payload.side == 0);
    let Some((
        _,
        Payload {
            first_byte: Some(TLS_HANDSHAKE),
            ..
        },
    )) = client.next()
    else {
        return (false, 0);
    };
    let last = client.find(|(_, payload)| match payload.first_byte {
        Some(TLS_CIPHER_CHANGE) => payload.bytes > CIPHER_CHANGE_BYTES,
        first_byte => first_byte == Some(TLS_DATA),
    });
    (true, last.map_or(payloads.len(), |(last, _)| last + 1))
}

/// Returns the next payloads from the client with none from the server between, from a place on.
fn next_run(payloads: &[Payload], at: usize) -> Option<(usize, usize)> {
    let rest = payloads.get(at..)?;
    let from = at + rest.iter().position(|payload| payload.side == 0)?;
    let length = payloads[from..]
        .iter()
        .position(|payload| payload.side == 1);
    Some((from, length.map_or(payloads.len(), |length| from + length)))
}

/// Returns which payload of a run begins a request: over TLS the first that is longer than HTTP/2's control frames, which
/// end an earlier exchange.
fn begins(run: &[Payload], is_tls: bool) -> usize {
    match is_tls {
        true => {
            let request = run
                .iter()
                .position(|payload| payload.bytes > TLS_CONTROL_BYTES);
            request.unwrap_or(run.len() - 1)
        }
        false => 0,
    }
}
