//! `commute run STUDY`: the main job.

mod consent;
mod dry_run;
mod job;
mod measure;
mod noise;
mod output;
mod progress;
mod self_test;
mod until_decided;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::{Ended, Feasibility, Lab, PROBES_PER_CELL, Plan, Shard};
use remote::Location;

use crate::verb::report::{Format, apply, clean_share, exit_code, print, write_files};
use crate::{exit, out, places, terminal};
use job::Job;
pub(crate) use job::QUICK_BLOCKS;
use measure::{Measured, measure};
use output::Output;
use self_test::self_test;
use until_decided::{Next, UntilDecided};

/// Run a study and answer its question
///
/// Runs every cell of the study's plan, the arms of a block in random order, and writes one record
/// per cell. Ctrl-C finishes the current cell and reports the results so far; a second Ctrl-C
/// aborts that cell. --resume continues a run, however it was interrupted, and with more --blocks
/// extends it. With --or-resume the same command begins a run and continues it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute run quickstart --dry-run                     what is compared, and how long it takes\n  \
    commute run quickstart --quick                       6 blocks: verdicts on clear differences only\n  \
    commute run quickstart --shard 2/4                   one quarter, merged by `commute report`\n  \
    commute run quickstart --out q --or-resume           begin, or continue what is in the folder q\n  \
    commute run apps --shard 2/4 --out s3://bucket/apps  the same; all shards share the prefix\n  \
    commute run my/study.toml                            a study of your own\n  \
    commute run my/study.toml --server https://api.example.com   against your own server\n  \
    commute run --resume runs/quickstart-1               the rest of an interrupted run\n  \
    commute run --resume runs/quickstart-1 --blocks 20   the same run with 20 blocks\n  \
    commute run --resume s3://bucket/apps/shard-2-of-4   on any machine\n  \
    commute run apps --until-decided --budget 1h         as many blocks as it takes")]
