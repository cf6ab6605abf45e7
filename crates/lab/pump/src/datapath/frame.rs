//! Parses frames for the model and the tap, and completes checksums.

use link::Transport;
use link::tap::{ACK, SYN, TCP, TcpOptions, UDP};

/// Length of an Ethernet header.
pub(crate) const ETHERNET_LEN: usize = 14;
/// Where a checksum is in the header of its protocol (RFC 9293 section 3.1, RFC 768).
pub(crate) const TCP_CHECKSUM: usize = 16;
pub(crate) const UDP_CHECKSUM: usize = 6;
const MAX_EXTENSIONS: usize = 4;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
const QUIC_V1: u32 = 1;
/// RFC 9369; its Initials have a type of their own.
const QUIC_V2: u32 = 0x6b33_43cf;
pub(crate) const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The fields of an Ethernet frame up to TCP and UDP. The parser trusts none of its lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) transport: Transport,
    /// IP bytes in the frame, including any padding.
    pub(crate) ip_bytes: u32,
    /// 4, 6, or 0 for anything that is not IP.
    pub(crate) ip_version: u8,
    /// IP protocol number.
    pub(crate) protocol: u8,
    /// Explicit congestion notification bits.
    pub(crate) ecn: u8,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    /// Where the TCP or UDP header begins in the frame.
    pub(crate) transport_at: usize,
    /// The same for all packets of a flow, in both directions.
    pub(crate) flow: u64,
    /// Identifies the connection that the packet starts: of a TCP SYN without ACK its sequence
    /// number, of a QUIC Initial a hash of its source connection id. The same when the packet is
    /// retransmitted.
    pub(crate) opening: Option<u64>,
    pub(crate) tcp_flags: u8,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// TCP's window as on the wire.
    pub(crate) window: u16,
    pub(crate) options: TcpOptions,
    /// Bytes of TCP or UDP payload.
    pub(crate) payload_bytes: u16,
    /// First payload byte: a TLS record type, or the first byte of a QUIC header.
    pub(crate) first_byte: u8,
    /// Neither TCP nor UDP nor an ICMP error: no cell should have such a frame.
    pub(crate) foreign: bool,
}

/// Parses a frame. One that cannot be parsed is foreign.
pub(crate) fn parse(frame: &[u8]) -> Parsed {
    let packet = frame.get(ETHERNET_LEN..).unwrap_or(&[]);
    let mut parsed = Parsed {
        transport: Transport::Other,
        ip_bytes: packet.len() as u32,
        ip_version: 0,
        protocol: 0,
        ecn: 0,
        src_port: 0,
        dst_port: 0,
        transport_at: 0,
        flow: 0,
        opening: None,
        tcp_flags: 0,
        seq: 0,
        ack: 0,
        window: 0,
        options: TcpOptions::default(),
        payload_bytes: 0,
        first_byte: 0,
        foreign: true,
    };
    let ether_type = frame
        .get(12..14)
        .map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    let upper = match (ether_type, packet.first().map(|b| b >> 4)) {
        (0x0800, Some(4)) => ipv4(packet, &mut parsed),
        (0x86dd, Some(6)) => ipv6(packet, &mut parsed),
        _ => None,
    };
    if let Some(upper) = upper {
        parse_transport(upper, &mut parsed);
        parsed.flow = flow_id(frame, &parsed);
    }
    parsed
}

/// Returns the addresses of source and destination, one after the other, of a parsed frame; nothing
/// of one that is not IP.
pub(crate) fn addresses<'a>(frame: &'a [u8], parsed: &Parsed) -> &'a [u8] {
    let at = match parsed.ip_version {
        4 => ETHERNET_LEN + 12..ETHERNET_LEN + 20,
        6 => ETHERNET_LEN + 8..ETHERNET_LEN + 40,
        _ => 0..0,
    };
    frame.get(at).unwrap_or(&[])
}

/// Parses an IPv4 header (RFC 791) and returns its payload, cut to the stated length.
fn ipv4<'a>(packet: &'a [u8], parsed: &mut Parsed) -> Option<&'a [u8]> {
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let fixed = packet.get(..20)?;
    let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    parsed.ip_version = 4;
    parsed.protocol = fixed[9];
    parsed.ecn = fixed[1] & 3;
    let later_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff != 0;
    if later_fragment {
        // A later fragment has no ports: only the protocol is known.
        parsed.foreign = !matches!(parsed.protocol, TCP | UDP);
        return Some(&[]);
    }
    parsed.transport_at = ETHERNET_LEN + header_len.max(20);
    packet.get(header_len.max(20)..total_len.min(packet.len()))
}

