//! `commute report DIR...`: records to an answer.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use record::{RunData, Store};

use crate::{exit, out};

/// Answer a study's question from its records.
///
/// Several folders are shards of one run and are merged, in any order and however often the
/// same one is named.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute report runs/quickstart-1\n  \
    commute report shard-1 shard-2 --html report.html\n  \
    commute report runs/quickstart-1 --format csv > calls.csv")]
pub(crate) struct Args {
    /// Folders of a run, or of its shards
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// What to print: a summary for people, the same as JSON, or every call as CSV
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Write the report as one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// How a summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
    Csv,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let shards = args
        .dirs
        .iter()
        .map(|dir| Ok(Store::open(dir)?.read()?))
        .collect::<anyhow::Result<Vec<RunData>>>()?;
    let data = record::merge(shards)?;
    if let Some(file) = &args.html {
        write(file, &report::html(&report::summarise(&data), &data))?;
    }
    print(&data, args.format)?;
    Ok(exit::PASS)
}

/// Prints the answer to standard output.
pub(crate) fn print(data: &RunData, format: Format) -> anyhow::Result<()> {
    let text = match format {
        Format::Human => {
            let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            report::human(&report::summarise(data), width(), color)
        }
        Format::Json => report::json(&report::summarise(data)),
        Format::Csv => report::csv(data),
    };
    out::print(&text)
}

/// Writes `report.html` and `report.json` into the run's folder.
pub(crate) fn write_files(data: &RunData, dir: &Path) -> anyhow::Result<()> {
    let summary = report::summarise(data);
    write(&dir.join("report.html"), &report::html(&summary, data))?;
    write(&dir.join("report.json"), &report::json(&summary))
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Columns of the terminal; a comfortable width when there is none.
fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(110)
}
