//! The series of packets in which the link's random losses are drawn.

use std::collections::BTreeMap;

use link::tap::{Fate, TapRecord};
use link::{Cause, Direction, FULL_SIZE_ABOVE_BYTES};
use record::PacketSeries;

/// Returns the series of the connection with this port of the client.
pub(crate) fn series(tap: &[TapRecord], client_port: u16) -> Vec<PacketSeries> {
    let mut all: BTreeMap<(bool, bool), PacketSeries> = BTreeMap::new();
    for packet in tap {
        // What a NAT drops in front of the link is in no series.
        let offered = !packet.stray && packet.fate != Fate::Unmapped;
        if !offered || packet.client_port() != client_port {
            continue;
        }
        let up = packet.direction == Direction::Up;
        let full_size = u32::from(packet.ip_bytes) > FULL_SIZE_ABOVE_BYTES;
        let series = all.entry((up, full_size)).or_insert_with(|| PacketSeries {
            up,
            full_size,
            ..PacketSeries::default()
        });
        match packet.fate {
            Fate::Dropped(Cause::Loss) => series.lost.push(series.sent),
            Fate::Dropped(_) | Fate::Left => series.dropped.push(series.sent),
            _ => {}
        }
        series.sent += 1;
    }
    all.into_values().collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::cell) fn packet(
        direction: Direction,
        port: u16,
        ip_bytes: u16,
        fate: Fate,
    ) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Direction::Up => (port, 443),
            Direction::Down => (443, port),
        };
        TapRecord {
            arrival_ns: 0,
            departure_ns: 0,
            seq: 0,
            ack: 0,
            ip_bytes,
            src_port,
            dst_port,
            payload_bytes: 0,
            protocol: 6,
            tcp_flags: 0,
            first_byte: 0,
            direction,
            fate,
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: 0,
            options: Default::default(),
        }
    }

    #[test]
    fn packets_are_numbered_by_direction_and_size() {
        use Direction::{Down, Up};
        let lost = Fate::Dropped(Cause::Loss);
        let stray = TapRecord {
            stray: true,
            ..packet(Down, 50, 1500, lost)
        };
        let tap = [
            packet(Up, 50, 60, Fate::Delivered),
            packet(Up, 51, 60, lost),
            packet(Down, 50, 1500, Fate::Delivered),
            packet(Down, 50, 60, Fate::Dropped(Cause::Queue)),
            packet(Down, 50, 1500, Fate::Unmapped),
            stray,
            packet(Down, 50, 1001, lost),
        ];
        let series = series(&tap, 50);
        let of = |up, full_size, sent, lost: &[u32], dropped: &[u32]| PacketSeries {
            up,
            full_size,
            sent,
            lost: lost.to_vec(),
            dropped: dropped.to_vec(),
        };
        let expected = [
            of(false, false, 1, &[], &[0]),
            of(false, true, 2, &[1], &[]),
            of(true, false, 1, &[], &[]),
        ];
        assert_eq!(series, expected);
    }
}
