//! Known answers: connections that a small model of two hosts and a link makes, whose parts follow from how they were
//! made.

use std::num::NonZeroU64;

use link::tap::{Fate, TapRecord};
use link::{Cause, Direction, PathSpec, RateSpec};
use proptest::prelude::*;

use super::*;
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

/// What two hosts sent over a link.
struct Tape {
    rate: RateSpec,
    packets: Vec<TapRecord>,
    /// When the bottleneck is free, up and down.
    free_ns: [u64; 2],
    transport: Transport,
}

impl Tape {
    fn new(transport: Transport) -> Tape {
        Tape {
            rate: RateSpec::Unlimited,
            packets: Vec::new(),
            free_ns: [0; 2],
            transport,
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
        });
        left + DELAY
    }

    /// Opens a TCP connection from `at_ns`, and returns when the client has the SYN-ACK.
    fn open(&mut self, at_ns: u64) -> u64 {
        let at_ns = self.send(Up, at_ns, 0);
        self.packets.last_mut().unwrap().tcp_flags = SYN;
        let at_ns = self.send(Down, at_ns, 0);
        self.packets.last_mut().unwrap().tcp_flags = SYN | ACK;
        at_ns
    }

    fn crossings(&self) -> Crossings {
        let leg = Leg::of(&PathSpec {
            delay_ns: DELAY,
            rate: self.rate.clone(),
            ..PathSpec::default()
        });
        let mut packets = self.packets.clone();
        packets.sort_by_key(|packet| packet.arrival_ns);
        Crossings::of(&packets, leg, leg)
    }

    fn parts(&self, request: &Request) -> Parts {
        let path = self.crossings().path(request);
        check(&path, request, self.packets.len());
        path.parts()
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

fn request(transport: Transport, start_ns: u64, end_ns: u64) -> Request {
    Request {
        transport,
        port: PORT,
        start_ns,
        end_ns,
        sent_ns: None,
        secured_ns: None,
        nodelay: [false; 2],
        opens: start_ns <= 10 * MS,
        server_ns: None,
        request_bytes: 0,
        response_bytes: 100,
    }
}

/// Checks what holds for every path: the steps tile the request, and each names a packet that exists.
fn check(path: &Path, request: &Request, packets: usize) {
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

/// A first request over TCP and TLS 1.3: a round trip each for TCP, TLS and the exchange.
#[test]
fn a_first_request_over_tcp_takes_three_round_trips() {
    let mut tape = Tape::new(Transport::Tcp);
    let start = 10 * MS;
    let connected = tape.open(start + MS);
    tape.send(Up, connected, 0);
    let hello = tape.shake(Up, connected + 2 * MS, 500);
    let flight = tape.shake(Down, hello + 3 * MS, FULL);
    let secured = flight + MS;
    tape.send(Up, secured, 80);
    let asked = tape.send(Up, secured, 200);
    let answered = tape.send(Down, asked + 5 * MS, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        server_ns: Some((asked, asked + 5 * MS)),
        ..request(Transport::Tcp, start, answered + MS)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::TcpHandshake, RTT),
            (Part::TlsHandshake, RTT),
            (Part::Exchange, RTT),
            (Part::Client, 5 * MS),
            (Part::Server, 8 * MS),
        ]
    );
}

#[test]
fn a_first_request_over_quic_takes_two_round_trips() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 10 * MS;
    let hello = tape.shake(Up, start + MS, 1_200);
    tape.shake(Down, hello + MS, 1_200);
    let flight = tape.shake(Down, hello + MS, 800);
    let secured = flight + MS;
    let asked = tape.send(Up, secured, 200);
    // An acknowledgement of its own precedes the response.
    tape.send(Down, asked + MS, 30);
    let answered = tape.send(Down, asked + 80 * MS, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        server_ns: Some((asked, asked + 80 * MS)),
        ..request(Transport::Quic, start, answered)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::QuicHandshake, RTT),
            (Part::Exchange, RTT),
            (Part::Client, 2 * MS),
            (Part::Server, 81 * MS),
        ]
    );
}

