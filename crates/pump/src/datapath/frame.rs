//! What the model and the tap want to know of a frame, read from its bytes.

use link::Transport;

/// An Ethernet frame, read as far as TCP and UDP. Nothing in it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) transport: Transport,
    /// IP bytes as the frame carries them.
    pub(crate) ip_bytes: u32,
    /// 4, 6, or 0 for anything that is not IP.
    pub(crate) ip_version: u8,
    /// IP protocol number.
    pub(crate) protocol: u8,
    /// Explicit congestion notification bits.
    pub(crate) ecn: u8,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) flow: u64,
    pub(crate) tcp_flags: u8,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// Bytes above TCP or UDP.
    pub(crate) payload_bytes: u16,
    /// First of them: a TLS record type, or the form of a QUIC header.
    pub(crate) first_byte: u8,
    /// Neither TCP nor UDP nor an ICMP error: no cell should see one.
    pub(crate) foreign: bool,
}

/// Reads a frame.
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
        flow: 0,
        tcp_flags: 0,
        seq: 0,
        ack: 0,
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
        transport(upper, &mut parsed);
        let addresses = if parsed.ip_version == 4 {
            &packet[12..20]
        } else {
            &packet[8..40]
        };
        parsed.flow = flow(addresses, &parsed);
    }
    parsed
}

/// Returns what lies above IPv4 (RFC 791), cut to its stated length.
fn ipv4<'a>(packet: &'a [u8], parsed: &mut Parsed) -> Option<&'a [u8]> {
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let fixed = packet.get(..20)?;
    let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    parsed.ip_version = 4;
    parsed.protocol = fixed[9];
    parsed.ecn = fixed[1] & 3;
    let later_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1fff != 0;
    if later_fragment {
        // Belongs to whatever its first fragment did; ports are not in it.
        parsed.foreign = !matches!(parsed.protocol, TCP | UDP);
        return Some(&[]);
    }
    packet.get(header_len.max(20)..total_len.min(packet.len()))
}

/// Returns what lies above IPv6 (RFC 8200) and the extension headers that may come before it.
fn ipv6<'a>(packet: &'a [u8], parsed: &mut Parsed) -> Option<&'a [u8]> {
    let fixed = packet.get(..40)?;
    parsed.ip_version = 6;
    parsed.ecn = (fixed[1] >> 4) & 3;
    let payload_len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let mut next = fixed[6];
    let mut rest = packet.get(40..(40 + payload_len).min(packet.len()))?;
    for _ in 0..MAX_EXTENSIONS {
        let len = match next {
            0 | 43 | 60 => (usize::from(*rest.get(1)?) + 1) * 8,
            44 => 8,
            _ => break,
        };
        next = *rest.first()?;
        rest = rest.get(len..)?;
    }
    parsed.protocol = next;
    Some(rest)
}

fn transport(upper: &[u8], parsed: &mut Parsed) {
    let u16_at = |at: usize| u16::from_be_bytes([upper[at], upper[at + 1]]);
    let u32_at =
        |at: usize| u32::from_be_bytes([upper[at], upper[at + 1], upper[at + 2], upper[at + 3]]);
    let payload = match (parsed.protocol, upper.len()) {
        (TCP, 20..) => {
            parsed.transport = Transport::Tcp;
            (parsed.seq, parsed.ack, parsed.tcp_flags) = (u32_at(4), u32_at(8), upper[13]);
            upper
                .get(usize::from(upper[12] >> 4).max(5) * 4..)
                .unwrap_or(&[])
        }
        (UDP, 8..) => {
            parsed.transport = Transport::Udp;
            &upper[8..]
        }
        (ICMP, 1..) => {
            parsed.foreign = !matches!(upper[0], 3 | 4 | 5 | 11 | 12); // RFC 792
            return;
        }
        (ICMP6, 1..) => {
            parsed.foreign = upper[0] >= 128; // RFC 4443 section 2.1: errors are below
            return;
        }
        _ => return,
    };
    parsed.foreign = false;
    (parsed.src_port, parsed.dst_port) = (u16_at(0), u16_at(2));
    parsed.payload_bytes = payload.len() as u16;
    parsed.first_byte = payload.first().copied().unwrap_or(0);
}

/// One number for the packets of a flow: FNV-1a over addresses, ports and protocol.
fn flow(addresses: &[u8], parsed: &Parsed) -> u64 {
    let [s0, s1] = parsed.src_port.to_be_bytes();
    let [d0, d1] = parsed.dst_port.to_be_bytes();
    let tail = [s0, s1, d0, d1, parsed.protocol];
    addresses
        .iter()
        .chain(&tail)
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
}

/// Finishes a checksum that the sender left to the hardware: `start` is where the sum begins,
/// `offset` where, from there, it is stored over the sum of the pseudo header (RFC 1071).
/// Returns `false` when that lies outside the frame.
pub(crate) fn finish_checksum(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(covered) = frame.get_mut(start..) else {
        return false;
    };
    if offset + 2 > covered.len() {
        return false;
    }
    let sum = !fold(sum(covered));
    // A UDP checksum of 0 would mean "none" (RFC 768); its other form is the same number.
    let sum = if sum == 0 { 0xffff } else { sum };
    covered[offset..offset + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut total: u64 = words
        .iter()
        .map(|w| u64::from(u32::from_be_bytes(*w)))
        .sum();
    let (halves, last) = rest.as_chunks::<2>();
    // Two aligned halves of a word weigh 2^16 and 1; both are 1 in one's complement.
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

/// Length of an Ethernet header.
pub(crate) const ETHERNET_LEN: usize = 14;
const MAX_EXTENSIONS: usize = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet + IPv4 + UDP with ports 5 and 443, payload `c3 01`.
    fn udp4() -> Vec<u8> {
        let mut frame = vec![0u8; 12];
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 2, 0, 30, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 5, 1, 0xbb, 0, 10, 0, 0, 0xc3, 1]);
        frame
    }

    #[test]
    fn reads_udp_over_ipv4() {
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
    fn reads_tcp_over_ipv6_behind_an_extension_header() {
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
    fn tells_flows_apart_and_packets_of_one_together() {
        let mut other = udp4();
        other[35] = 6;
        let mut longer = udp4();
        longer[43] = 9;
        assert_ne!(parse(&udp4()).flow, parse(&other).flow);
        assert_eq!(parse(&udp4()).flow, parse(&longer).flow);
    }

    #[test]
    fn no_cut_frame_panics() {
        let frame = udp4();
        for len in 0..frame.len() {
            let cut = parse(&frame[..len]);
            assert_eq!(cut.transport == Transport::Udp, len >= 42);
        }
    }

    #[test]
    fn arp_is_foreign_and_an_icmp_error_is_not() {
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
    fn a_finished_checksum_verifies() {
        let mut frame = udp4();
        // The pseudo header's sum, as the kernel leaves it in the field.
        let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 10];
        frame[40..42].copy_from_slice(&fold(sum(&pseudo)).to_be_bytes());
        assert!(finish_checksum(&mut frame, 34, 6));
        assert_eq!(fold(sum(&pseudo) + sum(&frame[34..])), 0xffff);
        assert!(!finish_checksum(&mut frame, 44, 6));
        assert!(!finish_checksum(&mut frame, 99, 0));
    }
}
