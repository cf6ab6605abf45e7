//! Simulates a study on 1, 10, 100 and 1,000 nodes, one shard each, and prints where time goes:
//!
//! `cargo run -p commute-lab --example scaling -- STUDY [networks=N] [blocks=N] [INPUT=VALUE]...`
//!
//! The times of blocks are the plan's estimates, as `commute run --dry-run` adds them up. `networks` replaces the study's
//! networks by the first N of all in alphabetical order. The inputs, their defaults and where these come from are printed.

use std::path::Path;
use std::process::ExitCode;

use lab::{AllowedFiles, Block, Home, Lab, Plan, Shard};

const NODES: [usize; 4] = [1, 10, 100, 1000];
/// How often each number of nodes is simulated, each time with other blocks that are run again.
const SEEDS: u64 = 100;

/// What a cluster adds to the time of cells.
#[derive(Clone, Copy, Debug)]
struct Inputs {
    /// From the request to the start of the first task.
    scheduling_s: f64,
    /// How many tasks the scheduler starts in a second.
    starts_per_s: f64,
    /// To fetch and unpack the image, on all nodes at the same time.
    image_s: f64,
    /// The self-test before the first cell.
    self_test_s: f64,
    /// The share of blocks that are run again because a cell was noisy.
    again_percent: f64,
    /// To report on all records, for each.
    report_ms_per_cell: f64,
}

impl Inputs {
    const DEFAULT: Inputs = Inputs {
        scheduling_s: 5.0,
        starts_per_s: 20.0,
        image_s: 30.0,
        self_test_s: 12.0,
        again_percent: 5.0,
        report_ms_per_cell: 0.3,
    };

    /// Returns each input with its name and the source of its default.
    fn list(&mut self) -> [(&'static str, &mut f64, &'static str); 6] {
        [
            ("scheduling_s", &mut self.scheduling_s, "assumed"),
            ("starts_per_s", &mut self.starts_per_s, "assumed"),
            ("image_s", &mut self.image_s, "assumed"),
            ("self_test_s", &mut self.self_test_s, "measured"),
            ("again_percent", &mut self.again_percent, "assumed"),
            (
                "report_ms_per_cell",
                &mut self.report_ms_per_cell,
                "measured",
            ),
        ]
    }
}

/// Where the time of a run goes, in seconds, as the mean over the simulations. For what nodes do in parallel it is the mean
/// over them, too. Together it is the time from the request to the report.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// Until the first cell.
    start: f64,
    cells: f64,
    /// For the slowest node.
    waiting: f64,
    report: f64,
    /// Nodes with a shard.
    used: usize,
}

