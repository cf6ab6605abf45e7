//! `commute findings`: makes the pages on published studies from what is kept of their runs.

use std::path::PathBuf;

use anyhow::Context as _;
use findings::Data;
use record::{RunData, Store};

use crate::{exit, out};

/// Generate the findings pages
///
/// Without a command, makes every page and figure in the folder from the claims, published figures and
/// kept values there. The same files give the same bytes.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        commute findings extract runs/quic-loss-1 --study quic-loss\n  \
        commute findings"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Write nothing; exit with 3 if a file differs from what would be written
    #[arg(long)]
    check: bool,
    /// Folder of the findings
    #[arg(long, value_name = "DIR", default_value = "findings")]
    dir: PathBuf,
}

#[derive(clap::Subcommand)]
enum Command {
    Extract(Extract),
}

/// Keep the values of a run that the page of a study needs
#[derive(clap::Args)]
struct Extract {
    /// Folders of the run or of its shards
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Folder of the study in the findings
    #[arg(long, value_name = "NAME")]
    study: String,
    /// Folder of the findings
    #[arg(long, value_name = "DIR", default_value = "findings")]
    dir: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let dir = match &args.command {
        Some(Command::Extract(extract)) => &extract.dir,
        None => &args.dir,
    };
    if !dir.is_dir() {
        return Err(exit::usage(format!(
            "there is no folder {}: `commute findings` works on claims.toml and kept values as they lie in \
             findings/ of commute's repository; run it there, or name such a folder with --dir",
            dir.display()
        )));
    }
    if let Some(Command::Extract(args)) = &args.command {
        return extract(args);
    }
    let files = findings::build(&args.dir)?;
    let differing = findings::differing(&args.dir, &files);
    for file in &differing {
        let what = if args.check { "differs" } else { "written" };
        out::note!("{what}: {}", args.dir.join(file).display());
    }
    if args.check && !differing.is_empty() {
        out::note!("`commute findings` makes them again");
        return Ok(exit::THRESHOLD);
    }
    if !args.check {
        findings::write_all(&args.dir, &files)?;
    }
    Ok(exit::PASS)
}

fn extract(args: &Extract) -> anyhow::Result<u8> {
    let shards = args
        .runs
        .iter()
        .map(|dir| Ok(Store::open(dir)?.read()?))
        .collect::<anyhow::Result<Vec<RunData>>>()?;
    let data = record::merge(shards)?;
    let summary = report::summarise(&data);
    let kept = Data::of(&data, &summary, &args.dir, &args.study)
        .with_context(|| format!("{}", args.dir.display()))?;
    kept.write(&args.dir, &args.study)?;
    Ok(exit::PASS)
}
