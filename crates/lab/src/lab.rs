//! From a study's file to a folder of records.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use link::Network;
use record::{Cell, Check, Run, Store};

use crate::cell::exclusion::{Turns, may_share};
use crate::cell::monotonic_ns;
use crate::doctor::Fact;
use crate::home::Home;
use crate::plan::remaining::{Now, left};
use crate::plan::{Block, Plan, Shard};
use crate::run::scheduler::{Ended, Event, run};
use crate::run::worker::Seat;
use crate::stacks::{Stacks, StacksError};
use crate::study::Study;
use config::ConfigError;

/// A lab on this machine: its files, its stacks, the binary that serves and starts benches.
#[derive(Clone, Debug)]
pub struct Lab {
    /// Where stacks and studies lie.
    pub home: Home,
    /// What can be measured.
    pub stacks: Stacks,
    /// The `commute` binary.
    pub exe: PathBuf,
}

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run's folder.
    pub out: PathBuf,
    /// Continue what lies in it.
    pub resume: bool,
    /// Blocks side by side.
    pub jobs: usize,
    /// Which share of the blocks.
    pub shard: Shard,
    /// Keep every frame of every cell as pcapng.
    pub capture: bool,
    /// Known answers, already checked.
    pub self_test: Vec<Check>,
}

/// Why a study could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The study's file is wrong.
    #[error(transparent)]
    Study(#[from] ConfigError),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A network is unknown or wrong.
    #[error(transparent)]
    Network(#[from] link::NetworkError),
    /// A stack is unknown or its manifest wrong.
    #[error(transparent)]
    Stack(#[from] StacksError),
    /// What a study names cannot be had.
    #[error("{place}: {source}")]
    Named {
        /// File and line of the study that names it.
        place: String,
        /// What is wrong.
        source: Box<LabError>,
    },
    /// The records cannot be written or read.
    #[error(transparent)]
    Store(#[from] record::StoreError),
    /// No bench can be had on this machine.
    #[error("{0}")]
    Bench(#[from] pump::BenchError),
    /// `--jobs` asks for what cannot be measured side by side.
    #[error(
        "--jobs {jobs}: network {network} is too fast to share two cores (it needs RTT >= 20 ms \
         and rates <= 20 Mbit/s); leave --jobs out"
    )]
    Jobs {
        /// As asked.
        jobs: usize,
        /// The first network that forbids it.
        network: String,
    },
    /// `--resume` with another study or seed.
    #[error(
        "{}: it holds another plan ({what} differs); resume with the study and seed it began \
         with, or give another --out", dir.display()
    )]
    OtherPlan {
        /// The folder.
        dir: PathBuf,
        /// What differs.
        what: &'static str,
    },
}

impl Lab {
    /// Reads what is there.
    pub fn open(home: Home, exe: PathBuf) -> Result<Lab, StacksError> {
        let stacks = Stacks::read(&home)?;
        Ok(Lab { home, stacks, exe })
    }

    /// What this machine is and allows.
    pub fn machine(&self) -> Result<Vec<Fact>, LabError> {
        let bench = crate::run::worker::bench(&self.exe, 1)?;
        let host = crate::host::facts(&self.home.root);
        Ok(crate::doctor::machine(&host, Some(bench.facts())))
    }

    /// Reads and checks a study; `change` may alter it as the command line asks.
    pub fn plan(&self, file: &Path, change: impl FnOnce(&mut Study)) -> Result<Plan, LabError> {
        let name = file.display().to_string();
        let text = read(file)?;
        let mut study = Study::parse(&name, &text)?;
        let named = |name_of: &str, source: LabError| LabError::Named {
            place: format!("{name}:{}", line_of(name_of, &text)),
            source: Box::new(source),
        };
        change(&mut study);
        for arm in &study.arms {
            let found = self.stacks.find(&arm.stack);
            found.map_err(|e| named(&arm.stack, e.into()))?;
        }
        let beside = file.parent().unwrap_or(Path::new(""));
        let networks = study
            .networks
            .iter()
            .map(|n| network(n, beside).map_err(|e| named(n, e)))
            .collect::<Result<Vec<_>, _>>()?;
        // A path in the study becomes the network's own name in cells and tables.
        study.networks = networks.iter().map(|n| n.name.clone()).collect();
        Ok(Plan::new(study, networks))
    }