impl Times {
    fn wall(&self) -> f64 {
        self.start + self.cells + self.waiting + self.report
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("scaling: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let (study, settings) = arguments.split_first().ok_or("name a study")?;
    let (mut inputs, mut networks, mut blocks) = (Inputs::DEFAULT, None, None);
    for setting in settings {
        let wrong = || {
            format!(
                "`{setting}`: write NAME=VALUE where NAME is networks, blocks or an input, and VALUE a number from 0"
            )
        };
        let (name, value) = setting.split_once('=').ok_or_else(wrong)?;
        let value: f64 = value.parse().map_err(|_| wrong())?;
        let input = inputs.list().into_iter().find(|(known, ..)| *known == name);
        match (name, input) {
            _ if !(value.is_finite() && value >= 0.0) => return Err(wrong()),
            ("networks", _) => networks = Some(value as usize),
            ("blocks", _) => blocks = Some(value as u32),
            (_, Some((_, input, _))) => *input = value,
            _ => return Err(wrong()),
        }
    }
    let plan = plan(study, networks, blocks)?;
    let cells = plan.cells().count();
    println!(
        "{study}: {} arms, {} networks, {} blocks, {cells} cells\n",
        plan.study.arms.len(),
        plan.networks.len(),
        plan.blocks.len()
    );
    for (name, value, source) in inputs.list() {
        println!("{name:>20} {value:>6} ({source})");
    }
    println!("\nnodes  used      wall     start     cells   waiting    report  node time in cells");
    for nodes in NODES {
        let times = simulate(&plan, nodes, &inputs);
        let shown = [
            times.wall(),
            times.start,
            times.cells,
            times.waiting,
            times.report,
        ];
        let [wall, start, in_cells, waiting, report] = shown.map(duration);
        let share = 100.0 * times.cells / times.wall();
        println!(
            "{nodes:>5} {:>5} {wall:>9} {start:>9} {in_cells:>9} {waiting:>9} {report:>9} {share:>17.0} %",
            times.used
        );
    }
    Ok(())
}

/// Reads the study of this name or file, with other networks and another number of blocks if they are given.
fn plan(name: &str, networks: Option<usize>, blocks: Option<u32>) -> Result<Plan, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let binary = std::env::current_exe().map_err(|e| e.to_string())?;
    let lab = Home::named(&root, binary).map_err(|e| e.to_string())?;
    let lab = Lab::open(lab).map_err(|e| e.to_string())?;
    let file = lab.home.study(Path::new(name)).map_err(|e| e.to_string())?;
    let planned = lab.plan(&file, &AllowedFiles::default(), |study| {
        study.blocks = blocks.unwrap_or(study.blocks);
        if let Some(count) = networks {
            let all = link::builtin().iter().take(count);
            study.networks = all.map(|(name, _)| (*name).to_owned()).collect();
        }
    });
    planned.map_err(|e| e.to_string())
}

/// One shard: its blocks, each with the time that its cells take.
type Blocks<'p> = Vec<(&'p Block, f64)>;

/// Returns a shard for each node, as far as there are blocks.
fn shards(plan: &Plan, nodes: usize) -> Vec<Blocks<'_>> {
    let of = nodes.min(plan.blocks.len());
    let timed = |block| (block, plan.block_estimate_ns(block) as f64 / 1e9);
    (1..=of)
        .map(|index| plan.shard(Shard { index, of }).map(timed).collect())
        .collect()
}

/// Returns the mean over all seeds.
fn simulate(plan: &Plan, nodes: usize, inputs: &Inputs) -> Times {
    let shards = shards(plan, nodes);
    let all: Vec<Times> = (0..SEEDS)
        .map(|seed| simulate_once(&shards, inputs, seed))
        .collect();
    let mean = |of: fn(&Times) -> f64| all.iter().map(of).sum::<f64>() / SEEDS as f64;
    Times {
        start: mean(|times| times.start),
        cells: mean(|times| times.cells),
        waiting: mean(|times| times.waiting),
        report: mean(|times| times.report),
        used: shards.len(),
    }
}

fn simulate_once(all: &[Blocks<'_>], inputs: &Inputs, seed: u64) -> Times {
    let share = inputs.again_percent / 100.0;
    let mut records = 0;
    // When each node's first cell begins, and how long its cells take.
    let mut shards = Vec::with_capacity(all.len());
    for (number, blocks) in (1..).zip(all) {
        let start = inputs.scheduling_s
            + ratio(f64::from(number), inputs.starts_per_s)
            + inputs.image_s
            + inputs.self_test_s;
        let mut cells_s = 0.0;
        for (block, takes_s) in blocks {
            let times = if share_of(block, seed) < share { 2 } else { 1 };
            records += times * block.cells.len();
            cells_s += times as f64 * takes_s;
        }
        shards.push((start, cells_s));
    }
    let mean = |of: fn(&(f64, f64)) -> f64| {
        shards.iter().map(of).sum::<f64>() / shards.len().max(1) as f64
    };
    let last = shards.iter().map(|(start, cells)| start + cells);
    let last = last.fold(0.0, f64::max);
    let (start, cells) = (mean(|shard| shard.0), mean(|shard| shard.1));
    Times {
        start,
        cells,
        waiting: last - start - cells,
        report: records as f64 * inputs.report_ms_per_cell / 1000.0,
        used: shards.len(),
    }
}

/// Draws a number from 0 to 1 for a block. It depends on the block and the seed only, so that whatever the number of nodes,
/// the same blocks are run again.
fn share_of(block: &Block, seed: u64) -> f64 {
    let mut state = seed << 48 ^ (block.network as u64) << 32 ^ u64::from(block.number);
    // SplitMix64, whose outputs for neighbouring inputs are independent (Steele, Lea and Flood 2014).
    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ state >> 31) as f64 / u64::MAX as f64
}

