//! Packet sizes, in IP bytes and as congestion control counts them.

use crate::packets::{QUIC_HEADER, QUIC_TAG, ResponsePackets, TCP_HEADER, UDP_HEADER};
use crate::{IP, Protocol};

/// An ACK frame with one range (RFC 9000 section 19.3).
const ACK_FRAME: u32 = 6;

/// The sizes of the parts that a server sends: the preamble, then the response.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    protocol: Protocol,
    preamble: &'static [u32],
    full: u32,
    last: u32,
    last_part: usize,
}

impl Sizes {
    pub(crate) fn new(
        protocol: Protocol,
        response: ResponsePackets,
        preamble: &'static [u32],
    ) -> Sizes {
        let before_last = response.packets.saturating_sub(1);
        let full = response.packet_bytes;
        let last = response.bytes.saturating_sub(before_last * u64::from(full));
        Sizes {
            protocol,
            preamble,
            full,
            // The rest can fall outside a packet: in QUIC the first packets hold a few bytes more
            // than the later ones.
            last: u32::try_from(last)
                .unwrap_or(full)
                .clamp(headers(protocol) + 1, full),
            last_part: preamble.len() + usize::try_from(before_last).unwrap_or(usize::MAX),
        }
    }

    pub(crate) fn ip_bytes(&self, part: usize) -> u32 {
        match self.preamble.get(part) {
            Some(ip_bytes) => *ip_bytes,
            None if part == self.last_part => self.last,
            None => self.full,
        }
    }

    /// Returns a part's size as congestion control counts it: Linux counts segments, however little
    /// they hold, and quinn bytes.
    pub(crate) fn counted(&self, part: usize) -> u32 {
        match self.protocol {
            Protocol::H2 => self.full_counted(),
            Protocol::H3 => self.ip_bytes(part) - headers(self.protocol),
        }
    }

    /// Returns a full packet's size as congestion control counts it.
    pub(crate) fn full_counted(&self) -> u32 {
        self.full - headers(self.protocol)
    }

    /// Returns the IP bytes of an acknowledgement.
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
