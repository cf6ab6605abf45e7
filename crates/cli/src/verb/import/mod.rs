//! `commute import`: imports measurements taken elsewhere.

mod rows;
mod unit;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::{ImportOptions, ImportedCall};
use record::Store;

use crate::exit;
use crate::out;

/// Over a network few requests are quicker.
const QUICK_NS: u64 = 1_000_000;
/// Enough for some millions of requests.
const MAX_BYTES: u64 = 1 << 30;

/// Import measurements taken elsewhere, e.g. on iOS, on phones or in production
///
/// One request per row, as CSV with the columns of `commute report --format csv`, or as JSON
/// objects, one per line, with the same names. Required: network, arm, protocol, block and end_ns;
/// times are in ns from the request's start, or in the unit that a column's name ends in instead of
/// _ns: end_ms, tls_us, first_byte_s. Requests made back to back under the same
/// circumstances share a block: arms are paired by block. The results say that only the client
/// vouches for them. Read the folder with `commute report`, like any run.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    commute import field.csv --out runs/field --baseline 'ios h2'\n  \
    commute report runs/field")]
pub(crate) struct Args {
    /// CSV file, or JSON lines if its name ends in .ndjson or .jsonl; - reads CSV from standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder to create
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the study
    #[arg(long, value_name = "NAME", default_value = "imported")]
    study: String,
    /// Study question, shown as the report's title
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "What was measured elsewhere?"
    )]
    question: String,
    /// The arm to compare with [default: the first]
    #[arg(long, value_name = "ARM")]
    baseline: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let file = args.file.display();
    let text = text(&args.file)?;
    let mut rows = rows::read(&args.file, &text).with_context(|| file.to_string())?;
    let all = rows.len();
    rows.retain(|(_, row)| row.is_counted());
    if rows.len() < all {
        out::note!(
            "note: left out {} of cells that do not count, by the column cell_status",
            report::count(all - rows.len(), "request")
        );
    }
    note_doubts(&rows);
    let options = ImportOptions {
        study: args.study.clone(),
        question: args.question.clone(),
        baseline: args.baseline.clone(),
    };
    let (run, cells) = lab::import(&rows, &options).with_context(|| file.to_string())?;
    let store = Store::create(&args.out)?;
    for cell in &cells {
        store.write_cell(cell)?;
    }
    store.write_run(&run)?;
    out::note!(
        "{} in {}; next: commute report {}",
        report::count(rows.len(), "request"),
        report::count(cells.len(), "cell"),
        args.out.display()
    );
    Ok(exit::PASS)
}

/// Says what the rows leave open.
fn note_doubts(rows: &[(usize, ImportedCall)]) {
    let says_first =
        |row: &ImportedCall| row.first.is_some() || row.state.is_some() || row.tls_ns.is_some();
    if !rows.iter().any(|(_, row)| says_first(row)) {
        out::note!(
            "note: no row says whether its request was the first on its connection (columns first, state and tls_ns): \
             all are shown as warm, and requests that opened a connection are among them"
        );
    }
    let mut times: Vec<u64> = rows.iter().map(|(_, row)| row.end_ns).collect();
    times.sort_unstable();
    if times
        .get(times.len() / 2)
        .is_some_and(|median| *median < QUICK_NS)
    {
        out::note!(
            "note: half of the requests took less than 1 ms, by end_ns: a column in another unit must say so by its \
             name, e.g. end_us or end_ms"
        );
    }
}

fn text(path: &Path) -> anyhow::Result<String> {
    let failed = |e| exit::file_error(format!("cannot read {}", path.display()), e);
    let mut text = String::new();
    let input: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(path).map_err(failed)?),
    };
    let mut input = input.take(MAX_BYTES + 1);
    input.read_to_string(&mut text).map_err(failed)?;
    anyhow::ensure!(
        text.len() as u64 <= MAX_BYTES,
        "{}: more than {} MiB; import it in parts, e.g. by network",
        path.display(),
        MAX_BYTES >> 20
    );
    Ok(text)
}
