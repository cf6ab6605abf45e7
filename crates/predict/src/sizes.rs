//! How large packets are.

use crate::packets::{QUIC_HEADER, QUIC_TAG, TCP_HEADER, UDP_HEADER, Wire};
use crate::{IP, Protocol};

/// The parts that a server sends: first what goes ahead of the response, then the response.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    protocol: Protocol,
    ahead: &'static [u32],
    full: u32,
    last: u32,
    last_part: usize,
}

impl Sizes {
    pub(crate) fn new(protocol: Protocol, response: Wire, ahead: &'static [u32]) -> Sizes {
        let before_last = response.packets.saturating_sub(1);
        let full = response.packet_bytes;
        let last = response.bytes.saturating_sub(before_last * u64::from(full));
        Sizes {
            protocol,
            ahead,
            full,
            // In QUIC, the first packets hold a few bytes more than the later ones.
            last: u32::try_from(last)
                .unwrap_or(full)
                .clamp(headers(protocol) + 1, full),
            last_part: ahead.len() + usize::try_from(before_last).unwrap_or(usize::MAX),
        }
    }

    pub(crate) fn ip_bytes(&self, part: usize) -> u32 {
        match self.ahead.get(part) {
            Some(ip_bytes) => *ip_bytes,
            None if part == self.last_part => self.last,
            None => self.full,
        }
    }

    /// What congestion control counts of a part: Linux counts segments, whatever they hold, and
    /// quinn bytes.
    pub(crate) fn counted(&self, part: usize) -> u32 {
        match self.protocol {
            Protocol::H2 => self.full_counted(),
            Protocol::H3 => self.ip_bytes(part) - headers(self.protocol),
        }
    }

    /// What it counts of a full packet.
    pub(crate) fn full_counted(&self) -> u32 {
        self.full - headers(self.protocol)
    }

    /// An acknowledgement.
    pub(crate) fn ack(&self) -> u32 {
        let frame = match self.protocol {
            Protocol::H2 => 0,
            Protocol::H3 => QUIC_HEADER + QUIC_TAG + ACK_FRAME,
        };
        headers(self.protocol) + frame
    }
}

fn headers(protocol: Protocol) -> u32 {
    IP.header()
        + match protocol {
            Protocol::H2 => TCP_HEADER,
            Protocol::H3 => UDP_HEADER,
        }
}

/// With one range (RFC 9000 section 19.3).
const ACK_FRAME: u32 = 6;
