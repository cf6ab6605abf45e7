//! `commute run STUDY`: the main job.

mod dry_run;
mod progress;
mod until_decided;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lab::{
    Ended, Event, ExternalServer, Lab, PROBES_PER_CELL, Plan, RunOptions, ServerUrl, Shard, Study,
    Trust,
};
use record::{CellStatus, Outcome};
use stats::Ranks;

use crate::verb::report::{Format, apply, exit_code, print, write_files};
use crate::{exit, out, progress as bars, terminal};
use progress::Progress;
use until_decided::{Next, UntilDecided, first_look};

/// Blocks of `--quick`: the fewest that can give a verdict.
const QUICK_BLOCKS: u32 = stats::MIN_BLOCKS as u32;
/// Requests to a server that is not the lab's for which nobody is asked.
const MAX_UNASKED_REQUESTS: u64 = 10_000;

/// Run a study and answer its question
///
/// Runs every cell of the study's plan, the arms of a block in random order, and writes one record
/// per cell. Ctrl-C finishes the current cell and reports the results so far; a second Ctrl-C
/// aborts that cell. However a run was interrupted, --resume continues it, and with more --blocks
/// extends it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute run quickstart --dry-run                     what is compared, and how long it takes\n  \
    commute run quickstart --quick                       6 blocks: verdicts only where all is clear\n  \
    commute run quickstart --shard 2/4                   one quarter, merged by `commute report`\n  \
    commute run my/study.toml                            a study of your own\n  \
    commute run my/study.toml --server https://api.example.com   against your own server\n  \
    commute run --resume runs/quickstart-1               the rest of an interrupted run\n  \
    commute run --resume runs/quickstart-1 --blocks 20   the same run with 20 blocks\n  \
    commute run apps --until-decided --budget 1h         as many blocks as it takes")]
pub(crate) struct Args {
    /// A built-in study, e.g. quickstart, or a TOML file
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    study: Option<PathBuf>,
    /// Folder for the records [default: runs/STUDY-1, -2, ...]
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
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
    /// Where your own server is, if not where its URL says
    #[arg(long, value_name = "HOST:PORT", value_parser = address, requires = "server")]
    server_address: Option<String>,
    /// PEM file of the authorities to check your own server's certificate against [default: the
    /// system's]
    #[arg(long, value_name = "FILE", requires = "server")]
    ca: Option<PathBuf>,
    /// Send more than 10,000 requests to your own server
    #[arg(long)]
    yes: bool,
    /// Run only shard I of N, e.g. 2/4
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with = "resume")]
    shard: Option<Shard>,
    /// Continue the run in this folder, with its study and options
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Print arms, networks, the time and the blocks needed, and what is wrong, and run nothing; with
    /// -v, every cell
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
    /// Fail if this holds for any arm, e.g. 'first.p95 > 300ms'; see `commute report --help`
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<report::Threshold>,
    /// Skip the self-test before the first cell
    #[arg(long)]
    no_self_test: bool,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Folder with stacks/ [default: the checkout around this folder, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
}

/// What to run, from the command line or from the run to resume.
struct Job {
    plan: Plan,
    study_file: String,
    out: PathBuf,
    resume: bool,
    shard: Shard,
    jobs: u16,
    pcap: bool,
    keylog: bool,
    qlog: bool,
    /// Blocks are added until every comparison is decided.
    until_decided: bool,
    /// The ranks that a report will use.
    ranks: Ranks,
}

/// What `--server` names.
enum Named {
    OfLab(String),
    External(ExternalServer),
}

fn named(server: &str, args: &Args, lab: &Lab) -> anyhow::Result<Named> {
    if !ServerUrl::looks_like(server) {
        lab.stacks.find_server(server)?;
        if args.ca.is_some() || args.server_address.is_some() {
            return Err(exit::usage(
                "--ca and --server-address are for a server of your own, by its URL",
            ));
        }
        return Ok(Named::OfLab(server.to_owned()));
    }
    let url = server.parse();
    Ok(Named::External(ExternalServer {
        url: url.map_err(|e| exit::usage(format!("--server: {e}")))?,
        address: args.server_address.clone(),
        trust: args.ca.clone().map_or(Trust::System, Trust::File),
    }))
}

