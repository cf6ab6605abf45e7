//! `commute codec`: what encoding and decoding costs, in every runtime.

mod payload;
mod payload_page;
mod payload_report;
mod payload_times;
mod progress;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use codec_bench::{Bench, FOLDER, Options, Program, Table, Unavailable};
use lab::Lab;
use messages::Name;
use page::Origin;

use self::progress::TerminalProgress;
use crate::{exit, out};

/// Benchmark serialisation formats across languages, or on your own JSON.
///
/// Every runtime encodes the same values, mostly with the libraries an app would ship. Encoding and
/// decoding are timed separately, interleaved in random order, and shown beside the encoded size.
///
/// With FILE: infers the schema of your payload, prints it as .proto, and shows for every codec the
/// size, the packets on the wire and the predicted time on your users' networks.
#[derive(clap::Args)]
#[command(after_help = "Try it:\n  \
    commute codec --message api-2kB\n  \
    commute codec --message small --message big-100 --runtime rust,mono --codec json,msgpack\n  \
    commute codec --all --html codecs.html --format csv > codecs.csv\n  \
    commute codec --check\n  \
    commute codec my.json another.json --network 4g-tether --html my.html")]
pub(crate) struct Args {
    /// Your own JSON: one or more samples of the same payload; - is standard input. Nothing is sent
    /// anywhere
    #[arg(value_name = "FILE", conflicts_with_all = ["message", "all", "size", "runtime", "codec",
        "check", "twice", "budget", "cold"])]
    file: Vec<PathBuf>,
    /// With FILE: a network to predict transfer times for; repeatable [default: 4g-tether and
    /// lighthouse-slow4g]
    #[arg(long, value_name = "NAME", requires = "file")]
    network: Vec<String>,
    /// Let the file of a --network name this trace, which is outside its folder; repeatable
    #[arg(long, value_name = "FILE", requires = "network")]
    allow_file: Vec<PathBuf>,
    /// A message to measure; repeatable: api-100B, api-2kB, api-20kB, api-100kB; or from published
    /// studies: small, address-book, newsfeed, large, large-dense, large-sparse (mobile-grpc);
    /// diag-100kB, diag-1MB (mtls-hmac); big-N, perl-N (unity-msgpack) [default: api-2kB]
    #[arg(long, value_name = "NAME")]
    message: Vec<Name>,
    /// Measure every message
    #[arg(long, conflicts_with = "message")]
    all: bool,
    /// Measure the messages of this size, e.g. 2kB or 100kB; repeatable
    #[arg(long, value_name = "SIZE", conflicts_with = "message")]
    size: Vec<String>,
    /// Runtimes, separated by commas, e.g. jvm,mono [default: all that are installed]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtime: Vec<String>,
    /// Codecs, separated by commas, e.g. json,json+gzip-6,protobuf [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    codec: Vec<String>,
    /// Seed of the messages and of the random order
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Samples per figure if time allows; figures that vary get more
    #[arg(long, default_value_t = 19, value_parser = clap::value_parser!(u16).range(6..=1000))]
    rounds: u16,
    /// Seconds for all samples together; figures that vary get more samples until then
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    budget: u64,
    /// Fresh processes per cold figure; with more than four messages, for api-2kB only
    #[arg(long, value_name = "N", default_value_t = 3)]
    cold: u16,
    /// Measure everything twice and compare, to check the bench itself
    #[arg(long)]
    twice: bool,
    /// Only check that every language reads what every other writes
    ///
    /// Exits with status 3 if one does not.
    #[arg(long, conflicts_with_all = ["twice", "html"])]
    check: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Also write an HTML page with plots to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Folder with stacks/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Tables for a terminal
    Human,
    /// Every result
    Json,
    /// One row per message, codec, runtime and library; with FILE, per sample, codec, network and
    /// protocol
    Csv,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    if !args.file.is_empty() {
        return payload::run(args);
    }
    let options = options(args)?;
    let (programs, missing) = programs(args)?;
    let bench = Bench::open(programs, missing, options).context("cannot prepare the bench")?;
    let known = bench.codecs();
    if let Some(unknown) = args.codec.iter().find(|c| !known.contains(c.as_str())) {
        let hint = config::did_you_mean(unknown, known.iter().copied());
        let known: Vec<&str> = known.into_iter().collect();
        return Err(match known.is_empty() {
            true => anyhow::anyhow!(
                "no runner answers, so no codec can be measured: {}",
                reasons(bench.unavailable())
            ),
            false => exit::usage(format!(
                "no runner has the codec `{unknown}`{hint}; known: {}",
                known.join(", ")
            )),
        });
    }
    let mut progress = TerminalProgress::new()?;
    if args.check {
        let matrix = bench.matrix(&mut progress)?;
        progress.finish();
        match args.format {
            Format::Json => out::json(&matrix)?,
            Format::Human | Format::Csv => out::text(&matrix.text())?,
        }
        return Ok(match (progress.is_stopped(), matrix.is_green()) {
            (true, _) => exit::INTERRUPTED,
            (false, true) => exit::PASS,
            (false, false) => exit::THRESHOLD,
        });
    }
    let measurement = Measurement::begin(args)?;
    let table = bench.run(&mut progress)?;
    progress.finish();
    print(&table, measurement, args)?;
    Ok(if progress.is_stopped() {
        exit::INTERRUPTED
    } else {
        exit::PASS
    })
}

