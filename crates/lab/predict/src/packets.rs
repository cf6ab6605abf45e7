//! The IP packets of a response body, from server to client, without loss.
//!
//! Counted are the packets that carry the response on an open connection: headers, frames, TLS or
//! QUIC. Not counted are acknowledgements (one small packet the other way for every two of these),
//! the request, the handshake and retransmissions.

/// The header block of a response in bytes. Status, type and length take about 30 bytes
/// compressed, and the bench's server sends no more. A real API adds a date, caching and tracing:
/// 100 to 300 bytes at first and, over HTTP/2, a few on each later response.
pub const RESPONSE_HEADERS: u64 = 40;

/// The UDP payload in bytes with which quinn starts (here with its default settings), which every
/// network must carry (RFC 9000 section 14).
pub const FIRST_DATAGRAM: u32 = 1200;

/// The UDP payload in bytes that quinn's probes find after a few round trips where packets may
/// have 1500 bytes.
pub const LARGEST_DATAGRAM: u32 = 1452;

/// The default SETTINGS_MAX_FRAME_SIZE (RFC 9113 section 6.5.2).
const H2_FRAME: u64 = 16_384;
/// The header of a frame in bytes (RFC 9113 section 4.1).
const H2_FRAME_HEADER: u64 = 9;
/// The largest plaintext of a record (RFC 8446 section 5.1).
const TLS_RECORD: u64 = 16_384;
/// Header 5, type 1 and tag 16 (RFC 8446 section 5.2).
const TLS_OVERHEAD: u64 = 22;
/// 20 bytes, and 12 for time stamps, which Linux uses whenever both sides do.
pub(crate) const TCP_HEADER: u32 = 32;
/// The UDP header in bytes (RFC 768).
pub(crate) const UDP_HEADER: u32 = 8;
/// The bench's server writes this much at a time, and h3 makes a DATA frame of each write.
const H3_WRITE: u64 = 32 << 10;
/// Flags 1, connection id 8 as quinn makes them, packet number 2 (RFC 9000 section 17.3).
pub(crate) const QUIC_HEADER: u32 = 11;
/// The tag of AES-GCM and of ChaCha20-Poly1305.
pub(crate) const QUIC_TAG: u32 = 16;
/// Type and stream id; a frame that fills its packet has no length (RFC 9000 section 19.8).
const STREAM_HEADER: u64 = 2;

/// The version of IP that carries the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip {
    /// Headers of 20 bytes.
    V4,
    /// Headers of 40 bytes.
    V6,
}

impl Ip {
    pub(crate) fn header(self) -> u32 {
        match self {
            Ip::V4 => 20,
            Ip::V6 => 40,
        }
    }
}

/// The packets of one response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponsePackets {
    /// IP bytes of all packets together.
    pub bytes: u64,
    /// The number of IP packets.
    pub packets: u64,
    /// IP bytes of each packet but the last, which may have fewer.
    pub packet_bytes: u32,
}

/// Returns the packets of a body over HTTP/2, TLS 1.3 and TCP with time stamps, in IP packets of
/// at most `mtu` bytes.
///
/// Frames have the largest size that clients allow by default, and records the largest that TLS
/// allows; frames and records do not align.
pub fn over_h2(body: u64, ip: Ip, mtu: u32) -> ResponsePackets {
    let frames = body.div_ceil(H2_FRAME).max(1);
    let plaintext = H2_FRAME_HEADER + RESPONSE_HEADERS + frames * H2_FRAME_HEADER + body;
    let sealed = plaintext + plaintext.div_ceil(TLS_RECORD) * TLS_OVERHEAD;
    let headers = ip.header() + TCP_HEADER;
    let segment = mtu.saturating_sub(headers).max(1);
    let packets = sealed.div_ceil(segment.into());
    ResponsePackets {
        bytes: sealed + packets * u64::from(headers),
        packets,
        packet_bytes: headers + segment,
    }
}