impl Job {
    fn of(args: &Args, lab: &Lab) -> anyhow::Result<Job> {
        if let Some(dir) = &args.resume {
            return Job::resumed(dir, args.blocks, lab);
        }
        let study = args.study.as_deref().unwrap_or(Path::new(""));
        let file = match lab.home.study(study) {
            Err(_) if study.exists() => study.to_owned(),
            found => found?,
        };
        check_study(&file, lab)?;
        let quick = args.quick.then_some(QUICK_BLOCKS);
        let server = args
            .server
            .as_deref()
            .map(|server| named(server, args, lab));
        let server = server.transpose()?;
        let mut servers = BTreeSet::new();
        let mut plan_with = |blocks: Option<u32>| {
            lab.plan(&file, |study| {
                study.blocks = blocks.unwrap_or(study.blocks);
                study.seed = args.seed.unwrap_or(study.seed);
                if let Some(server) = &server {
                    servers.extend(study.arms.iter().map(|arm| arm.server.clone()));
                    match server {
                        Named::OfLab(name) => study.use_server(name),
                        Named::External(server) => study.use_external(server.clone()),
                    }
                }
            })
        };
        let mut plan = plan_with(args.blocks.or(quick))?;
        if args.until_decided && args.blocks.is_none() {
            plan = plan_with(first_look(&plan))?;
        }
        if servers.len() > 1 {
            return Err(exit::usage(
                "--server: this study compares servers; leave --server out",
            ));
        }
        let free = || next_free(Path::new("runs"), &plan.study.name);
        Ok(Job {
            out: args.out.clone().unwrap_or_else(free),
            plan,
            study_file: study.display().to_string(),
            resume: false,
            shard: args.shard.unwrap_or(Shard { index: 1, of: 1 }),
            jobs: args.jobs.unwrap_or(1),
            pcap: args.pcap,
            keylog: args.keylog,
            qlog: args.qlog,
            until_decided: args.until_decided,
            ranks: report::ranks(args.until_decided),
        })
    }

