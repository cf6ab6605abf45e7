//! Captures made elsewhere, turned into the packets and requests that `explain` follows.
//!
//! The life of an answer:
//!
//! 1. [`Capture::read`] takes a file of tcpdump or Wireshark: its frames (`file`), and their headers down to TCP
//!    (`frame`).
//! 2. [`explain()`] sorts the segments by connection (`connection`). A connection is known by its initial sequence
//!    numbers, so that a NAT between two captures does not matter.
//! 3. Two captures give each packet both its times (`pair`), once their clocks are compared (`clock`). One capture
//!    shows one end exactly, and nothing beyond (`single`).
//! 4. The connection's exchanges are told apart by when payload (`payload`) was sent and received (`exchange`).
//! 5. Each exchange goes through [`explain::Crossings`] (`answer`). The result is [`Explained`].
//!
//! Files are read by the caller. A malformed one is an error with the place, and what would be right. A packet with
//! malformed headers is counted and left out.

#![forbid(unsafe_code)]

mod answer;
mod clock;
mod connection;
mod error;
mod exchange;
mod explained;
mod file;
mod frame;
mod pair;
mod payload;
mod pieces;
mod ranges;
mod single;
mod transit;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use frame::{Content, Segment};

pub use answer::explain;
pub use error::CaptureError;
pub use explained::{
    CaptureFacts, ClockFacts, ConnectionFacts, End, Exchange, Explained, LeftOut, PartTime,
};

/// How many TCP segments are kept. Each takes some hundred bytes of memory.
const LIMITS: Limits = Limits {
    segments: 4_000_000,
    of_ends: 2_000_000,
    pieces: 8_000_000,
};

/// How many TCP segments are kept, and followed.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// In a capture.
    segments: usize,
    /// Between two addresses with their ports, so that one connection leaves room for others.
    of_ends: usize,
    /// Into how many pieces the segments that are explained together may be cut: enough for some gigabytes.
    pieces: usize,
}

/// Two addresses with their ports, in order.
type Ends = [SocketAddr; 2];

/// A capture's TCP segments, and how much else it has.
#[derive(Clone, Debug)]
pub struct Capture {
    name: String,
    /// In the order of time.
    segments: Vec<Segment>,
    packets: usize,
    udp: usize,
    fragments: usize,
    other: usize,
    malformed: usize,
    /// The first malformed packet, and what is wrong with it.
    first_malformed: Option<(u32, String)>,
    /// The ends between which there are more segments than are kept.
    too_long: BTreeSet<Ends>,
    limits: Limits,
    /// The times of its first and its last packet.
    span_ns: [u64; 2],
}

impl Capture {
    /// Reads a file of pcap or pcapng. `name` is the file's, for messages.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Capture, CaptureError> {
        Capture::read_within(name, bytes, LIMITS)
    }

    fn read_within(name: &str, bytes: &[u8], limits: Limits) -> Result<Capture, CaptureError> {
        let mut of_ends: BTreeMap<Ends, usize> = BTreeMap::new();
        let mut capture = Capture {
            name: name.to_owned(),
            segments: Vec::new(),
            packets: 0,
            udp: 0,
            fragments: 0,
            other: 0,
            malformed: 0,
            first_malformed: None,
            too_long: BTreeSet::new(),
            limits,
            span_ns: [u64::MAX, 0],
        };
        file::frames(name, bytes, |frame| {
            capture.packets += 1;
            capture.span_ns[0] = capture.span_ns[0].min(frame.at_ns);
            capture.span_ns[1] = capture.span_ns[1].max(frame.at_ns);
            match frame::content(name, &frame)? {
                Content::Udp => capture.udp += 1,
                Content::Fragment => capture.fragments += 1,
                Content::Other => capture.other += 1,
                Content::Malformed(problem) => {
                    capture.malformed += 1;
                    capture
                        .first_malformed
                        .get_or_insert((frame.number, problem));
                }
                Content::Tcp(segment) => {
                    let ends = segment.ends();
                    let count = of_ends.entry(ends).or_insert(0);
                    if *count == limits.of_ends {
                        capture.too_long.insert(ends);
                        return Ok(());
                    }
                    *count += 1;
                    if capture.segments.len() == limits.segments {
                        let place = error::Place::Packet(frame.number);
                        let problem = format!(
                            "more than {} TCP segments: keep some connections, \
                             e.g. `tcpdump -r FILE -w FEWER host ADDRESS`",
                            limits.segments
                        );
                        return Err(CaptureError::new(name, place, problem));
                    }
                    capture.segments.push(segment);
                }
            }
            Ok(())
        })?;
        capture.segments.sort_by_key(|segment| segment.at_ns);
        Ok(capture)
    }
}

#[cfg(test)]
mod tests;
