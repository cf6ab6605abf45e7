//! `commute report DIR...`: answers a study's question from its records.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use record::{RunData, Store};
use report::Summary;

use crate::{exit, out};

/// Answer a study's question from its records
///
/// Several folders are shards of one run and are merged; neither their order nor duplicates
/// matter. Exits with 3 if an arm's requests failed mostly.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute report runs/quickstart-1\n  \
    commute report shard-1 shard-2 --html report.html\n  \
    commute report runs/quickstart-1 --format csv > calls.csv")]
pub(crate) struct Args {
    /// Folders of a run or of its shards
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Output: a summary for people, the summary as JSON, or every request as CSV
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Also write the report as a self-contained HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Output format.
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
    let summary = report::summarise(&data);
    if let Some(file) = &args.html {
        write(file, &report::html(&summary, &data))?;
    }
    print(&summary, &data, args.format)?;
    Ok(validity(&summary))
}

/// Prints the report to standard output.
pub(crate) fn print(summary: &Summary, data: &RunData, format: Format) -> anyhow::Result<()> {
    let text = match format {
        Format::Human => {
            let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            report::human(summary, width(), color)
        }
        Format::Json => report::json(summary),
        Format::Csv => report::csv(data),
    };
    out::print(&text)
}

/// Writes `report.html` and `report.json` into the run's folder.
pub(crate) fn write_files(summary: &Summary, data: &RunData, dir: &Path) -> anyhow::Result<()> {
    write(&dir.join("report.html"), &report::html(summary, data))?;
    write(&dir.join("report.json"), &report::json(summary))
}

/// Returns the exit code of a report: a threshold failed if results must not be used.
pub(crate) fn validity(summary: &Summary) -> u8 {
    match summary.invalid.is_empty() {
        true => exit::PASS,
        false => exit::THRESHOLD,
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Returns the terminal's width, or 110 columns when there is none.
fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(110)
}
