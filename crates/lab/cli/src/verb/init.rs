//! `commute init`: writes a study to begin with.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use init::{Arms, Options, Scope, Written};
use lab::{AllowedFiles, Lab, Plan, ServerUrl, Shard};

use crate::verb::run::{QUICK_BLOCKS, feasibility};
use crate::{exit, out};

const NOT_INSTALLED: &str = "OkHttp and Cronet are not both installed, so the study compares commute's own Rust \
     clients; to compare those: commute stacks install jvm cronet, then this command again";
/// Who tries commute on a recording should have an answer within ten minutes, with the time to read this command's
/// notes.
const MOST_NS: u64 = 9 * 60_000_000_000;
/// The longest body that a curl command may name.
const MAX_BODY_BYTES: u64 = 32 << 20;

/// Create a study: a template, or one from your app's requests
///
/// Takes a HAR, or the request of a curl command, and writes a study beside the bodies that it
/// sends and receives. Credentials (cookies, authorization, keys, tokens, passwords), which are
/// known by their names, are left out. Values in URLs, in JSON bodies and in other header fields
/// are replaced by others of the same length, data in paths by stand-ins. What was left out,
/// replaced or assumed is listed on standard error: read it, and the files, before you pass them
/// on. Existing files are never overwritten.
///
/// With --server the study is for your own server, and its requests keep their values.
///
/// The study compares OkHttp and Cronet if both are installed (`commute stacks install jvm cronet`)
/// and can make its requests, otherwise the client libraries that this command carries.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute init                                study.toml, a commented study to change by hand\n  \
    commute init --har app.har --out app.toml   the requests of a recording, bodies in app/\n  \
    commute init --curl 'curl https://app.example/orders'\n  \
    commute init --har app.har --server https://api.app.example   to run against your own server\n  \
    commute init --har app.har --out -          to standard output, bodies as sizes only")]
pub(crate) struct Args {
    /// Take the requests of a HAR file, as browsers and proxies save them; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "curl")]
    har: Option<PathBuf>,
    /// Take the request of a curl command, as browsers copy it ("copy as cURL (bash)")
    #[arg(long, value_name = "COMMAND")]
    curl: Option<String>,
    /// Keep the values in URLs, header fields, JSON and forms, except credentials
    #[arg(long)]
    keep_values: bool,
    /// List which values are kept and which are left out as credentials, by name, place and length, and why
    #[arg(long)]
    show_values: bool,
    /// Take only the requests to this server of yours, e.g. `https://api.app.example`, and write a
    /// study that runs against it
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(ServerUrl))]
    server: Option<ServerUrl>,
    /// The host that is your app's, e.g. `api.app.example`, if that of the first request is not: it comes first, and
    /// its site's before others
    #[arg(long, value_name = "HOST", requires = "har", conflicts_with = "server")]
    origin: Option<String>,
    /// The study to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "study.toml")]
    out: PathBuf,
    /// Folder with stacks/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
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
    if args.show_values && !args.keep_values && args.server.is_none() {
        return Err(exit::usage(
            "--show-values: no values are kept; add --keep-values or --server",
        ));
    }
    let stem = args.out.file_stem().unwrap_or_default().to_string_lossy();
    let name = match init::slug(&stem) {
        empty if empty.is_empty() => "study".to_owned(),
        name => name,
    };
    let lab = crate::home::open(args.home.as_deref())?;
    let source = Source::read(args)?;
    let write = |arms: Arms, scope: Scope| {
        source.write(&Options {
            name: &name,
            folder: (!to_stdout).then_some(&name),
            keep_values: args.keep_values,
            origin: args.origin.as_deref(),
            arms,
            scope,
        })
    };
    let (arms, note) = match are_installed(&lab, Arms::Apps) {
        false => (Arms::BuiltIn, Some(NOT_INSTALLED.to_owned())),
        true => {
            let apps = planned(&lab, &args.out, &write(Arms::Apps, Scope::FULL)?)?;
            match feasibility(&lab, &apps).reasons() {
                None => (Arms::Apps, None),
                Some(reason) => (Arms::BuiltIn, Some(left_out(&reason))),
            }
        }
    };
    let time_ns = |networks: &'static [&'static str]| {
        let blocks = Scope::FULL.blocks;
        let plan = planned(&lab, &args.out, &write(arms, Scope { networks, blocks })?)?;
        Ok(plan.estimate_ns(Shard { index: 1, of: 1 }, 2))
    };
    let (scope, fits) = match source {
        Source::Template => (Scope::FULL, true),
        Source::Har { .. } | Source::Curl { .. } => affordable(time_ns)?,
    };
    let written = write(arms, scope)?;
    if to_stdout {
        out::print(&written.study)?;
    } else {
        save(&written, &args.out)?;
    }
    for note in &written.notes {
        out::note!("{note}");
    }
    if args.show_values {
        for value in &written.values {
            out::note!("value {value}");
        }
    }
    if let Some(note) = note {
        out::note!("note: {note}");
    }
    if scope != Scope::FULL {
        out::note!("note: {}", reduced(scope, fits));
    }
    if !to_stdout {
        tell_time(&lab, &args.out, scope)?;
        if args.server.is_some() {
            out::note!("note: the time does not count what your server's responses take");
        }
    }
    Ok(exit::PASS)
}

