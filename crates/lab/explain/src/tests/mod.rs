//! Known answers: connections that a small model of two hosts and a link makes, whose parts follow from how they were
//! made.

mod handshakes;
mod links;
mod losses;
mod nagle;
mod pacing;
mod pauses;
mod receive_windows;
mod repairs;
mod samples;
mod senders;
mod sharing;
mod tiling;
mod transfers;
mod unlogged;
mod waits;

use std::num::NonZeroU64;

use link::tap::{Fate, Sack, TapRecord, TcpOptions};
use link::{Cause, Direction, PathSpec, RateSpec};

use super::*;
use crate::packet::Transport;
use Direction::{Down, Up};

const MS: u64 = 1_000_000;
/// One way; the link has no jitter.
const DELAY: u64 = 25 * MS;
const RTT: u64 = 2 * DELAY;
const SYN: u8 = 2;
const ACK: u8 = 16;
const FULL: u16 = 1_400;
const PORT: u16 = 4_000;
const OTHER_PORT: u16 = 5_000;

/// The packets that two hosts sent over a link.
struct Tape {
    rate: RateSpec,
    packets: Vec<TapRecord>,
    /// When the bottleneck is free, up and down.
    free_ns: [u64; 2],
    transport: Transport,
    /// The windows that client and server advertise, not scaled.
    windows: [u16; 2],
    /// The options of their SYNs.
    syn_options: [TcpOptions; 2],
}

impl Tape {
    fn new(transport: Transport) -> Tape {
        Tape {
            rate: RateSpec::Unlimited,
            packets: Vec::new(),
            free_ns: [0; 2],
            transport,
            windows: [u16::MAX; 2],
            syn_options: [scaled(14); 2],
        }
    }

    fn at_rate(transport: Transport, bps: u64) -> Tape {
        Tape {
            rate: RateSpec::Constant {
                bps: NonZeroU64::new(bps).unwrap(),
            },
            ..Tape::new(transport)
        }
    }

    /// Sends a packet, and returns when it is delivered.
    fn send(&mut self, direction: Direction, at_ns: u64, payload: u16) -> u64 {
        self.push(PORT, direction, at_ns, payload, false, 0x40)
    }

    /// Sends a packet that the link loses.
    fn lose(&mut self, direction: Direction, at_ns: u64, payload: u16) {
        self.push(PORT, direction, at_ns, payload, true, 0x40);
    }

    /// Sends a packet of a handshake.
    fn shake(&mut self, direction: Direction, at_ns: u64, payload: u16) -> u64 {
        let first_byte = match self.transport {
            Transport::Tcp => 22,
            Transport::Quic => 0xc0,
        };
        self.push(PORT, direction, at_ns, payload, false, first_byte)
    }

    /// Sends the record that precedes an encrypted handshake message, alone.
    fn change_cipher(&mut self, direction: Direction, at_ns: u64) -> u64 {
        self.push(PORT, direction, at_ns, 6, false, 20)
    }

    /// Sends encrypted data over TCP.
    fn data(&mut self, direction: Direction, at_ns: u64, payload: u16) -> u64 {
        self.push(PORT, direction, at_ns, payload, false, 23)
    }

    fn push(
        &mut self,
        port: u16,
        direction: Direction,
        at_ns: u64,
        payload: u16,
        lost: bool,
        first_byte: u8,
    ) -> u64 {
        let side = usize::from(direction == Down);
        let ip_bytes = payload + 40;
        let begin = at_ns.max(self.free_ns[side]);
        let left = match &self.rate {
            RateSpec::Constant { bps } => begin + u64::from(ip_bytes) * 8_000_000_000 / bps.get(),
            _ => at_ns,
        };
        self.free_ns[side] = left;
        let of = |packet: &&TapRecord| packet.direction == direction && client_port(packet) == port;
        let sent: u32 = self
            .packets
            .iter()
            .filter(of)
            .map(TapRecordExt::bytes)
            .sum();
        let received = |packet: &&TapRecord| {
            packet.direction != direction
                && client_port(packet) == port
                && packet.fate == Fate::Delivered
                && packet.departure_ns <= at_ns
        };
        let acked = self
            .packets
            .iter()
            .filter(received)
            .map(|p| p.seq.wrapping_add(p.bytes()));
        let acked = acked.max().unwrap_or(0);
        self.packets.push(TapRecord {
            arrival_ns: at_ns,
            departure_ns: if lost { left } else { left + DELAY },
            seq: sent,
            ack: acked,
            ip_bytes,
            src_port: if direction == Up { port } else { 443 },
            dst_port: if direction == Up { 443 } else { port },
            payload_bytes: payload,
            protocol: if self.transport == Transport::Tcp {
                6
            } else {
                17
            },
            tcp_flags: ACK,
            first_byte,
            direction,
            fate: match lost {
                true => Fate::Dropped(Cause::Loss),
                false => Fate::Delivered,
            },
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: self.windows[side],
            options: TcpOptions::default(),
        });
        left + DELAY
    }

