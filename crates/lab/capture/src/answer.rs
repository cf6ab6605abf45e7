//! From captures to where their time went.

mod gaps;
mod matching;
mod one;
mod steps;
mod two;

use std::ops::Range;

use explain::{Crossings, Http, Leg, Part, Path, Request, Step};
use link::tap::TapRecord;

use crate::connection::Connection;
use crate::error::{CaptureError, Place};
use crate::exchange::{Exchanges, Span};
use crate::explained::{ConnectionFacts, End, Exchange, Explained, PartTime};
use crate::transit::Transit;
use crate::{Capture, Limits};

/// Each connection has a number that stands for the client's port.
const MAX_CONNECTIONS: usize = 60_000;
/// Times begin so late that no packet is placed before zero.
const HEADROOM_NS: u64 = 600_000_000_000;

/// Explains one capture, or two: one made at the client and one at the server, in any order. The path of the exchange
/// with the number `request` is kept.
pub fn explain(captures: &[Capture], request: Option<usize>) -> Result<Explained, CaptureError> {
    let mut walker = Walker {
        request,
        number: 0,
        packets: Vec::new(),
    };
    let mut explained = match captures {
        [one] => one::explain(one, &mut walker)?,
        [first, second] => two::explain(first, second, &mut walker)?,
        _ => {
            let problem = "one or two captures are explained at a time";
            return Err(CaptureError::new("captures", Place::File, problem));
        }
    };
    explained.packets = walker.packets;
    Ok(explained)
}

/// Packets that crossed the network between two ends, with what the walk knows of them.
struct Scene {
    /// In the order of `crossings`.
    transits: Vec<Transit>,
    crossings: Crossings,
    /// The payload of each connection's full segments, up and down.
    full: Vec<[u64; 2]>,
    rtt_ns: u64,
}

impl Scene {
    /// Returns the scene of some connections' packets; each connection's place stands for its port.
    fn of(
        connections: &[(&Connection, Range<usize>)],
        transits: Vec<Transit>,
        rtt_ns: u64,
    ) -> Scene {
        let tap = connections
            .iter()
            .enumerate()
            .flat_map(|(place, (connection, range))| {
                let of = transits[range.clone()].iter();
                of.map(move |transit| transit.record(port(place), connection.origins))
            });
        let tap: Vec<TapRecord> = tap.collect();
        let leg = Leg::of_unknown_rate(rtt_ns / 2);
        Scene {
            crossings: Crossings::of(&tap, &leg, &leg),
            full: connections.iter().map(|(of, _)| of.surely_full).collect(),
            transits,
            rtt_ns,
        }
    }
}

fn port(place: usize) -> u16 {
    u16::try_from(place + 1).expect("connections are counted")
}

/// Explains exchanges one after another.
struct Walker {
    /// The exchange whose path is kept.
    request: Option<usize>,
    /// The number of the last exchange.
    number: usize,
    packets: Vec<[Option<u32>; 2]>,
}

impl Walker {
    /// Explains the exchanges of a scene's connection, and counts the client's bytes that no response follows. `known`
    /// replaces the steps' parts as far as the captures show them.
    fn exchanges(
        &mut self,
        scene: &Scene,
        (place, range): (usize, Range<usize>),
        known: impl Fn(&Span, &mut [Step]),
    ) -> (Vec<Exchange>, u64) {
        let found = Exchanges::of(&scene.transits[range], scene.rtt_ns);
        let longest = scene.full[place].map(|bytes| u16::try_from(bytes).ok());
        let explained = found.spans.iter().map(|span| {
            self.number += 1;
            let request = Request {
                longest,
                ..request(span, port(place))
            };
            let mut path = scene.crossings.path(&request);
            known(span, &mut path.steps);
            for step in &mut path.steps {
                let is_unclear = span.is_unclear(step.from_ns, step.to_ns);
                if step.part == Part::Client && is_unclear {
                    step.part = Part::Unexplained;
                }
            }
            let is_wanted = self.request == Some(self.number);
            Exchange {
                number: self.number,
                start_ns: span.start_ns.saturating_sub(HEADROOM_NS),
                duration_ns: span.end_ns - span.start_ns,
                request_bytes: span.request_bytes,
                response_bytes: span.response_bytes,
                parts: parts(&path, scene.rtt_ns),
                path: is_wanted.then(|| {
                    steps::recorded(&path, span.start_ns, &scene.transits, &mut self.packets)
                }),
            }
        });
        (explained.collect(), found.unanswered_bytes)
    }
}

