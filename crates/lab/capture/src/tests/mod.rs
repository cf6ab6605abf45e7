//! Captures of a small model of two hosts and a network between them.

mod exchanges;
mod files;
mod interfaces;
mod limits;
mod middleboxes;
mod one;
mod options;
mod two;

use explain::Part;
use link::tap::{ACK, FIN, SYN};

use super::*;

const MS: u64 = 1_000_000;
/// One way.
const DELAY: u64 = 25 * MS;
const RTT: u64 = 2 * DELAY;
/// Noon of some day.
const START: u64 = 1_750_000_000_000_000_000;
const ETHERNET: u16 = 1;
const UP: usize = 0;
const DOWN: usize = 1;
const TLS_HANDSHAKE: u8 = 22;
const TLS_DATA: u8 = 23;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [192, 0, 2, 2];

/// A TCP segment of a test.
#[derive(Clone, Copy)]
struct Tcp {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    flags: u8,
    payload: usize,
    first_byte: u8,
    ip_id: u16,
    window: u16,
    /// In words of four bytes.
    options: &'static [u8],
}

impl Tcp {
    /// Returns the IPv4 packet.
    fn ip(&self) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        let header = 40 + self.options.len();
        bytes.extend((header as u16 + self.payload as u16).to_be_bytes());
        bytes.extend(self.ip_id.to_be_bytes());
        bytes.extend([0x40, 0, 64, 6, 0, 0]);
        bytes.extend(self.addresses.concat());
        bytes.extend(self.ports.map(u16::to_be_bytes).concat());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        let words = 5 + self.options.len() as u8 / 4;
        bytes.extend([words << 4, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.options);
        bytes.resize(header + self.payload, self.first_byte);
        bytes
    }
}

/// Returns a frame of Ethernet.
fn ethernet(ip: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend(match ip[0] >> 4 {
        6 => [0x86, 0xdd],
        _ => [0x08, 0x00],
    });
    bytes.extend(ip);
    bytes
}

/// Returns a file of pcap with times in ns.
fn pcap(link: u16, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcap_cut(link, frames, usize::MAX)
}

/// Returns the same with so many bytes of each frame at most.
fn pcap_cut(link: u16, frames: &[(u64, Vec<u8>)], kept: usize) -> Vec<u8> {
    let mut bytes = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    bytes.extend(u32::from(link).to_le_bytes());
    for (at_ns, frame) in frames {
        let kept = frame.len().min(kept);
        for word in [
            (at_ns / 1_000_000_000) as u32,
            (at_ns % 1_000_000_000) as u32,
            kept as u32,
            frame.len() as u32,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&frame[..kept]);
    }
    bytes
}

/// Whether a packet arrives, and which capture misses it.
#[derive(Clone, Copy, Default)]
struct Luck {
    is_lost: bool,
    missed: [bool; 2],
}

const LOST: Luck = Luck {
    is_lost: true,
    missed: [false; 2],
};
const NOWHERE: Luck = Luck {
    is_lost: false,
    missed: [true; 2],
};
const NOT_AT_CLIENT: Luck = Luck {
    is_lost: false,
    missed: [true, false],
};
const NOT_AT_SERVER: Luck = Luck {
    is_lost: false,
    missed: [false, true],
};

/// A connection, as a capture at each end sees it. Times are the client's.
struct Talk {
    frames: [Vec<(u64, Vec<u8>)>; 2],
    /// How far the server's clock is ahead.
    ahead_ns: u64,
    /// What each end has sent, and got of the other.
    sent: [u32; 2],
    received: [Vec<(u64, u32)>; 2],
    /// The server's view of the client's address.
    seen_client: [u8; 4],
    /// Absent where a network or IPv6 has none.
    ids: Option<u16>,
    client_port: u16,
    windows: [u16; 2],
    /// Of the SYNs.
    options: [&'static [u8]; 2],
}

impl Talk {
    fn new() -> Talk {
        Talk {
            frames: [Vec::new(), Vec::new()],
            ahead_ns: 0,
            // The sequence numbers wrap.
            sent: [u32::MAX - 100, 7_000],
            received: [Vec::new(), Vec::new()],
            seen_client: CLIENT,
            ids: Some(0),
            client_port: 4_000,
            windows: [u16::MAX; 2],
            options: [&[]; 2],
        }
    }

    /// Sends a segment, and returns when it is delivered.
    fn push(
        &mut self,
        side: usize,
        at_ns: u64,
        flags: u8,
        payload: usize,
        first: u8,
        luck: Luck,
    ) -> u64 {
        let seq = self.sent[side];
        self.sent[side] = seq.wrapping_add(payload as u32 + (flags & (SYN | FIN)).count_ones());
        self.push_at(side, at_ns, flags, (seq, payload, first), luck)
    }

