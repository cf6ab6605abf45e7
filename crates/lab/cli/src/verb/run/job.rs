//! The job of `commute run`: from the command line, or from the run to resume.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lab::{AllowedFiles, ExternalServer, Lab, Plan, RunOptions, ServerUrl, Shard, Trust};
use record::{ServerOption, Store};
use remote::Location;
use stats::Ranks;

use super::Args;
use super::output::Output;
use super::until_decided::first_look;
use crate::exit;

/// Blocks of `--quick`: the fewest that can give a verdict.
pub(crate) const QUICK_BLOCKS: u32 = stats::MIN_BLOCKS as u32;

/// What to run, from the command line or from the run to resume.
pub(super) struct Job {
    pub(super) plan: Plan,
    study_file: String,
    server: Option<ServerOption>,
    /// Whether the command line names the server, if it is none of the lab's.
    pub(super) names_server: bool,
    /// The files outside its folder that the study reads, by their paths after all links.
    pub(super) outside_files: Vec<PathBuf>,
    pub(super) out: Output,
    pub(super) resume: bool,
    pub(super) shard: Shard,
    pub(super) jobs: u16,
    pub(super) pcap: bool,
    pub(super) keylog: bool,
    pub(super) qlog: bool,
    explain: bool,
    /// Blocks are added until every comparison is decided.
    pub(super) until_decided: bool,
    /// The ranks that a report will use.
    pub(super) ranks: Ranks,
}

impl Job {
    pub(super) fn of(args: &Args, lab: &Lab) -> anyhow::Result<Job> {
        if let Some(place) = &args.resume {
            let out = Output::resumed(place, args.dry_run)?;
            return Job::resumed(out, args.blocks, lab);
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
        let allowed = AllowedFiles::new(&args.allow_file)?;
        let mut servers = BTreeSet::new();
        let mut plan_with = |blocks: Option<u32>| {
            lab.plan(&file, &allowed, |study| {
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
        let free = || Location::Folder(next_free(Path::new("runs"), &plan.study.name));
        let place = args.out.clone().unwrap_or_else(free);
        let (out, resume) = match args.or_resume {
            true => Output::begun(&place, args.shard, args.dry_run)?,
            false => (Output::new(&place, args.shard)?, false),
        };
        Ok(Job {
            out,
            resume,
            plan,
            study_file: name_of(study, &file, lab),
            server: server_option(args),
            names_server: matches!(server, Some(Named::External(_))),
            outside_files: allowed.read(),
            shard: args.shard.unwrap_or(Shard { index: 1, of: 1 }),
            jobs: args.jobs.unwrap_or(1),
            pcap: args.pcap,
            keylog: args.keylog,
            qlog: args.qlog,
            explain: args.explain,
            until_decided: args.until_decided,
            ranks: report::ranks(args.until_decided),
        })
    }

    fn resumed(out: Output, blocks: Option<u32>, lab: &Lab) -> anyhow::Result<Job> {
        let store = Store::open(out.folder())?;
        let data = store.read()?;
        let run = data.run();
        let settings = &run.settings;
        Ok(Job {
            plan: lab.plan_of(&store, run, blocks)?,
            study_file: settings.study_file.clone(),
            server: settings.server_option.clone(),
            names_server: (settings.server_option.as_ref())
                .is_some_and(|option| ServerUrl::looks_like(&option.server)),
            outside_files: Vec::new(),
            out,
            resume: true,
            shard: Shard {
                index: settings.shard.max(1) as usize,
                of: settings.shards.max(1) as usize,
            },
            jobs: settings.jobs.clamp(1, u32::from(u16::MAX)) as u16,
            pcap: settings.pcap,
            keylog: settings.keylog,
            qlog: settings.qlog,
            explain: settings.explain,
            until_decided: settings.until_decided && blocks.is_none(),
            ranks: report::ranks(settings.until_decided || settings.extended || blocks.is_some()),
        })
    }

    /// Returns the study's file, or the name of one of commute's own.
    pub(super) fn study_file(&self) -> &str {
        &self.study_file
    }

    /// Returns how many requests are planned, and why there may be more.
    pub(super) fn requests(&self) -> String {
        let requests = report::count(self.plan.requests(self.shard) as usize, "request");
        let more = match self.until_decided {
            true => "run again or added",
            false => "run again",
        };
        format!("up to {requests} (more where blocks are {more})")
    }

    /// Returns how the lab is to run it.
    pub(super) fn options(&self, self_test: Vec<record::Check>) -> RunOptions {
        RunOptions {
            study_file: self.study_file.clone(),
            server: self.server.clone(),
            out: self.out.folder().to_owned(),
            replica: self.out.replica(),
            resume: self.resume,
            jobs: usize::from(self.jobs),
            shard: self.shard,
            pcap: self.pcap,
            keylog: self.keylog,
            qlog: self.qlog,
            explain: self.explain,
            until_decided: self.until_decided,
            self_test,
        }
    }
}

/// Returns how a study is named in the command that repeats the run: by its name alone if it is one of
/// commute's own, which works in any folder.
fn name_of(given: &Path, file: &Path, lab: &Lab) -> String {
    let own = lab.home.root.join("studies").canonicalize().ok();
    let folder = |file: &Path| Some(file.canonicalize().ok()?.parent()?.to_owned());
    let name = match own.is_some() && folder(file) == own {
        true => Path::new(file.file_stem().unwrap_or_default()),
        false => given,
    };
    name.display().to_string()
}

/// Returns what the command line says of the server, for the record.
fn server_option(args: &Args) -> Option<ServerOption> {
    let server = args.server.clone()?;
    let ca = args.ca.as_ref();
    Some(ServerOption {
        server,
        address: args.server_address.clone(),
        ca: ca.map(|path| path.display().to_string()),
    })
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