    fn resumed(dir: &Path, blocks: Option<u32>, lab: &Lab) -> anyhow::Result<Job> {
        let store = record::Store::open(dir)?;
        let data = store.read()?;
        let run = data.run();
        let settings = &run.settings;
        Ok(Job {
            plan: lab.plan_of(&store, run, blocks)?,
            study_file: settings.study_file.clone(),
            out: dir.to_owned(),
            resume: true,
            shard: Shard {
                index: settings.shard.max(1) as usize,
                of: settings.shards.max(1) as usize,
            },
            jobs: settings.jobs.clamp(1, u32::from(u16::MAX)) as u16,
            pcap: settings.pcap,
            keylog: settings.keylog,
            qlog: settings.qlog,
            until_decided: settings.until_decided && blocks.is_none(),
            ranks: report::ranks(settings.until_decided || settings.extended || blocks.is_some()),
        })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    let Job {
        plan,
        study_file,
        out,
        resume,
        shard,
        jobs,
        pcap,
        keylog,
        qlog,
        until_decided,
        ranks,
    } = Job::of(args, &lab)?;
    if args.budget.is_some() && !until_decided {
        return Err(exit::usage("--budget is for runs with --until-decided"));
    }
    check_thresholds(&args.fail_if, &plan)?;
    if plan.study.external.is_some() && (keylog || qlog) {
        return Err(exit::usage(
            "--keylog and --qlog are written by the lab's servers, not by your own",
        ));
    }
    if args.dry_run {
        let warnings = lab.warnings(&plan);
        crate::out::print(&dry_run::text(
            &plan,
            shard,
            jobs,
            ranks,
            &warnings,
            terminal::is_verbose(),
        ))?;
        return Ok(exit::PASS);
    }
    if let Some(address) = lab.reach(&plan)? {
        announce(&plan, shard, address, args.yes)?;
    }
    if !resume {
        // A folder that cannot be created should be reported before the self-test takes its time.
        record::Store::create(&out)?;
    }
    let stop =
        crate::interrupt::stop_flag("finishing the current cell; press Ctrl-C again to abort it")?;
    let self_test = if args.no_self_test || resume {
        Vec::new()
    } else {
        self_test(&lab, &plan)?
    };
    let mut options = RunOptions {
        study_file,
        out: out.clone(),
        resume,
        jobs: usize::from(jobs),
        shard,
        pcap,
        keylog,
        qlog,
        until_decided,
        self_test,
    };
    let until_decided = until_decided.then(|| UntilDecided::new(args.budget));
    let measured = measure(&lab, plan, &mut options, until_decided.as_ref(), &stop)?;
    let Measured {
        ended,
        data,
        mut summary,
        plan,
        next,
    } = measured;
    apply(&args.fail_if, &mut summary)?;
    if next == Some(Next::BudgetSpent) {
        let command = resume_command(&out, args);
        out::note!("the budget is spent; to continue: {command} --budget 30m");
    }
    write_files(&summary, &data, &out)?;
    print(&summary, &data, args.format)?;
    out::note!("{}: run.json, report.html, report.json", out.display());
    match ended {
        Ended::Stopped => {
            out::note!("stopped; to continue: {}", resume_command(&out, args));
            Ok(exit::INTERRUPTED)
        }
        Ended::Complete => Ok(threshold(&plan.study, &data).max(exit_code(&summary))),
    }
}

/// Returns an error if there is no file of this name, with the nearest study that there is.
fn check_study(file: &Path, lab: &Lab) -> anyhow::Result<()> {
    let name = file.display();
    if file.is_dir() {
        return Err(exit::usage(format!(
            "{name} is a folder; name the TOML file of a study"
        )));
    }
    // The lab knows better what a URL is for.
    if file.exists() || file.to_string_lossy().contains("://") {
        return Ok(());
    }
    let folder = lab.home.root.join("studies");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let wanted = file.file_name().unwrap_or_default().to_string_lossy();
    let hint = config::did_you_mean(&wanted, names.iter().map(String::as_str));
    let folder = folder.display();
    Err(exit::usage(format!(
        "there is no file {name}; commute's own studies are in {folder}{hint}"
    )))
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

/// What a run has measured when it ends.
struct Measured {
    ended: Ended,
    data: record::RunData,
    summary: report::Summary,
    plan: Plan,
    /// Why no more blocks were added.
    next: Option<Next>,
}

/// Runs the plan, and further blocks as long as `until_decided` asks for them.
fn measure(
    lab: &Lab,
    mut plan: Plan,
    options: &mut RunOptions,
    until_decided: Option<&UntilDecided>,
    stop: &AtomicBool,
) -> anyhow::Result<Measured> {
    loop {
        let progress = Progress::new(&plan, options.shard);
        let ended = lab.run(&plan, options, stop, &|event: Event<'_>| {
            progress.event(&event);
        });
        progress.finish();
        let ended = ended?;
        let store = record::Store::open(&options.out)?;
        let data = store.read()?;
        let summary = report::summarise(&data);
        let next = until_decided
            .filter(|_| ended == Ended::Complete)
            .map(|until| until.next(&summary, &plan, options.jobs));
        if next.is_some() {
            let counts = &summary.comparisons;
            let (decided, all, blocks) = (counts.decided, counts.all, plan.study.blocks);
            out::note!("blocks: {blocks}; comparisons decided: {decided} of {all}");
        }
        let Some(Next::Blocks(blocks)) = next else {
            return Ok(Measured {
                ended,
                data,
                summary,
                plan,
                next,
            });
        };
        plan = lab.plan_of(&store, data.run(), Some(blocks))?;
        options.resume = true;
    }
}

/// Returns the command that continues the run in `dir`, for a shell in this folder.
fn resume_command(dir: &Path, args: &Args) -> String {
    let mut command = format!("commute run --resume {}", quoted(dir));
    if let Some(home) = &args.home {
        command += &format!(" --home {}", quoted(home));
    }
    command
}

/// Quotes a path for a POSIX shell if it needs that.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    // Only a zero byte cannot be quoted, and no path has one.
    shlex::try_quote(&text).map_or(text.clone(), std::borrow::Cow::into_owned)
}