/// A chain of 5,000 bytes: the server may send 3,600 on a hello of 1,200, and waits for the client.
#[test]
fn a_long_chain_over_quic_meets_the_amplification_limit() {
    let mut tape = Tape::new(Transport::Quic);
    let hello = tape.shake(Up, 0, 1_200);
    for _ in 0..3 {
        tape.shake(Down, hello, 1_200);
    }
    let acked = tape.shake(Up, hello + DELAY, 1_200);
    let flight = tape.shake(Down, acked, 1_200);
    let asked = tape.send(Up, flight, 200);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(flight),
        server_ns: Some((asked, asked)),
        ..request(Transport::Quic, 0, answered)
    });
    let expected = [
        (Part::QuicHandshake, RTT),
        (Part::AmplificationLimit, RTT),
        (Part::Exchange, RTT),
    ];
    assert_eq!(present(&parts), expected);
}

/// Two small writes: the second waits for the acknowledgement of the first, which the server delays by 40 ms.
#[test]
fn nagle_meets_a_delayed_acknowledgement() {
    let mut tape = Tape::new(Transport::Tcp);
    let opened = tape.open(0);
    let start = opened + 500 * MS;
    let head = tape.send(Up, start, 100);
    let acked = tape.send(Down, head + 40 * MS, 0);
    let asked = tape.send(Up, acked, 300);
    let answered = tape.send(Down, asked + 2 * MS, 150);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked + 2 * MS)),
        request_bytes: 200,
        ..request(Transport::Tcp, start, answered)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::Nagle, RTT),
            (Part::DelayedAck, 40 * MS),
            (Part::Exchange, RTT),
            (Part::Server, 2 * MS),
        ]
    );
}

/// A client that waits for the server's first frame before it sends its request.
#[test]
fn a_client_waits_for_settings() {
    let mut tape = Tape::new(Transport::Tcp);
    let connected = tape.open(0);
    let hello = tape.shake(Up, connected, 500);
    let secured = tape.shake(Down, hello, FULL);
    let preface = tape.send(Up, secured, 150);
    let settings = tape.send(Down, preface, 60);
    let asked = tape.send(Up, settings, 300);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        server_ns: Some((asked, asked)),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::TlsHandshake, RTT),
        (Part::Settings, RTT),
        (Part::Exchange, RTT),
    ];
    assert_eq!(present(&parts), expected);
}

#[test]
fn what_server_and_client_take_is_theirs() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start + 40 * MS, 200);
        // The request's acknowledgement comes first, and the client acknowledges something meanwhile.
        tape.send(Down, asked + MS, 0);
        tape.send(Up, asked + 30 * MS, 0);
        let answered = tape.send(Down, asked + 80 * MS, 150);
        let parts = tape.parts(&Request {
            server_ns: Some((asked, asked + 80 * MS)),
            ..request(transport, start, answered)
        });
        let expected = [
            (Part::Exchange, RTT),
            (Part::Client, 40 * MS),
            (Part::Server, 80 * MS),
        ];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// Sends `count` full packets down at once on every acknowledgement of the earlier ones, doubling the count, until all
/// are sent; returns when the last is delivered.
fn slow_start(tape: &mut Tape, at_ns: u64, mut left: u32) -> u64 {
    let (mut at_ns, mut window) = (at_ns, 10);
    loop {
        let mut delivered = at_ns;
        for _ in 0..window.min(left) {
            delivered = tape.send(Down, at_ns, FULL);
        }
        left = left.saturating_sub(window);
        if left == 0 {
            return delivered;
        }
        at_ns = tape.send(Up, delivered, 0);
        window *= 2;
    }
}

#[test]
fn a_window_that_grows_costs_round_trips() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    // 10 + 20 + 40 of 70 packets.
    let end = slow_start(&mut tape, asked, 70);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        response_bytes: 70 * u64::from(FULL),
        ..request(Transport::Tcp, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, 2 * RTT)];
    assert_eq!(present(&parts), expected);
}

/// The client acknowledges everything, and gives credit later.
#[test]
fn a_sender_with_everything_acknowledged_waits_for_credit() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..40 {
        delivered = tape.send(Down, asked, FULL);
    }
    tape.send(Up, delivered, 0);
    let credited = tape.send(Up, delivered + 3 * MS, 30);
    let end = tape.send(Down, credited, FULL);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        response_bytes: 41 * u64::from(FULL),
        ..request(Transport::Tcp, start, end)
    });
    let expected = [
        (Part::Exchange, RTT),
        (Part::FlowControl, RTT),
        (Part::Client, 3 * MS),
    ];
    assert_eq!(present(&parts), expected);
}

