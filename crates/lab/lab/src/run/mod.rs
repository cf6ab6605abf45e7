//! Runs what remains of a plan: from the run's folder to the last record.

mod giving_up;
mod options;
mod scheduler;
#[cfg(test)]
#[path = "../../../study/src/plan/small_plan.rs"]
mod small_plan;
mod worker;

use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use driver::clock::monotonic_ns;
use record::folder::Readers;
use record::{Cell, Run, Settings, Store, StoreLock};
use sha2::{Digest, Sha256};
use study::ExternalServer;
use study::plan::{Block, Done, Plan, ResumedAt, remaining};

use crate::cell::exclusion::{MeasurementGate, may_overlap};
use crate::cell::external::External;
use crate::cell::scratch;
use crate::error::LabError;
use crate::lab::Lab;

use giving_up::GivingUp;
pub use options::RunOptions;
pub use scheduler::{Ended, Event};
use worker::{RunContext, Worker};

/// Checks that cells of a plan can be measured beside each other.
///
/// # Errors
///
/// Fails if there are several jobs and a network is too fast for that.
pub fn check_jobs(plan: &Plan, jobs: usize) -> Result<(), LabError> {
    match (plan.networks.iter().map(|n| &n.link)).find(|n| jobs > 1 && !may_overlap(n)) {
        None => Ok(()),
        Some(fast) => Err(LabError::Jobs {
            jobs,
            network: fast.name.clone(),
        }),
    }
}

