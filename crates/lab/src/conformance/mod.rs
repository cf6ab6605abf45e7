//! Does a driver do what the protocol says, and does it say what it did?
//!
//! Each case is one cell on a bench: a few steps over a link of 20 ms round trip that loses
//! nothing, against a real server that may be told to misbehave. First the driver's rows are
//! proven against the server's log as in every study ([`crate::verify::proof`]); then the case's own
//! judge looks at rows, log and packets. A case is *unsupported* only where the driver's
//! `hello`, its answer or its manifest says that the stack cannot do it, and why.

mod cases;
mod checks;
mod sizes;

use std::path::PathBuf;

use driver::protocol::{Capability, Codec, Discovery, Hello, Protocol, Setup, Step};
use link::{Network, PathSpec};
use pump::Bench;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::cell::exclusion::Turns;
use crate::cell::server_process::{Origin, ServerOptions};
use crate::cell::{Job, Trouble};
use crate::lab::{Lab, LabError};
use crate::plan::workload::Workload;
use crate::run::worker::bench;
use crate::stacks::Driver;
use crate::study::{Arm, Security};

pub use cases::CASES;
use checks::Seen;

/// What one case found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The driver's name.
    pub driver: String,
    /// What it spoke.
    pub protocol: String,
    /// The case's name.
    pub case: String,
    /// How it went.
    #[serde(flatten)]
    pub outcome: Verdict,
}

/// How a case went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "why", rename_all = "snake_case")]
pub enum Verdict {
    /// As it should.
    Pass,
    /// Not as it should; what was wrong.
    Fail(String),
    /// Not possible with this stack; why.
    Unsupported(String),
}

/// What came of examining one driver.
pub struct Report {
    /// What it said of itself.
    pub hello: Hello,
    /// One a protocol and case.
    pub findings: Vec<Finding>,
}

/// One question to a driver.
pub struct Case {
    /// Short, for columns and manifests.
    pub name: &'static str,
    /// What is asked, in a line.
    pub about: &'static str,
    /// The protocols that know such a thing.
    over: &'static [Protocol],
    /// What the driver must offer; else it is unsupported.
    needs: Option<Capability>,
    how: How,
}

/// How a case is tried.
#[derive(Clone, Copy)]
enum How {
    /// A word the driver cannot know, said to it without a bench.
    Provoke,
    /// A cell.
    Cell(fn(Protocol) -> Trial),
    /// A cell for each codec that the driver names.
    Exchange(fn(Protocol) -> Trial),
}

/// A cell of a case.
struct Trial {
    steps: Vec<Step>,
    /// More arguments for the server.
    server: Vec<String>,
    /// The name its certificate is for, when it is to be wrong.
    server_name: Option<&'static str>,
    security: Security,
    discovery: Option<Discovery>,
    observe: Option<&'static str>,
    warmup_calls: u32,
    /// The protocol's plain one when none.
    codec: Option<Codec>,
    timeout_ns: u64,
    /// Changes what the driver is told; also knows credentials of another server.
    amend: fn(&mut Setup, &Foreign),
    judge: fn(&Seen<'_>) -> Result<(), String>,
}

/// Credentials that another server made.
struct Foreign {
    dir: TempDir,
}

impl Foreign {
    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }
}

/// Tries cases on drivers.
pub struct Conformance<'a> {
    lab: &'a Lab,
    bench: Bench,
    network: Network,
    turns: Turns,
}