/// Returns 0 where the scheduler starts all at once.
fn ratio(count: f64, per_second: f64) -> f64 {
    if per_second > 0.0 {
        count / per_second
    } else {
        0.0
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 5_400.0 => format!("{:.1} h", s / 3_600.0),
        s if s >= 90.0 => format!("{:.1} min", s / 60.0),
        s => format!("{s:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Inputs = Inputs {
        scheduling_s: 0.0,
        starts_per_s: 0.0,
        image_s: 0.0,
        self_test_s: 0.0,
        again_percent: 0.0,
        report_ms_per_cell: 0.0,
    };

    #[test]
    fn one_node_takes_the_time_of_the_dry_run() {
        let plan = plan("quickstart-native", None, None).unwrap();
        let times = simulate(&plan, 1, &NOTHING);
        let all = plan.estimate_ns(Shard { index: 1, of: 1 }, 1) as f64 / 1e9;
        assert!((times.wall() - all).abs() < 1e-6 * all);
        assert_eq!((times.start, times.waiting, times.report), (0.0, 0.0, 0.0));
    }

    #[test]
    fn nodes_share_the_cells_and_wait_for_the_slowest() {
        let plan = plan("quickstart-native", None, None).unwrap();
        let one = simulate(&plan, 1, &NOTHING);
        for nodes in NODES {
            let times = simulate(&plan, nodes, &NOTHING);
            let used = times.used as f64;
            assert_eq!(times.used, nodes.min(28), "28 blocks");
            assert!((times.cells * used - one.cells).abs() < 1e-6 * one.cells);
            assert!(times.waiting >= -1e-9);
        }
        let inputs = Inputs {
            image_s: 30.0,
            report_ms_per_cell: 1000.0,
            ..NOTHING
        };
        let times = simulate(&plan, 10, &inputs);
        assert_eq!((times.start, times.report), (30.0, 168.0));
    }

    #[test]
    fn a_share_of_the_blocks_is_run_again() {
        let plan = plan("quickstart-native", None, Some(500)).unwrap();
        let inputs = Inputs {
            again_percent: 10.0,
            report_ms_per_cell: 1000.0,
            ..NOTHING
        };
        let (all, cells) = (simulate(&plan, 1, &inputs), plan.cells().count() as f64);
        assert!((all.report / cells - 1.1).abs() < 0.005, "{}", all.report);
        // The slowest of many nodes has more to run again than the mean of them.
        assert!(simulate(&plan, 100, &inputs).waiting > 0.0);
    }

    #[test]
    fn the_same_blocks_are_run_again_on_any_number_of_nodes() {
        let plan = plan("quickstart-native", None, None).unwrap();
        let inputs = Inputs {
            again_percent: 20.0,
            ..NOTHING
        };
        for seed in 0..5 {
            let in_all = NODES.map(|nodes| {
                let times = simulate_once(&shards(&plan, nodes), &inputs, seed);
                times.cells * times.used as f64
            });
            for other in in_all {
                assert!((other - in_all[0]).abs() < 1e-6 * other, "{in_all:?}");
            }
        }
    }

    #[test]
    fn wrong_settings_are_named() {
        for wrong in ["image_s", "image_s=x", "image_s=-1", "image_s=inf", "x=1"] {
            let arguments = ["quickstart-native", wrong].map(str::to_owned);
            assert!(run(&arguments).unwrap_err().contains(wrong));
        }
    }
}