/// Compares the share of clean cells with the study's `min_clean_percent`.
fn threshold(study: &Study, data: &record::RunData) -> u8 {
    let Some(wanted) = study.min_clean_percent else {
        return exit::PASS;
    };
    let clean: BTreeSet<&str> = data
        .with_status()
        .into_iter()
        .filter(|(cell, s)| *s != CellStatus::Superseded && cell.outcome == Outcome::Clean)
        .map(|(cell, _)| cell.id.as_str())
        .collect();
    let percent = 100.0 * clean.len() as f64 / data.run().plan.len().max(1) as f64;
    if percent >= wanted {
        return exit::PASS;
    }
    out::note!("threshold: {percent:.1} % of the cells ended clean; the study requires {wanted} %");
    exit::THRESHOLD
}

/// Says what is about to be sent to the user's own server, and asks for consent where that is much.
fn announce(plan: &Plan, shard: Shard, address: SocketAddr, consent: bool) -> anyhow::Result<()> {
    let requests = plan.requests(shard);
    let cells = plan
        .shard(shard)
        .map(|block| block.cells.len())
        .sum::<usize>();
    let server = plan
        .study
        .external
        .as_ref()
        .map(|server| server.url.to_string());
    let server = server.unwrap_or_default();
    if requests > MAX_UNASKED_REQUESTS && !consent {
        return Err(exit::usage(format!(
            "this run would send {requests} requests to {server}, more than {MAX_UNASKED_REQUESTS}; add \
             --yes if it is yours and may get them"
        )));
    }
    out::note!(
        "server: {server} at {address} gets at most {requests} requests in {cells} cells, more where \
         blocks are run again or added, and {PROBES_PER_CELL} connections per cell that measure its round \
         trip"
    );
    Ok(())
}

fn address(text: &str) -> Result<String, String> {
    lab::check_address(text).map(|()| text.to_owned())
}

fn self_test(lab: &Lab, plan: &Plan) -> anyhow::Result<Vec<record::Check>> {
    let bar = bars::waiting("self-test: checking the lab against known physics");
    let checks = lab.self_test(plan);
    bar.finish_and_clear();
    let checks = checks?;
    for check in checks.iter().filter(|c| !c.pass) {
        out::note!("self-test: {}", lab::check_line(check));
    }
    all_measured(checks)
}

/// Fails if a check could not be made, e.g. on a machine that was busy throughout: a record has no place
/// for a figure that does not exist.
fn all_measured(checks: Vec<record::Check>) -> anyhow::Result<Vec<record::Check>> {
    match checks.iter().find(|check| !check.measured.is_finite()) {
        None => Ok(checks),
        Some(check) => {
            let error = anyhow::anyhow!(
                "the self-test could not be made: {}; try again when the machine is quiet, or add \
                 --no-self-test",
                check.name
            );
            Err(exit::with(exit::UNSUITABLE, error))
        }
    }
}

/// Returns the first `STUDY-N` that does not exist.
fn next_free(dir: &Path, study: &str) -> PathBuf {
    let mut n = 1_u64;
    loop {
        let path = dir.join(format!("{study}-{n}"));
        if !path.exists() {
            return path;
        }
        n += 1;
    }
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
        assert_eq!(quoted(Path::new("runs/a-1")), "runs/a-1");
        assert_eq!(quoted(Path::new("my runs")), "'my runs'");
        assert_eq!(quoted(Path::new("it's")), "\"it's\"");
    }

    #[test]
    fn self_test_that_could_not_be_made_ends_the_run_with_its_reason() {
        let check = |name: &str, measured| record::Check {
            name: name.into(),
            expected: 100.0,
            measured,
            margin: 3.0,
            unit: "ms".into(),
            pass: false,
        };
        let checks = vec![check("hyper h2: warm request", 104.0)];
        assert_eq!(all_measured(checks.clone()).unwrap(), checks);
        let checks = [checks, vec![check("quinn h3: noisy 4 times", f64::NAN)]].concat();
        let error = all_measured(checks).unwrap_err();
        assert_eq!(exit::code_of(&error), exit::UNSUITABLE);
        assert!(
            error
                .to_string()
                .contains("quinn h3: noisy 4 times; try again")
        );
    }

    #[test]
    fn shard_numbers_range_from_1_to_n() {
        assert_eq!(shard("2/4"), Ok(Shard { index: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "2", "a/b", "1/0", "/"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }
}
