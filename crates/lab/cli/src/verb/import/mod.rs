//! `commute import`: imports measurements taken elsewhere.

mod file;
mod rows;
mod unit;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context as _;
use import::{Format, ImportOptions, ImportedCall, Labels};
use record::Store;

use crate::exit;
use crate::out;
use file::{Place, Source};

/// Over a network few requests are quicker.
const QUICK_NS: u64 = 1_000_000;
/// The network of load testers' files, unless it is named.
const NETWORK: &str = "this network";

/// Import measurements taken elsewhere: by load testers, on phones or in production
///
/// Reads what load testers write for each request: k6 (--out csv= or --out json=), vegeta (encode), oha
/// (--output-format csv), h2load (--log-file), fortio (-access-log-file) and JMeter (CSV or XML). Each such file has the
/// requests of one arm. Files of the same arm are its blocks: the first files of all arms are compared with each other,
/// and so on. Run the arms in turns, at least six times each.
///
/// Other files have one request per row, as CSV with the columns of `commute report --format csv`, or as JSON
/// objects, one per line, with the same names. Required: network, arm, protocol, block and end_ns;
/// times are in ns from the request's start, or in the unit that a column's name ends in instead of
/// _ns: end_ms, tls_us, first_byte_s. Requests made back to back under the same
/// circumstances share a block: arms are paired by block.
///
/// The results say that only the client vouches for them. Read the folder with `commute report`, like any run.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute import field.csv --out runs/field --baseline 'ios h2'\n  \
    commute report runs/field\n\n  \
    for i in 1 2 3 4 5 6; do\n    \
      h2load -n 100 --h1 --log-file=h1-$i.tsv https://HOST/; h2load -n 100 --log-file=h2-$i.tsv https://HOST/\n  \
    done\n  \
    commute import h1=h1-{1..6}.tsv h2=h2-{1..6}.tsv --network office --out runs/load")]
pub(crate) struct Args {
    /// File to read: a load tester's, CSV, or JSON lines if its name ends in .ndjson or .jsonl; - is standard input.
    /// A load tester's arm is named by ARM, or by the file; PROTOCOL is h1, h2, h3, grpc or auto, unless ARM is one
    #[arg(value_name = "[ARM[:PROTOCOL]=]FILE", required = true)]
    files: Vec<Source>,
    /// Folder to create
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the network that load testers' files were measured on [default: this network]
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
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
    let mut rows = read(args)?;
    let all = rows.len();
    rows.retain(|(_, row)| row.is_counted());
    if rows.len() < all {
        out::note!(
            "note: left out {} of cells that do not count, by the column cell_status",
            report::count(all - rows.len(), "request")
        );
    }
    note_first(&rows);
    let options = ImportOptions {
        study: args.study.clone(),
        question: args.question.clone(),
        baseline: args.baseline.clone(),
    };
    let (run, cells) = import::import(&rows, &options)?;
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

type Rows<'a> = Vec<(Place<'a>, ImportedCall)>;

/// Reads the rows of all files.
fn read(args: &Args) -> anyhow::Result<Rows<'_>> {
    let mut rows = Rows::new();
    let mut caveats: BTreeSet<&str> = BTreeSet::new();
    let mut files_by_arm: BTreeMap<String, u32> = BTreeMap::new();
    for source in &args.files {
        let file = source.path.as_path();
        let text = source.text()?;
        let of_file = match Format::of(&text) {
            Some(format) => {
                let files = files_by_arm.entry(source.arm()).or_default();
                let labels = Labels {
                    network: args.network.as_deref().unwrap_or(NETWORK).to_owned(),
                    arm: source.arm(),
                    protocol: source.protocol(),
                    block: *files,
                };
                *files += 1;
                caveats.extend(format.caveat());
                of_load_tester(format, &text, &labels)
            }
            None if source.names_arm() || args.network.is_some() => Err(anyhow::anyhow!(
                "no known load tester writes this, so its rows must name their arm and network themselves: \
                 leave out ARM= and --network"
            )),
            None => rows::read(file, &text).inspect(note_unit),
        };
        let of_file = of_file
            .and_then(|rows| match rows.is_empty() {
                true => Err(anyhow::anyhow!("there is no request in it")),
                false => Ok(rows),
            })
            .with_context(|| file.display().to_string())?;
        let placed = |(line, row)| (Place { file, line }, row);
        rows.extend(of_file.into_iter().map(placed));
    }
    for caveat in caveats {
        out::note!("note: {caveat}");
    }
    check_files(&files_by_arm)?;
    if let Some(files) = files_by_arm.values().min()
        && (*files as usize) < stats::MIN_BLOCKS
    {
        out::note!(
            "note: each file is one block, an arm has {files}, and verdicts need {}: run the arms in turns, {} times \
             each, and give all files",
            stats::MIN_BLOCKS,
            stats::MIN_BLOCKS
        );
    }
    Ok(rows)
}

/// Returns an error if arms have different numbers of files. One file is missing then, and those after it would be
/// paired wrongly.
fn check_files(files_by_arm: &BTreeMap<String, u32>) -> anyhow::Result<()> {
    let arms = || files_by_arm.iter();
    let (least, most) = (
        arms().min_by_key(|(_, files)| **files),
        arms().max_by_key(|(_, files)| **files),
    );
    match (least, most) {
        (Some((few, least)), Some((many, most))) if least < most => Err(exit::usage(format!(
            "`{few}` has {} and `{many}` has {}; the first files of all arms are compared with each other, and so on: \
             give each arm as many, in the order in which they were measured",
            report::count(*least as usize, "file"),
            report::count(*most as usize, "file"),
        ))),
        _ => Ok(()),
    }
}

fn of_load_tester(format: &Format, text: &str, labels: &Labels) -> anyhow::Result<rows::Rows> {
    let read = format.read(text, labels);
    let (rows, left_out) =
        read.map_err(|(line, message)| anyhow::anyhow!("line {line}: {message}"))?;
    if left_out > 0 {
        out::note!(
            "note: left out {} of {} that are no HTTP requests, e.g. the sum of several",
            report::count(left_out, "row"),
            format.name()
        );
    }
    Ok(rows)
}

/// Warns if no row says which request opened its connection.
fn note_first(rows: &Rows<'_>) {
    let says_first =
        |row: &ImportedCall| row.first.is_some() || row.state.is_some() || row.tls_ns.is_some();
    if !rows.iter().any(|(_, row)| says_first(row)) {
        out::note!(
            "note: no row says whether its request was the first on its connection, as the columns first, state and \
             tls_ns do: all are shown as warm, and requests that opened a connection are among them"
        );
    }
}

/// Warns that times may be in another unit than ns if half of the requests took less than `QUICK_NS`.
fn note_unit(rows: &rows::Rows) {
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