fn options(args: &Args) -> anyhow::Result<Options> {
    let messages = messages(args)?;
    let cold_messages = match messages.len() {
        ..=4 => messages.clone(),
        _ => vec![Name::Api { bytes: 2_000 }],
    };
    Ok(Options {
        messages,
        codecs: args.codec.clone(),
        seed: args.seed,
        rounds: usize::from(args.rounds),
        budget_ns: args.budget.saturating_mul(1_000_000_000),
        cold: usize::from(args.cold),
        cold_messages,
        twice: args.twice,
    })
}

fn messages(args: &Args) -> anyhow::Result<Vec<Name>> {
    if !args.message.is_empty() {
        return Ok(args.message.clone());
    }
    if !args.size.is_empty() {
        let sized = |name: &Name| {
            let name = name.to_string();
            args.size
                .iter()
                .any(|size| name.ends_with(&format!("-{size}")))
        };
        let messages: Vec<Name> = Name::ALL.into_iter().filter(sized).collect();
        return match messages.is_empty() {
            true => Err(exit::usage(format!(
                "no message has the size {}; known: 100B, 2kB, 20kB, 100kB, 1MB",
                args.size.join(", ")
            ))),
            false => Ok(messages),
        };
    }
    match args.all || args.check {
        true => Ok(Name::ALL.to_vec()),
        false => Ok(vec![Name::Api { bytes: 2_000 }]),
    }
}

/// Returns the runners that are installed, and the other runtimes with the reasons.
fn programs(args: &Args) -> anyhow::Result<(Vec<Program>, Vec<Unavailable>)> {
    let lab = crate::home::open(args.home.as_deref())?;
    let known: Vec<&str> = lab.stacks.runners().map(|r| r.runtime.as_str()).collect();
    if let Some(unknown) = args.runtime.iter().find(|r| !known.contains(&r.as_str())) {
        let meant = runtime_of(unknown).filter(|runtime| known.contains(runtime));
        let hint = match meant {
            Some(runtime) => format!(" (did you mean `{runtime}`?)"),
            None => config::did_you_mean(unknown, known.iter().copied()),
        };
        return Err(exit::usage(format!(
            "no runtime is named `{unknown}`{hint}; known: {}",
            known.join(", ")
        )));
    }
    let mut programs = Vec::new();
    let mut missing = Vec::new();
    let is_confined = is_confinable(&lab)?;
    let user = lab::runner_confinement().user.filter(|_| is_confined);
    for runner in lab.stacks.runners() {
        if !args.runtime.is_empty() && !args.runtime.contains(&runner.runtime) {
            continue;
        }
        match runner.missing() {
            Some(reason) if !args.runtime.is_empty() => {
                anyhow::bail!("{} is not available: {reason}", runner.runtime)
            }
            Some(reason) => missing.push(Unavailable {
                runtime: runner.runtime.clone(),
                reason,
            }),
            None => {
                let command = match is_confined {
                    true => lab.confined(&runner.command, FOLDER),
                    false => runner.command.clone(),
                };
                programs.push(Program {
                    runtime: runner.runtime.clone(),
                    command,
                    user,
                    is_confined,
                });
            }
        }
    }
    anyhow::ensure!(
        !programs.is_empty(),
        "no runtime is available: {}",
        reasons(&missing)
    );
    Ok((programs, missing))
}

