//! One worker's bench, and the cells it runs there.

use std::path::Path;

use pump::{Bench, BenchOptions, Facts, Init};
use record::{Audit, Cell, ConnectionSettings, Cost, Outcome, Stack, Wire};

use crate::cell::exclusion::Turns;
use crate::cell::server_process::{NAME, ServerOptions};
use crate::cell::{Job, Measured, Trouble, monotonic_ns};
use crate::lab::{Lab, RunOptions};
use crate::plan::Plan;
use crate::run::scheduler::{Runner, Ticket};
use crate::verify::audit::{Bounds, objections};

/// A bench and what is needed to run cells on it.
pub(crate) struct Seat<'a> {
    lab: &'a Lab,
    plan: &'a Plan,
    options: &'a RunOptions,
    turns: &'a Turns,
    /// Gone after it broke; made anew for the next cell.
    bench: Option<Bench>,
    facts: Facts,
}

/// A bench for this lab.
pub(crate) fn bench(exe: &Path, jobs: usize) -> Result<Bench, pump::BenchError> {
    Bench::start(&BenchOptions {
        init: Init {
            program: exe.to_owned(),
            args: vec!["bench-init".into()],
        },
        names: vec![NAME.to_owned()],
        jobs: jobs as u32,
    })
}

impl<'a> Seat<'a> {
    pub(crate) fn take(
        lab: &'a Lab,
        plan: &'a Plan,
        options: &'a RunOptions,
        turns: &'a Turns,
    ) -> Result<Seat<'a>, pump::BenchError> {
        let bench = bench(&lab.exe, options.jobs)?;
        let facts = bench.facts().clone();
        Ok(Seat {
            lab,
            plan,
            options,
            turns,
            bench: Some(bench),
            facts,
        })
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    fn measure(&mut self, ticket: &Ticket<'_>) -> Result<Measured, Trouble> {
        let study = &self.plan.study;
        let network = &self.plan.networks[ticket.block.network];
        let capture = self.options.capture.then(|| {
            let name = format!("{}.{}.pcapng", ticket.cell.planned.id, ticket.attempt);
            self.options.out.join("pcap").join(name)
        });
        let job = Job {
            network,
            link_seed: ticket.block.link_seed,
            arm: &study.arms[ticket.cell.arm],
            workload: &self.plan.workload,
            seed: study.seed,
            timeout_ns: study.timeout_ns,
            server: ServerOptions::default(),
            scratch: Some(&self.options.out),
            capture: capture.as_deref(),
            amend: None,
        };
        let bench = match &mut self.bench {
            Some(bench) => bench,
            none => none.insert(bench(&self.lab.exe, self.options.jobs)?),
        };
        let stack = self.lab.stacks.find(&job.arm.stack);
        let stack = stack.map_err(|e| Trouble::Failed(e.to_string()))?;
        let turn = self.turns.for_network(network);
        let measured = job.measure(bench, stack, &self.lab.exe, &turn);
        if matches!(measured, Err(Trouble::Bench(_))) {
            self.bench = None;
        }
        measured
    }
}

impl Runner for Seat<'_> {
    fn run(&mut self, ticket: &Ticket<'_>) -> Cell {
        let begun_ns = monotonic_ns();
        let measured = self.measure(ticket);
        let planned = &ticket.cell.planned;
        let mut cell = Cell {
            format: record::FORMAT,
            id: planned.id.clone(),
            network: planned.network.clone(),
            block: planned.block,
            arm: planned.arm.clone(),
            attempt: ticket.attempt,
            invocation: ticket.invocation,
            outcome: Outcome::Clean,
            calls: Vec::new(),
            wire: Wire::default(),
            cost: Cost::default(),
            audit: Audit::default(),
            connections: Vec::<ConnectionSettings>::new(),
            stack: Stack::default(),
            started_ns: begun_ns,
            took_ns: monotonic_ns() - begun_ns,
        };
        match measured {
            Ok(m) => self.fill(&mut cell, m),
            Err(Trouble::Unsupported(reason)) => cell.outcome = Outcome::Unsupported { reason },
            Err(other) => {
                cell.outcome = Outcome::Failed {
                    reason: other.to_string(),
                }
            }
        }
        cell
    }
}

impl Seat<'_> {
    fn fill(&self, cell: &mut Cell, m: Measured) {
        cell.wire = crate::cell::accounting::wire(&m);
        cell.audit = crate::cell::accounting::audit(&m.window);
        cell.cost = crate::cell::accounting::cost(&m);
        let bounds = Bounds::new(&m.calls, self.plan.study.margin_ns, &m.window);
        let reasons = objections(&cell.audit, &bounds);
        cell.outcome = if cell.audit.oversize_frames > 0 {
            let n = cell.audit.oversize_frames;
            Outcome::Failed {
                reason: format!("{n} frames above the MTU: segmentation offload is on somewhere"),
            }
        } else if reasons.is_empty() {
            Outcome::Clean
        } else {
            Outcome::Noisy { reasons }
        };
        cell.calls = m.calls;
        cell.connections = m.connections;
        cell.stack = m.stack;
        cell.started_ns = m.started_ns;
        cell.took_ns = m.took_ns;
    }
}
