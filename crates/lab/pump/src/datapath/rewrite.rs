//! Rewrites the ports of TCP and UDP packets, as a NAT does.

use super::frame::{self, Parsed, TCP_CHECKSUM, UDP_CHECKSUM, fnv};
use link::Transport;

/// One end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Source,
    Destination,
}

impl End {
    pub(crate) fn port(self, parsed: &Parsed) -> u16 {
        match self {
            End::Source => parsed.src_port,
            End::Destination => parsed.dst_port,
        }
    }
}

/// Returns a number for the address at one end and the protocol.
pub(crate) fn host(frame: &[u8], parsed: &Parsed, end: End) -> u64 {
    let addresses = frame::addresses(frame, parsed);
    let (source, destination) = addresses.split_at(addresses.len() / 2);
    let address = match end {
        End::Source => source,
        End::Destination => destination,
    };
    fnv(fnv(frame::FNV_BASIS, address), &[parsed.protocol])
}

/// Replaces the port at one end, and updates the checksum (RFC 1624, equation 3). `parsed` is the
/// frame's own. Does nothing to a frame that is neither TCP nor UDP.
pub(crate) fn set_port(frame: &mut [u8], parsed: &Parsed, end: End, port: u16) {
    let checksum_at = match parsed.transport {
        Transport::Tcp => TCP_CHECKSUM,
        Transport::Udp => UDP_CHECKSUM,
        Transport::Other => return,
    };
    let Some(header) = frame.get_mut(parsed.transport_at..) else {
        return;
    };
    let port_at = match end {
        End::Source => 0,
        End::Destination => 2,
    };
    let former = u16_at(header, port_at);
    let checksum = u16_at(header, checksum_at);
    header[port_at..port_at + 2].copy_from_slice(&port.to_be_bytes());
    // Over IPv4 a UDP checksum of 0 means that there is none (RFC 768).
    if parsed.transport == Transport::Udp && checksum == 0 {
        return;
    }
    let sum = u64::from(!checksum) + u64::from(!former) + u64::from(port);
    let checksum = frame::checksum_of(sum, checksum_at);
    header[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::tap::{TCP, UDP};
    use proptest::prelude::*;

    /// Returns a whole packet with these ports and a valid checksum.
    fn packet(
        v6: bool,
        protocol: u8,
        addresses: [u8; 32],
        ports: [u16; 2],
        data: &[u8],
    ) -> Vec<u8> {
        let fixed = if protocol == TCP { 20 } else { 8 };
        let len = (fixed + data.len()) as u16;
        let mut frame = vec![0; 12];
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(len.to_be_bytes());
            frame.extend([protocol, 64]);
            frame.extend(addresses);
        } else {
            frame.extend([0x08, 0, 0x45, 0]);
            frame.extend((20 + len).to_be_bytes());
            frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend(&addresses[..8]);
        }
        let start = frame.len();
        frame.extend(ports[0].to_be_bytes());
        frame.extend(ports[1].to_be_bytes());
        if protocol == TCP {
            frame.extend([1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x10, 9, 9, 0, 0, 0, 0]);
        } else {
            frame.extend(len.to_be_bytes());
            frame.extend([0, 0]);
        }
        frame.extend(data);
        let checksum = !folded_sum(&frame);
        let none = protocol == UDP && checksum == 0;
        let checksum = if none { 0xffff } else { checksum };
        let at = start + if protocol == TCP { 16 } else { 6 };
        frame[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        frame
    }

    /// Adds up pseudo header and packet in 16-bit words (RFC 1071), as a reference implementation.
    /// The sum of a packet with a valid checksum is 0xffff.
    fn folded_sum(frame: &[u8]) -> u16 {
        let (protocol, addresses, upper) = match frame[12] {
            0x08 => (frame[23], &frame[26..34], &frame[34..]),
            _ => (frame[20], &frame[22..54], &frame[54..]),
        };
        let mut words = [addresses, upper].concat();
        words.resize(words.len().next_multiple_of(2), 0);
        let words = words.chunks(2).map(|w| u32::from(u16_at(w, 0)));
        let mut sum = words.sum::<u32>() + u32::from(protocol) + upper.len() as u32;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    proptest! {
        #[test]
        fn a_new_port_leaves_everything_else_and_a_valid_checksum(
            v6: bool, udp: bool, addresses: [u8; 32], ports: [u16; 2], port: u16, source: bool,
            data in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let protocol = if udp { UDP } else { TCP };
            let end = if source { End::Source } else { End::Destination };
            let mut frame = packet(v6, protocol, addresses, ports, &data);
            prop_assert_eq!(folded_sum(&frame), 0xffff);
            let parsed = frame::parse(&frame);
            set_port(&mut frame, &parsed, end, port);
            prop_assert_eq!(folded_sum(&frame), 0xffff);
            let expected = if source { [port, ports[1]] } else { [ports[0], port] };
            let mut fresh = packet(v6, protocol, addresses, expected, &data);
            let at = parsed.transport_at + if udp { 6 } else { 16 };
            // Of the two representations of zero, UDP may only use one.
            prop_assert!(!udp || frame[at..at + 2] != [0, 0]);
            for frame in [&mut frame, &mut fresh] {
                frame[at..at + 2].fill(0);
            }
            prop_assert_eq!(frame, fresh);
        }

        #[test]
        fn no_frame_causes_a_panic(mut frame in prop::collection::vec(any::<u8>(), 0..100)) {
            let parsed = frame::parse(&frame);
            set_port(&mut frame, &parsed, End::Source, 7);
        }
    }

    #[test]
    fn a_udp_packet_without_checksum_gets_none() {
        let mut frame = packet(false, UDP, [1; 32], [5, 443], b"data");
        frame[40..42].fill(0);
        let parsed = frame::parse(&frame);
        set_port(&mut frame, &parsed, End::Destination, 444);
        assert_eq!((u16_at(&frame, 36), u16_at(&frame, 40)), (444, 0));
    }

    #[test]
    fn hosts_differ_by_address_and_protocol() {
        let mut addresses = [1; 32];
        addresses[4..8].fill(2);
        let host_of = |protocol, end| {
            let frame = packet(false, protocol, addresses, [5, 443], b"");
            host(&frame, &frame::parse(&frame), end)
        };
        assert_ne!(host_of(UDP, End::Source), host_of(UDP, End::Destination));
        assert_ne!(host_of(UDP, End::Source), host_of(TCP, End::Source));
    }
}