/// A window of credit that is smaller than the congestion window: acknowledgements come without credit for a while.
#[test]
fn credit_for_half_a_window_is_flow_control() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    for number in 0..40 {
        tape.send(Down, asked + number * MS / 10, FULL);
    }
    for number in 0..20 {
        tape.send(Up, asked + DELAY + 2 * number * MS / 10, 0);
    }
    let credited = tape.send(Up, asked + DELAY + 4 * MS, 30);
    let end = tape.send(Down, credited, FULL);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        response_bytes: 41 * u64::from(FULL),
        ..request(Transport::Tcp, start, end)
    });
    assert_eq!(parts[Part::FlowControl], RTT, "{parts:?}");
    assert_eq!(parts[Part::CongestionWindow], 0, "{parts:?}");
}

/// 2 MB at 10 Mbit/s: the link is the reason, and not the round trips during which it was busy.
#[test]
fn a_saturated_link_is_charged_as_bytes_over_rate() {
    let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let end = slow_start(&mut tape, asked, 1_430);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        response_bytes: 1_430 * u64::from(FULL),
        ..request(Transport::Tcp, start, end)
    });
    assert!(parts[Part::LinkBusy] * 100 > 95 * (end - start - RTT - parts[Part::CongestionWindow]));
    assert!(parts[Part::LinkBusy] > 1_600 * MS, "{parts:?}");
    assert_eq!(parts[Part::Unexplained], 0);
}

#[test]
fn another_flow_in_the_queue_is_charged_as_such() {
    let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    for _ in 0..100 {
        tape.push(OTHER_PORT, Down, asked - MS, FULL, false, 0x40);
    }
    let end = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        ..request(Transport::Tcp, start, end)
    });
    // 100 packets of 1,440 bytes take 115.2 ms, of which 1 ms had passed; the request's own two take a little.
    let others = 100 * 1_440 * 800 - MS;
    assert_eq!(parts[Part::LinkBusyOthers], others);
    assert_eq!(parts[Part::Exchange], RTT);
    assert_eq!(parts[Part::LinkBusy], (240 + 190) * 800);
    assert_eq!(parts.present().count(), 3, "{parts:?}");
}

/// Sends a response of five packets with one lost, and its copy on the third later one, or by a timer.
fn with_loss(transport: Transport, lost: usize) -> Parts {
    let mut tape = Tape::new(transport);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = asked;
    let mut copied = 0;
    for number in 0..5 {
        if number == lost {
            copied = tape.packets.len();
            tape.lose(Down, asked, FULL);
        } else {
            delivered = tape.send(Down, asked, FULL);
            tape.send(Up, delivered, 0);
        }
    }
    let repaired = match lost {
        4 => delivered + DELAY + 200 * MS,
        _ => delivered + DELAY,
    };
    let end = tape.send(Down, repaired, FULL);
    if transport == Transport::Tcp {
        tape.packets.last_mut().unwrap().seq = tape.packets[copied].seq;
    }
    tape.parts(&Request {
        server_ns: Some((asked, asked)),
        response_bytes: 5 * u64::from(FULL),
        ..request(transport, start, end)
    })
}

#[test]
fn losses_are_repaired_fast_or_by_a_timer() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let expected = [(Part::Exchange, RTT), (Part::LossFast, RTT)];
        assert_eq!(present(&with_loss(transport, 1)), expected, "{transport:?}");
        let expected = [(Part::Exchange, RTT), (Part::LossTimer, RTT + 200 * MS)];
        assert_eq!(present(&with_loss(transport, 4)), expected, "{transport:?}");
    }
}

/// A pause between two requests is no pause of a sender that waits for a loss.
#[test]
fn a_loss_of_an_earlier_request_is_not_repaired_by_this_one() {
    let mut tape = Tape::new(Transport::Quic);
    tape.lose(Down, 0, FULL);
    tape.send(Down, MS, FULL);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, FULL);
    let parts = tape.parts(&Request {
        response_bytes: u64::from(FULL),
        ..request(Transport::Quic, start, answered)
    });
    assert_eq!(
        parts[Part::LossFast] + parts[Part::LossTimer],
        0,
        "{parts:?}"
    );
}