/// Returns the packets of a body over HTTP/3 and QUIC, in UDP datagrams of at most `datagram`
/// bytes: [`FIRST_DATAGRAM`] on a cold connection, [`LARGEST_DATAGRAM`] on a warm one.
pub fn over_h3(body: u64, ip: Ip, datagram: u32) -> ResponsePackets {
    let writes = body.div_ceil(H3_WRITE).max(1);
    let frames = writes * (1 + varint(body.min(H3_WRITE)));
    let stream = 1 + varint(RESPONSE_HEADERS) + RESPONSE_HEADERS + frames + body;
    let (mut sent, mut bytes, mut packets) = (0, 0, 0);
    // The offset in a stream frame's header grows in steps; between them all packets are alike.
    for end in [1, 1 << 6, 1 << 14, 1 << 30, u64::MAX] {
        let offset = if sent == 0 { 0 } else { varint(sent) };
        let overhead = u64::from(QUIC_HEADER + QUIC_TAG) + STREAM_HEADER + offset;
        let room = u64::from(datagram).saturating_sub(overhead).max(1);
        let part = stream.min(end).saturating_sub(sent);
        let count = part.div_ceil(room);
        let carried = (count * room).min(stream - sent);
        sent += carried;
        packets += count;
        bytes += carried + count * (overhead + u64::from(ip.header() + UDP_HEADER));
    }
    ResponsePackets {
        bytes,
        packets,
        packet_bytes: datagram + UDP_HEADER + ip.header(),
    }
}

/// Returns the largest datagram that quinn's probes find within an MTU.
pub(crate) fn largest_datagram(ip: Ip, mtu: u32) -> u32 {
    let fits = mtu.saturating_sub(ip.header() + UDP_HEADER);
    fits.clamp(FIRST_DATAGRAM, LARGEST_DATAGRAM)
}

