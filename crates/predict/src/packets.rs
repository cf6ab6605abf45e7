//! What a response body is on the wire: bytes and packets from server to client, without loss.
//!
//! Counted are IP packets with the response on a connection that stands: headers, frames, TLS or
//! QUIC. Not counted are acknowledgements (one small packet the other way for two of these), the
//! request, the handshake and what is sent again.

/// The header block of a response: status, type and length take about 30 bytes compressed, and
/// the server of the bench sends no more. A real API adds a date, caching and tracing, 100 to 300
/// bytes at first and, over HTTP/2, a few each time after.
pub const RESPONSE_HEADERS: u64 = 40;

/// The payload of the UDP datagrams that quinn, here with its own settings, begins with: what
/// every network must carry (RFC 9000 section 14).
pub const FIRST_DATAGRAM: u32 = 1200;

/// What quinn finds by probing after a few round trips where packets may have 1500 bytes.
pub const LARGEST_DATAGRAM: u32 = 1452;

/// Which IP carries it.
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

/// What crosses the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// IP bytes in all.
    pub bytes: u64,
    /// IP packets.
    pub packets: u64,
    /// IP bytes of each packet but the last, which may have fewer.
    pub packet_bytes: u32,
}

/// A body over HTTP/2, TLS 1.3 and TCP with time stamps, in IP packets of at most `mtu` bytes.
///
/// The frames are as large as a client allows by default and the records as large as TLS allows;
/// neither waits for the other to be full.
pub fn over_h2(body: u64, ip: Ip, mtu: u32) -> Wire {
    let frames = body.div_ceil(H2_FRAME).max(1);
    let clear = H2_FRAME_HEADER + RESPONSE_HEADERS + frames * H2_FRAME_HEADER + body;
    let sealed = clear + clear.div_ceil(TLS_RECORD) * TLS_OVERHEAD;
    let headers = ip.header() + TCP_HEADER;
    let segment = mtu.saturating_sub(headers).max(1);
    let packets = sealed.div_ceil(segment.into());
    Wire {
        bytes: sealed + packets * u64::from(headers),
        packets,
        packet_bytes: headers + segment,
    }
}

/// A body over HTTP/3 and QUIC, in UDP datagrams of at most `datagram` bytes:
/// [`FIRST_DATAGRAM`] on a connection that is new, [`LARGEST_DATAGRAM`] on one in use.
pub fn over_h3(body: u64, ip: Ip, datagram: u32) -> Wire {
    let pieces = body.div_ceil(H3_PIECE).max(1);
    let frames = pieces * (1 + varint(body.min(H3_PIECE)));
    let stream = 1 + varint(RESPONSE_HEADERS) + RESPONSE_HEADERS + frames + body;
    let (mut sent, mut bytes, mut packets) = (0, 0, 0);
    // The offset in a stream frame grows with it; between its sizes all packets are alike.
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
    Wire {
        bytes,
        packets,
        packet_bytes: datagram + UDP_HEADER + ip.header(),
    }
}

/// The datagram that fits an MTU, as far as quinn looks.
pub(crate) fn largest_datagram(ip: Ip, mtu: u32) -> u32 {
    let fits = mtu.saturating_sub(ip.header() + UDP_HEADER);
    fits.clamp(FIRST_DATAGRAM, LARGEST_DATAGRAM)
}

/// Bytes of a QUIC integer (RFC 9000 section 16).
fn varint(value: u64) -> u64 {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// SETTINGS_MAX_FRAME_SIZE as it begins (RFC 9113 section 6.5.2).
const H2_FRAME: u64 = 16_384;
/// RFC 9113 section 4.1.
const H2_FRAME_HEADER: u64 = 9;
/// Plaintext in a record (RFC 8446 section 5.1).
const TLS_RECORD: u64 = 16_384;
/// Header 5, type 1 and tag 16 (RFC 8446 section 5.2).
const TLS_OVERHEAD: u64 = 22;
/// 20, and 12 for time stamps, which Linux takes whenever both sides do.
pub(crate) const TCP_HEADER: u32 = 32;
/// RFC 768.
pub(crate) const UDP_HEADER: u32 = 8;
/// The server of the bench hands over so much at a time, and h3 makes a DATA frame of it.
const H3_PIECE: u64 = 32 << 10;
/// Flags 1, connection id 8 as quinn makes them, packet number 2 (RFC 9000 section 17.3).
pub(crate) const QUIC_HEADER: u32 = 11;
/// Of AES-GCM and ChaCha20-Poly1305 alike.
pub(crate) const QUIC_TAG: u32 = 16;
/// Type and stream id; the length is left out of a frame that fills its packet (section 19.8).
const STREAM_HEADER: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_body_is_one_packet() {
        let h2 = over_h2(100, Ip::V4, 1500);
        assert_eq!((h2.bytes, h2.packets), (9 + 40 + 9 + 100 + 22 + 52, 1));
        let h3 = over_h3(100, Ip::V4, 1200);
        assert_eq!((h3.bytes, h3.packets), (42 + 3 + 100 + 29 + 28, 1));
        assert_eq!(over_h2(0, Ip::V6, 1500).packets, 1);
    }

    #[test]
    fn a_large_body_over_h2_adds_up() {
        // 7 frames, 7 records.
        let stream = 100_000 + 49 + 7 * 9 + 7 * 22;
        let v4 = over_h2(100_000, Ip::V4, 1500);
        assert_eq!((v4.packets, v4.packet_bytes), (70, 1500));
        assert_eq!(v4.bytes, stream + 70 * 52);
        let v6 = over_h2(100_000, Ip::V6, 1500);
        assert_eq!(v6.packets, 71, "1428 bytes a segment");
    }

    #[test]
    fn a_large_body_over_h3_adds_up() {
        let wire = over_h3(100_000, Ip::V4, 1200);
        // 1171 in the first, 1169 up to an offset of 16 KiB, then 1167.
        let stream: u64 = 42 + 4 * 5 + 100_000;
        let near = 1171 + 14 * 1169;
        assert_eq!(wire.packets, 15 + (stream - near).div_ceil(1167));
        assert_eq!(wire.packet_bytes, 1228);
        let large = over_h3(100_000, Ip::V4, LARGEST_DATAGRAM);
        assert!(large.packets < wire.packets && large.bytes < wire.bytes);
    }

    #[test]
    fn any_size_ends() {
        for body in [0, 1, 1 << 20, 1 << 31, 1 << 40] {
            assert!(over_h3(body, Ip::V6, 1200).bytes > body);
            assert!(over_h2(body, Ip::V6, 1500).bytes > body);
        }
    }
}
