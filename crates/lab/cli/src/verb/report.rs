//! `commute report DIR...`: answers a study's question from its records.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use record::folder::{self, Readers};
use record::{CellStatus, CompactRun, Outcome};
use remote::Location;
use report::{Summary, Threshold, ThresholdOutcome};

use crate::{exit, out, places, terminal};

/// The name of a file that stands for standard output.
const STDOUT: &str = "-";

/// Answer a study's question from its records
///
/// Several folders are shards of one run and are merged; neither their order nor duplicates
/// matter. Below a prefix, all runs are merged. Exits with 3 if an arm has no results, because its
/// cells or most of its requests failed, if fewer cells are clean than the study requires, or if a
/// condition of --fail-if holds or is undetermined. Conditions are undetermined where cells were
/// not run.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute report runs/quickstart-1\n  \
    commute report runs/quickstart-1 --verbose\n  \
    commute report shard-1 shard-2 --html report.html\n  \
    commute report s3://bucket/quickstart --html report.html\n  \
    commute report runs/quickstart-1 --fail-if 'first.p95 > 300ms' --fail-if 'errors > 1%'\n  \
    commute report runs/quickstart-1 --format csv > calls.csv\n  \
    commute report runs/quickstart-1 --format markdown | gh pr comment 7 --body-file -\n  \
    commute report runs/client-1 --regret 'client auto' --oracle 'client h2' --oracle 'client h3'")]
pub(crate) struct Args {
    /// Folders of a run or of its shards, or prefixes with such below them, e.g. s3://BUCKET/PREFIX
    #[arg(required = true, value_name = "DIR|PREFIX", value_parser = places::Parser)]
    places: Vec<Location>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Print this arm's regret instead of the report: what it lost against the better of the --oracle
    /// arms
    #[arg(
        long,
        value_name = "ARM",
        requires = "oracle",
        conflicts_with_all = ["format", "fail_if", "hdr", "card", "html"]
    )]
    regret: Option<String>,
    /// An arm that the --regret arm chooses from; repeatable
    #[arg(long, value_name = "ARM", requires = "regret")]
    oracle: Vec<String>,
    /// Fail if this holds for any arm, e.g. 'first.p95 > 300ms'; repeatable
    ///
    /// `[ARM/][GROUP.]MEASURE[.FIGURE] OPERATOR VALUE [on NETWORK]`: MEASURE is first, warm, whole or
    /// load (requests that are bound by time), FIGURE median (if left out), p50, p90, p95, p99 or, of
    /// load, p99.9, OPERATOR <, <=, > or >=, and VALUE has ns, us, ms or s. Or MEASURE is goodput, with
    /// e.g. 5Mbit/s, or errors, with e.g. 1%. Each is printed with its figure. A condition without enough
    /// requests is undetermined, which fails, too: name the group that has enough, or see
    /// --allow-undecided.
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Threshold>,
    /// Treat undetermined conditions of --fail-if as passed
    #[arg(long, requires = "fail_if")]
    allow_undecided: bool,
    /// Also write the times of all requests as HdrHistogram logs, NETWORK.ARM.GROUP.hlog
    #[arg(long, value_name = "DIR")]
    hdr: Option<PathBuf>,
    /// Also write the answer as a picture, 600 px wide; - writes only that, to standard output
    #[arg(long, value_name = "FILE.svg")]
    card: Option<PathBuf>,
    /// Also write the report as a self-contained HTML file; - writes only that, to standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For a terminal: what to decide by, or with --verbose every figure
    Human,
    /// For a pull request
    Markdown,
    /// The summary, as docs/report.schema.json says
    Json,
    /// Every request of every cell
    Csv,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    // Two documents in one stream are neither.
    let to_stdout = |file: &Option<PathBuf>| file.as_deref() == Some(Path::new(STDOUT));
    if to_stdout(&args.html) && to_stdout(&args.card) {
        return Err(exit::usage(
            "--html - and --card - both write to standard output; name a file for one of them",
        ));
    }
    let data: CompactRun = places::read(&args.places)?;
    if let Some(arm) = &args.regret {
        return print_regret(&data, arm, &args.oracle);
    }
    let mut summary = report::summarise(&data);
    apply(&args.fail_if, &mut summary)?;
    if let Some(file) = &args.html {
        write(file, &report::html(&summary, &data))?;
    }
    if let Some(file) = &args.card {
        write(file, &report::card(&summary))?;
    }
    if let Some(dir) = &args.hdr {
        write_hdr(&data, dir)?;
    }
    match to_stdout(&args.html) || to_stdout(&args.card) {
        true => note_thresholds(&summary),
        false => print(&summary, &data, args.format)?,
    }
    let run = data.run();
    let clean = clean_share(run.min_clean_percent, &data, run.plan.len());
    let whole = not_run(args, &summary);
    Ok(exit_code(&summary, args.allow_undecided)
        .max(clean)
        .max(whole))
}

