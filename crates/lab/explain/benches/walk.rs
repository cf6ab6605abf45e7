//! How long it takes to find the critical path of a download, by the number of its packets.
//!
//! The aim is 5 ms for 5,000 packets, a usual cell, and 1 s for a million.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "a benchmark reads the clock and prints; the model does not"
)]

use std::time::{Duration, Instant};

use explain::{Crossings, Http, Leg, Request, Served};
use link::tap::{Fate, TapRecord};
use link::{Direction, PathSpec, RateSpec};

const DELAY_NS: u64 = 25_000_000;
const BPS: u64 = 100_000_000;
const ROUNDS: usize = 5;

fn main() {
    for packets in [5_000, 50_000, 500_000, 1_000_000] {
        let tap = download(packets);
        let end_ns = tap.iter().map(|packet| packet.departure_ns).max();
        let request = Request {
            http: Http::Two,
            port: 4_000,
            start_ns: 0,
            end_ns: end_ns.unwrap_or_default(),
            sent_ns: None,
            received_ns: None,
            secured_ns: None,
            nodelay: [false; 2],
            longest: [None; 2],
            served: Some(Served {
                read_ns: DELAY_NS,
                received_ns: Some(DELAY_NS),
                responded_ns: Some(DELAY_NS),
                written_ns: DELAY_NS,
            }),
            request_bytes: 0,
            sender: None,
        };
        let leg = Leg::of(&PathSpec {
            delay_ns: DELAY_NS,
            rate: RateSpec::constant(BPS),
            ..PathSpec::default()
        });
        let times = (0..ROUNDS).map(|_| {
            let begun = Instant::now();
            let path = Crossings::of(&tap, &leg, &leg).path(&request);
            assert!(path.steps.len() > 2);
            begun.elapsed()
        });
        let best = times.min().unwrap_or(Duration::ZERO);
        println!("{packets:>9} packets: {:8.2} ms", best.as_secs_f64() * 1e3);
    }
}

/// Returns a download that idles after every hundred packets until the last of them is acknowledged; two packets in
/// three carry data.
fn download(packets: usize) -> Vec<TapRecord> {
    let mut tap = vec![packet(Direction::Up, 0, 0, 0, 200)];
    let (mut at_ns, mut seq) = (DELAY_NS, 0);
    let each_ns = 1_440 * 8_000_000_000 / BPS;
    while tap.len() < packets {
        let mut acks = Vec::new();
        for number in 0..100_u64 {
            let queued_ns = (number + 1) * each_ns;
            tap.push(packet(Direction::Down, at_ns, queued_ns, seq, 1_400));
            seq = seq.wrapping_add(1_400);
            if number % 2 == 1 {
                let mut ack = packet(Direction::Up, at_ns + queued_ns + DELAY_NS, 0, 200, 0);
                ack.ack = seq;
                acks.push(ack);
            }
        }
        tap.extend(acks);
        at_ns += 100 * each_ns + 2 * DELAY_NS;
    }
    tap.sort_by_key(|packet| packet.arrival_ns);
    tap
}

fn packet(direction: Direction, at_ns: u64, queued_ns: u64, seq: u32, bytes: u16) -> TapRecord {
    let (src_port, dst_port) = match direction {
        Direction::Up => (4_000, 443),
        Direction::Down => (443, 4_000),
    };
    TapRecord {
        arrival_ns: at_ns,
        departure_ns: at_ns + queued_ns + DELAY_NS,
        seq,
        ack: 0,
        ip_bytes: bytes + 40,
        src_port,
        dst_port,
        payload_bytes: bytes,
        protocol: 6,
        tcp_flags: 16,
        first_byte: 23,
        direction,
        fate: Fate::Delivered,
        ip_version: 4,
        ecn: 0,
        stray: false,
        window: 0,
        options: Default::default(),
    }
}
