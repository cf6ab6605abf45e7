//! `commute run STUDY`: the main job.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use lab::{Ended, Event, Lab, Plan, RunOptions, Shard, Study};

use record::{CellStatus, Outcome};

use crate::exit;
use crate::progress::Progress;
use crate::verb::report::{Format, print, write_files};

/// Run a study and answer its question.
///
/// Runs every cell of the study's plan, each arm in random order within its block, and writes
/// one record a cell. Ctrl-C finishes the cell in flight and reports what there is; a second
/// Ctrl-C abandons that cell. Whatever interrupts it, `--resume` continues.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute run studies/quickstart.toml --dry-run     what would be run, and how long it takes\n  \
    commute run studies/quickstart.toml --quick       a quick look; no verdicts below 6 blocks\n  \
    commute run studies/quickstart.toml --shard 2/4   one quarter, to be merged by `report`")]
pub(crate) struct Args {
    /// The study's TOML file
    study: PathBuf,
    /// Folder of the run [default: runs/STUDY-1, -2, ...]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Blocks per network, instead of the study's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    blocks: Option<u32>,
    /// Two blocks: a quick look, no verdicts
    #[arg(long, conflicts_with = "blocks")]
    quick: bool,
    /// Blocks side by side; `commute doctor --jobs N` tells whether this machine bears it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Seed of order and luck, instead of the study's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Only the i-th of n shares of the blocks, as 2/4
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<Shard>,
    /// Continue the run in this folder
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Print every cell and the time it will take, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep every packet of every cell, as pcapng
    #[arg(long)]
    pcap: bool,
    /// Skip the known answers checked before the first cell
    #[arg(long)]
    no_self_test: bool,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Folder with `stacks/`, when not at or above this one
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
}

/// Enough to see every arm twice.
const QUICK_BLOCKS: u32 = 2;

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    let plan = lab.plan(&args.study, |study| {
        let quick = args.quick.then_some(QUICK_BLOCKS);
        study.blocks = args.blocks.or(quick).unwrap_or(study.blocks);
        study.seed = args.seed.unwrap_or(study.seed);
    })?;
    let shard = args.shard.unwrap_or(Shard { index: 1, of: 1 });
    if args.dry_run {
        crate::out::print(&crate::dry_run::text(&plan, shard, args.jobs))?;
        return Ok(exit::PASS);
    }
    let out = match (&args.resume, &args.out) {
        (Some(dir), _) | (None, Some(dir)) => dir.clone(),
        (None, None) => next_free(Path::new("runs"), &plan.study.name),
    };
    if args.resume.is_none() {
        // A folder that cannot be had is told before the self-test takes its time.
        record::Store::create(&out)?;
    }
    let stop = stop_on_signals()?;
    let self_test = if args.no_self_test || args.resume.is_some() {
        Vec::new()
    } else {
        self_test(&lab, &plan)?
    };
    let options = RunOptions {
        out: out.clone(),
        resume: args.resume.is_some(),
        jobs: usize::from(args.jobs),
        shard,
        capture: args.pcap,
        self_test,
    };
    let progress = Progress::new(&plan, shard);
    let ended = lab.run(&plan, &options, &stop, &|event: Event<'_>| {
        progress.event(&event);
    });
    progress.finish();
    let ended = ended.map_err(crate::home::judge)?;
    let data = record::Store::open(&out)?.read()?;
    write_files(&data, &out)?;
    print(&data, args.format)?;
    eprintln!("{}: run.json, report.html, report.json", out.display());
    match ended {
        Ended::Stopped => {
            eprintln!(
                "stopped; continue with: commute run {} --resume {}",
                args.study.display(),
                out.display()
            );
            Ok(exit::INTERRUPTED)
        }
        Ended::Complete => Ok(threshold(&plan.study, &data)),
    }
}

/// The share of cells that ended clean against the study's `min_clean_percent`.
fn threshold(study: &Study, data: &record::RunData) -> u8 {
    let Some(wanted) = study.min_clean_percent else {
        return exit::PASS;
    };
    let clean = data
        .with_status()
        .iter()
        .filter(|(cell, s)| *s == CellStatus::Counted && cell.outcome == Outcome::Clean)
        .count();
    let percent = 100.0 * clean as f64 / data.run().plan.len().max(1) as f64;
    if percent >= wanted {
        return exit::PASS;
    }
    eprintln!("threshold: {percent:.1} % of the cells ended clean, the study wants {wanted} %");
    exit::THRESHOLD
}

fn self_test(lab: &Lab, plan: &Plan) -> anyhow::Result<Vec<record::Check>> {
    eprintln!("self-test: known answers over a 100 ms link ...");
    let checks = lab.self_test(plan).map_err(crate::home::judge)?;
    for check in checks.iter().filter(|c| !c.pass) {
        eprintln!("self-test: {}", lab::check_line(check));
    }
    Ok(checks)
}

/// First signal: finish the cell. Second: leave at once, the benches die with us.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
    ])
    .context("cannot watch for Ctrl-C")?;
    std::thread::spawn(move || {
        for _signal in signals.forever() {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
            eprintln!("\nstopping after the cell in flight; once more to abandon it");
        }
    });
    Ok(stop)
}

fn next_free(dir: &Path, study: &str) -> PathBuf {
    let mut n = 1_u64;
    loop {
        let path = dir.join(format!("{study}-{n}"));
        if !path.exists() {
            return path;
        }
        n += 1;
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || format!("`{text}`: write I/N with I from 1 to N, as 2/4");
    let (index, of) = text.split_once('/').ok_or_else(wrong)?;
    let index: usize = index.parse().map_err(|_| wrong())?;
    let of: usize = of.parse().map_err(|_| wrong())?;
    if (1..=of).contains(&index) {
        Ok(Shard { index, of })
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_from_one_to_n() {
        assert_eq!(shard("2/4"), Ok(Shard { index: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0", "/"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
