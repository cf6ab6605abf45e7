//! `commute import`: imports measurements taken elsewhere.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::{ImportOptions, ImportedCall};
use record::Store;

use crate::exit;
use crate::out;

/// Enough for some millions of requests.
const MAX_BYTES: u64 = 1 << 30;
const REQUIRED: [&str; 5] = ["network", "arm", "protocol", "block", "end_ns"];

/// Import measurements taken elsewhere, e.g. on iOS, on phones or in production
///
/// One request per row, as CSV with the columns of `commute report --format csv`, or as JSON
/// objects, one per line, with the same names. Required: network, arm, protocol, block and end_ns;
/// times are in ns from the request's start. Requests made back to back under the same
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
        default_value = "what was measured elsewhere?"
    )]
    question: String,
    /// The arm to compare with [default: the first]
    #[arg(long, value_name = "ARM")]
    baseline: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let file = args.file.display();
    let text = text(&args.file)?;
    let rows = rows(&args.file, &text).with_context(|| file.to_string())?;
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
        "{} requests in {} cells; next: commute report {}",
        rows.len(),
        cells.len(),
        args.out.display()
    );
    Ok(exit::PASS)
}

type Rows = Vec<(usize, ImportedCall)>;

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

fn rows(path: &Path, text: &str) -> anyhow::Result<Rows> {
    let extension = path.extension().unwrap_or_default();
    match extension == "ndjson" || extension == "jsonl" {
        true => from_json(text),
        false => from_csv(text),
    }
}

fn from_json(text: &str) -> anyhow::Result<Rows> {
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            Ok((
                n,
                serde_json::from_str(line).with_context(|| format!("line {n}"))?,
            ))
        })
        .collect()
}

fn from_csv(text: &str) -> anyhow::Result<Rows> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = reader.headers()?.clone();
    check_columns(&header)?;
    (2..)
        .zip(reader.deserialize())
        .map(|(line, row)| Ok((line, row.map_err(|e| with_column(&e, &header, line))?)))
        .collect()
}

/// Refuses a header that lacks a required column, and names the columns that nothing reads: often, one
/// of them is what was meant.
fn check_columns(header: &csv::StringRecord) -> anyhow::Result<()> {
    let has = |name: &str| header.iter().any(|column| column == name);
    let missing: Vec<&str> = REQUIRED.into_iter().filter(|name| !has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let unknown = header.iter().filter(|c| !report::COLUMNS.contains(c));
    let unknown: Vec<String> = unknown.map(|column| format!("`{column}`")).collect();
    let unread = match unknown.is_empty() {
        true => String::new(),
        false => format!(", and nothing reads {}", unknown.join(", ")),
    };
    anyhow::bail!(
        "line 1: there is no column {}{unread}; `commute import --help` says what the columns are",
        missing.join(", ")
    )
}

/// Adds the name of the column to an error.
fn with_column(error: &csv::Error, header: &csv::StringRecord, line: usize) -> anyhow::Error {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => {
            let column = err.field().and_then(|place| header.get(place as usize));
            let column = column.map_or(String::new(), |name| format!("{name}: "));
            anyhow::anyhow!("line {line}: {column}{}", err.kind())
        }
        _ => anyhow::anyhow!("{error}"),
    }
}
