//! The packets of a connection that were lost at random: what common random numbers make equal in
//! all cells of a block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The packets of one connection in one direction and size class, in the order of sending. For each
/// such series the link draws its losses apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketSeries {
    /// From client to server.
    pub up: bool,
    /// Whether these are the packets above 1000 IP bytes or the smaller ones.
    pub full_size: bool,
    /// Number of packets sent.
    pub sent: u32,
    /// Of those, the packets lost at random, numbered from 0; not those that a full queue, an outage
    /// or a policy dropped.
    pub lost: Vec<u32>,
}

/// How the losses of two connections, or of all connections of two cells, compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossComparison {
    /// Packets that both sent.
    pub compared: u32,
    /// Of those, packets that both lost.
    pub lost: u32,
    /// Of those, packets that only one lost.
    pub different: u32,
}

impl LossComparison {
    /// Compares the series of two connections.
    pub fn of(a: &[PacketSeries], b: &[PacketSeries]) -> LossComparison {
        let mut found = LossComparison::default();
        for one in a {
            let same = |s: &&PacketSeries| (s.up, s.full_size) == (one.up, one.full_size);
            let Some(other) = b.iter().find(same) else {
                continue;
            };
            let compared = one.sent.min(other.sent);
            let of = |s: &PacketSeries| s.lost.iter().filter(|n| **n < compared).count() as u32;
            let both = |n: &&u32| **n < compared && other.lost.contains(n);
            let lost = one.lost.iter().filter(both).count() as u32;
            found.add(LossComparison {
                compared,
                lost,
                different: of(one) + of(other) - 2 * lost,
            });
        }
        found
    }

    /// Adds another connection.
    pub fn add(&mut self, other: LossComparison) {
        self.compared += other.compared;
        self.lost += other.lost;
        self.different += other.different;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(up: bool, full_size: bool, sent: u32, lost: &[u32]) -> PacketSeries {
        PacketSeries {
            up,
            full_size,
            sent,
            lost: lost.to_vec(),
        }
    }

    #[test]
    fn only_packets_that_both_sent_are_compared() {
        let a = [
            series(false, true, 10, &[1, 4, 9]),
            series(false, false, 3, &[0]),
            series(true, false, 8, &[]),
        ];
        let b = [
            series(true, false, 8, &[7]),
            series(false, true, 9, &[1, 5]),
        ];
        let expected = LossComparison {
            compared: 17,
            lost: 1,
            different: 3,
        };
        assert_eq!(LossComparison::of(&a, &b), expected);
        assert_eq!(LossComparison::of(&b, &a), expected);
    }
}