    /// Sends a segment that begins with a sequence number.
    fn push_at(
        &mut self,
        side: usize,
        at_ns: u64,
        flags: u8,
        (seq, payload, first_byte): (u32, usize, u8),
        luck: Luck,
    ) -> u64 {
        let got = self.received[side].iter().filter(|(ns, _)| *ns <= at_ns);
        let ack = got
            .map(|&(_, end)| end)
            .max_by_key(|end| end.wrapping_sub(self.start(1 - side)));
        self.ids = self.ids.map(|id| id + 1);
        let segment = |client| Tcp {
            addresses: if side == UP {
                [client, SERVER]
            } else {
                [SERVER, client]
            },
            ports: if side == UP {
                [self.client_port, 443]
            } else {
                [443, self.client_port]
            },
            seq,
            ack: ack.unwrap_or(0),
            flags,
            payload,
            first_byte,
            ip_id: self.ids.unwrap_or(0),
            window: self.windows[side],
            options: match flags & SYN {
                0 => &[],
                _ => self.options[side],
            },
        };
        let frames = [CLIENT, self.seen_client].map(|client| ethernet(&segment(client).ip()));
        let ends_ns = match side {
            UP => [at_ns, at_ns + DELAY],
            _ => [at_ns + DELAY, at_ns],
        };
        let by_clock = [START + ends_ns[0], START + ends_ns[1] + self.ahead_ns];
        for (end, frame) in frames.into_iter().enumerate() {
            let is_seen = end == side || !luck.is_lost;
            if is_seen && !luck.missed[end] {
                self.frames[end].push((by_clock[end], frame));
            }
        }
        if !luck.is_lost {
            let end = seq.wrapping_add(payload as u32 + (flags & (SYN | FIN)).count_ones());
            self.received[1 - side].push((at_ns + DELAY, end));
        }
        at_ns + DELAY
    }

    fn start(&self, side: usize) -> u32 {
        [u32::MAX - 100, 7_000][side]
    }

    fn data(&mut self, side: usize, at_ns: u64, payload: usize) -> u64 {
        self.push(side, at_ns, ACK, payload, b'x', Luck::default())
    }

    fn ack(&mut self, side: usize, at_ns: u64) -> u64 {
        self.data(side, at_ns, 0)
    }

    /// Opens the connection, and returns when the client has the SYN-ACK.
    fn open(&mut self, at_ns: u64) -> u64 {
        let asked = self.push(UP, at_ns, SYN, 0, 0, Luck::default());
        let connected = self.push(DOWN, asked, SYN | ACK, 0, 0, Luck::default());
        self.ack(UP, connected);
        connected
    }

    /// Opens TLS, and returns when the client can send a request.
    fn secure(&mut self, at_ns: u64) -> u64 {
        let connected = self.open(at_ns);
        let hello = self.tls(UP, connected, TLS_HANDSHAKE, 500);
        let flight = self.tls(DOWN, hello, TLS_HANDSHAKE, 1_200);
        self.tls(UP, flight, TLS_DATA, 80);
        flight
    }

    fn tls(&mut self, side: usize, at_ns: u64, record: u8, payload: usize) -> u64 {
        self.push(side, at_ns, ACK, payload, record, Luck::default())
    }

    /// Adds the packets of another connection.
    fn add(&mut self, other: &Talk) {
        for (frames, others) in self.frames.iter_mut().zip(&other.frames) {
            frames.extend(others.iter().cloned());
        }
    }

    /// Returns the capture at an end, with packets in the order of time.
    fn capture(&self, end: usize) -> Capture {
        let mut frames = self.frames[end].clone();
        frames.sort_by_key(|(at_ns, _)| *at_ns);
        Capture::read(["client", "server"][end], &pcap(ETHERNET, &frames)).unwrap()
    }

    fn both(&self) -> Explained {
        explain(&[self.capture(0), self.capture(1)], None).unwrap()
    }

    fn at(&self, end: usize) -> Explained {
        explain(&[self.capture(end)], None).unwrap()
    }
}

/// Returns the parts of an exchange, in ms.
fn parts(explained: &Explained, exchange: usize) -> Vec<(Part, u64)> {
    let of = &explained.connections[0].exchanges[exchange];
    let sum: u64 = of.parts.iter().map(|time| time.ns).sum();
    assert_eq!(sum, of.duration_ns);
    of.parts
        .iter()
        .map(|time| (time.part, (time.ns + MS / 2) / MS))
        .collect()
}

/// Returns the time of a part in an exchange, in ms.
fn part_ms(explained: &Explained, exchange: usize, part: Part) -> u64 {
    let of = parts(explained, exchange).into_iter();
    of.filter(|&(named, _)| named == part)
        .map(|(_, ms)| ms)
        .sum()
}