/// Returns the largest scope whose time is at most `MOST_NS`, given how long all blocks take on these networks: fewer
/// blocks rather than one network less. If even the smallest takes longer, returns that and false.
fn affordable(
    time_ns: impl Fn(&'static [&'static str]) -> anyhow::Result<u64>,
) -> anyhow::Result<(Scope, bool)> {
    let full = Scope::FULL;
    for count in (1..=full.networks.len()).rev() {
        let networks = &full.networks[..count];
        let block_ns = time_ns(networks)?.div_ceil(u64::from(full.blocks));
        let mut blocks = (QUICK_BLOCKS..=full.blocks).rev();
        if let Some(blocks) = blocks.find(|blocks| block_ns * u64::from(*blocks) <= MOST_NS) {
            return Ok((Scope { networks, blocks }, true));
        }
    }
    let (networks, blocks) = (&full.networks[..1], QUICK_BLOCKS);
    Ok((Scope { networks, blocks }, false))
}

fn reduced(scope: Scope, fits: bool) -> String {
    let full = Scope::FULL;
    let blocks = match scope.blocks == full.blocks {
        true => String::new(),
        false => format!(", with {} blocks instead of {}", scope.blocks, full.blocks),
    };
    let networks = scope.networks.join(" and ");
    let without = match scope.networks == full.networks {
        true => "",
        false => ", which loses no packets",
    };
    let why = match fits {
        true => "to give an answer in about ten minutes,",
        false => {
            "even the smallest study takes longer than ten minutes (a shorter recording takes less):"
        }
    };
    format!(
        "{why} the study measures {networks}{without}{blocks}: `networks` and `blocks` in the file are yours to change, \
         and more blocks decide smaller differences"
    )
}

/// Reports whether all stacks of these arms are installed. Without its baseline a study gives no answer.
fn are_installed(lab: &Lab, arms: Arms) -> bool {
    let is_installed = |stack: &&str| lab.stacks.find(stack).is_ok_and(|d| d.missing().is_none());
    arms.stacks().iter().all(is_installed)
}

/// Plans a study that is not saved yet.
fn planned(lab: &Lab, file: &Path, written: &Written) -> anyhow::Result<Plan> {
    let read = |path: &str, _: u64| {
        let mut files = written.files.iter();
        let found = files.find(|(known, _)| known == path);
        let (_, content) = found.ok_or(std::io::ErrorKind::NotFound)?;
        Ok(content.clone().into_bytes())
    };
    Ok(lab.plan_text(file, written.study.clone(), &read, |_| ())?)
}

fn left_out(reason: &str) -> String {
    let others = Arms::BuiltIn.stacks().join(" and ");
    format!(
        "OkHttp and Cronet are left out, because they cannot both do this study: {reason}. It compares commute's \
         own Rust clients instead, {others}"
    )
}