    /// Runs what is left of this shard of the plan.
    pub fn run(
        &self,
        plan: &Plan,
        options: &RunOptions,
        stop: &AtomicBool,
        watch: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Ended, LabError> {
        if options.jobs > 1
            && let Some(fast) = plan.networks.iter().find(|n| !may_share(n))
        {
            return Err(LabError::Jobs {
                jobs: options.jobs,
                network: fast.name.clone(),
            });
        }
        let mut head = self.head(plan, options);
        let (store, found) = open_store(&head, options)?;
        let now = Now {
            same_boot: found.same_boot,
            monotonic_ns: monotonic_ns(),
        };
        let takes_ns = |b: &Block| plan.cell_estimate_ns(b.network) * 2 * b.cells.len() as u64;
        let todo = left(plan.shard(options.shard), &found.cells, &now, takes_ns);
        if todo.is_empty() {
            return Ok(Ended::Complete);
        }
        let turns = Turns::default();
        let seats = (0..options.jobs.clamp(1, todo.len()))
            .map(|_| Seat::take(self, plan, options, &turns))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(seat) = seats.first() {
            head.host.rootless = seat.facts().rootless;
            head.host.realtime = seat.facts().realtime;
        }
        if !options.resume {
            store.write_run(&head)?;
        }
        Ok(run(&todo, seats, &store, stop, watch)?)
    }

    /// The plan's arms, each with what its driver's manifest says of its results.
    fn arms(&self, plan: &Plan) -> Vec<record::Arm> {
        let arms = plan.arms().into_iter().zip(&plan.study.arms);
        arms.map(|(recorded, arm)| record::Arm {
            caveat: (self.stacks.find(&arm.stack).ok())
                .and_then(|driver| driver.entry.caveat(arm.protocol)),
            ..recorded
        })
        .collect()
    }

    fn head(&self, plan: &Plan, options: &RunOptions) -> Run {
        let study = &plan.study;
        Run {
            format: record::FORMAT,
            commute: env!("CARGO_PKG_VERSION").to_owned(),
            study: study.name.clone(),
            question: study.question.clone(),
            seed: study.seed,
            blocks: study.blocks,
            baseline: study.arms[study.baseline].name.clone(),
            margin_ns: study.margin_ns,
            timeout_ns: study.timeout_ns,
            arms: self.arms(plan),
            networks: plan.networks.iter().map(network_record).collect(),
            groups: plan.workload.groups.clone(),
            plan: plan.cells().cloned().collect(),
            host: crate::host::facts(&self.home.root),
            self_test: options.self_test.clone(),
            started_unix_ns: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos() as u64),
        }
    }
}

/// What lies in a run's folder.
#[derive(Default)]
struct Found {
    cells: Vec<Cell>,
    /// It was begun since this machine booted.
    same_boot: bool,
}

/// A new folder; or the old one with what lies in it, whose head then stays as it was.
fn open_store(head: &Run, options: &RunOptions) -> Result<(Store, Found), LabError> {
    let dir = &options.out;
    if !options.resume {
        return Ok((Store::create(dir)?, Found::default()));
    }
    let store = Store::open(dir)?;
    crate::cell::sweep(dir).map_err(|source| LabError::Read {
        path: dir.clone(),
        source,
    })?;
    let data = store.read()?;
    let run = data.run();
    let differs = if run.study != head.study {
        Some("the study")
    } else if run.seed != head.seed {
        Some("the seed")
    } else if run.arms != head.arms || run.networks != head.networks {
        Some("an arm or network")
    } else if run.plan != head.plan {
        Some("the set of cells")
    } else {
        None
    };
    if let Some(what) = differs {
        return Err(LabError::OtherPlan {
            dir: dir.clone(),
            what,
        });
    }
    let same_boot = run.host.boot == head.host.boot;
    Ok((
        store,
        Found {
            cells: data.cells().to_vec(),
            same_boot,
        },
    ))
}

/// A network by name, or by the path of its file.
pub fn network(name: &str, beside: &Path) -> Result<Network, LabError> {
    if !name.ends_with(".toml") {
        return Ok(link::find(name)?);
    }
    let path = beside.join(name);
    let text = read(&path)?;
    let trace_text = |file: &str| {
        let trace = path.with_file_name(file);
        std::fs::read_to_string(&trace).map_err(|e| format!("{}: {e}", trace.display()))
    };
    let file = path.display().to_string();
    Ok(Network::parse_with(&file, &text, &trace_text)?)
}

/// The line of a study that has this name in quotes, from 1.
fn line_of(name: &str, text: &str) -> usize {
    let quoted = [format!("\"{name}\""), format!("'{name}'")];
    let found = text
        .lines()
        .position(|line| quoted.iter().any(|q| line.contains(q.as_str())));
    1 + found.unwrap_or(0)
}

fn network_record(n: &Network) -> record::Network {
    record::Network {
        name: n.name.clone(),
        numbers: n.numbers(),
        rtt_ns: n.rtt_ns(),
        down_bps: n.down.rate.mean_bps(),
        up_bps: n.up.rate.mean_bps(),
        toml: toml::to_string(n).unwrap_or_default(),
    }
}

fn read(path: &Path) -> Result<String, LabError> {
    std::fs::read_to_string(path).map_err(|source| LabError::Read {
        path: path.to_owned(),
        source,
    })
}
