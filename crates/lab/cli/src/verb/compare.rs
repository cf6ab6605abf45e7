//! `commute compare OLD NEW`: what changed between two runs of a study.

use std::slice;

use record::CompactCalls;
use remote::Location;
use report::ChangeVerdict;

use crate::verb::report::width;
use crate::{exit, out, places};

/// Compare two runs of a study: what became faster or slower?
///
/// Each arm is compared with itself, in each measure on each network. Blocks of different runs are not
/// paired, so differences must be larger to be seen than within a run, and include whatever else
/// changed between the runs: warns where kernel, processor, commute or plan differ.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute compare runs/quickstart-1 runs/quickstart-2\n  \
    commute compare runs/main runs/branch --format markdown --fail-if-slower")]
pub(crate) struct Args {
    /// Folder or prefix of the old run, e.g. s3://BUCKET/PREFIX
    #[arg(value_name = "OLD", value_parser = places::Parser)]
    old: Location,
    /// Folder or prefix of the new run
    #[arg(value_name = "NEW", value_parser = places::Parser)]
    new: Location,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Exit with 3 if any arm became slower
    #[arg(long)]
    fail_if_slower: bool,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Tables for a terminal
    Human,
    /// For a pull request
    Markdown,
    /// As docs/compare.schema.json says
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let read = |place| places::read::<CompactCalls>(slice::from_ref(place));
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let changes = report::compare_runs(&old, &new).map_err(exit::usage)?;
    out::print(&match args.format {
        Format::Human => changes.human(width()),
        Format::Markdown => changes.markdown(),
        Format::Json => changes.json(),
    })?;
    let slower = changes.count(ChangeVerdict::Slower) > 0;
    Ok(match args.fail_if_slower && slower {
        true => exit::THRESHOLD,
        false => exit::PASS,
    })
}