pub(crate) struct Args {
    /// A built-in study, e.g. quickstart, or a TOML file
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    study: Option<PathBuf>,
    /// Folder for the records [default: runs/STUDY-1, -2, ...], or a prefix that machines share: s3://BUCKET/PREFIX,
    /// gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER
    ///
    /// Below a prefix, each shard has a part of its own, e.g. PREFIX/shard-2-of-4. Credentials come from the environment
    /// or from the machine's role.
    #[arg(short, long, value_name = "DIR|PREFIX", value_parser = places::Parser, conflicts_with = "resume")]
    out: Option<Location>,
    /// Blocks per network; overrides the study's, or extends the run to resume
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    blocks: Option<u32>,
    /// Only 6 blocks, the fewest that can give a verdict
    #[arg(long, conflicts_with_all = ["blocks", "resume"])]
    quick: bool,
    /// Add blocks until every comparison is decided or the budget is spent
    #[arg(long, conflicts_with_all = ["quick", "resume", "shard"])]
    until_decided: bool,
    /// How long --until-decided may take, e.g. 45m [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    budget: Option<Duration>,
    /// Run N blocks in parallel; `commute doctor --jobs N` reports whether this machine can
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), conflicts_with = "resume")]
    jobs: Option<u16>,
    /// Random seed; overrides the study's
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    seed: Option<u64>,
    /// Server of all arms, e.g. go, or the URL of your own, `https://HOST`; overrides
    /// the study's
    #[arg(long, value_name = "NAME|URL", conflicts_with = "resume")]
    server: Option<String>,
    /// Address of your own server, unless it is that of its URL
    #[arg(long, value_name = "HOST:PORT", value_parser = address, requires = "server")]
    server_address: Option<String>,
    /// PEM file of the authorities to check your own server's certificate against [default: the
    /// system's]
    #[arg(long, value_name = "FILE", requires = "server")]
    ca: Option<PathBuf>,
    /// Consent to requests to the server that the study names, and to more than 10,000 to your own
    #[arg(long)]
    yes: bool,
    /// Let the study read this file, which is outside its folder; repeatable
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    allow_file: Vec<PathBuf>,
    /// Run only shard I of N, e.g. 2/4
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with = "resume")]
    shard: Option<Shard>,
    /// Continue the run in this folder or below this prefix, with its study and options
    #[arg(long, value_name = "DIR|PREFIX", value_parser = places::Parser)]
    resume: Option<Location>,
    /// Continue the run in --out if there is one; refused if that has another study or other options
    #[arg(long, requires = "out", conflicts_with_all = ["resume", "until_decided"])]
    or_resume: bool,
    /// Run nothing; print arms, networks, the time and blocks needed, and any problems; with -v,
    /// every cell
    #[arg(long)]
    dry_run: bool,
    /// Save every packet of every cell as pcapng
    #[arg(long, conflicts_with = "resume")]
    pcap: bool,
    /// Save the secrets of every TLS session, with which Wireshark decrypts --pcap
    #[arg(long, conflicts_with = "resume")]
    keylog: bool,
    /// Save the server's qlog of every QUIC connection
    #[arg(long, conflicts_with = "resume")]
    qlog: bool,
    /// Keep the critical path of every request, for `commute why RUN --path ID`
    #[arg(long, conflicts_with = "resume")]
    explain: bool,
    /// Fail if this holds for any arm, or is undetermined, e.g. 'first.p95 > 300ms'; see `commute
    /// report --help`
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<report::Threshold>,
    /// Treat undetermined conditions of --fail-if as passed
    #[arg(long, requires = "fail_if")]
    allow_undecided: bool,
    /// Skip the self-test before the first cell
    #[arg(long)]
    no_self_test: bool,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Folder with stacks/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    let job = Job::of(args, &lab)?;
    check_options(args, &job)?;
    let feasibility = feasibility(&lab, &job.plan);
    let refusal = (feasibility.refusal()).map(|reason| reason + &alternative(&lab, &job.plan));
    let mut warnings = feasibility.warnings();
    warnings.extend(lab.warnings(&job.plan));
    if args.dry_run {
        let refusal = refusal.map(|reason| format!("this study will not be run: {reason}"));
        // The refusal has several lines.
        let warnings = warnings.iter().map(|warning| neutral::plain(warning));
        let warnings: Vec<String> = refusal.into_iter().chain(warnings).collect();
        crate::out::print(&dry_run::text(&job, &warnings, terminal::is_verbose()))?;
        return Ok(exit::PASS);
    }
    if let Some(reason) = refusal {
        let file = neutral::plain(job.study_file());
        return Err(exit::unsuitable(format!("{file}: {reason}")));
    }
    for warning in warnings {
        out::note!("warning: {warning}");
    }
    if let Some(server) = &job.plan.study.external {
        // To look its name up already sends something.
        consent::ask(&job, server, args.yes)?;
    }
    if let Some(address) = lab.reach(&job.plan)? {
        announce(&job, address);
    }
    if job.resume {
        job.out.store_rest()?;
    } else {
        // A folder that cannot be created should be reported before the self-test takes its time.
        job.out.check_new()?;
        if !job.plan.own_requests().is_empty() {
            job.out.note_readers();
        }
    }
    let is_testing = Arc::new(AtomicBool::new(!args.no_self_test && !job.resume));
    let testing = Arc::clone(&is_testing);
    let stop = crate::interrupt::stop_flag(move || match testing.load(Ordering::Relaxed) {
        true => "stopping after the self-test; press Ctrl-C again to stop at once",
        false => "finishing the current cell; press Ctrl-C again to abort it",
    })?;
    let tested = match is_testing.load(Ordering::Relaxed) {
        true => self_test(&lab, &job.plan),
        false => Ok(Vec::new()),
    };
    is_testing.store(false, Ordering::Relaxed);
    // A run that is stopped needs no self-test: one that could not be made is no error.
    if stop.load(Ordering::Relaxed) && !job.resume {
        job.out.remove_empty();
        out::note!("stopped before the first cell");
        return Ok(exit::INTERRUPTED);
    }
    let mut options = job.options(tested?);
    let shard = job.shard;
    let until_decided = job.until_decided.then(|| UntilDecided::new(args.budget));
    let measured = measure(&lab, job.plan, &mut options, until_decided.as_ref(), &stop)?;
    finish(args, &job.out, shard, measured)
}

/// Asks the stacks of a plan what they can do.
pub(crate) fn feasibility(lab: &Lab, plan: &Plan) -> Feasibility {
    let status = crate::progress::status();
    let feasibility = lab.feasibility(plan, &|stack| {
        crate::progress::show(&status, &format!("starting {stack} ..."));
    });
    status.finish_and_clear();
    feasibility
}

/// Returns a hint at the same study with the libraries that commute carries, if there is one.
fn alternative(lab: &Lab, plan: &Plan) -> String {
    let native = format!("{}-native", plan.study.name);
    let file = lab.home.root.join("studies").join(format!("{native}.toml"));
    match file.is_file() {
        true => format!(". Or run {native}, which compares other libraries"),
        false => String::new(),
    }
}

