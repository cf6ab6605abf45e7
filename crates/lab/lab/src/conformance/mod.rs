//! Checks that a driver follows the driver protocol and reports truthfully what it did.
//!
//! Each case is one cell on a bench: a few steps over a lossless link with a round trip of 20 ms,
//! against a real server that can be made to misbehave. As in every study, the driver's rows are
//! first proven against the server's log ([`proof::prove`]); then the case's own check looks
//! at rows, log and packets. A case is *unsupported* only where the driver's `hello`, its answer or
//! its manifest says that the stack cannot do it, and why.

mod case;
mod cases;
mod checks;
mod evidence;
mod finding;
mod matrix;
mod sizes;

use driver::protocol::{Codec, Protocol, Setup};
use link::{Network, PathSpec};
use proof::audit::{add_shares, objections};
use pump::Bench;
use study::Arm;
use study::plan::Workload;

use crate::bench;
use crate::cell::accounting;
use crate::cell::captures::Captures;
use crate::cell::error::CellError;
use crate::cell::exclusion::MeasurementGate;
use crate::cell::measured::Measured;
use crate::cell::scratch::Scratch;
use crate::cell::server_process::{OtherServer, ServerOptions, ServerProcess};
use crate::cell::{CellContext, CellRun};
use crate::error::LabError;
use crate::hello;
use crate::host;
use crate::lab::Lab;
use crate::network;
use crate::stacks::{Driver, Server};
use case::{Method, OtherCredentials, Trial};
use evidence::Evidence;
use sizes::ONE_WAY_NS;

pub use case::Case;
pub use cases::CASES;
pub use finding::{Finding, Report, Verdict};
pub use matrix::{Matrix, MatrixError};

/// Arguments of `commute serve` that make it misbehave. Other servers cannot.
const FAULTS: [&str; 2] = ["--inject", "--reject-tickets"];

/// How often a case is tried whose check failed while other programs disturbed it: a few checks judge times.
const ATTEMPTS: u32 = 3;

/// Tries the cases on drivers.
pub struct Conformance<'a> {
    lab: &'a Lab,
    bench: Bench,
    network: Network,
    gate: MeasurementGate,
    /// How many suites share the machine.
    jobs: usize,
    /// Another server to run the cases against.
    server: Option<Server>,
}