    /// Opens a TCP connection from `at_ns`, and returns when the client has the SYN-ACK.
    fn open(&mut self, at_ns: u64) -> u64 {
        let at_ns = self.send(Up, at_ns, 0);
        self.last().tcp_flags = SYN;
        self.last().options = self.syn_options[0];
        let at_ns = self.send(Down, at_ns, 0);
        self.last().tcp_flags = SYN | ACK;
        self.last().options = self.syn_options[1];
        at_ns
    }

    fn last(&mut self) -> &mut TapRecord {
        self.packets.last_mut().unwrap()
    }

    /// Opens a connection over TLS with a client that waits for SETTINGS. Returns when the handshake was done, and when
    /// these are delivered.
    fn open_until_settings(&mut self) -> (u64, u64) {
        let connected = self.open(0);
        let hello = self.shake(Up, connected, 500);
        let secured = self.shake(Down, hello, FULL);
        let preface = self.send(Up, secured, 150);
        (secured, self.send(Down, preface, 60))
    }

    fn crossings(&self) -> Crossings {
        let leg = Leg::of(&PathSpec {
            delay_ns: DELAY,
            rate: self.rate.clone(),
            ..PathSpec::default()
        });
        let mut packets = self.packets.clone();
        packets.sort_by_key(|packet| packet.arrival_ns);
        Crossings::of(&packets, &leg, &leg)
    }

    fn parts(&self, request: &Request<'_>) -> Parts {
        let path = self.crossings().path(request);
        check(&path, request, self.packets.len());
        path.parts()
    }
}

/// Returns the options of a SYN that shifts later windows.
fn scaled(shift: u8) -> TcpOptions {
    TcpOptions {
        window_shift: Some(shift),
        sack: Sack::Absent,
    }
}

trait TapRecordExt {
    fn bytes(&self) -> u32;
}

impl TapRecordExt for TapRecord {
    /// Returns how many sequence numbers it uses.
    fn bytes(&self) -> u32 {
        u32::from(self.payload_bytes) + u32::from(self.tcp_flags & SYN != 0)
    }
}

fn client_port(packet: &TapRecord) -> u16 {
    match packet.direction {
        Up => packet.src_port,
        Down => packet.dst_port,
    }
}

fn request(transport: Transport, start_ns: u64, end_ns: u64) -> Request<'static> {
    Request {
        http: match transport {
            Transport::Tcp => Http::Two,
            Transport::Quic => Http::Three,
        },
        port: PORT,
        start_ns,
        end_ns,
        sent_ns: None,
        received_ns: None,
        secured_ns: None,
        nodelay: [false; 2],
        longest: [None; 2],
        served: None,
        request_bytes: 0,
        sender: None,
    }
}

/// Returns the log of a server that read a request at once and responded just before it had written all.
fn served(read_ns: u64, written_ns: u64) -> Option<Served> {
    Some(Served {
        read_ns,
        received_ns: Some(read_ns),
        responded_ns: Some(written_ns),
        written_ns,
    })
}

/// Returns the log of a server that responded from `responded_ns` on.
fn responding(read_ns: u64, responded_ns: u64, written_ns: u64) -> Option<Served> {
    Some(Served {
        responded_ns: Some(responded_ns),
        ..served(read_ns, written_ns)?
    })
}

/// Checks what holds for every path: the steps tile the request, and each names a packet that exists.
fn check(path: &Path, request: &Request<'_>, packets: usize) {
    let mut at_ns = request.start_ns;
    for step in &path.steps {
        assert_eq!(step.from_ns, at_ns, "{:?}", path.steps);
        assert!(step.to_ns > step.from_ns, "{step:?}");
        assert!(
            step.packet.is_none_or(|packet| packet < packets),
            "{step:?}"
        );
        at_ns = step.to_ns;
    }
    assert_eq!(at_ns, request.end_ns.max(request.start_ns));
    let took_ns = request.end_ns.saturating_sub(request.start_ns);
    assert_eq!(path.parts().total_ns(), took_ns);
}

fn present(parts: &Parts) -> Vec<(Part, u64)> {
    parts.present().collect()
}