/// Returns the length in bytes of a QUIC integer (RFC 9000 section 16).
fn varint(value: u64) -> u64 {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_body_is_one_packet() {
        let h2 = over_h2(100, Ip::V4, 1500);
        assert_eq!((h2.bytes, h2.packets), (9 + 40 + 9 + 100 + 22 + 52, 1));
        let h3 = over_h3(100, Ip::V4, 1200);
        assert_eq!((h3.bytes, h3.packets), (42 + 3 + 100 + 29 + 28, 1));
        assert_eq!(over_h2(0, Ip::V6, 1500).packets, 1);
        assert_eq!(over_h3(0, Ip::V6, 1200).packets, 1);
    }

    #[test]
    fn large_body_over_h2_adds_up() {
        // 7 frames, 7 records.
        let stream = 100_000 + 49 + 7 * 9 + 7 * 22;
        let v4 = over_h2(100_000, Ip::V4, 1500);
        assert_eq!((v4.packets, v4.packet_bytes), (70, 1500));
        assert_eq!(v4.bytes, stream + 70 * 52);
        let v6 = over_h2(100_000, Ip::V6, 1500);
        assert_eq!(v6.packets, 71, "segments of 1428 bytes");
    }

    #[test]
    fn large_body_over_h3_adds_up() {
        let response = over_h3(100_000, Ip::V4, 1200);
        // 1171 in the first packet, 1169 up to an offset of 16 KiB, then 1167.
        let stream: u64 = 42 + 4 * 5 + 100_000;
        let near = 1171 + 14 * 1169;
        assert_eq!(response.packets, 15 + (stream - near).div_ceil(1167));
        assert_eq!(response.packet_bytes, 1228);
        let large = over_h3(100_000, Ip::V4, LARGEST_DATAGRAM);
        assert!(large.packets < response.packets && large.bytes < response.bytes);
    }

    #[test]
    fn any_size_terminates() {
        for body in [0, 1, 1 << 20, 1 << 31, 1 << 40] {
            assert!(over_h3(body, Ip::V6, 1200).bytes > body);
            assert!(over_h2(body, Ip::V6, 1500).bytes > body);
        }
    }

    #[test]
    fn datagrams_fit_the_mtu_within_quinns_bounds() {
        assert_eq!(largest_datagram(Ip::V6, 1500), 1452);
        assert_eq!(largest_datagram(Ip::V4, 1500), LARGEST_DATAGRAM);
        assert_eq!(largest_datagram(Ip::V6, 1400), 1352);
        assert_eq!(largest_datagram(Ip::V6, 1280), 1232);
        assert_eq!(largest_datagram(Ip::V6, 576), FIRST_DATAGRAM);
    }

    #[test]
    fn varints_are_as_in_rfc_9000() {
        let edges = [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30];
        assert_eq!(edges.map(varint), [1, 1, 2, 2, 4, 4, 8]);
    }

    /// Cuts the body into frames, records and segments one after the other.
    fn h2_by_hand(body: u64, ip: Ip, mtu: u32) -> (u64, u64) {
        let mut plaintext = 9 + 40;
        let mut left = body;
        loop {
            let frame = left.min(16_384);
            plaintext += 9 + frame;
            left -= frame;
            if left == 0 {
                break;
            }
        }
        let mut sealed = 0;
        while plaintext > 0 {
            let record = plaintext.min(16_384);
            sealed += record + 22;
            plaintext -= record;
        }
        let headers = u64::from(ip.header()) + 32;
        let (mut packets, mut bytes) = (0, 0);
        while sealed > 0 {
            let segment = sealed.min(u64::from(mtu) - headers);
            packets += 1;
            bytes += segment + headers;
            sealed -= segment;
        }
        (packets, bytes)
    }

    /// Fills one datagram after the other.
    fn h3_by_hand(body: u64, ip: Ip, datagram: u32) -> (u64, u64) {
        let mut stream = 1 + 1 + 40;
        let mut left = body;
        loop {
            let frame = left.min(32_768);
            // All frame headers are taken to be as long as that of a full frame.
            stream += 1 + varint(body.min(32_768)) + frame;
            left -= frame;
            if left == 0 {
                break;
            }
        }
        let (mut offset, mut packets, mut bytes) = (0, 0, 0);
        while offset < stream {
            let offset_bytes = if offset == 0 { 0 } else { varint(offset) };
            let overhead = 11 + 16 + 2 + offset_bytes;
            let carried = (stream - offset).min(u64::from(datagram) - overhead);
            packets += 1;
            bytes += carried + overhead + 8 + u64::from(ip.header());
            offset += carried;
        }
        (packets, bytes)
    }

    fn ip() -> impl Strategy<Value = Ip> {
        prop_oneof![Just(Ip::V4), Just(Ip::V6)]
    }

    proptest! {
        #[test]
        fn h2_equals_cutting_by_hand(body in 0..3_000_000_u64, ip in ip(), mtu in 576..9000_u32) {
            let response = over_h2(body, ip, mtu);
            prop_assert_eq!((response.packets, response.bytes), h2_by_hand(body, ip, mtu));
        }

        #[test]
        fn h3_equals_cutting_by_hand(body in 0..3_000_000_u64, ip in ip(), datagram in 1200..1453_u32) {
            let response = over_h3(body, ip, datagram);
            prop_assert_eq!((response.packets, response.bytes), h3_by_hand(body, ip, datagram));
        }

        #[test]
        fn more_body_is_never_fewer_bytes_or_packets(body in 0..2_000_000_u64, more in 1..100_000_u64) {
            for over in [
                |body| over_h2(body, Ip::V6, 1500),
                |body| over_h3(body, Ip::V6, FIRST_DATAGRAM),
            ] {
                let (less, more) = (over(body), over(body + more));
                prop_assert!(less.packets <= more.packets && less.bytes < more.bytes);
                prop_assert!(more.bytes <= more.packets * u64::from(more.packet_bytes));
            }
        }
    }
}
