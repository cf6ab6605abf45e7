//! The payload of a connection that was new, as the client saw it.

use link::tap::FIN;

use crate::ranges::Ranges;
use crate::transit::Transit;

/// The flag RST (RFC 9293 section 3.1).
const RST: u8 = 0x04;
/// The types of TLS records that show what a segment is.
const TLS_ALERT: u8 = 21;
const TLS_HANDSHAKE: u8 = 22;
const TLS_DATA: u8 = 23;
/// A record of TLS 1.3 with an alert (RFC 8446 section 6).
const TLS_ALERT_BYTES: u64 = 24;
/// An alert of TLS 1.2 is at most so long, by its ciphers.
const LONGEST_ALERT_BYTES: u64 = 85;
/// A record of TLS 1.3 with a frame of HTTP/2 that is no request is at most so long: a PING (RFC 9113 section 6.7).
const TLS_CONTROL_BYTES: u64 = 39;
/// Two updates of windows without TLS, of the connection and of a stream (RFC 9113 section 6.9).
const CONTROL_BYTES: u64 = 26;
/// The first byte of HTTP/2's frames without TLS: the highest of a length that is below 65,536 (RFC 9113 section 4.1).
const FRAME: u8 = 0;
/// What is sent right before the connection is closed comes within this time before.
const CLOSE_NS: u64 = 1_000_000_000;

/// Payload that was new, when the client sent or received it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload {
    pub(crate) at_ns: u64,
    pub(crate) side: usize,
    pub(crate) bytes: u64,
    pub(crate) first_byte: Option<u8>,
    /// Its sender had sent it before.
    pub(crate) is_copy: bool,
    /// An end closes the connection with it, or soon after.
    pub(crate) precedes_close: bool,
}

/// The payloads of a connection.
#[derive(Debug)]
pub(crate) struct Payloads {
    /// In the order in which the client saw them.
    pub(crate) all: Vec<Payload>,
    /// The connection begins with a handshake of TLS.
    pub(crate) is_tls: bool,
}

impl Payloads {
    pub(crate) fn of(transits: &[Transit]) -> Payloads {
        let is_seen = |transit: &&Transit| transit.placed.side == 0 || transit.was_delivered();
        let at_client_ns = |transit: &Transit| match transit.placed.side {
            0 => transit.sent_ns,
            _ => transit.received_ns,
        };
        let seen = transits.iter().filter(is_seen);
        let closes = seen
            .clone()
            .filter(|transit| transit.placed.flags & (FIN | RST) != 0);
        let mut closes_ns: Vec<u64> = closes.map(at_client_ns).collect();
        closes_ns.sort_unstable();
        let mut order: Vec<(u64, &Transit)> = seen
            .filter(|transit| transit.placed.payload_bytes() > 0)
            .map(|transit| (at_client_ns(transit), transit))
            .collect();
        order.sort_by_key(|&(at_ns, _)| at_ns);
        let mut had = [Ranges::default(), Ranges::default()];
        let mut all: Vec<Payload> = Vec::new();
        for (at_ns, transit) in order {
            let placed = &transit.placed;
            if had[placed.side].add(placed.start, placed.end) > 0 {
                let next = closes_ns.partition_point(|&close_ns| close_ns < at_ns);
                let close_ns = closes_ns.get(next);
                all.push(Payload {
                    at_ns,
                    side: placed.side,
                    bytes: placed.payload_bytes(),
                    first_byte: placed.first_byte,
                    is_copy: transit.is_copy,
                    precedes_close: close_ns.is_some_and(|close_ns| close_ns - at_ns <= CLOSE_NS),
                });
            }
        }
        let first = all.iter().find(|payload| payload.side == 0);
        Payloads {
            is_tls: first.is_some_and(|first| first.first_byte == Some(TLS_HANDSHAKE)),
            all,
        }
    }

    /// Reports whether a payload is no longer than some bytes, and may be messages of TLS or frames of HTTP/2.
    pub(crate) fn may_be_frames(&self, payload: &Payload, longest: u64) -> bool {
        let is_frame = match self.is_tls {
            true => [TLS_DATA, TLS_ALERT].contains(&payload.first_byte.unwrap_or(TLS_DATA)),
            false => payload.first_byte.unwrap_or(FRAME) == FRAME,
        };
        is_frame && payload.bytes <= longest
    }

    /// Reports whether a payload is as short as frames of HTTP/2 that are no request, or an alert of TLS.
    pub(crate) fn is_control(&self, payload: &Payload) -> bool {
        let longest = match self.is_tls {
            true => TLS_CONTROL_BYTES,
            false => CONTROL_BYTES,
        };
        self.may_be_frames(payload, longest) || self.is_alert(payload)
    }

    /// Reports whether a payload is an alert of TLS, which answers nothing. Over TLS 1.3 a record of its length may have
    /// two bytes of a body as well: it is an alert if the connection is closed then.
    pub(crate) fn is_alert(&self, payload: &Payload) -> bool {
        let is_alert = match payload.first_byte {
            Some(TLS_ALERT) => payload.bytes <= LONGEST_ALERT_BYTES,
            Some(TLS_DATA) => payload.precedes_close && payload.bytes == TLS_ALERT_BYTES,
            _ => false,
        };
        self.is_tls && is_alert
    }
}