/// Returns the exit code of thresholds on records that lack cells.
fn not_run(args: &Args, summary: &Summary) -> u8 {
    let cells = &summary.cells;
    if args.fail_if.is_empty() || args.allow_undecided || cells.not_run == 0 {
        return exit::PASS;
    }
    out::note!(
        "--fail-if is undetermined: {} of {} cells were not run; run them, name the folders of all shards, or add \
         --allow-undecided",
        cells.not_run,
        cells.planned
    );
    exit::THRESHOLD
}

/// Prints the regret as a table: what adaptive routing cost.
fn print_regret(data: &CompactRun, arm: &str, oracles: &[String]) -> anyhow::Result<u8> {
    let arms = || data.run().arms.iter().map(|arm| arm.name.as_str());
    for name in oracles.iter().map(String::as_str).chain([arm]) {
        let hint = config::did_you_mean(name, arms());
        if !arms().any(|known| known == name) {
            return Err(exit::usage(format!("no arm is named `{name}`{hint}")));
        }
    }
    let oracles: Vec<&str> = oracles.iter().map(String::as_str).collect();
    let ms = |ns: f64| format!("{:.1}", ns / 1e6);
    let mut table = comfy_table::Table::new();
    table
        .load_preset(comfy_table::presets::NOTHING)
        .set_header([
            "network",
            "requests",
            "oracle ms",
            "regret ms",
            "interval",
            "verdict",
            "blocks",
            "oracle",
        ]);
    for row in report::regret(data, arm, &oracles) {
        let chosen = oracles
            .iter()
            .zip(&row.oracles)
            .filter(|(_, times)| **times > 0);
        let chosen: Vec<String> = chosen
            .map(|(name, times)| format!("{} {times}", neutral::plain(name)))
            .collect();
        table.add_row([
            neutral::plain(&row.network),
            neutral::plain(&row.requests),
            ms(row.oracle_ns),
            ms(row.regret_ns),
            format!(
                "{} to {} ({:.1} %)",
                ms(row.low_ns),
                ms(row.high_ns),
                100.0 * row.coverage
            ),
            row.verdict().to_owned(),
            row.blocks.to_string(),
            chosen.join(", "),
        ]);
    }
    let title = format!(
        "{arm} less the better of {}, which the other blocks choose",
        oracles.join(" and ")
    );
    out::print(&format!(
        "{}\n\n{}\n",
        neutral::plain(&title),
        table.trim_fmt()
    ))?;
    Ok(exit::PASS)
}

fn write_hdr(data: &CompactRun, dir: &Path) -> anyhow::Result<()> {
    let failed = |e| exit::file_error(format!("cannot write {}", dir.display()), e);
    fs::create_dir_all(dir).map_err(failed)?;
    let mut written = BTreeSet::new();
    for log in report::hdr_logs(data).map_err(anyhow::Error::msg)? {
        let names = [&log.network, &log.arm, &log.group].map(|name| lab::slug(name));
        let mut name = names.join(".");
        // Names may differ in characters only that no file name has here.
        while !written.insert(name.clone()) {
            name.push('_');
        }
        write_beside(&dir.join(name + ".hlog"), &log.text, Readers::Any)?;
    }
    Ok(())
}

