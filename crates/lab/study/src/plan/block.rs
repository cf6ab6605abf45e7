//! Blocks of a plan: which arm runs when, and with which random draws.

use record::Planned;
use sha2::{Digest, Sha256};

use crate::Study;
use crate::slug::slug;

/// All arms on one network, back to back, with common random numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Index into [`Plan::networks`](super::Plan::networks)(super::Plan::networks).
    pub network: usize,
    /// The block's number on its network, from 0.
    pub number: u32,
    /// Seed of the link's random draws, the same for every cell of the block.
    pub link_seed: u64,
    /// One cell per arm, in random order.
    pub cells: Vec<PlannedCell>,
}

/// One arm in one block.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCell {
    /// Index into the study's arms.
    pub arm: usize,
    /// The cell as `run.json` lists it.
    pub planned: Planned,
}

/// One of `of` equal shares of a plan's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The share's number, from 1 to `of`.
    pub index: usize,
    /// How many shares there are.
    pub of: usize,
}

impl Shard {
    /// Reports whether the share has the block at this place of a plan, in which `networks` networks take turns.
    ///
    /// If every share had every n-th block, each of four shares would have only one of two networks. Then a machine could
    /// not be told apart from a network, and the share with the slowest network would take longest. So shares move on by
    /// one whenever both turns begin again at the same block.
    pub(super) fn has(self, place: usize, networks: usize) -> bool {
        let round = networks / common_divisor(networks, self.of) * self.of;
        (place + place / round) % self.of == self.index - 1
    }
}

/// Returns the greatest common divisor.
fn common_divisor(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        _ => common_divisor(b, a % b),
    }
}

impl Block {
    pub(super) fn new(study: &Study, network: usize, network_name: &str, number: u32) -> Block {
        let link_seed = draw(study.seed, &["link", network_name], u64::from(number));
        let mut order: Vec<usize> = (0..study.arms.len()).collect();
        order.sort_by_cached_key(|&arm| {
            draw(
                study.seed,
                &["order", network_name, &study.arms[arm].name],
                u64::from(number),
            )
        });
        let cells = order
            .into_iter()
            .zip(0..)
            .map(|(arm, position)| {
                let name = &study.arms[arm].name;
                let planned = Planned {
                    id: format!("{}_{number:03}_{}", slug(network_name), slug(name)),
                    network: network_name.to_owned(),
                    block: number,
                    arm: name.clone(),
                    position,
                };
                PlannedCell { arm, planned }
            })
            .collect();
        Block {
            network,
            number,
            link_seed,
            cells,
        }
    }
}

/// Draws a number that depends on its arguments only, so that adding an arm or a network never
/// changes the draws of another.
pub(super) fn draw(seed: u64, purpose: &[&str], index: u64) -> u64 {
    let text = format!("{seed}/{index}/{}", purpose.join("/"));
    let hash = Sha256::digest(text.as_bytes());
    u64::from_le_bytes(std::array::from_fn(|i| hash[i]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn shards_are_equal_and_take_turns_on_all_networks() {
        for (networks, of) in (1..=34).flat_map(|networks| (1..=40).map(move |of| (networks, of))) {
            let total = 3 * networks * of / 2 + 1;
            let mut shards = vec![Vec::new(); of];
            for place in 0..total {
                let owners = (1..=of).filter(|&index| Shard { index, of }.has(place, networks));
                let owners: Vec<usize> = owners.collect();
                assert_eq!(owners.len(), 1, "block {place} in {of} shards");
                shards[owners[0] - 1].push(place % networks);
            }
            for shard in shards {
                assert!((total / of..=total.div_ceil(of)).contains(&shard.len()));
                for turn in shard.chunks(networks) {
                    let different: BTreeSet<&usize> = turn.iter().collect();
                    assert_eq!(different.len(), turn.len(), "{of} shards: {turn:?}");
                }
            }
        }
    }
}