/// Reads the study as `commute run` will, and says how long that takes.
fn tell_time(lab: &Lab, study: &Path, scope: Scope) -> anyhow::Result<()> {
    let minutes = |blocks: Option<u32>, jobs: u16| -> anyhow::Result<u64> {
        let none = AllowedFiles::default();
        let plan = lab.plan(study, &none, |study| {
            study.blocks = blocks.unwrap_or(study.blocks);
        })?;
        let ns = plan.estimate_ns(Shard { index: 1, of: 1 }, jobs);
        Ok(ns.div_ceil(60_000_000_000))
    };
    let file = study.display();
    out::note!("{file}: written; to check it: commute run {file} --dry-run");
    let quick = match scope.blocks > QUICK_BLOCKS {
        true => format!(
            ", with --quick --jobs 2 {} min",
            minutes(Some(QUICK_BLOCKS), 2)?
        ),
        false => String::new(),
    };
    out::note!(
        "to run it: commute run {file} --jobs 2, about {} min; one cell at a time {} min{quick}",
        minutes(None, 2)?,
        minutes(None, 1)?,
    );
    Ok(())
}

/// What a study is made of.
enum Source<'a> {
    Har {
        file: &'a Path,
        text: Vec<u8>,
        server: Option<String>,
    },
    Curl {
        command: &'a str,
        server: Option<String>,
        /// The files that the command names, as far as they were read: standard input can be read once.
        bodies: RefCell<BTreeMap<String, Vec<u8>>>,
    },
    Template,
}

impl Source<'_> {
    fn read(args: &Args) -> anyhow::Result<Source<'_>> {
        let server = args.server.as_ref().map(ServerUrl::to_string);
        match (&args.har, &args.curl) {
            (Some(file), _) => Ok(Source::Har {
                file,
                text: read(file, init::MAX_HAR_BYTES)?,
                server,
            }),
            (None, Some(command)) => Ok(Source::Curl {
                command,
                server,
                bodies: RefCell::default(),
            }),
            (None, None) if server.is_some() => Err(exit::usage(
                "--server: name the requests, too, by --har or --curl",
            )),
            (None, None) => Ok(Source::Template),
        }
    }

    fn write(&self, options: &Options<'_>) -> anyhow::Result<Written> {
        match self {
            Source::Har { file, text, server } => {
                let written = match server {
                    Some(server) => init::from_har_to(server, text, options),
                    None => init::from_har(text, options),
                };
                written.with_context(|| file.display().to_string())
            }
            Source::Curl {
                command,
                server,
                bodies,
            } => {
                let body = |file: &str| {
                    if let Some(known) = bodies.borrow().get(file) {
                        return Ok(known.clone());
                    }
                    let body = read(Path::new(file), MAX_BODY_BYTES);
                    let body = body.map_err(|e| format!("{e:#}"))?;
                    bodies.borrow_mut().insert(file.to_owned(), body.clone());
                    Ok(body)
                };
                let written = match server {
                    Some(server) => init::from_curl_to(server, command, options, &body),
                    None => init::from_curl(command, options, &body),
                };
                written.map_err(|e| exit::usage(format!("--curl: {e}")))
            }
            Source::Template => Ok(Written {
                study: init::template(options.name, options.arms),
                files: Vec::new(),
                notes: Vec::new(),
                values: Vec::new(),
            }),
        }
    }
}

/// Writes the payload files and the study. Fails if any of them exists.
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

/// Reads a file, or standard input for `-`, of at most `most` bytes.
fn read(file: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let cannot = |e| exit::file_error(format!("cannot read {}", file.display()), e);
    let mut bytes = Vec::new();
    let opened: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(file).map_err(cannot)?),
    };
    opened
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    anyhow::ensure!(
        bytes.len() as u64 <= most,
        "{} is longer than {} MiB",
        file.display(),
        most >> 20
    );
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_measures_as_much_as_ten_minutes_allow() {
        let scope_at = |cell_s: u64| {
            let time_ns =
                |networks: &[&str]| Ok(networks.len() as u64 * 14 * cell_s * 1_000_000_000);
            let (scope, fits) = affordable(time_ns).unwrap();
            (scope.networks.len(), scope.blocks, fits)
        };
        // 540 seconds.
        assert_eq!(scope_at(19), (2, 14, true));
        assert_eq!(scope_at(20), (2, 13, true));
        assert_eq!(scope_at(45), (2, 6, true));
        assert_eq!(scope_at(46), (1, 11, true));
        assert_eq!(scope_at(90), (1, 6, true));
        assert_eq!(scope_at(91), (1, 6, false));
    }
}