/// Applies thresholds to a report.
pub(crate) fn apply(thresholds: &[Threshold], summary: &mut Summary) -> anyhow::Result<()> {
    report::apply_thresholds(summary, thresholds).map_err(|e| exit::usage(format!("--fail-if {e}")))
}

/// Prints the report to standard output.
pub(crate) fn print(summary: &Summary, data: &CompactRun, format: Format) -> anyhow::Result<()> {
    if format == Format::Csv {
        note_thresholds(summary);
        if let Some(machines) = &summary.machines {
            out::note!("{}", neutral::plain(&machines.words));
        }
        return out::write(|out| report::write_csv(data, out));
    }
    out::print(&match format {
        Format::Human if terminal::is_verbose() => {
            report::human(summary, width(), terminal::colors_stdout())
        }
        Format::Human => report::brief(summary, width(), terminal::colors_stdout()),
        Format::Markdown => report::markdown(summary, data),
        Format::Json | Format::Csv => report::json(summary),
    })
}

/// Prints what the thresholds found, for formats that have no place for it.
fn note_thresholds(summary: &Summary) {
    for result in &summary.thresholds {
        out::note!("{}", neutral::plain(&report::threshold_line(result)));
    }
}

/// Writes `report.html` and `report.json` into the run's folder.
pub(crate) fn write_files(summary: &Summary, data: &CompactRun, dir: &Path) -> anyhow::Result<()> {
    // Paths of requests, which reports name, may have a secret in their queries.
    let header = dir.join("run.json");
    let readers = Readers::of(&header).map_err(|e| cannot_write(&header, e))?;
    let page = report::html_beside_records(summary, data);
    write_beside(&dir.join("report.html"), &page, readers)?;
    write_beside(&dir.join("report.json"), &report::json(summary), readers)
}

/// Writes a file whose name the user has not given. What has the name may be a link that a stranger has put there.
fn write_beside(file: &Path, text: &str, readers: Readers) -> anyhow::Result<()> {
    folder::replace(file, text.as_bytes(), readers).map_err(|e| cannot_write(file, e))
}

/// Returns the exit code of a report: whether its results can be used, and all thresholds passed; those
/// that cannot tell pass only where the caller allows that.
pub(crate) fn exit_code(summary: &Summary, allow_undecided: bool) -> u8 {
    let failed = |outcome| match outcome {
        ThresholdOutcome::Pass => false,
        ThresholdOutcome::Fail => true,
        ThresholdOutcome::CannotTell => !allow_undecided,
    };
    let failed = summary.thresholds.iter().any(|r| failed(r.outcome));
    match failed || !summary.invalid.is_empty() {
        true => exit::THRESHOLD,
        false => exit::PASS,
    }
}

/// Compares the share of clean cells, of so many that were to be run, with the study's `min_clean_percent`.
pub(crate) fn clean_share(wanted: Option<f64>, data: &CompactRun, cells: usize) -> u8 {
    let Some(wanted) = wanted else {
        return exit::PASS;
    };
    let clean: BTreeSet<&str> = data
        .with_status()
        .into_iter()
        .filter(|(cell, s)| *s != CellStatus::Superseded && cell.outcome == Outcome::Clean)
        .map(|(cell, _)| cell.id.as_str())
        .collect();
    let percent = 100.0 * clean.len() as f64 / cells.max(1) as f64;
    if percent >= wanted {
        return exit::PASS;
    }
    out::note!("threshold: {percent:.1} % of the cells ended clean; the study requires {wanted} %");
    exit::THRESHOLD
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    if file == Path::new(STDOUT) {
        return out::print(text);
    }
    fs::write(file, text).map_err(|e| cannot_write(file, e))
}

fn cannot_write(file: &Path, error: io::Error) -> anyhow::Error {
    exit::file_error(format!("cannot write {}", file.display()), error)
}

/// Returns the terminal's width, or 110 columns when there is none.
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(110)
}