/// Returns an error if options do not go with what is run.
fn check_options(args: &Args, job: &Job) -> anyhow::Result<()> {
    if args.budget.is_some() && !job.until_decided {
        return Err(exit::usage("--budget is for runs with --until-decided"));
    }
    if job.out.is_remote() && (job.pcap || job.keylog || job.qlog) {
        return Err(exit::usage(
            "--pcap, --keylog and --qlog write files beside the records, which a prefix does not keep: name a folder with \
             --out",
        ));
    }
    check_thresholds(&args.fail_if, &job.plan)?;
    let (Shard { index, of }, blocks) = (job.shard, job.plan.blocks.len());
    if of > blocks {
        return Err(exit::usage(format!(
            "--shard {index}/{of}: the plan has {blocks} blocks, and a block is not divided; use at most {blocks} shards"
        )));
    }
    lab::check_jobs(&job.plan, usize::from(job.jobs))?;
    if job.plan.study.external.is_some() && (job.keylog || job.qlog) {
        return Err(exit::usage(
            "--keylog and --qlog are written by the lab's servers, not by your own",
        ));
    }
    Ok(())
}

/// Returns an error if a threshold names what the plan does not have.
fn check_thresholds(thresholds: &[report::Threshold], plan: &Plan) -> anyhow::Result<()> {
    let names = report::Names {
        arms: plan.study.arms.iter().map(|arm| arm.name.clone()).collect(),
        groups: plan
            .workload
            .groups
            .iter()
            .map(|group| group.name.clone())
            .collect(),
        networks: plan.networks.iter().map(|n| n.link.name.clone()).collect(),
    };
    let check = |threshold: &report::Threshold| threshold.check_names(&names);
    let checked = thresholds.iter().try_for_each(check);
    checked.map_err(|e| exit::usage(format!("--fail-if {e}")))
}

/// Writes and prints the report, and returns the exit code.
fn finish(args: &Args, out: &Output, shard: Shard, measured: Measured) -> anyhow::Result<u8> {
    let Measured {
        ended,
        data,
        mut summary,
        plan,
        next,
    } = measured;
    if ended == Ended::Stopped && data.cells().is_empty() {
        out::note!(
            "stopped before the first cell; to continue: {}",
            resume_command(out, args)
        );
        return Ok(exit::INTERRUPTED);
    }
    apply(&args.fail_if, &mut summary)?;
    if next == Some(Next::BudgetSpent) {
        let command = resume_command(out, args);
        out::note!("the budget is spent; to continue: {command} --budget 30m");
    }
    if let Output::Folder(dir) = out {
        write_files(&summary, &data, dir)?;
    }
    print(&summary, &data, args.format)?;
    if let Output::Folder(dir) = out {
        out::note!("{}: run.json, report.html, report.json", dir.display());
    }
    match ended {
        Ended::Stopped => {
            out::note!("stopped; to continue: {}", resume_command(out, args));
            Ok(exit::INTERRUPTED)
        }
        Ended::Complete => {
            out.end()?;
            let cells = plan.shard(shard).map(|block| block.cells.len()).sum();
            let clean = clean_share(plan.study.min_clean_percent, &data, cells);
            Ok(clean.max(exit_code(&summary, args.allow_undecided)))
        }
    }
}

/// Returns the command that continues the run in `out`, for a shell in this folder.
fn resume_command(out: &Output, args: &Args) -> String {
    let mut command = format!("commute run --resume {}", quoted(&out.to_string()));
    if let Some(home) = &args.home {
        command += &format!(" --home {}", quoted(&home.display().to_string()));
    }
    command
}

/// Quotes a path for a POSIX shell if it needs that.
fn quoted(text: &str) -> String {
    // Only a zero byte cannot be quoted, and no path has one.
    shlex::try_quote(text).map_or(text.to_owned(), std::borrow::Cow::into_owned)
}

/// Prints what is about to be sent to the user's own server.
fn announce(job: &Job, address: SocketAddr) {
    let blocks = job.plan.shard(job.shard);
    let cells: usize = blocks.map(|block| block.cells.len()).sum();
    let server = (job.plan.study.external.as_ref()).map(|server| server.url.to_string());
    let (server, requests) = (server.unwrap_or_default(), job.requests());
    out::note!(
        "server: {server} at {address} gets {requests} in {cells} cells, and {PROBES_PER_CELL} connections per cell \
         that measure its round trip"
    );
}

fn address(text: &str) -> Result<String, String> {
    lab::check_address(text).map(|()| text.to_owned())
}

fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || format!("`{text}`: write I/N with I from 1 to N, e.g. 2/4");
    let (index, of) = text.split_once('/').ok_or_else(wrong)?;
    let index: usize = index.parse().map_err(|_| wrong())?;
    let of: usize = of.parse().map_err(|_| wrong())?;
    if (1..=of).contains(&index) {
        Ok(Shard { index, of })
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted("runs/a-1"), "runs/a-1");
        assert_eq!(quoted("my runs"), "'my runs'");
        assert_eq!(quoted("it's"), "\"it's\"");
    }

    #[test]
    fn shard_numbers_range_from_1_to_n() {
        assert_eq!(shard("2/4"), Ok(Shard { index: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0", "/"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
