//! Expands a study into a plan: every cell, in the order of running. Pure: the same study gives
//! the same plan.

mod block;
mod calls;
mod estimate;
mod expansion;
mod own;
mod planned_step;
mod recorded;
mod remaining;
mod repeated_files;
#[cfg(test)]
pub(crate) mod small_plan;
mod workload;

use std::collections::BTreeSet;

use record::{Planned, Position};

use crate::own::Form;
use crate::slots::Slots;
use crate::{Behaviour, Study, StudyNetwork};
use block::draw;

pub use block::{Block, PlannedCell, Shard};
pub use calls::planned_calls;
pub use estimate::{Pipe, estimate_ns};
pub use own::{Content, SentRequest, SentRequests};
pub use planned_step::{PlannedStep, PlannedSteps};
pub use recorded::recorded;
pub use remaining::{Done, RemainingBlock, ResumedAt, remaining};
pub use workload::{Workload, encoded_message};

/// Every cell of a study, and what is needed to run them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The study that was planned.
    pub study: Study,
    /// The text it was parsed from, with which a run can be continued.
    pub study_toml: String,
    /// The networks, in the study's order.
    pub networks: Vec<StudyNetwork>,
    /// The steps of an arm that does as the study says.
    pub workload: Workload,
    /// The steps that each arm's driver follows, in the study's order.
    pub arm_workloads: Vec<Workload>,
    /// The blocks in the order of running: by number, then by network.
    pub blocks: Vec<Block>,
}

impl Plan {
    /// Plans a study; `networks` are the study's, in its order, and `study_toml` is its text.
    pub fn new(study: Study, study_toml: String, networks: Vec<StudyNetwork>) -> Plan {
        let slots = Slots::of(&study.arms);
        let as_the_study_says = Behaviour::default();
        let round_trips = networks.iter().map(|network| network.link.rtt_ns());
        let fastest_ns = round_trips.min().unwrap_or(0);
        let of_arm = |behaviour: &Behaviour, form: &Form| {
            Workload::of_arm(&study.workload, behaviour, form, slots, fastest_ns)
        };
        let mut workload = of_arm(&as_the_study_says, &Form::AsTheyAre);
        if study.external.is_some() {
            // Values of a real query may be credentials, and records are passed on.
            for group in &mut workload.groups {
                group.about = without_values(&group.about);
            }
        }
        let arm_workloads = (study.arms.iter())
            .map(|arm| of_arm(&arm.behaviour, &Form::of(arm)).at_origins(&arm.origins))
            .collect();
        let mut blocks = Vec::new();
        for number in 0..study.blocks {
            for (network, n) in networks.iter().enumerate() {
                blocks.push(Block::new(&study, network, &n.link.name, number));
            }
        }
        Plan {
            study,
            study_toml,
            networks,
            workload,
            arm_workloads,
            blocks,
        }
    }

    /// Returns every cell in the order of running.
    pub fn cells(&self) -> impl Iterator<Item = &Planned> {
        self.blocks
            .iter()
            .flat_map(|b| b.cells.iter().map(|c| &c.planned))
    }

    /// Returns the blocks of one shard.
    pub fn shard(&self, shard: Shard) -> impl Iterator<Item = &Block> {
        let networks = self.networks.len();
        let blocks = self.blocks.iter().enumerate();
        blocks.filter_map(move |(place, block)| shard.has(place, networks).then_some(block))
    }

    /// Returns the steps that an arm's driver follows in a block: as planned, with lengths of files that
    /// are drawn for the block if the study varies them.
    pub fn workload_in(&self, block: &Block, arm: usize) -> Workload {
        let (seed, number) = (self.study.seed, u64::from(block.number));
        let draw = |group: &str, nth: u64| {
            let nth = nth.to_string();
            draw(seed, &["bytes", group, &nth], number)
        };
        let mut workload = self.arm_workloads[arm].clone();
        workload.vary(self.study.vary_percent, draw);
        workload
    }