/// Parses an IPv6 header (RFC 8200) and its extension headers, and returns the payload.
fn ipv6<'a>(packet: &'a [u8], parsed: &mut Parsed) -> Option<&'a [u8]> {
    let fixed = packet.get(..40)?;
    parsed.ip_version = 6;
    parsed.ecn = (fixed[1] >> 4) & 3;
    let payload_len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let mut next = fixed[6];
    let mut rest = packet.get(40..(40 + payload_len).min(packet.len()))?;
    parsed.transport_at = ETHERNET_LEN + 40;
    for _ in 0..MAX_EXTENSIONS {
        let len = match next {
            0 | 43 | 60 => (usize::from(*rest.get(1)?) + 1) * 8,
            44 => 8,
            _ => break,
        };
        next = *rest.first()?;
        rest = rest.get(len..)?;
        parsed.transport_at += len;
    }
    parsed.protocol = next;
    Some(rest)
}

fn parse_transport(upper: &[u8], parsed: &mut Parsed) {
    let u16_at = |at: usize| u16::from_be_bytes([upper[at], upper[at + 1]]);
    let u32_at =
        |at: usize| u32::from_be_bytes([upper[at], upper[at + 1], upper[at + 2], upper[at + 3]]);
    let payload = match (parsed.protocol, upper.len()) {
        (TCP, 20..) => {
            parsed.transport = Transport::Tcp;
            (parsed.seq, parsed.ack, parsed.tcp_flags) = (u32_at(4), u32_at(8), upper[13]);
            let opens = parsed.tcp_flags & (SYN | ACK) == SYN;
            parsed.opening = opens.then_some(u64::from(parsed.seq));
            parsed.window = u16_at(14);
            let header_len = usize::from(upper[12] >> 4).max(5) * 4;
            let (header, payload) = upper.split_at_checked(header_len).unwrap_or((upper, &[]));
            parsed.options =
                TcpOptions::parse(&header[20..], parsed.tcp_flags & SYN != 0, parsed.ack);
            payload
        }
        (UDP, 8..) => {
            parsed.transport = Transport::Udp;
            parsed.opening = quic_initial(&upper[8..]).map(|scid| fnv(FNV_BASIS, scid));
            &upper[8..]
        }
        (ICMP, 1..) => {
            parsed.foreign = !matches!(upper[0], 3 | 4 | 5 | 11 | 12); // RFC 792
            return;
        }
        (ICMP6, 1..) => {
            parsed.foreign = upper[0] >= 128; // RFC 4443 section 2.1: errors are below 128
            return;
        }
        _ => return,
    };
    parsed.foreign = false;
    (parsed.src_port, parsed.dst_port) = (u16_at(0), u16_at(2));
    parsed.payload_bytes = payload.len() as u16;
    parsed.first_byte = payload.first().copied().unwrap_or(0);
}

/// Returns the source connection id of a QUIC Initial; `None` for anything else. Only a client's
/// first packets and their answers are Initials (RFC 9000 section 17.2.2).
fn quic_initial(payload: &[u8]) -> Option<&[u8]> {
    let (first, rest) = payload.split_first()?;
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let version = u32::from_be_bytes(*version);
    let initial = if version == QUIC_V2 { 0xd0 } else { 0xc0 };
    // A client that knows the server may clear the fixed bit (RFC 9287). Other protocols begin like that, too.
    let fixed = match version {
        QUIC_V1 | QUIC_V2 => 0,
        _ => link::tap::QUIC_FIXED_BIT,
    };
    if (first | link::tap::QUIC_FIXED_BIT) & 0xf0 != initial
        || first & fixed != fixed
        || version == 0
    {
        return None;
    }
    let (dcid_len, rest) = rest.split_first()?;
    let rest = rest.get(usize::from(*dcid_len)..)?;
    let (scid_len, rest) = rest.split_first()?;
    rest.get(..usize::from(*scid_len))
}

/// Returns an id for the packet's flow: a hash of addresses, ports and protocol that does not depend
/// on the direction.
pub(crate) fn flow_id(frame: &[u8], parsed: &Parsed) -> u64 {
    let addresses = addresses(frame, parsed);
    let (src, dst) = addresses.split_at(addresses.len() / 2);
    let mut ends = [(src, parsed.src_port), (dst, parsed.dst_port)];
    ends.sort_unstable();
    let hash = ends.iter().fold(FNV_BASIS, |hash, (address, port)| {
        fnv(fnv(hash, address), &port.to_be_bytes())
    });
    fnv(hash, &[parsed.protocol])
}