/// A copy of bytes that had arrived completes nothing: the client has been busy since they did.
#[test]
fn a_copy_of_delivered_bytes_completes_nothing() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, 150);
    let copied = tape.packets.last().unwrap().seq;
    tape.send(Down, asked + 5 * MS, 150);
    tape.packets.last_mut().unwrap().seq = copied;
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        ..request(Transport::Tcp, start, answered + 9 * MS)
    });
    let expected = [(Part::Exchange, RTT), (Part::Client, 9 * MS)];
    assert_eq!(present(&parts), expected);
}

/// The server reads the head of an upload at once, and answers when it has the body.
#[test]
fn the_response_to_an_upload_waits_for_its_last_byte() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let head = tape.send(Up, start, 200);
    let body = tape.send(Up, start + 70 * MS, FULL);
    let answered = tape.send(Down, body + 2 * MS, 150);
    let parts = tape.parts(&Request {
        server_ns: Some((head, body + 2 * MS)),
        request_bytes: u64::from(FULL),
        sent_ns: Some(start + 70 * MS),
        ..request(Transport::Tcp, start, answered)
    });
    assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
    assert_eq!(parts[Part::Server], 2 * MS, "{parts:?}");
    assert_eq!(
        parts[Part::Client] + parts[Part::Timer],
        70 * MS,
        "{parts:?}"
    );
}

/// A server of the user's own has no log.
#[test]
fn without_a_log_the_server_is_between_its_packets() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked + 7 * MS, 150);
    let parts = tape.parts(&request(Transport::Tcp, start, answered));
    assert_eq!(parts[Part::Server], 7 * MS);
    assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
}

#[test]
fn a_lost_syn_is_repaired_by_a_timer() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.lose(Up, 0, 0);
    tape.packets[0].tcp_flags = SYN;
    let connected = tape.open(1_000 * MS);
    tape.packets[1].seq = 0;
    tape.packets[2].ack = 1;
    let asked = tape.send(Up, connected, 200);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::Exchange, RTT),
        (Part::LossTimer, 1_000 * MS),
    ];
    assert_eq!(present(&parts), expected);
}

#[test]
fn without_packets_all_is_unexplained() {
    let tape = Tape::new(Transport::Tcp);
    let parts = tape.parts(&request(Transport::Tcp, 5, 9));
    assert_eq!(present(&parts), [(Part::Unexplained, 4)]);
    // Clocks that disagree leave nothing to explain.
    assert_eq!(tape.parts(&request(Transport::Tcp, 9, 5)).total_ns(), 0);
}

proptest! {
    /// Whatever crossed the link, and whatever the request claims: the steps tile it.
    #[test]
    fn steps_tile_any_request(
        packets in prop::collection::vec(
            (any::<bool>(), 0..400 * MS, 0..FULL, 0..8_u8, any::<u8>()),
            0..60,
        ),
        tcp in any::<bool>(),
        rate in any::<bool>(),
        start in 0..300 * MS,
        took in 0..300 * MS,
        read in 0..500 * MS,
        wrote in 0..100 * MS,
        bytes in 0..5_000_u64,
    ) {
        let transport = if tcp { Transport::Tcp } else { Transport::Quic };
        let mut tape = match rate {
            true => Tape::at_rate(transport, 2_000_000),
            false => Tape::new(transport),
        };
        let mut packets = packets;
        packets.sort_by_key(|packet| packet.1);
        for (down, at_ns, payload, kind, first_byte) in packets {
            let direction = if down { Down } else { Up };
            let port = if kind == 7 { OTHER_PORT } else { PORT };
            tape.push(port, direction, at_ns, payload, kind == 6, first_byte);
            let last = tape.packets.last_mut().unwrap();
            last.seq = last.seq.wrapping_sub(u32::from(kind == 5) * u32::from(payload));
            last.tcp_flags = if kind == 4 { SYN } else { ACK };
        }
        let request = Request {
            secured_ns: (bytes % 2 == 0).then_some(start + took / 2),
            server_ns: (bytes % 3 > 0).then_some((read, read + wrote)),
            request_bytes: bytes / 2,
            response_bytes: bytes,
            ..request(transport, start, start + took)
        };
        tape.parts(&request);
    }
}
