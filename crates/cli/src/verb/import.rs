//! `commute import`: calls measured elsewhere, as records.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::{ImportOptions, ImportedCall};
use record::Store;

use crate::exit;

/// Make records of calls that were measured elsewhere: on iOS, on a phone, in the field.
///
/// One call a row, as CSV with the column names of `commute report --format csv`, or as JSON
/// objects, one a line, with the same names. Needed: network, arm, protocol, block, end_ns (and
/// all times in ns from the call's start). Calls made back to back under the same circumstances
/// share a block: that is what arms are paired by. Every call is marked as proven by its client
/// only. The folder is then read by `commute report` like any run.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    commute import field.csv --out runs/field --baseline 'ios h2'\n  \
    commute report runs/field")]
pub(crate) struct Args {
    /// CSV, or JSON lines when its name ends in .ndjson or .jsonl; - for standard input (CSV)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder to make
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the study
    #[arg(long, value_name = "NAME", default_value = "imported")]
    study: String,
    /// What it asks
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "what was measured elsewhere?"
    )]
    question: String,
    /// The arm to compare with [default: the first]
    #[arg(long, value_name = "ARM")]
    baseline: Option<String>,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let file = args.file.display();
    let rows = read(&args.file).with_context(|| file.to_string())?;
    let options = ImportOptions {
        study: args.study.clone(),
        question: args.question.clone(),
        baseline: args.baseline.clone(),
        seed: args.seed,
    };
    let (run, cells) = lab::import(&rows, &options).with_context(|| file.to_string())?;
    let store = Store::create(&args.out)?;
    for cell in &cells {
        store.write_cell(cell)?;
    }
    store.write_run(&run)?;
    eprintln!(
        "{} calls in {} cells; `commute report {}` answers",
        rows.len(),
        cells.len(),
        args.out.display()
    );
    Ok(exit::PASS)
}

type Rows = Vec<(usize, ImportedCall)>;

fn read(path: &Path) -> anyhow::Result<Rows> {
    let json = path
        .extension()
        .is_some_and(|e| e == "ndjson" || e == "jsonl");
    let mut text = String::new();
    let input: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(path)?),
    };
    input.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    anyhow::ensure!(
        text.len() as u64 <= MOST_BYTES,
        "more than {} MiB: import it in parts, by network",
        MOST_BYTES >> 20
    );
    if json {
        from_json(&text)
    } else {
        from_csv(&text)
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
    (2..)
        .zip(reader.deserialize())
        .map(|(line, row)| Ok((line, row.map_err(|e| named(&e, &header, line))?)))
        .collect()
}

/// Says the column where csv counts it.
fn named(error: &csv::Error, header: &csv::StringRecord, line: usize) -> anyhow::Error {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => {
            let column = err.field().and_then(|place| header.get(place as usize));
            let column = column.map_or(String::new(), |name| format!("{name}: "));
            anyhow::anyhow!("line {line}: {column}{}", err.kind())
        }
        _ => anyhow::anyhow!("{error}"),
    }
}

/// Some millions of calls.
const MOST_BYTES: u64 = 1 << 30;
