//! `commute init`: writes a study to begin with.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use init::{Options, Written};

use crate::{exit, out};

/// The longest body that a curl command may name.
const MAX_BODY_BYTES: u64 = 32 << 20;

/// Write a study to begin with: a commented one, or one of your app's own requests
///
/// Takes a HAR, or the request of a curl command, and writes a study beside the bodies that it
/// sends and receives. Credentials (cookies, authorization, keys, tokens) and values in URLs are
/// left out. Values in JSON bodies and in other header fields are replaced by others of the same
/// length. What was left out, replaced or assumed is listed on standard error: read it, and the
/// files, before you pass them on. Existing files are never overwritten.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute init                                study.toml, a commented study to change by hand\n  \
    commute init --har app.har --out app.toml   the requests of a recording, bodies in app/\n  \
    commute init --curl 'curl https://app.example/orders'\n  \
    commute init --har app.har --out -          to standard output, bodies as sizes only")]
pub(crate) struct Args {
    /// Take the requests of a HAR, as browsers and proxies save it
    #[arg(long, value_name = "FILE", conflicts_with = "curl")]
    har: Option<PathBuf>,
    /// Take the request of a curl command, as browsers write it with "copy as cURL (bash)"
    #[arg(long, value_name = "COMMAND")]
    curl: Option<String>,
    /// Keep the values in JSON bodies and header fields, though not those of credentials
    #[arg(long)]
    keep_values: bool,
    /// The study to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "study.toml")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let to_stdout = args.out.as_os_str() == "-";
    let is_toml = args
        .out
        .extension()
        .is_some_and(|extension| extension == "toml");
    if !to_stdout && !is_toml {
        return Err(exit::usage(format!(
            "--out {}: name a file that ends in .toml, or - for standard output",
            args.out.display()
        )));
    }
    let stem = args.out.file_stem().unwrap_or_default().to_string_lossy();
    let name = match init::slug(&stem) {
        empty if empty.is_empty() => "study".to_owned(),
        name => name,
    };
    let written = write(args, &name, (!to_stdout).then_some(&name))?;
    if to_stdout {
        out::print(&written.study)?;
    } else {
        save(&written, &args.out)?;
    }
    for note in &written.notes {
        out::note!("{note}");
    }
    if !to_stdout {
        let file = args.out.display();
        out::note!("{file}: written; to check it: commute run {file} --dry-run");
    }
    Ok(exit::PASS)
}

fn write(args: &Args, name: &str, folder: Option<&String>) -> anyhow::Result<Written> {
    let options = Options {
        name,
        folder: folder.map(String::as_str),
        keep_values: args.keep_values,
    };
    if let Some(file) = &args.har {
        let har = read(file, init::MAX_HAR_BYTES)?;
        init::from_har(&har, &options).with_context(|| file.display().to_string())
    } else if let Some(command) = &args.curl {
        let body = |file: &str| read(Path::new(file), MAX_BODY_BYTES).map_err(|e| format!("{e:#}"));
        init::from_curl(command, &options, &body).map_err(|e| exit::usage(format!("--curl: {e}")))
    } else {
        Ok(Written {
            study: init::template(name),
            files: Vec::new(),
            notes: Vec::new(),
        })
    }
}

/// Writes the payload files and the study, none of which may exist.
fn save(written: &Written, study: &Path) -> anyhow::Result<()> {
    let folder = study.parent().unwrap_or(Path::new(""));
    let payloads = written
        .files
        .iter()
        .map(|(path, text)| (folder.join(path), text));
    let files: Vec<(PathBuf, &String)> = payloads
        .chain([(study.to_owned(), &written.study)])
        .collect();
    for (file, _) in &files {
        if file
            .try_exists()
            .with_context(|| file.display().to_string())?
        {
            return Err(exit::usage(format!(
                "{} exists already; name another file with --out",
                file.display()
            )));
        }
    }
    for (file, text) in files {
        let write = || {
            fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
            File::create_new(&file)?.write_all(text.as_bytes())
        };
        write().with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Reads a file of at most so many bytes.
fn read(file: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let cannot = |e| exit::file_error(format!("cannot read {}", file.display()), e);
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(cannot)?;
    let mut bounded = opened.take(most + 1);
    bounded.read_to_end(&mut bytes).map_err(cannot)?;
    anyhow::ensure!(
        bytes.len() as u64 <= most,
        "{} is longer than {} MiB",
        file.display(),
        most >> 20
    );
    Ok(bytes)
}
