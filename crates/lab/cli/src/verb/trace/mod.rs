//! `commute trace`: imports, summarises, plots and generates traces of a link's rate.

mod generate;
mod import;
mod plot;
mod summarise;

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use link::Trace;

use crate::{exit, out};

/// The name of standard input and output.
const STDIO: &str = "-";

/// Import, summarise, plot or generate traces of a link's rate
///
/// A trace has the times at which 1500 bytes can cross a link, in the Mahimahi format: one whole number of milliseconds
/// per line. The key `trace` of a network file reads it. The last time is the period after which the trace repeats.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute trace import bus.txt --format pensieve --out bus.trace\n  \
    commute trace summarise bus.trace\n  \
    commute trace plot bus.trace --out bus.html\n  \
    commute trace generate --mean 10Mbit/s --cv 0.5 --duration 60s --out made.trace")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Import(import::Args),
    Summarise(summarise::Args),
    Plot(plot::Args),
    Generate(generate::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    match &args.verb {
        Verb::Import(args) => import::run(args),
        Verb::Summarise(args) => summarise::run(args),
        Verb::Plot(args) => plot::run(args),
        Verb::Generate(args) => generate::run(args),
    }
}

/// A trace to read.
#[derive(clap::Args)]
struct Input {
    /// The trace, in the Mahimahi format; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The shortest time without delivery that counts as an outage
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = length_us)]
    outage: u64,
}

impl Input {
    fn read(&self) -> anyhow::Result<Trace> {
        traces::read(open(&self.file)?).with_context(|| self.file.display().to_string())
    }

    fn outage_ms(&self) -> u64 {
        self.outage.div_ceil(1000)
    }
}

/// Where a trace is written.
#[derive(clap::Args)]
struct Output {
    /// The trace to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,
}

impl Output {
    /// Refuses a file that may not be written, before work is done for it.
    fn check(&self) -> anyhow::Result<()> {
        check(&self.out, self.force)
    }

    fn save(&self, trace: &Trace) -> anyhow::Result<()> {
        save(&self.out, self.force, &traces::text(trace))?;
        if self.out != Path::new(STDIO) {
            out::note!(
                "{}: written, {} at {} in the mean; in a network file: trace = {:?}, and a queue, e.g. queue_ms = 500",
                self.out.display(),
                traces::duration(trace.period_ms() * 1000),
                traces::rate(trace.mean_bps() as f64),
                self.out.file_name().unwrap_or_default()
            );
        }
        Ok(())
    }
}

/// Opens a file or standard input.
fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    let cannot = |e| exit::file_error(format!("cannot read {}", file.display()), e);
    Ok(match file == Path::new(STDIO) {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(file).map_err(cannot)?)),
    })
}

/// Refuses a file that exists, unless it may be overwritten.
fn check(file: &Path, force: bool) -> anyhow::Result<()> {
    let shown = file.display();
    match fs::metadata(file) {
        _ if file == Path::new(STDIO) => Ok(()),
        Ok(found) if !found.is_file() => Err(exit::usage(format!(
            "--out {shown}: not a file; name one, or - for standard output"
        ))),
        Ok(_) if !force => Err(exit::usage(format!(
            "{shown} exists already; name another file with --out, or overwrite it with --force"
        ))),
        _ => Ok(()),
    }
}

/// Writes a file as a whole or not at all.
fn save(file: &Path, force: bool, text: &str) -> anyhow::Result<()> {
    if file == Path::new(STDIO) {
        return out::print(text);
    }
    check(file, force)?;
    let cannot = |e| exit::file_error(format!("cannot write {}", file.display()), e);
    // A link stays, and the file that it points to is replaced.
    let target = match file.is_symlink() {
        true => fs::canonicalize(file).map_err(cannot)?,
        false => file.to_owned(),
    };
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // The umask applies, as for any new file.
    let mode = fs::metadata(&target).map_or(0o666, |found| found.permissions().mode() & 0o777);
    let mut written = tempfile::Builder::new()
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(cannot)?;
    written.write_all(text.as_bytes()).map_err(cannot)?;
    written.as_file().sync_all().map_err(cannot)?;
    let saved = match force {
        true => written.persist(&target),
        // Fails if another program has created the file meanwhile.
        false => written.persist_noclobber(&target),
    };
    saved.map(drop).map_err(|e| cannot(e.error))
}

/// Parses a time of whole ms, a day at most, in microseconds.
fn time_us(text: &str) -> Result<u64, String> {
    let ns = config::quantity(text, config::TIMES);
    let ns = ns.ok_or("write a number and a unit, e.g. 500ms or 30s")?;
    match (ns / 1e3).round() as u64 {
        us if us > traces::MAX_DURATION_US => Err("the longest is 86400s".to_owned()),
        us if us % 1000 > 0 => Err("write whole milliseconds, e.g. 12ms".to_owned()),
        us => Ok(us),
    }
}

/// Parses a time of 1 ms or more, in microseconds.
fn length_us(text: &str) -> Result<u64, String> {
    match time_us(text)? {
        ..1000 => Err("the shortest is 1ms".to_owned()),
        us => Ok(us),
    }
}
