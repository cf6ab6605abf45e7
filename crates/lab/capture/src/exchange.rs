//! The exchanges of a connection: requests with their responses, as far as they can be told apart without decryption.
//!
//! An exchange begins with payload from the client whose answer can only be later payload, since the server's next one
//! arrives a least round trip later or more. It ends with the server's last payload before the next exchange begins, or
//! before messages of the server's own, e.g. when it closes the connection. The first exchange begins with the SYN, and
//! includes the handshake of TLS. Concurrent requests are one exchange.

use explain::{TlsPayload, end_of_tls_handshake};

use crate::payload::{Payload, Payloads};
use crate::transit::Transit;

/// Servers close connections that were idle for seconds or minutes. A response pauses for less, mostly.
const IDLE_NS: u64 = 1_000_000_000;
/// What a server sends before it closes a connection is at most so long: HTTP/2's GOAWAY with a word of why (RFC 9113
/// section 6.8), and an alert of TLS.
const FAREWELL_BYTES: u64 = 128;
/// Every host accepts segments of so much (RFC 9293 section 3.7.1).
const LEAST_FULL_BYTES: u64 = 536;
/// A client computes for so long, so that a shorter pause on a short path is its own.
const LEAST_PAUSE_NS: u64 = 5_000_000;

/// A request with its response, or several that overlap. Times are the client's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Payload from the client, without that before the end of the TLS handshake.
    pub(crate) request_bytes: u64,
    /// Payload from the server.
    pub(crate) response_bytes: u64,
    /// Pauses of the client between its own payloads. The first may be a request whose answer it waits for.
    pauses_ns: Vec<[u64; 2]>,
}

impl Span {
    /// Reports whether the client may have waited for the server from one time to another.
    pub(crate) fn is_unclear(&self, from_ns: u64, to_ns: u64) -> bool {
        let over = self.pauses_ns.partition_point(|pause| pause[1] < to_ns);
        let pause = self.pauses_ns.get(over);
        pause.is_some_and(|pause| pause[0] <= from_ns && to_ns - from_ns >= LEAST_PAUSE_NS)
    }
}

/// A connection's exchanges.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    /// Those that have a response.
    pub(crate) spans: Vec<Span>,
    /// Payload from the client that no response follows.
    pub(crate) unanswered_bytes: u64,
}

impl Exchanges {
    /// Returns a connection's exchanges. `rtt_ns` is its least round trip.
    pub(crate) fn of(transits: &[Transit], rtt_ns: u64) -> Exchanges {
        let Some(syn) = transits.iter().find(|transit| transit.placed.side == 0) else {
            return Exchanges::default();
        };
        let payloads = Payloads::of(transits);
        let (all, handshake) = (&payloads.all, handshake(&payloads));
        let starts = starts(&payloads, handshake, rtt_ns);
        let begins = [(0, syn.sent_ns)].into_iter().chain(starts);
        let begins: Vec<(usize, u64)> = begins.collect();
        let ends = begins.iter().skip(1).map(|&(start, _)| start);
        let ends = ends.chain([all.len()]);
        let after = handshake + usize::from(payloads.is_tls);
        let of_client = all.iter().filter(|payload| payload.side == 0);
        let longest = of_client.map(|payload| payload.bytes).max();
        let full_bytes = longest.unwrap_or(0).max(LEAST_FULL_BYTES);
        let mut exchanges = Exchanges::default();
        let mut answered = 0;
        for (&(from, start_ns), to) in begins.iter().zip(ends) {
            let Some(last) = last_response(&payloads, from..to, handshake) else {
                continue;
            };
            let requests = all[from.max(handshake).min(last)..last].iter();
            let responses = all[from..=last].iter().filter(|payload| payload.side == 1);
            exchanges.spans.push(Span {
                start_ns,
                end_ns: all[last].at_ns.max(start_ns),
                request_bytes: requests.filter(|p| p.side == 0).map(|p| p.bytes).sum(),
                response_bytes: responses.map(|payload| payload.bytes).sum(),
                pauses_ns: pauses(&all[from.max(after).min(last)..last], full_bytes, rtt_ns),
            });
            answered = last;
        }
        let left = all[answered.max(handshake).min(all.len())..].iter();
        exchanges.unanswered_bytes = left
            .filter(|payload| payload.side == 0 && !payloads.is_control(payload))
            .map(|payload| payload.bytes)
            .sum();
        exchanges
    }
}

