//! A worker keeps one bench from cell to cell, and turns what a cell measured into its record.

use std::path::Path;

use driver::clock::monotonic_ns;
use driver::protocol::Protocol;
use proof::audit::{add_shares, objections, other_objections};
use pump::{Bench, BenchError, Facts};
use record::folder::Readers;
use record::{Cell, Machine, Outcome};
use study::Arm;
use study::plan::Plan;

use super::options::{RunOptions, readers};
use super::scheduler::{Attempt, CellRunner};
use crate::bench;
use crate::cell::accounting;
use crate::cell::captures::{Captures, Kept};
use crate::cell::error::CellError;
use crate::cell::exclusion::{Lane, MeasurementGate};
use crate::cell::external::External;
use crate::cell::measured::Measured;
use crate::cell::server_process::{OtherServer, ServerOptions};
use crate::cell::{CellContext, CellRun};
use crate::host;
use crate::lab::Lab;

/// What the workers of a run share.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'a RunOptions,
    pub(crate) gate: &'a MeasurementGate,
    /// The user's own server, in the place of the lab's.
    pub(crate) external: Option<&'a External>,
}

/// A bench, and the run whose cells it measures.
pub(crate) struct Worker<'a> {
    context: RunContext<'a>,
    /// Its place among the workers, while it has blocks to run.
    lane: Option<Lane<'a>>,
    /// None after the bench broke, until the next cell starts another.
    bench: Option<Bench>,
    facts: Facts,
    machine: Machine,
}

impl RunContext<'_> {
    fn start_bench(&self) -> Result<Bench, BenchError> {
        let external = self.external.map(External::name);
        bench::start_for_drivers(self.lab, self.options.jobs, external)
    }
}

impl<'a> Worker<'a> {
    /// Starts the worker's bench.
    pub(crate) fn start(context: RunContext<'a>) -> Result<Worker<'a>, BenchError> {
        let bench = context.start_bench()?;
        let facts = bench.facts().clone();
        Ok(Worker {
            context,
            lane: None,
            bench: Some(bench),
            facts,
            machine: host::machine(),
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    fn measure(&mut self, attempt: &Attempt<'_>) -> Result<Measured, CellError> {
        let RunContext {
            lab,
            plan,
            options,
            gate,
            external,
        } = self.context;
        let study = &plan.study;
        let network = &plan.networks[attempt.block.network];
        let name = format!("{}.{}", attempt.cell.planned.id, attempt.number);
        let kept = |wanted: bool, kind: &str, readers: Readers| {
            wanted.then(|| Kept {
                run: options.out.clone(),
                below: Path::new(kind).join(&name),
                readers,
            })
        };
        let readers = readers(plan);
        let arm = &network.arm(&study.arms[attempt.cell.arm]);
        let network = &network.link;
        let run = CellRun {
            network,
            link_seed: attempt.block.link_seed,
            arm,
            workload: &plan.workload_in(attempt.block, attempt.cell.arm),
            moves: &study.moves,
            seed: study.seed,
            timeout_ns: study.timeout_ns,
            server: ServerOptions {
                other: self.other_server(arm)?,
                ..ServerOptions::default()
            },
            external,
            captures: Captures {
                pcap: kept(options.pcap, "pcap", readers),
                // Whoever reads the secrets can read what was encrypted with them.
                keylog: kept(options.keylog, "keylog", Readers::Owner),
                qlog: kept(options.qlog, "qlog", readers),
                paths: options.explain,
            },
            amend_setup: None,
            also_readable: None,
        };
        let bench = match &mut self.bench {
            Some(bench) => bench,
            none => none.insert(self.context.start_bench()?),
        };
        let driver = lab.stacks.find(&run.arm.stack);
        let driver = driver.map_err(|e| CellError::Failed(e.to_string()))?;
        let lane = self.lane.get_or_insert_with(|| gate.lane());
        let access = lane.for_network(network);
        let measured = run.measure(CellContext {
            bench,
            stack: driver,
            exe: &lab.home.commute,
            access: &access,
        });
        if matches!(measured, Err(CellError::Bench(_) | CellError::Lab(_))) {
            self.bench = None;
        }
        measured
    }

    fn other_server(&self, arm: &Arm) -> Result<Option<OtherServer>, CellError> {
        if self.context.external.is_some() {
            return Ok(None);
        }
        let found = self.context.lab.stacks.find_server(&arm.server);
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
        cell.moves = m.moves;
        cell.radio = m.radio;
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
        self.lane.get_or_insert_with(|| self.context.gate.lane());
    }

    fn leave(&mut self) {
        self.lane = None;
    }

    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String> {
        let started_ns = monotonic_ns();
        let measured = self.measure(attempt);
        let mut cell = attempt.unmeasured(Outcome::Clean, started_ns);
        cell.machine = Some(self.machine.clone());
        match measured {
            Ok(m) => self.fill(&mut cell, m),
            Err(CellError::Unsupported(reason)) => cell.outcome = Outcome::Unsupported { reason },
            Err(CellError::Failed(reason)) => cell.outcome = Outcome::Failed { reason },
            Err(lab @ (CellError::Lab(_) | CellError::Bench(_))) => return Err(lab.to_string()),
        }
        Ok(cell)
    }
}
