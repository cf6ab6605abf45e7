//! A study becomes a plan: every cell, in the order of running. Pure.

pub(crate) mod remaining;
pub(crate) mod workload;

use driver::protocol::Discovery;
use link::Network;
use record::Planned;
use sha2::{Digest, Sha256};

use crate::plan::workload::Workload;
use crate::study::Study;

/// Every cell of a study and all that is needed to run them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The study it came from.
    pub study: Study,
    /// Its networks, in the study's order.
    pub networks: Vec<Network>,
    /// What a driver is told in each cell.
    pub workload: Workload,
    /// Blocks in the order of running; shard i of n takes every n-th.
    pub blocks: Vec<Block>,
}

/// All arms on one network, back to back, under common luck.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Index into [`Plan::networks`].
    pub network: usize,
    /// From 0.
    pub number: u32,
    /// Seed of the link's luck: the same for every cell of the block.
    pub link_seed: u64,
    /// Cells in their random order.
    pub cells: Vec<PlannedCell>,
}

/// One arm in one block.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCell {
    /// Index into the study's arms.
    pub arm: usize,
    /// As recorded.
    pub planned: Planned,
}

/// One part of n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Plan {
    /// The same study gives the same plan.
    pub fn new(study: Study, networks: Vec<Network>) -> Plan {
        let workload = Workload::expand(&study.workload);
        let mut blocks = Vec::new();
        for number in 0..study.blocks {
            for (network, n) in networks.iter().enumerate() {
                blocks.push(Block::new(&study, network, &n.name, number));
            }
        }
        Plan {
            study,
            networks,
            workload,
            blocks,
        }
    }

    /// Every cell, in the order of running.
    pub fn cells(&self) -> impl Iterator<Item = &Planned> {
        self.blocks
            .iter()
            .flat_map(|b| b.cells.iter().map(|c| &c.planned))
    }

    /// This shard's share of the blocks, by their place in the plan.
    pub fn shard(&self, shard: Shard) -> impl Iterator<Item = &Block> {
        self.blocks.iter().skip(shard.index - 1).step_by(shard.of)
    }

    /// About how long a cell takes, start-up included.
    pub fn cell_estimate_ns(&self, network: usize) -> u64 {
        let n = &self.networks[network];
        let (down, up) = (n.down.rate.mean_bps(), n.up.rate.mean_bps());
        STARTUP_NS + self.workload.estimate_ns(n.rtt_ns(), down, up)
    }

    /// The head of the run's record.
    pub fn arms(&self) -> Vec<record::Arm> {
        let baseline = &self.study.arms[self.study.baseline];
        self.study
            .arms
            .iter()
            .map(|a| record::Arm {
                name: a.name.clone(),
                stack: a.stack.clone(),
                protocol: a.protocol.name().to_owned(),
                codec: a.codec.name().to_owned(),
                security: format!("{:?}", a.security).to_lowercase(),
                congestion: a.congestion.clone(),
                warmup_calls: a.warmup_calls,
                observe: a.observe.clone(),
                discovery: a.discovery.map(|Discovery::AltSvc| "alt_svc".to_owned()),
                caveat: None,
                same_as_baseline: a.name != baseline.name
                    && crate::study::Arm {
                        name: baseline.name.clone(),
                        ..a.clone()
                    } == *baseline,
            })
            .collect()
    }
}

impl Block {
    fn new(study: &Study, network: usize, network_name: &str, number: u32) -> Block {
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

/// Lower-case letters, digits and single dashes: safe in file names.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// A number for this purpose and no other: adding an arm or network never shifts another's.
fn draw(seed: u64, purpose: &[&str], index: u64) -> u64 {
    let text = format!("{seed}/{index}/{}", purpose.join("/"));
    let hash = Sha256::digest(text.as_bytes());
    u64::from_le_bytes(std::array::from_fn(|i| hash[i]))
}

/// Server and driver, from spawn to ready.
const STARTUP_NS: u64 = 250_000_000;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const SMALL: &str = r#"
name = "small"
question = "does it plan?"
networks = ["lan", "true-metro"]
baseline = "hyper h2"
blocks = 3
[[arm]]
stack = "hyper"
protocol = "h2"
[[arm]]
name = "again"
stack = "hyper"
protocol = "h2"
[[arm]]
stack = "quinn"
protocol = "h3"
[[step]]
call = "echo"
times = 2
"#;

    pub(crate) fn small_plan() -> Plan {
        let study = Study::parse("small.toml", SMALL).unwrap();
        let networks = study
            .networks
            .iter()
            .map(|n| link::find(n).unwrap())
            .collect();
        Plan::new(study, networks)
    }

    #[test]
    fn the_same_study_gives_the_same_plan() {
        let (a, b) = (small_plan(), small_plan());
        assert_eq!(a.blocks, b.blocks);
        assert_eq!(a.cells().count(), 2 * 3 * 3);
        let ids: std::collections::BTreeSet<_> = a.cells().map(|c| &c.id).collect();
        assert_eq!(ids.len(), a.cells().count());
    }

    #[test]
    fn the_order_of_arms_is_random_and_every_arm_runs_once_a_block() {
        let plan = small_plan();
        let orders: std::collections::BTreeSet<Vec<usize>> = plan
            .blocks
            .iter()
            .map(|b| b.cells.iter().map(|c| c.arm).collect())
            .collect();
        assert!(orders.len() > 1);
        for mut order in orders {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2]);
        }
    }

    #[test]
    fn the_link_seed_is_common_within_a_block_and_new_in_the_next() {
        let plan = small_plan();
        let seeds: std::collections::BTreeSet<u64> =
            plan.blocks.iter().map(|b| b.link_seed).collect();
        assert_eq!(seeds.len(), plan.blocks.len());
    }

    #[test]
    fn an_arm_like_the_reference_is_its_check() {
        let arms = small_plan().arms();
        assert_eq!(
            arms.iter().map(|a| a.same_as_baseline).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn slugs_are_file_names() {
        assert_eq!(slug("hyper h2 again"), "hyper-h2-again");
        assert_eq!(slug("../Ünix  /H3!"), "nix-h3");
    }
}