/// Returns the place of the client's last message of the handshake of TLS, with which a request may come. It is 0 without
/// TLS.
fn handshake(payloads: &Payloads) -> usize {
    let all = payloads.all.iter().map(|payload| TlsPayload {
        from_client: payload.side == 0,
        first_byte: payload.first_byte.unwrap_or(0),
        bytes: payload.bytes,
    });
    match payloads.is_tls {
        true => end_of_tls_handshake(all).unwrap_or(payloads.all.len()),
        false => 0,
    }
}

/// Returns where exchanges after the first begin, and when.
fn starts(payloads: &Payloads, handshake: usize, rtt_ns: u64) -> Vec<(usize, u64)> {
    let all = &payloads.all;
    let mut starts: Vec<(usize, u64)> = Vec::new();
    let mut at = handshake + usize::from(payloads.is_tls);
    let mut had_response = false;
    while let Some((from, to)) = next_run(all, at) {
        had_response |= all[at..from].iter().any(|payload| payload.side == 1);
        at = to;
        let Some(answer) = all.get(to) else {
            break;
        };
        let start = begins(payloads, from, to);
        let took_ns = answer.at_ns.saturating_sub(all[start].at_ns);
        let is_message = payloads.is_control(answer) || is_farewell(payloads, answer);
        let is_request = !payloads.is_control(&all[start]) || took_ns < IDLE_NS || !is_message;
        let is_answered = took_ns >= rtt_ns / 10 * 9 && !payloads.is_alert(answer);
        if had_response && is_request && is_answered {
            starts.push((start, all[start].at_ns));
        }
    }
    starts
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

/// Returns which payload of a run begins a request: the first that is longer than HTTP/2's control frames, which end an
/// earlier exchange.
fn begins(payloads: &Payloads, from: usize, to: usize) -> usize {
    let mut run = payloads.all[from..to].iter();
    let request = run.position(|payload| !payloads.is_control(payload));
    request.map_or(to - 1, |place| from + place)
}

/// Returns the place of the last payload of a response, without messages of the server's own after it.
fn last_response(
    payloads: &Payloads,
    of: std::ops::Range<usize>,
    handshake: usize,
) -> Option<usize> {
    let all = &payloads.all;
    let last_before = |place: usize| {
        let mut earlier = all[of.start..place].iter();
        earlier
            .rposition(|payload| payload.side == 1)
            .map(|at| of.start + at)
    };
    let mut last = last_before(of.end)?;
    // What the server sends in the handshake is part of it, unless the handshake has no end.
    let secured = Some(handshake).filter(|&place| place < all.len());
    while secured.is_none_or(|place| last > place) {
        let before = last_before(last);
        match before.filter(|&before| is_own_message(payloads, before, last)) {
            Some(before) => last = before,
            None => break,
        }
    }
    Some(last)
}

/// Reports whether the server sent a payload on its own, long after `before`, its payload before that: to close the
/// connection, or to find out whether the client is there.
fn is_own_message(payloads: &Payloads, before: usize, place: usize) -> bool {
    let all = &payloads.all;
    let payload = &all[place];
    if payload.is_copy {
        return false;
    }
    let between = &all[before + 1..place];
    let is_unasked = between
        .iter()
        .all(|of_client| payloads.is_control(of_client));
    let since_ns = |earlier: &Payload| payload.at_ns.saturating_sub(earlier.at_ns);
    let is_late = since_ns(&all[before]) >= IDLE_NS;
    // A short answer to a short request looks the same.
    let is_silent = since_ns(&all[place - 1]) >= IDLE_NS;
    payloads.is_alert(payload)
        || is_unasked
            && is_late
            && (is_farewell(payloads, payload) || is_silent && payloads.is_control(payload))
}

/// Reports whether a payload may be what a server sends before it closes the connection.
fn is_farewell(payloads: &Payloads, payload: &Payload) -> bool {
    payload.precedes_close && payloads.may_be_frames(payload, FAREWELL_BYTES)
}

/// Returns the pauses between payloads of the client that are so long that an answer to the first could have come. More
/// of the same message follows a segment of `full_bytes`.
fn pauses(payloads: &[Payload], full_bytes: u64, rtt_ns: u64) -> Vec<[u64; 2]> {
    let least_ns = rtt_ns.max(LEAST_PAUSE_NS);
    let pairs = payloads.windows(2).filter(|pair| {
        pair.iter().all(|payload| payload.side == 0)
            && pair[0].bytes < full_bytes
            && pair[1].at_ns.saturating_sub(pair[0].at_ns) >= least_ns
    });
    pairs.map(|pair| [pair[0].at_ns, pair[1].at_ns]).collect()
}
