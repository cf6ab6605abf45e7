//! A worker keeps one bench from cell to cell, and turns what a cell measured into its record.

use driver::clock::monotonic_ns;
use driver::protocol::Protocol;
use proof::audit::{add_shares, objections, other_objections};
use pump::{Bench, Facts};
use record::{Cell, Outcome};
use study::Arm;
use study::plan::Plan;

use super::options::RunOptions;
use super::scheduler::{Attempt, CellRunner};
use crate::bench;
use crate::cell::CellRun;
use crate::cell::accounting;
use crate::cell::captures::Captures;
use crate::cell::error::CellError;
use crate::cell::exclusion::{Lane, MeasurementGate};
use crate::cell::external::External;
use crate::cell::measured::Measured;
use crate::cell::server_process::{OtherServer, ServerOptions};
use crate::host;
use crate::lab::Lab;

/// A bench, and the plan whose cells it runs.
pub(crate) struct Worker<'a> {
    lab: &'a Lab,
    plan: &'a Plan,
    options: &'a RunOptions,
    gate: &'a MeasurementGate,
    /// The user's own server, in the place of the lab's.
    external: Option<&'a External>,
    /// Its place among the workers, while it has blocks to run.
    lane: Option<Lane<'a>>,
    /// None after the bench broke, until the next cell starts another.
    bench: Option<Bench>,
    facts: Facts,
}

impl<'a> Worker<'a> {
    /// Starts the worker's bench.
    pub(crate) fn start(
        lab: &'a Lab,
        plan: &'a Plan,
        options: &'a RunOptions,
        gate: &'a MeasurementGate,
        external: Option<&'a External>,
    ) -> Result<Worker<'a>, pump::BenchError> {
        let bench = bench::start_for_drivers(lab, options.jobs, external.map(External::name))?;
        let facts = bench.facts().clone();
        Ok(Worker {
            lab,
            plan,
            options,
            gate,
            external,
            lane: None,
            bench: Some(bench),
            facts,
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    fn measure(&mut self, attempt: &Attempt<'_>) -> Result<Measured, CellError> {
        let study = &self.plan.study;
        let network = &self.plan.networks[attempt.block.network];
        let name = format!("{}.{}", attempt.cell.planned.id, attempt.number);
        let folder =
            |wanted: bool, kind: &str| wanted.then(|| self.options.out.join(kind).join(&name));
        let arm = &network.arm(&study.arms[attempt.cell.arm]);
        let network = &network.link;
        let run = CellRun {
            network,
            link_seed: attempt.block.link_seed,
            arm,
            workload: &self.plan.workload_in(attempt.block, attempt.cell.arm),
            seed: study.seed,
            timeout_ns: study.timeout_ns,
            server: ServerOptions {
                other: self.other_server(arm)?,
                ..ServerOptions::default()
            },
            external: self.external,
            captures: Captures {
                pcap: folder(self.options.pcap, "pcap"),
                keylog: folder(self.options.keylog, "keylog"),
                qlog: folder(self.options.qlog, "qlog"),
            },
            amend_setup: None,
        };
        let name = self.external.map(External::name);
        let bench = match &mut self.bench {
            Some(bench) => bench,
            none => none.insert(bench::start_for_drivers(self.lab, self.options.jobs, name)?),
        };
        let driver = self.lab.stacks.find(&run.arm.stack);
        let driver = driver.map_err(|e| CellError::Failed(e.to_string()))?;
        let lane = self.lane.get_or_insert_with(|| self.gate.lane());
        let access = lane.for_network(network);
        let measured = run.measure(bench, driver, &self.lab.home.commute, &access);
        if matches!(measured, Err(CellError::Bench(_) | CellError::Lab(_))) {
            self.bench = None;
        }
        measured
    }

    fn other_server(&self, arm: &Arm) -> Result<Option<OtherServer>, CellError> {
        if self.external.is_some() {
            return Ok(None);
        }
        let found = self.lab.stacks.find_server(&arm.server);
        let Some(server) = found.map_err(|e| CellError::Failed(e.to_string()))? else {
            return Ok(None);
        };
        match server.missing() {
            Some(reason) => Err(CellError::Unsupported(reason)),
            None => Ok(Some(OtherServer {
                command: server.command.clone(),
                grpc: arm.protocol == Protocol::Grpc,
            })),
        }
    }

    fn fill(&self, cell: &mut Cell, m: Measured) {
        cell.wire = accounting::wire(&m);
        cell.audit = accounting::audit(&m.window);
        cell.cost = accounting::cost(&m);
        add_shares(&mut cell.audit, &m.window, host::cores());
        let reasons = match shares_machine() {
            true => other_objections(&cell.audit),
            false => objections(&cell.audit),
        };
        cell.outcome = if cell.audit.oversize_frames > 0 {
            let n = cell.audit.oversize_frames;
            Outcome::Failed {
                reason: format!(
                    "{n} frames were larger than the MTU: segmentation offload is on somewhere"
                ),
            }
        } else if reasons.is_empty() {
            Outcome::Clean
        } else {
            Outcome::Noisy { reasons }
        };
        cell.calls = m.calls;
        cell.loads = m.loads;
        cell.connections = m.connections;
        cell.stack = m.stack;
        cell.relay = m.relay;
        cell.started_ns = m.started_ns;
        cell.took_ns = m.took_ns;
    }
}

/// Returns whether this run is part of a test that judges no times, and so may run beside others. Release builds, which
/// measure, do not ask.
fn shares_machine() -> bool {
    cfg!(debug_assertions) && std::env::var_os("COMMUTE_TEST_SHARES_MACHINE").is_some()
}

impl CellRunner for Worker<'_> {
    fn join(&mut self) {
        self.lane.get_or_insert_with(|| self.gate.lane());
    }

    fn leave(&mut self) {
        self.lane = None;
    }

    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
        let started_ns = monotonic_ns();
        let measured = self.measure(attempt);
        let mut cell = attempt.unmeasured(Outcome::Clean, started_ns);
        match measured {
            Ok(m) => self.fill(&mut cell, m),
            Err(CellError::Unsupported(reason)) => cell.outcome = Outcome::Unsupported { reason },
            Err(CellError::Failed(reason)) => cell.outcome = Outcome::Failed { reason },
            Err(lab @ (CellError::Lab(_) | CellError::Bench(_))) => return Err(lab.to_string()),
        }
        Ok(cell)
    }
}