impl<'a> Conformance<'a> {
    /// Starts `jobs` suites for as many threads, each with a bench of its own, for cases against the
    /// server of this name. They do not wait for each other as a run's cells do: the few cases that judge
    /// times leave 2 ms or more.
    pub fn start(
        lab: &'a Lab,
        server: &str,
        jobs: usize,
    ) -> Result<Vec<Conformance<'a>>, LabError> {
        let server = lab.stacks.find_server(server)?.cloned();
        if let Some(reason) = server.as_ref().and_then(Server::missing) {
            return Err(LabError::NoServer(reason));
        }
        let path = PathSpec {
            delay_ns: ONE_WAY_NS,
            ..PathSpec::default()
        };
        let network = network::symmetric("conformance", path);
        let suite = |_| -> Result<Conformance<'a>, LabError> {
            Ok(Conformance {
                lab,
                bench: bench::start_for_drivers(lab, jobs, None)?,
                network: network.clone(),
                gate: MeasurementGate::default(),
                jobs,
                server: server.clone(),
            })
        };
        (0..jobs).map(suite).collect()
    }

    /// Tries all cases, or the one named `only`, and calls `observer` with each finding.
    ///
    /// A driver that is not installed is an error, which says how to install it.
    pub fn examine(
        &mut self,
        driver: &Driver,
        only: Option<&str>,
        observer: &dyn Fn(&Finding),
    ) -> Result<Report, String> {
        let hello = hello::query(&mut self.bench, driver)?.hello;
        let protocols = match driver.entry.protocols.is_empty() {
            true => hello.protocols.clone(),
            false => driver.entry.protocols.clone(),
        };
        let other = self.other_credentials(driver)?;
        let mut findings = Vec::new();
        for protocol in protocols {
            for case in CASES {
                let wanted = only.is_none_or(|only| only == case.name);
                if !wanted || !case.applies_to(protocol) {
                    continue;
                }
                let unsupported = self
                    .unserved(protocol)
                    .or_else(|| case.unsupported_by(driver, protocol, &hello.capabilities));
                let outcome = match unsupported {
                    Some(reason) => Verdict::Unsupported(reason),
                    None => self.try_case(case, driver, protocol, &hello.codecs, &other),
                };
                let finding = Finding {
                    driver: driver.entry.name.clone(),
                    protocol: protocol.name().to_owned(),
                    case: case.name.to_owned(),
                    outcome,
                };
                observer(&finding);
                findings.push(finding);
            }
        }
        Ok(Report { hello, findings })
    }

    /// Returns why the server cannot take part with this protocol, if it cannot.
    fn unserved(&self, protocol: Protocol) -> Option<String> {
        let server = self.server.as_ref()?;
        let served = server.protocols.contains(&protocol);
        (!served).then(|| format!("the server does not serve {}", protocol.name()))
    }

    fn try_case(
        &mut self,
        case: &Case,
        driver: &Driver,
        protocol: Protocol,
        codecs: &[Codec],
        other: &OtherCredentials,
    ) -> Verdict {
        match case.method {
            Method::UnknownRequest => hello::send_unknown_request(&mut self.bench, driver)
                .map_or_else(Verdict::Fail, |()| Verdict::Pass),
            Method::Cell(trial) => self.try_cell(driver, protocol, trial(protocol), other),
            Method::Exchange(trial) => {
                let trials = codecs.iter().map(|codec| Trial {
                    codec: Some(codec.clone()),
                    ..trial(protocol)
                });
                self.try_codecs(driver, protocol, trials, other)
            }
        }
    }

    /// Tries every codec; all must pass. gRPC has Protobuf only.
    fn try_codecs(
        &mut self,
        driver: &Driver,
        protocol: Protocol,
        trials: impl Iterator<Item = Trial>,
        other: &OtherCredentials,
    ) -> Verdict {
        let mut all = Verdict::Unsupported("the driver offers no codec for it".into());
        for trial in trials {
            let codec = trial.codec.clone().unwrap_or(Codec::plain(protocol));
            if protocol == Protocol::Grpc && codec != Codec::plain(protocol) {
                continue;
            }
            let named = |why: String| format!("{}: {why}", codec.name());
            all = match self.try_cell(driver, protocol, trial, other) {
                Verdict::Pass => Verdict::Pass,
                // The driver has offered the codec, so it must support it.
                Verdict::Fail(why) | Verdict::Unsupported(why) => return Verdict::Fail(named(why)),
            };
        }
        all
    }

    fn try_cell(
        &mut self,
        driver: &Driver,
        protocol: Protocol,
        trial: Trial,
        credentials: &OtherCredentials,
    ) -> Verdict {
        let plain = Arm::plain(&driver.entry.name, protocol);
        let arm = Arm {
            codec: trial.codec.unwrap_or(plain.codec),
            security: trial.security,
            auth: trial.auth,
            discovery: trial.discovery,
            observe: trial.observe.map(Into::into),
            warmup_calls: trial.warmup_calls,
            origins: (trial.origins.iter())
                .map(|(name, at)| ((*name).to_owned(), *at))
                .collect(),
            ..plain
        };
        let other = self.server.as_ref().map(|server| OtherServer {
            command: server.command.clone(),
            grpc: protocol == Protocol::Grpc,
        });
        let fault = |arg: &&String| FAULTS.contains(&arg.as_str());
        if let (Some(_), Some(arg)) = (&other, trial.server_args.iter().find(fault)) {
            return Verdict::Unsupported(format!("the server has no {arg}"));
        }
        let workload = Workload {
            own: trial.own,
            ..Workload::of_steps(trial.steps)
        };
        let amend = |setup: &mut Setup| (trial.amend_setup)(setup, credentials);
        let run = CellRun {
            network: &self.network,
            link_seed: 1,
            arm: &arm,
            workload: &workload,
            moves: &[],
            seed: 1,
            timeout_ns: trial.timeout_ns,
            server: ServerOptions {
                other,
                args: trial.server_args,
                certificate_name: trial.certificate_name.map(Into::into),
                ..ServerOptions::default()
            },
            external: None,
            captures: Captures::default(),
            amend_setup: Some(&amend),
            also_readable: Some(credentials.scratch.client()),
        };
        let lane = self.gate.lane();
        let access = lane.for_network(&self.network);
        let mut attempt = 1;
        loop {
            let measured = run.measure(CellContext {
                bench: &mut self.bench,
                stack: driver,
                exe: &self.lab.home.commute,
                access: &access,
            });
            if let Err(CellError::Bench(_)) = &measured
                && let Ok(new) = bench::start_for_drivers(self.lab, self.jobs, None)
            {
                self.bench = new;
            }
            return match measured {
                Ok(measured) => {
                    let evidence = Evidence::new(&measured, protocol);
                    let checked = checks::nothing_refused(&evidence);
                    match checked.and_then(|()| (trial.check)(&evidence)) {
                        Ok(()) => Verdict::Pass,
                        Err(_) if attempt < ATTEMPTS && is_noisy(&measured) => {
                            attempt += 1;
                            continue;
                        }
                        Err(why) => Verdict::Fail(why),
                    }
                }
                Err(CellError::Unsupported(reason)) => Verdict::Unsupported(reason),
                Err(error) => Verdict::Fail(error.to_string()),
            };
        }
    }

    /// Starts another server to make credentials, and stops it.
    fn other_credentials(&mut self, driver: &Driver) -> Result<OtherCredentials, String> {
        let scratch = Scratch::new(bench::driver_user(&self.bench)).map_err(|e| e.to_string())?;
        let options = ServerOptions {
            key: driver.entry.certificate,
            ..ServerOptions::default()
        };
        let server = ServerProcess::start(
            &mut self.bench,
            &self.lab.home.commute,
            &scratch.server(),
            &options,
        );
        let credentials = server.and_then(|server| {
            let path = server.credentials().to_owned();
            server.stop().map(|_log| path)
        });
        let credentials = credentials.map_err(|e| e.to_string())?;
        for file in ["ca.pem", "client.pem", "client.key"] {
            let handed = scratch.hand_over(&credentials.join(file));
            handed.map_err(|e| format!("{file}: {e}"))?;
        }
        Ok(OtherCredentials { scratch })
    }
}

/// Reports whether other programs disturbed a cell.
fn is_noisy(measured: &Measured) -> bool {
    let mut audit = accounting::audit(&measured.window);
    add_shares(&mut audit, &measured.window, host::cores());
    !objections(&audit).is_empty()
}
