//! The headers of a frame, down to TCP.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpOptionsIterator,
    ether_type,
};
use link::tap::{SYN, TcpOptions};

use crate::error::{CaptureError, Place};
use crate::file::Frame;

/// The link types that are read, by their numbers at tcpdump.org.
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const RAW: [u16; 3] = [12, 14, 101];
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;
/// Link types that people capture and that are not read.
const OTHERS: &[(u16, &str)] = &[
    (9, "PPP"),
    (105, "802.11"),
    (119, "802.11 with Prism headers"),
    (127, "802.11 with radiotap headers"),
    (147, "user-defined"),
    (187, "Bluetooth"),
    (220, "USB"),
    (239, "NFLOG"),
    (253, "Netlink"),
];
/// What BSDs and their kin call IPv6; Linux has 10.
const AF_INET: u32 = 2;
const AF_INET6: [u32; 5] = [10, 23, 24, 28, 30];
/// TCP's header without options.
const TCP_BYTES: usize = 20;
const LEAST_SNAPLEN: u32 = 128;

/// What a frame carries.
pub(crate) enum Content {
    Tcp(Segment),
    /// A fragment of a TCP or UDP packet: only the first has the ports.
    Fragment,
    Udp,
    Other,
    /// Its headers are cut off, or do not fit into it: what is wrong with them.
    Malformed(String),
}

/// A TCP segment, as its headers describe it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// The frame's number in its file.
    pub(crate) number: u32,
    pub(crate) at_ns: u64,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) options: TcpOptions,
    /// On the wire, whatever was kept of them.
    pub(crate) payload_bytes: u32,
    /// Absent if the capture has no payload.
    pub(crate) first_byte: Option<u8>,
    /// The sender's timestamp (RFC 7323 section 3.2).
    pub(crate) stamp: Option<u32>,
    /// The longest payload that the sender of a SYN takes (RFC 9293 section 3.7.1).
    pub(crate) longest: Option<u16>,
    /// IPv4's identification, by which a network knows fragments.
    pub(crate) ip_id: u16,
    pub(crate) ecn: u8,
    /// Some of its options were not kept.
    pub(crate) lacks_options: bool,
    pub(crate) sight: Sight,
}

impl Segment {
    /// Returns its addresses with their ports, in order.
    pub(crate) fn ends(&self) -> [SocketAddr; 2] {
        let mut ends = [self.source, self.destination];
        ends.sort_unstable();
        ends
    }
}

/// Where a host saw a packet. Captures of several interfaces have it once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    /// The interface's number, by Linux or within the file.
    interface: u32,
    /// Linux's type of the packet, e.g. whether it left.
    kind: u8,
    /// The file names the interface of each packet, so that packets of one interface are different ones.
    pub(crate) is_interface: bool,
}

impl Sight {
    fn of(frame: &Frame<'_>) -> Sight {
        let byte = |at: usize| frame.bytes.get(at).copied().unwrap_or(0);
        match frame.link {
            LINUX_SLL2 => Sight {
                interface: u32::from_be_bytes([4, 5, 6, 7].map(byte)),
                kind: byte(10),
                is_interface: true,
            },
            LINUX_SLL => Sight {
                interface: frame.interface,
                kind: byte(1),
                is_interface: false,
            },
            _ => Sight {
                interface: frame.interface,
                kind: 0,
                is_interface: false,
            },
        }
    }
}