/// Continues a hash by FNV-1a.
pub(crate) fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Completes a checksum that the sender left to the hardware (RFC 1071). The checksummed bytes
/// start at `start`; the checksum is stored `offset` bytes further on, where the sum of the pseudo
/// header already is. Returns `false` when that lies outside the frame.
pub(crate) fn complete_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(covered) = frame.get_mut(start..) else {
        return false;
    };
    if offset + 2 > covered.len() {
        return false;
    }
    let checksum = checksum_of(sum(covered), offset);
    covered[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Returns the checksum of words with this sum, for the field at `offset` of a transport's header.
pub(crate) fn checksum_of(sum: u64, offset: usize) -> u16 {
    match !fold(sum) {
        // In UDP 0 would mean "none" (RFC 768); 0xffff is the same in one's complement. TCP has 0 (RFC 1624).
        0 if offset == UDP_CHECKSUM => 0xffff,
        checksum => checksum,
    }
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words
        .iter()
        .map(|w| u64::from(u32::from_be_bytes(*w)))
        .sum();
    let (halves, last) = rest.as_chunks::<2>();
    // The halves of a word weigh 2^16 and 1, which are equal in one's complement.
    total += halves
        .iter()
        .map(|h| u64::from(u16::from_be_bytes(*h)))
        .sum::<u64>();
    total + last.first().map_or(0, |b| u64::from(*b) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame of Ethernet + IPv4 + UDP with ports 5 and 443, payload `c3 01`.
    fn udp4() -> Vec<u8> {
        let mut frame = vec![0u8; 12];
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 2, 0, 30, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 5, 1, 0xbb, 0, 10, 0, 0, 0xc3, 1]);
        frame
    }

    #[test]
    fn parses_udp_over_ipv4() {
        let parsed = parse(&udp4());
        assert_eq!(parsed.transport, Transport::Udp);
        assert_eq!((parsed.src_port, parsed.dst_port), (5, 443));
        assert_eq!(
            (parsed.ip_bytes, parsed.payload_bytes, parsed.first_byte),
            (30, 2, 0xc3)
        );
        assert_eq!((parsed.ecn, parsed.foreign), (2, false));
    }

    #[test]
    fn parses_tcp_over_ipv6_with_an_extension_header() {
        let mut frame = vec![0u8; 12];
        frame.extend([0x86, 0xdd, 0x60, 0x10, 0, 0, 0, 29, 60, 64]);
        frame.extend([1; 32]);
        frame.extend([6, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend([
            0, 7, 0, 8, 0, 0, 0, 9, 0, 0, 0, 10, 0x50, 0x18, 0, 0, 0, 0, 0, 0, 0x16,
        ]);
        let parsed = parse(&frame);
        assert_eq!(parsed.transport, Transport::Tcp);
        assert_eq!((parsed.src_port, parsed.seq, parsed.ack), (7, 9, 10));
        assert_eq!(
            (parsed.tcp_flags, parsed.first_byte, parsed.ecn),
            (0x18, 0x16, 1)
        );
    }

    #[test]
    fn flow_id_depends_on_ports_not_on_payload() {
        let mut other = udp4();
        other[35] = 6;
        let mut longer = udp4();
        longer[43] = 9;
        assert_ne!(parse(&udp4()).flow, parse(&other).flow);
        assert_eq!(parse(&udp4()).flow, parse(&longer).flow);
    }

    #[test]
    fn flow_id_is_the_same_in_both_directions() {
        let up = udp4();
        let mut down = udp4();
        down[26..30].copy_from_slice(&up[30..34]);
        down[30..34].copy_from_slice(&up[26..30]);
        down[34..36].copy_from_slice(&up[36..38]);
        down[36..38].copy_from_slice(&up[34..36]);
        assert_eq!(parse(&up).flow, parse(&down).flow);
        // The client's port at the server's address is another flow.
        down[26..34].copy_from_slice(&up[26..34]);
        assert_ne!(parse(&up).flow, parse(&down).flow);
    }

    /// Returns a frame of Ethernet + IPv4 + TCP.
    fn tcp4(flags: u8, seq: u32) -> Vec<u8> {
        let mut frame = udp4();
        frame.truncate(34);
        frame[17] = 40;
        frame[23] = 6;
        frame.extend([0, 5, 1, 0xbb]);
        frame.extend(seq.to_be_bytes());
        frame.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        frame
    }

    #[test]
    fn only_a_syn_without_ack_opens_a_tcp_connection() {
        assert_eq!(parse(&tcp4(SYN, 77)).opening, Some(77));
        for flags in [SYN | ACK, ACK, 0x11, 0x04] {
            assert_eq!(parse(&tcp4(flags, 77)).opening, None, "{flags:#x}");
        }
    }

    #[test]
    fn the_window_and_options_of_tcp_are_read_up_to_the_end_of_the_header() {
        let mut frame = tcp4(SYN | ACK, 77);
        frame[17] = 44;
        frame[46] = 0x60;
        frame[48..50].copy_from_slice(&[0xfa, 0xf0]);
        frame.extend([1, 3, 3, 9]);
        let parsed = parse(&frame);
        assert_eq!((parsed.window, parsed.payload_bytes), (0xfaf0, 0));
        assert_eq!(parsed.options.window_shift, Some(9));
        // Without room in the header, the same bytes are payload.
        frame[46] = 0x50;
        let parsed = parse(&frame);
        assert_eq!(
            (parsed.options.window_shift, parsed.payload_bytes),
            (None, 4)
        );
        for len in 0..frame.len() {
            frame[46] = 0xf0;
            parse(&frame[..len]);
        }
    }

    /// Returns a UDP datagram with this payload.
    fn datagram(payload: &[u8]) -> Vec<u8> {
        let mut frame = udp4();
        frame.truncate(42);
        frame[17] = 28 + payload.len() as u8;
        frame.extend(payload);
        frame
    }

    #[test]
    fn only_an_initial_opens_a_quic_connection() {
        let long = |first: u8, version: u32, scid: &[u8]| {
            let mut payload = vec![first];
            payload.extend(version.to_be_bytes());
            payload.extend([2, 8, 8, scid.len() as u8]);
            payload.extend(scid);
            payload.push(0);
            parse(&datagram(&payload)).opening
        };
        assert!(long(0xc3, 1, &[1, 2]).is_some() && long(0xc0, 1, &[]).is_some());
        assert_eq!(long(0xc3, 1, &[1, 2]), long(0xc1, 1, &[1, 2]));
        assert_ne!(long(0xc3, 1, &[1, 2]), long(0xc3, 1, &[1, 3]));
        // 0-RTT, Handshake, Retry, version negotiation, and version 2, whose types are shifted.
        for (first, version) in [(0xd3, 1), (0xe3, 1), (0xf0, 1), (0xc0, 0), (0xc3, QUIC_V2)] {
            assert_eq!(long(first, version, &[1]), None, "{first:#x}, {version:#x}");
        }
        assert!(long(0xd3, QUIC_V2, &[1]).is_some());
        // Without the fixed bit: RFC 9287 in a version that has it, or another protocol, e.g. RTP.
        assert_eq!(long(0x8b, 1, &[1, 2]), long(0xc3, 1, &[1, 2]));
        assert!(long(0x93, QUIC_V2, &[1]).is_some());
        for (first, version) in [
            (0x93, 1),
            (0xa3, 1),
            (0x83, 0x60_2000),
            (0x43, 1),
            (0x03, 1),
        ] {
            assert_eq!(long(first, version, &[1]), None, "{first:#x}, {version:#x}");
        }
        for payload in [&[0x43, 1, 2, 3][..], &[0xc3, 0, 0, 0, 1, 20], &[]] {
            assert_eq!(parse(&datagram(payload)).opening, None, "{payload:?}");
        }
    }

    #[test]
    fn truncated_frames_do_not_panic() {
        let frame = udp4();
        for len in 0..frame.len() {
            let truncated = parse(&frame[..len]);
            assert_eq!(truncated.transport == Transport::Udp, len >= 42);
        }
    }

    #[test]
    fn arp_is_foreign_and_icmp_errors_are_not() {
        let mut arp = vec![0u8; 60];
        arp[12..14].copy_from_slice(&[8, 6]);
        assert!(parse(&arp).foreign);
        let mut icmp = udp4();
        icmp[23] = 1;
        icmp[34] = 3;
        assert!(!parse(&icmp).foreign);
        icmp[34] = 8;
        assert!(parse(&icmp).foreign);
    }

    #[test]
    fn completed_checksum_verifies() {
        let mut frame = udp4();
        // The kernel leaves the pseudo header's sum in the field.
        let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 10];
        frame[40..42].copy_from_slice(&fold(sum(&pseudo)).to_be_bytes());
        assert!(complete_checksum(&mut frame, 34, 6));
        assert_eq!(fold(sum(&pseudo) + sum(&frame[34..])), 0xffff);
        assert!(!complete_checksum(&mut frame, 44, 6));
        assert!(!complete_checksum(&mut frame, 99, 0));
    }

    #[test]
    fn only_udp_represents_a_checksum_of_zero_by_ones() {
        for (offset, expected) in [(UDP_CHECKSUM, [0xff, 0xff]), (TCP_CHECKSUM, [0, 0])] {
            let mut header = [0; 20];
            header[..2].fill(0xff);
            assert!(complete_checksum(&mut header, 0, offset));
            assert_eq!(header[offset..offset + 2], expected);
        }
    }
}
