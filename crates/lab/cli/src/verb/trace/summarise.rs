//! `commute trace summarise`.

use traces::Summary;

use super::Input;
use crate::exit;
use crate::out::{self, Listing};

/// Print a trace's mean rate, rates in windows, outages and correlation
///
/// Rates are counted in windows of 100 ms and of 1 s. Percentiles are by the nearest rank. The time from the begin to the
/// first delivery counts as without delivery, because the trace repeats.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Listing,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let summary = Summary::of(&args.input.read()?, args.input.outage_ms());
    match args.format {
        Listing::Human => out::text(&summary.text())?,
        Listing::Json => out::json(&summary)?,
    }
    Ok(exit::PASS)
}
