//! Measures how many packets per second one core carries through a path: `cargo run --release
//! --example throughput`. The target is a million, so that the model costs little compared with the
//! system calls around it.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_types,
    reason = "a measurement reads a clock and prints; the model does not"
)]

use std::time::Instant;

use link::{Direction, Network, Packet, Path, PathSpec, Transport, find};

const PACKETS: u64 = 5_000_000;

fn main() -> Result<(), link::NetworkError> {
    println!("{:<28} {:>8} {:>10}", "path", "Mpps", "ns/packet");
    report("no impairment", &PathSpec::default(), 1_000);
    report("lan, down", &find("lan")?.down, 1_000);
    // 1500 bytes take 1.9 ms at 6.3 Mbit/s, so the link keeps up with a packet every 2 ms and drops
    // nearly all at one every microsecond.
    let metro = find("true-metro")?.down;
    report("true-metro, down, light load", &metro, 2_000_000);
    report("true-metro, down, overload", &metro, 1_000);
    report("every stage", &everything()?, 2_000_000);
    Ok(())
}

fn report(name: &str, spec: &PathSpec, gap_ns: u64) {
    let mut path = Path::new(spec, Direction::Down, 7);
    let started = Instant::now();
    let mut ended = 0;
    for token in 0..PACKETS {
        let now_ns = token * gap_ns;
        path.offer(now_ns, packet(token));
        if path
            .next_deadline()
            .is_some_and(|deadline_ns| deadline_ns <= now_ns)
        {
            while path.poll(now_ns).is_some() {
                ended += 1;
            }
        }
    }
    while path.poll(u64::MAX - 1).is_some() {
        ended += 1;
    }
    let took_ns = started.elapsed().as_nanos() as f64;
    assert_eq!(ended, PACKETS, "every packet departs exactly once");
    let each_ns = took_ns / PACKETS as f64;
    println!("{name:<28} {:>8.2} {each_ns:>10.1}", 1000.0 / each_ns);
}

/// Returns a full packet of one of four flows.
fn packet(token: u64) -> Packet {
    Packet {
        token,
        ip_bytes: 1500,
        transport: Transport::Udp,
        src_port: 443,
        dst_port: 40_000,
        flow: Some((token % 4) as u32),
    }
}

fn everything() -> Result<PathSpec, link::NetworkError> {
    let text = "
        about = 'every stage'
        source = 'made up'
        [up]
        [down]
        rate_kbps = 6300
        queue_ms = 100
        delay_ms = 60
        jitter_ms = 10
        [down.policy]
        udp_rate_kbps = 100000
        udp_burst_bytes = 30000
        [down.gate]
        queue = 'keep'
        closed_ms = [[500, 550]]
        every_ms = 1000
        [down.burst_loss]
        good_ms = 950
        bad_ms = 50
        [down.reorder]
        percent = 1
        extra_ms = 5";
    Ok(Network::parse("everything.toml", text)?.down)
}