    /// Returns how many requests a shard makes at most, if no block is run again.
    pub fn requests(&self, shard: Shard) -> u64 {
        let of_cell = |cell: &PlannedCell| self.arm_workloads[cell.arm].call_ids().count() as u64;
        let cells = self.shard(shard).flat_map(|block| &block.cells);
        cells.map(of_cell).sum()
    }

    /// Returns how many arms a report compares with the baseline in each column of its tables. A network has columns
    /// for the populations of each group and for groups of several calls as a whole. It has one for the tail of each
    /// group if the study asks for it.
    pub fn families(&self) -> Vec<usize> {
        let arms = self.arms();
        let compared = arms.iter().filter(|arm| !arm.same_as_baseline).count() - 1;
        let calls = self.calls();
        let populations: BTreeSet<(&str, Position)> = calls
            .iter()
            .map(|call| (call.group.as_str(), call.position))
            .collect();
        let of_group = |name: &str| calls.iter().filter(|call| call.group == name).count();
        let groups = &self.workload.groups;
        let wholes = groups
            .iter()
            .filter(|group| of_group(&group.name) > 1)
            .count();
        let loads = self.workload.loads().count();
        let tails = self.study.tail_percent.map_or(0, |_| groups.len());
        vec![compared; self.networks.len() * (populations.len() + wholes + loads + tails)]
    }
}

