//! `commute trace plot`.

use std::path::PathBuf;

use traces::{Summary, plot};

use super::{Input, STDIO, check, save};
use crate::{exit, origin, out};

/// Plot a trace's rate, in the terminal or as a page
///
/// The page has the rate over time with outages, the distribution of the rate, and the figures of `summarise`. It loads
/// nothing.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// Write an HTML page instead, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    if let Some(file) = &args.out {
        check(file, args.force)?;
    }
    let trace = args.input.read()?;
    let Some(file) = &args.out else {
        out::text(&plot::terminal(&trace))?;
        return Ok(exit::PASS);
    };
    let name = match args.input.file.as_os_str() == STDIO {
        true => "standard input".into(),
        false => args
            .input
            .file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy(),
    };
    let summary = Summary::of(&trace, args.input.outage_ms());
    save(
        file,
        args.force,
        &plot::page(&name, &trace, &summary, &origin::now()),
    )?;
    if file.as_os_str() != STDIO {
        out::note!("{}: written", file.display());
    }
    Ok(exit::PASS)
}
