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
//! 4. The connection's exchanges are told apart by when payload was sent and received (`exchange`).
//! 5. Each exchange goes through [`explain::Crossings`] (`answer`). The result is [`Explained`].
//!
//! Files are read by the caller. A malformed one is an error with the place, and what would be right.

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
mod pieces;
mod ranges;
mod single;
mod transit;

use frame::{Content, Segment};

pub use answer::explain;
pub use error::CaptureError;
pub use explained::{
    CaptureFacts, ClockFacts, ConnectionFacts, End, Exchange, Explained, LeftOut, PartTime,
};

/// The most TCP segments that a capture may have. Each takes some hundred bytes of memory.
const MAX_SEGMENTS: usize = 4_000_000;

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
    /// The times of its first and its last packet.
    span_ns: [u64; 2],
}

impl Capture {
    /// Reads a file of pcap or pcapng. `name` is the file's, for messages.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Capture, CaptureError> {
        let mut capture = Capture {
            name: name.to_owned(),
            segments: Vec::new(),
            packets: 0,
            udp: 0,
            fragments: 0,
            other: 0,
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
                Content::Tcp(_) if capture.segments.len() == MAX_SEGMENTS => {
                    let place = error::Place::Packet(frame.number);
                    let problem = format!(
                        "more than {MAX_SEGMENTS} TCP segments: keep some connections, \
                         e.g. `tcpdump -r FILE -w FEWER host ADDRESS`"
                    );
                    return Err(CaptureError::new(name, place, problem));
                }
                Content::Tcp(segment) => capture.segments.push(segment),
            }
            Ok(())
        })?;
        capture.segments.sort_by_key(|segment| segment.at_ns);
        Ok(capture)
    }
}

#[cfg(test)]
mod tests;