impl<'a> Conformance<'a> {
    /// Prepares a bench.
    pub fn open(lab: &'a Lab) -> Result<Conformance<'a>, LabError> {
        Ok(Conformance {
            lab,
            bench: bench(&lab.exe, 1)?,
            network: network(),
            turns: Turns::default(),
        })
    }

    /// All cases on one driver; `watch` is told of each as it ends. A driver that is not
    /// there is an error, with the way to it.
    pub fn examine(
        &mut self,
        driver: &Driver,
        only: Option<&str>,
        watch: &dyn Fn(&Finding),
    ) -> Result<Report, String> {
        let hello = driver.introduce()?.hello;
        let protocols = match driver.entry.protocols.is_empty() {
            true => hello.protocols.clone(),
            false => driver.entry.protocols.clone(),
        };
        let foreign = self.foreign(driver)?;
        let mut findings = Vec::new();
        for protocol in protocols {
            for case in CASES {
                let wanted = only.is_none_or(|only| only == case.name);
                if !wanted || !case.over.contains(&protocol) {
                    continue;
                }
                let excuse = case.excused(driver, protocol, &hello.capabilities);
                let outcome = match (excuse, case.how) {
                    (Some(reason), _) => Verdict::Unsupported(reason),
                    (None, How::Provoke) => driver
                        .provoke()
                        .map_or_else(Verdict::Fail, |()| Verdict::Pass),
                    (None, How::Cell(make)) => {
                        self.try_cell(driver, protocol, make(protocol), &foreign)
                    }
                    (None, How::Exchange(make)) => {
                        let of = |codec: &Codec| Trial {
                            codec: Some(codec.clone()),
                            ..make(protocol)
                        };
                        let trials = hello.codecs.iter().map(of);
                        self.try_codecs(driver, protocol, trials, &foreign)
                    }
                };
                let finding = Finding {
                    driver: driver.entry.name.clone(),
                    protocol: protocol.name().to_owned(),
                    case: case.name.to_owned(),
                    outcome,
                };
                watch(&finding);
                findings.push(finding);
            }
        }
        Ok(Report { hello, findings })
    }

    /// All must pass. Over gRPC there is Protobuf alone.
    fn try_codecs(
        &mut self,
        driver: &Driver,
        protocol: Protocol,
        trials: impl Iterator<Item = Trial>,
        foreign: &Foreign,
    ) -> Verdict {
        let mut all = Verdict::Unsupported("the driver offers no codec for it".into());
        for trial in trials {
            let codec = trial.codec.clone().unwrap_or(Codec::plain(protocol));
            if protocol == Protocol::Grpc && codec != Codec::plain(protocol) {
                continue;
            }
            let named = |why: String| format!("{}: {why}", codec.name());
            all = match self.try_cell(driver, protocol, trial, foreign) {
                Verdict::Pass => Verdict::Pass,
                Verdict::Fail(why) => return Verdict::Fail(named(why)),
                // It was offered.
                Verdict::Unsupported(why) => return Verdict::Fail(named(why)),
            };
        }
        all
    }

    fn try_cell(
        &mut self,
        driver: &Driver,
        protocol: Protocol,
        trial: Trial,
        foreign: &Foreign,
    ) -> Verdict {
        let plain = Arm::plain(&driver.entry.name, protocol);
        let arm = Arm {
            codec: trial.codec.unwrap_or(plain.codec),
            security: trial.security,
            discovery: trial.discovery,
            observe: trial.observe.map(Into::into),
            warmup_calls: trial.warmup_calls,
            ..plain
        };
        let workload = Workload::of_steps(trial.steps);
        let amend = |setup: &mut Setup| (trial.amend)(setup, foreign);
        let job = Job {
            network: &self.network,
            link_seed: 1,
            arm: &arm,
            workload: &workload,
            seed: 1,
            timeout_ns: trial.timeout_ns,
            server: ServerOptions {
                args: trial.server,
                name: trial.server_name.map(Into::into),
                ..ServerOptions::default()
            },
            scratch: None,
            capture: None,
            amend: Some(&amend),
        };
        let turn = self.turns.for_network(&self.network);
        let lab = self.lab;
        let measured = job.measure(&mut self.bench, driver, &lab.exe, &turn);
        if let Err(Trouble::Bench(_)) = &measured
            && let Ok(new) = bench(&lab.exe, 1)
        {
            self.bench = new;
        }
        match measured {
            Ok(measured) => {
                let seen = Seen::new(&measured, protocol);
                (trial.judge)(&seen).map_or_else(Verdict::Fail, |()| Verdict::Pass)
            }
            Err(Trouble::Unsupported(reason)) => Verdict::Unsupported(reason),
            Err(other) => Verdict::Fail(other.to_string()),
        }
    }

    /// A server's credentials, the server gone.
    fn foreign(&mut self, driver: &Driver) -> Result<Foreign, String> {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let options = ServerOptions {
            key: driver.entry.certificate,
            ..ServerOptions::default()
        };
        let origin = Origin::start(&mut self.bench, &self.lab.exe, dir.path(), &options);
        let stopped = origin.and_then(Origin::stop);
        stopped.map_err(|e| e.to_string())?;
        let made: PathBuf = dir.path().join("credentials");
        for file in ["ca.pem", "client.pem", "client.key"] {
            let moved = std::fs::rename(made.join(file), dir.path().join(file));
            moved.map_err(|e| format!("{file}: {e}"))?;
        }
        Ok(Foreign { dir })
    }
}

impl Case {
    /// Why the driver need not be tried.
    fn excused(&self, driver: &Driver, protocol: Protocol, has: &[Capability]) -> Option<String> {
        if let Some(reason) = driver.entry.limit(protocol, self.name) {
            return Some(reason.to_owned());
        }
        let capability = self.needs.filter(|capability| !has.contains(capability))?;
        let name = serde_json::to_string(&capability).unwrap_or_default();
        Some(format!(
            "the driver does not offer {}",
            name.trim_matches('"')
        ))
    }
}

/// Fast and clean, and slow enough that what happens when is told apart.
fn network() -> Network {
    let path = PathSpec {
        delay_ns: ONE_WAY_NS,
        ..PathSpec::default()
    };
    crate::doctor::network("conformance", path)
}

pub(crate) const ONE_WAY_NS: u64 = 10_000_000;
