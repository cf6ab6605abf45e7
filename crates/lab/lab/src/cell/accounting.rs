//! Turns the pump's window and tap into what is recorded: bytes on the wire, costs, audit.

use std::collections::HashMap;

use link::tap::{Fate, TCP, TapRecord};
use link::window::Window;
use record::{Audit, Cost, Wire};

use super::activity::activity;
use super::measured::{Handshake, Measured};
use super::timeline::timeline;

/// Returns the bytes and packets that the endpoints sent on connections opened in the window.
pub(crate) fn wire(m: &Measured) -> Wire {
    let (up, down) = (m.window.up.sent.total(), m.window.down.sent.total());
    Wire {
        up_bytes: up.bytes,
        down_bytes: down.bytes,
        up_packets: up.packets,
        down_packets: down.packets,
        handshake_bytes: handshake_bytes(&m.tap, &m.handshakes),
        retransmitted_packets: retransmitted(&m.tap),
        dropped_packets: m.window.up.dropped.total() + m.window.down.dropped.total(),
        activity: activity(&m.tap, m.started_ns),
    }
}

/// Returns the figures that the audit checks.
pub(crate) fn audit(window: &Window) -> Audit {
    let (up, down) = (&window.up.lateness, &window.down.lateness);
    let worse = |f: fn(&link::window::Lateness) -> u64| f(up).max(f(down));
    Audit {
        run_queue_wait_ns: window.client.run_queue_wait_ns + window.server.run_queue_wait_ns,
        other_cpu_ns: window.other_cpu_ns,
        steal: window.steal,
        packets: up.packets + down.packets,
        late_packets: up.late + down.late,
        late_bound_ns: up.bound_ns.min(down.bound_ns),
        lateness_p50_ns: worse(|l| l.p50_ns),
        lateness_p99_ns: worse(|l| l.p99_ns),
        lateness_max_ns: worse(|l| l.max_ns),
        foreign_drops: window.foreign_drops.total() + window.unrecorded,
        endpoint_receive_drops: window.endpoint_receive_drops,
        foreign_frames: window.up.foreign_frames + window.down.foreign_frames,
        stray_packets: window.up.stray.sent.packets + window.down.stray.sent.packets,
        oversize_frames: window.up.oversize_frames + window.down.oversize_frames,
        clock_step_ns: window.clock_step_ns,
        link_cpu_ns: window.link_cpu_ns,
        ..Audit::default()
    }
}

/// Returns what the cell cost its endpoints.
pub(crate) fn cost(m: &Measured) -> Cost {
    let (client, server) = (&m.window.client, &m.window.server);
    Cost {
        client_cpu_ns: client.cpu_ns + client.kernel_cpu_ns.unwrap_or(0),
        server_cpu_ns: server.cpu_ns + server.kernel_cpu_ns.unwrap_or(0),
        kernel_thread_seen: client.kernel_cpu_ns.is_some() && server.kernel_cpu_ns.is_some(),
        client_peak_bytes: m.peak_bytes,
        startup_ns: m.startup_ns,
        startup_cpu_ns: m.startup_cpu_ns,
        timeline: timeline(&m.window.timeline, m.started_ns),
    }
}

/// Sums the bytes of each connection until its client reported the handshake done. With early data this includes the
/// request, which is sent before.
fn handshake_bytes(tap: &[TapRecord], handshakes: &[Handshake]) -> u64 {
    let until: HashMap<u16, u64> = handshakes.iter().map(|h| (h.port, h.until_ns)).collect();
    tap.iter()
        .filter(|p| {
            until
                .get(&p.client_port())
                .is_some_and(|&until_ns| p.arrival_ns <= until_ns)
        })
        .map(|p| u64::from(p.ip_bytes))
        .sum()
}

/// Counts the TCP segments that carry nothing beyond what their sender had sent before (RFC 9293, section 3.4: sequence
/// numbers are compared modulo 2^32). The link keeps their order, so none of them is merely reordered.
fn retransmitted(tap: &[TapRecord]) -> u64 {
    let mut sent: HashMap<(u16, u16), u32> = HashMap::new();
    let mut again = 0;
    for p in tap
        .iter()
        .filter(|p| p.protocol == TCP && p.fate != Fate::Refused && !p.stray)
    {
        let length = p.sequence_length();
        if length == 0 {
            continue;
        }
        let end = p.seq.wrapping_add(length);
        let highest = sent.entry((p.src_port, p.dst_port)).or_insert(p.seq);
        if (end.wrapping_sub(*highest) as i32) <= 0 {
            again += 1;
        } else {
            *highest = end;
        }
    }
    again
}

#[cfg(test)]
mod tests {
    use link::Direction;

    use super::*;

    fn packet(direction: Direction, at_ns: u64, seq: u32, payload_bytes: u16) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Direction::Up => (4000, 443),
            Direction::Down => (443, 4000),
        };
        TapRecord {
            arrival_ns: at_ns,
            departure_ns: at_ns + 10,
            seq,
            ack: 0,
            ip_bytes: payload_bytes + 40,
            src_port,
            dst_port,
            payload_bytes,
            protocol: TCP,
            tcp_flags: 0x10,
            first_byte: 0,
            direction,
            fate: Fate::Delivered,
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: 0,
            options: Default::default(),
        }
    }

    #[test]
    fn handshake_bytes_end_at_the_reported_handshake() {
        let tap = [
            packet(Direction::Up, 1, 0, 100),
            packet(Direction::Down, 2, 0, 1000),
            packet(Direction::Up, 3, 100, 50),
        ];
        let handshakes = [Handshake {
            port: 4000,
            until_ns: 2,
        }];
        assert_eq!(handshake_bytes(&tap, &handshakes), 140 + 1040);
        assert_eq!(handshake_bytes(&tap, &[]), 0);
    }

    #[test]
    fn retransmissions_are_counted_across_the_sequence_wrap() {
        let near_wrap = u32::MAX - 50;
        let tap = [
            packet(Direction::Up, 1, near_wrap, 100),
            packet(Direction::Up, 2, near_wrap.wrapping_add(100), 100),
            packet(Direction::Up, 3, near_wrap, 100),
            packet(Direction::Up, 4, near_wrap.wrapping_add(200), 0),
            packet(Direction::Down, 5, near_wrap, 100),
        ];
        assert_eq!(retransmitted(&tap), 1);
        let stray = tap.map(|p| TapRecord { stray: true, ..p });
        assert_eq!(retransmitted(&stray), 0);
    }
}