/// Returns what a frame carries.
pub(crate) fn content(file: &str, frame: &Frame<'_>) -> Result<Content, CaptureError> {
    let cut = |what: &str| {
        let kept = frame.bytes.len();
        let problem = match (kept as u32) < frame.original_bytes {
            true => format!(
                "the {what} is cut off after {kept} of {} bytes: capture {LEAST_SNAPLEN} or more (`tcpdump -s {LEAST_SNAPLEN}`)",
                frame.original_bytes
            ),
            false => format!(
                "the {what} does not fit into the packet's {kept} bytes: the file is damaged"
            ),
        };
        Ok(Content::Malformed(problem))
    };
    let (kind, offset) = match link_payload(frame.link, frame.bytes) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Content::Other),
        Err(LinkError::Cut) => return cut("link's header"),
        Err(LinkError::Unknown) => {
            let place = Place::Packet(frame.number);
            return Err(CaptureError::new(file, place, unknown_link(frame.link)));
        }
    };
    let packet = LaxSlicedPacket::from_ether_type(kind, &frame.bytes[offset..]);
    let Some(net) = &packet.net else {
        let is_ip = packet
            .ether_payload()
            .map_or(kind, |payload| payload.ether_type);
        return match packet.stop_err {
            Some(_) if [ether_type::IPV4, ether_type::IPV6].contains(&is_ip) => cut("IP header"),
            _ => Ok(Content::Other),
        };
    };
    let (header, addresses, said_bytes, ip_id, ecn) = match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let addresses = [
                header.source_addr().into(),
                header.destination_addr().into(),
            ];
            let said = usize::from(header.total_len());
            (
                header.slice().as_ptr(),
                addresses,
                said,
                header.identification(),
                header.ecn().value(),
            )
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let addresses: [IpAddr; 2] = [
                header.source_addr().into(),
                header.destination_addr().into(),
            ];
            let said = match usize::from(header.payload_length()) {
                0 => 0,
                bytes => bytes + header.slice().len(),
            };
            // The low bits of the traffic class (RFC 8200 section 7).
            (
                header.slice().as_ptr(),
                addresses,
                said,
                0,
                header.traffic_class() & 3,
            )
        }
        LaxNetSlice::Arp(_) => return Ok(Content::Other),
    };
    let Some(payload) = net.ip_payload_ref() else {
        return Ok(Content::Other);
    };
    match payload.ip_number {
        IpNumber::TCP | IpNumber::UDP if payload.fragmented => return Ok(Content::Fragment),
        IpNumber::UDP => return Ok(Content::Udp),
        IpNumber::TCP => {}
        _ => return Ok(Content::Other),
    }
    let place = |of: *const u8| of as usize - frame.bytes.as_ptr() as usize;
    let ip_bytes = match said_bytes {
        // Longer than the field can say, as the sender's kernel had it.
        0 => (frame.original_bytes as usize).saturating_sub(place(header)),
        said => said,
    };
    let tcp = payload.payload;
    let Some(fixed) = tcp.first_chunk::<TCP_BYTES>() else {
        return cut("TCP header");
    };
    let header_bytes = usize::from(fixed[12] >> 4) * 4;
    let before_tcp = place(tcp.as_ptr()) - place(header);
    let payload_bytes = ip_bytes.checked_sub(before_tcp + header_bytes);
    let Some(payload_bytes) = payload_bytes.filter(|_| header_bytes >= TCP_BYTES) else {
        return Ok(Content::Malformed(format!(
            "a TCP header of {header_bytes} bytes in an IP packet of {ip_bytes}: the file is damaged"
        )));
    };
    let word =
        |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let options = &tcp[TCP_BYTES..header_bytes.min(tcp.len())];
    let (mut stamp, mut longest) = (None, None);
    for option in TcpOptionsIterator::from_slice(options) {
        match option {
            Ok(TcpOptionElement::Timestamp(of_sender, _)) => stamp = Some(of_sender),
            Ok(TcpOptionElement::MaximumSegmentSize(bytes)) => longest = Some(bytes),
            // Some options are cut off, or malformed: nothing depends on them.
            Err(_) => break,
            Ok(_) => {}
        }
    }
    Ok(Content::Tcp(Segment {
        number: frame.number,
        at_ns: frame.at_ns,
        source: SocketAddr::new(addresses[0], half(0)),
        destination: SocketAddr::new(addresses[1], half(2)),
        seq: word(4),
        ack: word(8),
        flags: fixed[13],
        window: half(14),
        options: TcpOptions::parse(options, fixed[13] & SYN != 0, word(8)),
        payload_bytes: payload_bytes as u32,
        // Short frames of Ethernet are padded.
        first_byte: tcp.get(header_bytes).copied().filter(|_| payload_bytes > 0),
        stamp,
        // Only a SYN can have it.
        longest: longest.filter(|_| fixed[13] & SYN != 0),
        ip_id,
        ecn,
        lacks_options: tcp.len() < header_bytes,
        sight: Sight::of(frame),
    }))
}

enum LinkError {
    Cut,
    Unknown,
}

/// Returns the type of what a link's header precedes, and where that begins; `None` if it is no packet with such a type.
fn link_payload(link: u16, bytes: &[u8]) -> Result<Option<(EtherType, usize)>, LinkError> {
    let kind_at = |at: usize, header: usize| match bytes.get(at..at + 2) {
        Some(kind) if bytes.len() >= header => Ok(Some((
            EtherType(u16::from_be_bytes([kind[0], kind[1]])),
            header,
        ))),
        _ => Err(LinkError::Cut),
    };
    match link {
        ETHERNET => kind_at(12, 14),
        LINUX_SLL => kind_at(14, 16),
        LINUX_SLL2 => kind_at(0, 20),
        IPV4 => Ok(Some((ether_type::IPV4, 0))),
        IPV6 => Ok(Some((ether_type::IPV6, 0))),
        _ if RAW.contains(&link) => match bytes.first() {
            None => Err(LinkError::Cut),
            Some(first) if first >> 4 == 6 => Ok(Some((ether_type::IPV6, 0))),
            Some(_) => Ok(Some((ether_type::IPV4, 0))),
        },
        NULL | LOOP => {
            let family = bytes.first_chunk::<4>().ok_or(LinkError::Cut)?;
            // In the byte order of the host that captured.
            let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
            Ok(match family {
                AF_INET => Some((ether_type::IPV4, 4)),
                _ if AF_INET6.contains(&family) => Some((ether_type::IPV6, 4)),
                _ => None,
            })
        }
        _ => Err(LinkError::Unknown),
    }
}

fn unknown_link(link: u16) -> String {
    let name = OTHERS.iter().find(|(number, _)| *number == link);
    let name = name.map_or(String::new(), |(_, name)| format!(", {name},"));
    format!(
        "link type {link}{name} is not read: capture on an interface with Ethernet, raw IP, Linux cooked or BSD loopback headers"
    )
}