/// Removes the values of queries from a description of requests.
fn without_values(about: &str) -> String {
    let of_word = |word: &str| {
        let Some((path, query)) = word.split_once('?') else {
            return word.to_owned();
        };
        // A comma at the end is the sentence's.
        let (query, end) = match query.strip_suffix(',') {
            Some(query) => (query, ","),
            None => (query, ""),
        };
        let name = |part: &str| match part.split_once('=') {
            Some((name, _)) => format!("{name}=…"),
            None => "…".to_owned(),
        };
        let names: Vec<String> = query.split('&').map(name).collect();
        format!("{path}?{}{end}", names.join("&"))
    };
    let words: Vec<String> = about.split(' ').map(of_word).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::estimate::{STARTUP_NS, WARMUP_NS};
    use super::small_plan::{SMALL, small_plan};
    use super::*;
    use driver::protocol::Action;

    #[test]
    fn the_same_study_gives_the_same_plan() {
        let (a, b) = (small_plan(), small_plan());
        assert_eq!(a.blocks, b.blocks);
        assert_eq!(a.cells().count(), 2 * 3 * 3);
        let ids: std::collections::BTreeSet<_> = a.cells().map(|c| &c.id).collect();
        assert_eq!(ids.len(), a.cells().count());
    }

    #[test]
    fn each_block_runs_every_arm_once_in_random_order() {
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
    fn further_blocks_follow_those_of_a_shorter_plan() {
        let short = small_plan();
        let study = Study {
            blocks: 5,
            ..short.study.clone()
        };
        let long = Plan::new(study, String::new(), short.networks.clone());
        assert!(long.blocks.len() > short.blocks.len());
        assert!(long.blocks.starts_with(&short.blocks));
        for of in 1..=6 {
            for index in 1..=of {
                let of_plan = |plan: &Plan| -> Vec<Block> {
                    plan.shard(Shard { index, of }).cloned().collect()
                };
                assert!(of_plan(&long).starts_with(&of_plan(&short)));
            }
        }
    }

    #[test]
    fn files_vary_from_block_to_block_and_not_from_arm_to_arm() {
        let files = format!("{SMALL}[[step]]\nget = \"files\"\nbytes = 100000\ntimes = 3\n");
        let plan = |text: &str| {
            let study = Study::parse("files.toml", text).unwrap();
            let lan = link::find("lan").unwrap();
            Plan::new(study, text.to_owned(), vec![lan.into()])
        };
        let fixed = plan(&files);
        let lengths = |plan: &Plan, block: usize, arm: usize| -> Vec<u64> {
            let workload = plan.workload_in(&plan.blocks[block], arm);
            let bytes = workload.steps.iter().filter_map(|step| match step.action {
                Action::Get { bytes } => Some(bytes),
                _ => None,
            });
            bytes.collect()
        };
        let nominal = lengths(&fixed, 0, 0);
        assert_eq!(nominal, [100_000; 3]);
        let varied = plan(&files.replace("blocks = 3", "blocks = 3\nvary_percent = 10"));
        for block in 0..varied.blocks.len() {
            assert_eq!(lengths(&fixed, block, 1), nominal);
            let of_block = lengths(&varied, block, 0);
            assert_eq!(lengths(&varied, block, 1), of_block);
            assert!(
                of_block
                    .iter()
                    .all(|bytes| (90_000..=110_000).contains(bytes))
            );
        }
        let drawn: BTreeSet<u64> = (0..3)
            .flat_map(|block| lengths(&varied, block, 0))
            .collect();
        assert_eq!(drawn.len(), 9, "{drawn:?}");
    }

    #[test]
    fn made_up_bodies_have_the_same_length_in_every_arm() {
        let step = "call = \"orders\"\nresponse_bytes = 20000\ntimes = 2";
        let text = SMALL
            .replace("call = \"echo\"\ntimes = 2", step)
            .replace("blocks = 3", "blocks = 3\nvary_percent = 10");
        let study = Study::parse("own.toml", &text).unwrap();
        let plan = Plan::new(study, text, vec![link::find("lan").unwrap().into()]);
        let length = |block: usize, arm: usize| {
            let workload = plan.workload_in(&plan.blocks[block], arm);
            workload.own.iter().next().unwrap().answer_bytes()
        };
        let drawn: BTreeSet<u64> = (0..3).map(|block| length(block, 0)).collect();
        assert_eq!(drawn.len(), 3, "{drawn:?}");
        assert!(drawn.iter().all(|bytes| (18_000..=22_000).contains(bytes)));
        for block in 0..3 {
            assert_eq!(length(block, 1), length(block, 0));
        }
    }

    #[test]
    fn every_block_has_its_own_link_seed() {
        let plan = small_plan();
        let seeds: std::collections::BTreeSet<u64> =
            plan.blocks.iter().map(|b| b.link_seed).collect();
        assert_eq!(seeds.len(), plan.blocks.len());
    }

    #[test]
    fn jobs_share_measuring_but_not_starting() {
        let plan = small_plan();
        let all = Shard { index: 1, of: 1 };
        let cells = plan.cells().count() as u64;
        let (one, two) = (plan.estimate_ns(all, 1), plan.estimate_ns(all, 2));
        let starts = STARTUP_NS * cells;
        assert_eq!((one - starts) / 2, two - starts);
    }

    #[test]
    fn arms_that_warm_up_take_longer_to_start() {
        let mut plan = small_plan();
        let all = Shard { index: 1, of: 1 };
        let before = plan.estimate_ns(all, 1);
        plan.study.arms[2].warmup_calls = 50;
        assert_eq!(plan.estimate_ns(all, 1) - before, WARMUP_NS * 2 * 3);
        let of_blocks: u64 = plan.blocks.iter().map(|b| plan.block_estimate_ns(b)).sum();
        assert_eq!(plan.estimate_ns(all, 1), of_blocks);
    }

    #[test]
    fn families_are_networks_times_measures() {
        // One arm besides baseline and A/A arm; on two networks: first request, warm requests, whole.
        let small = small_plan();
        assert_eq!(small.families(), [1; 6]);
        let text = SMALL.replace("blocks = 3", "blocks = 3\ntail_percent = 95");
        let text = text.replace("times = 2", "times = 21");
        let study = Study::parse("small.toml", &text).unwrap();
        let with_tail = Plan::new(study, text, small.networks);
        assert_eq!(with_tail.families(), [1; 8]);
    }

    #[test]
    fn a_copy_of_the_baseline_is_marked() {
        let arms = small_plan().arms();
        assert_eq!(
            arms.iter().map(|a| a.same_as_baseline).collect::<Vec<_>>(),
            [false, true, false]
        );
    }
}
