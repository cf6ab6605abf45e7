//! The packets of a connection that were lost at random: what common random numbers make equal in
//! all cells of a block.

use std::collections::BTreeSet;

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
    /// Of those, the packets lost at random, numbered from 0; not those that a queue, an outage
    /// or a policy dropped.
    pub lost: Vec<u32>,
    /// The packets that a queue, an outage or a policy dropped, numbered alike: they met no
    /// random loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
}

/// How the losses of two connections, or of all connections of two cells, compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossComparison {
    /// Packets that both sent and that neither lost otherwise than at random.
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
            let sent = one.sent.min(other.sent);
            let dropped: BTreeSet<u32> = (one.dropped.iter().chain(&other.dropped))
                .copied()
                .filter(|n| *n < sent)
                .collect();
            let of = |s: &PacketSeries| -> BTreeSet<u32> {
                let met = |n: &u32| *n < sent && !dropped.contains(n);
                s.lost.iter().copied().filter(met).collect()
            };
            let (one, other) = (of(one), of(other));
            found.add(LossComparison {
                compared: sent - dropped.len() as u32,
                lost: one.intersection(&other).count() as u32,
                different: one.symmetric_difference(&other).count() as u32,
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
            dropped: Vec::new(),
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

    /// A packet that one queue dropped might have been lost at random, too.
    #[test]
    fn packets_dropped_otherwise_are_not_compared() {
        let a = [series(false, true, 10, &[1, 4, 9])];
        let b = [PacketSeries {
            dropped: vec![4, 5, 12],
            ..series(false, true, 15, &[1, 9])
        }];
        let expected = LossComparison {
            compared: 8,
            lost: 2,
            different: 0,
        };
        assert_eq!(LossComparison::of(&a, &b), expected);
        assert_eq!(LossComparison::of(&b, &a), expected);
    }
}