/// Formats why each of these runtimes does not take part.
fn reasons(unavailable: &[Unavailable]) -> String {
    let of = |Unavailable { runtime, reason }: &Unavailable| format!("{runtime}: {reason}");
    unavailable.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// Reports whether runners can be confined. If not, root gets an error: they would run with all its rights.
fn is_confinable(lab: &Lab) -> anyhow::Result<bool> {
    match lab.check_confinement() {
        Ok(()) => Ok(true),
        Err(reason) if rustix::process::geteuid().is_root() => {
            anyhow::bail!("codec runners cannot be confined: {reason}")
        }
        Err(reason) => {
            out::note!(
                "codec runners run with your rights, since they cannot be confined: {reason}"
            );
            Ok(false)
        }
    }
}

/// Returns the runtime that people mean by the name of a language or platform.
fn runtime_of(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "java" | "kotlin" | "android" => "jvm",
        "c#" | "csharp" | "dotnet" | ".net" | "unity" => "mono",
        "golang" => "go",
        _ => return None,
    })
}

/// When, where and by which command a table is measured.
#[derive(serde::Serialize)]
struct Measurement {
    /// The version of commute.
    commute: String,
    /// The commit of the checkout that it runs from; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<String>,
    /// When the bench began.
    started_unix_ns: u64,
    /// The machine in words.
    machine: String,
    /// The command that measures it again.
    command: String,
}

/// The results, with when and where they were measured.
#[derive(serde::Serialize)]
struct Measured<'a> {
    #[serde(flatten)]
    measurement: Measurement,
    #[serde(flatten)]
    table: &'a Table,
}

impl Measurement {
    /// Returns that of a bench which begins now.
    fn begin(args: &Args) -> anyhow::Result<Self> {
        let lab = crate::home::open(args.home.as_deref())?;
        let Origin {
            commute,
            unix_ns,
            machine,
        } = crate::origin::now();
        Ok(Self {
            commute,
            git: lab::host_facts(&lab.home.root).git,
            started_unix_ns: unix_ns,
            machine,
            command: command(args),
        })
    }
}

/// Returns the command that measures the same again.
fn command(args: &Args) -> String {
    let mut words = vec!["commute codec".to_owned()];
    let mut add = |option: &str, value: &str| words.push(format!("--{option} {value}"));
    for message in &args.message {
        add("message", &message.to_string());
    }
    for size in &args.size {
        add("size", size);
    }
    for (option, list) in [("runtime", &args.runtime), ("codec", &args.codec)] {
        if !list.is_empty() {
            add(option, &list.join(","));
        }
    }
    for (option, value) in [
        ("seed", args.seed),
        ("rounds", args.rounds.into()),
        ("budget", args.budget),
        ("cold", args.cold.into()),
    ] {
        add(option, &value.to_string());
    }
    for (option, is_set) in [("all", args.all), ("twice", args.twice)] {
        if is_set {
            words.push(format!("--{option}"));
        }
    }
    words.join(" ")
}

fn print(table: &Table, measurement: Measurement, args: &Args) -> anyhow::Result<()> {
    if let Some(file) = &args.html {
        write(file, &codec_bench::html(table, &crate::origin::now()))?;
    }
    match args.format {
        Format::Human => out::text(&table.text()),
        Format::Json => out::json(&Measured { measurement, table }),
        Format::Csv => out::print(&table.csv()?),
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    out::note!("{}", file.display());
    Ok(())
}