/// Returns an exchange as a request. Nothing is known from the ends' programs. HTTP/1.1 is the version whose rules need
/// the least of them: none applies to HTTP/1.1 alone within an exchange that begins with its request.
fn request(span: &Span, port: u16) -> Request<'static> {
    Request {
        http: Http::One,
        port,
        start_ns: span.start_ns,
        end_ns: span.end_ns,
        sent_ns: None,
        received_ns: None,
        secured_ns: None,
        nodelay: [false; 2],
        longest: [None; 2],
        served: None,
        request_bytes: span.request_bytes,
        sender: None,
    }
}

fn parts(path: &Path, rtt_ns: u64) -> Vec<PartTime> {
    let of = path.parts();
    let present = of.present().map(|(part, ns)| PartTime {
        part,
        ns,
        round_trips: (part.is_round_trip() && rtt_ns > 0).then(|| ns as f64 / rtt_ns as f64),
    });
    present.collect()
}

/// Returns what is the same for a connection in one capture and in two.
fn facts(connection: &Connection) -> ConnectionFacts {
    let mut with_payload = connection
        .segments
        .iter()
        .filter(|segment| segment.payload_bytes() > 0);
    ConnectionFacts {
        client: connection.client.to_string(),
        server: connection.server.to_string(),
        captured_at: End::Unknown,
        not_explained: None,
        rtt_ns: 0,
        packets: connection.segments.len(),
        lost: None,
        copies: None,
        missed: [0; 2],
        missing_bytes: [0; 2],
        seen_twice: connection.seen_twice,
        has_offload: connection.has_offload,
        lacks_options: connection.lacks.any,
        unanswered_bytes: 0,
        lacks_payload: with_payload
            .next()
            .is_some_and(|first| first.first_byte.is_none()),
        exchanges: Vec::new(),
    }
}

/// Says that a capture has more of a connection's segments than are kept.
fn too_long(limits: Limits) -> String {
    format!(
        "its addresses and ports have more than {} segments, the most that are kept of one connection: capture for a \
         shorter time",
        limits.of_ends
    )
}

/// Says that a connection's segments are cut into more pieces than are followed.
fn too_many_pieces(most: usize) -> String {
    format!(
        "its segments are cut into more than {most} pieces, the most that are followed: capture without segmentation \
         offload, or for a shorter time"
    )
}

/// Checks that a capture has connections, and not more than can be numbered.
fn check_count(capture: &Capture, connections: usize) -> Result<(), CaptureError> {
    let problem = match connections {
        0 => {
            let quic = match capture.udp {
                0 => String::new(),
                udp => format!(" ({udp} UDP packets: QUIC is encrypted and not explained)"),
            };
            match &capture.first_malformed {
                Some((number, problem)) => {
                    let malformed = capture.malformed;
                    let place = Place::Packet(*number);
                    let problem = format!(
                        "{problem}. No TCP connection with its handshake is left beside {malformed} malformed packets"
                    );
                    return Err(CaptureError::new(&capture.name, place, problem));
                }
                None => format!(
                    "no TCP connection with its handshake{quic}: begin to capture before the client connects"
                ),
            }
        }
        1..=MAX_CONNECTIONS => return Ok(()),
        _ => format!(
            "{connections} TCP connections, at most {MAX_CONNECTIONS} are explained: keep some, \
             e.g. `tcpdump -r FILE -w FEWER host ADDRESS`"
        ),
    };
    Err(CaptureError::new(&capture.name, Place::File, problem))
}