impl Lab {
    /// Runs what remains of this shard of the plan, and calls `observer` as cells start and end.
    ///
    /// Stops between cells once `stop` is set.
    pub fn run(
        &self,
        plan: &Plan,
        options: &RunOptions,
        stop: &AtomicBool,
        observer: &(dyn Fn(Event<'_>) + Sync),
    ) -> Result<Ended, LabError> {
        check_jobs(plan, options.jobs)?;
        let mut head = self.head(plan, options);
        scratch::sweep();
        let (store, _lock, found) = open_store(&head, options)?;
        let boot = head.host.boot.clone();
        let limit_ns = |b: &Block| 2 * plan.block_estimate_ns(b);
        let next = |done: &[Done]| {
            let now = ResumedAt {
                boot: &boot,
                monotonic_ns: monotonic_ns(),
            };
            let mut blocks = remaining(plan.shard(options.shard), done, &now, limit_ns);
            // Workers measure together: on one network their cells end together, too.
            let jobs = options.jobs as u32;
            blocks.sort_by_key(|b| (b.block.number / jobs.max(1), b.block.network));
            blocks
        };
        let done: Vec<Done> = found.iter().map(Done::new).collect();
        if next(&done).is_empty() {
            return Ok(Ended::Complete);
        }
        let external = match &plan.study.external {
            Some(server) => Some(External::find(server)?),
            None => None,
        };
        let gate = MeasurementGate::default();
        let context = RunContext {
            lab: self,
            plan,
            options,
            gate: &gate,
            external: external.as_ref(),
        };
        let workers = (0..options.jobs.clamp(1, plan.shard(options.shard).count()))
            .map(|_| Worker::start(context))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(worker) = workers.first() {
            head.host.rootless = worker.facts().rootless;
            head.host.realtime = worker.facts().realtime;
            if !head.host.realtime {
                tracing::warn!(
                    "the link has no real-time priority: packets are up to 3 ms late while other \
                     programs run, which makes cells noisy; run as root, or grant rtprio (limits.conf)"
                );
            }
        }
        if !options.resume {
            for (path, content) in &plan.study.payload_files {
                store.write_payload(&head.settings.payloads[path], content)?;
            }
            match options::readers(plan) {
                Readers::Any => store.write_run(&head)?,
                Readers::Owner => store.write_private_run(&head)?,
            }
        }
        let progress = scheduler::Progress {
            given_up: GivingUp::of(&found),
            done,
        };
        scheduler::run(progress, next, workers, &store, stop, observer)
    }

    fn head(&self, plan: &Plan, options: &RunOptions) -> Run {
        let study = &plan.study;
        Run {
            arms: self.arms(plan),
            settings: Settings {
                study_toml: match study.external {
                    Some(_) => String::new(),
                    None => plan.study_toml.clone(),
                },
                study_sha256: (study.external.as_ref())
                    .map(|_| messages::hex(&Sha256::digest(&plan.study_toml))),
                study_file: options.study_file.clone(),
                payloads: (study.payload_files.iter())
                    .map(|(path, content)| (path.clone(), messages::hex(&Sha256::digest(content))))
                    .collect(),
                shard: options.shard.index as u32,
                shards: options.shard.of as u32,
                jobs: options.jobs as u32,
                pcap: options.pcap,
                keylog: options.keylog,
                qlog: options.qlog,
                explain: options.explain,
                until_decided: options.until_decided,
                external: study.external.as_ref().map(ExternalServer::recorded),
                server_option: options.server.clone(),
                extended: false,
            },
            host: crate::host::facts(&self.home.root),
            self_test: options.self_test.clone(),
            started_unix_ns: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_nanos() as u64),
            ..plan.head()
        }
    }

    /// Returns the plan's arms, each with the caveat of its driver's manifest beside its own.
    fn arms(&self, plan: &Plan) -> Vec<record::Arm> {
        let arms = plan.arms().into_iter().zip(&plan.study.arms);
        arms.map(|(mut recorded, arm)| {
            let driver = self.stacks.find(&arm.stack).ok();
            let of_driver = driver.and_then(|driver| driver.entry.caveat(arm.protocol));
            let caveats: Vec<String> = of_driver.into_iter().chain(recorded.caveat).collect();
            recorded.caveat = (!caveats.is_empty()).then(|| caveats.join("; "));
            recorded
        })
        .collect()
    }
}

/// Creates the run's folder, or opens the one to resume and checks that it holds this plan or its
/// beginning. Returns the cells that it holds, too.
///
/// The folder is locked, so that two processes never measure the same cells side by side.
fn open_store(head: &Run, options: &RunOptions) -> Result<(Store, StoreLock, Vec<Cell>), LabError> {
    let dir = &options.out;
    if !options.resume {
        let store = Store::create(dir)?.with_replica(options.replica.clone());
        let lock = store.lock()?;
        return Ok((store, lock, Vec::new()));
    }
    let store = Store::open(dir)?.with_replica(options.replica.clone());
    let lock = store.lock()?;
    let data = store.read()?;
    let run = data.run();
    if let Some(what) = difference(run, head) {
        return Err(LabError::OtherPlan {
            dir: dir.clone(),
            what,
        });
    }
    if head.plan.len() > run.plan.len() {
        store.extend_run(&Run {
            blocks: head.blocks,
            plan: head.plan.clone(),
            settings: Settings {
                extended: true,
                ..run.settings.clone()
            },
            ..run.clone()
        })?;
    }
    Ok((store, lock, data.cells().to_vec()))
}

/// Returns the first thing in which a recorded run differs from the one that is to continue it. That may have more blocks.
fn difference(run: &Run, head: &Run) -> Option<&'static str> {
    let (ran, wanted) = (&run.settings, &head.settings);
    let options = |of: &Settings| (of.jobs, of.pcap, of.keylog, of.qlog, of.explain);
    let differences = [
        (
            "the study",
            run.study != head.study
                || ran.study_toml != wanted.study_toml
                || ran.study_sha256 != wanted.study_sha256
                || ran.payloads != wanted.payloads,
        ),
        ("the server", ran.external != wanted.external),
        ("the seed", run.seed != head.seed),
        (
            "an arm or network",
            run.arms != head.arms || run.networks != head.networks,
        ),
        (
            "the shard",
            (ran.shard, ran.shards) != (wanted.shard, wanted.shards),
        ),
        ("the set of cells", !head.plan.starts_with(&run.plan)),
        (
            "--jobs, --pcap, --keylog, --qlog or --explain",
            options(ran) != options(wanted),
        ),
    ];
    let first = differences.into_iter().find(|(_, differs)| *differs);
    first.map(|(what, _)| what)
}
