//! When packets crossed the link, as the client's radio would have met them.

use std::collections::BTreeMap;

use link::Direction;
use link::tap::{Fate, TapRecord};
use record::{ACTIVITY_BIN_MS, Activity};

const BIN_NS: u64 = ACTIVITY_BIN_MS as u64 * 1_000_000;

/// Returns the traffic of each bin with any, counted from `origin_ns`. The client sends a packet
/// when it reaches the link, and receives one when it leaves that; of what the server sends, only
/// what arrives is received.
pub(crate) fn activity(tap: &[TapRecord], origin_ns: u64) -> Vec<Activity> {
    let mut bins: BTreeMap<u32, Activity> = BTreeMap::new();
    for packet in tap.iter().filter(|packet| !packet.stray) {
        let at_ns = match (packet.direction, packet.fate) {
            (Direction::Up, _) => packet.arrival_ns,
            (Direction::Down, Fate::Delivered) => packet.departure_ns,
            (Direction::Down, _) => continue,
        };
        let at_ms = (at_ns.saturating_sub(origin_ns) / BIN_NS) as u32 * ACTIVITY_BIN_MS;
        let bin = bins.entry(at_ms).or_insert(Activity {
            at_ms,
            ..Activity::default()
        });
        match packet.direction {
            Direction::Up => {
                bin.up_bytes += u64::from(packet.ip_bytes);
                bin.up_packets += 1;
            }
            Direction::Down => {
                bin.down_bytes += u64::from(packet.ip_bytes);
                bin.down_packets += 1;
            }
        }
    }
    bins.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::packets;

    fn packet(direction: Direction, arrival_ms: u64, departure_ms: u64, fate: Fate) -> TapRecord {
        TapRecord {
            arrival_ns: arrival_ms * 1_000_000,
            departure_ns: departure_ms * 1_000_000,
            ..packets::tests::packet(direction, 1, 100, fate)
        }
    }

    #[test]
    fn packets_count_where_the_client_meets_them() {
        let lost = Fate::Dropped(link::Cause::Loss);
        let tap = [
            packet(Direction::Up, 1_000, 1_050, Fate::Delivered),
            packet(Direction::Up, 1_099, 0, lost),
            packet(Direction::Down, 1_060, 1_110, Fate::Delivered),
            packet(Direction::Down, 1_060, 1_110, lost),
            packet(Direction::Down, 1_900, 0, Fate::InFlight),
        ];
        let bin = |at_ms, up, down| Activity {
            at_ms,
            up_bytes: u64::from(up) * 100,
            down_bytes: u64::from(down) * 100,
            up_packets: up,
            down_packets: down,
        };
        let expected = [bin(0, 2, 0), bin(100, 0, 1)];
        assert_eq!(activity(&tap, 1_000_000_000), expected);
    }
}
