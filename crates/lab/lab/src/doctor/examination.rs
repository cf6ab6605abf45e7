use driver::protocol::Protocol;
use link::Network;
use proof::audit::{add_shares, objections};
use pump::Bench;
use record::Check;
use study::plan::Workload;
use study::{Arm, Chain};

use crate::bench;
use crate::cell::captures::Captures;
use crate::cell::error::CellError;
use crate::cell::exclusion::MeasurementGate;
use crate::cell::measured::Measured;
use crate::cell::server_process::ServerOptions;
use crate::cell::{CellContext, CellRun, accounting};
use crate::error::LabError;
use crate::host;
use crate::lab::Lab;

const TIMEOUT_NS: u64 = 20_000_000_000;
/// A failed check of a noisy cell is repeated at most this often.
const MAX_RERUNS: u32 = 3;

/// A deliberate fault of the lab. Tests inject each one, and doctor must detect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Segmentation offload is left on at the endpoints.
    Gso,
    /// The link delays packets by 1 % more than configured.
    Delay,
    /// TCP uses BBR.
    Bbr,
    /// The server leaves Nagle's algorithm on.
    Nagle,
    /// The first packets of a connection are lost.
    Syn,
    /// Late packets of an earlier connection take part in the numbering of flows.
    Stray,
    /// The radio never sleeps.
    Radio,
}

/// A stack whose behaviour is known well enough to check the lab with.
#[derive(Clone, Copy)]
pub(super) struct KnownStack {
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
}

/// A bench to check the lab on.
pub(super) struct Examination<'a> {
    pub(super) lab: &'a Lab,
    pub(super) bench: Bench,
    pub(super) fault: Option<Fault>,
    /// The certificate chain of the servers of further cells.
    pub(super) chain: Chain,
    /// The congestion control of further cells; none for the default.
    pub(super) congestion: Option<&'static str>,
    /// More arguments for the servers of further cells.
    pub(super) server_args: Vec<String>,
    gate: MeasurementGate,
}

impl<'a> Examination<'a> {
    pub(super) fn start(lab: &'a Lab, fault: Option<Fault>) -> Result<Examination<'a>, LabError> {
        let mut bench = bench::start_for_drivers(lab, 1, None)?;
        if fault == Some(Fault::Gso) {
            bench.enable_segmentation_offload()?;
        }
        if fault == Some(Fault::Stray) {
            bench.number_every_flow()?;
        }
        Ok(Examination {
            lab,
            bench,
            fault,
            chain: Chain::Typical,
            congestion: None,
            server_args: Vec::new(),
            gate: MeasurementGate::default(),
        })
    }

    /// Runs one cell on this network.
    pub(super) fn measure(
        &mut self,
        network: &Network,
        stack: &KnownStack,
        workload: &Workload,
    ) -> Result<Measured, CellError> {
        let arm = Arm {
            congestion: match self.fault {
                Some(Fault::Bbr) => Some("bbr".to_owned()),
                _ => self.congestion.map(str::to_owned),
            },
            chain: self.chain,
            ..Arm::plain(stack.name, stack.protocol)
        };
        let mut server = ServerOptions {
            args: self.server_args.clone(),
            ..ServerOptions::default()
        };
        if self.fault == Some(Fault::Nagle) {
            server.args.push("--nagle".to_owned());
        }
        let run = CellRun {
            network,
            link_seed: 1,
            arm: &arm,
            workload,
            moves: &[],
            seed: 1,
            timeout_ns: TIMEOUT_NS,
            server,
            external: None,
            captures: Captures::default(),
            amend_setup: None,
            also_readable: None,
        };
        let lane = self.gate.lane();
        let access = lane.for_network(network);
        let driver = self.lab.stacks.find(stack.name);
        let driver = driver.map_err(|e| CellError::Failed(e.to_string()))?;
        run.measure(CellContext {
            bench: &mut self.bench,
            stack: driver,
            exe: &self.lab.home.commute,
            access: &access,
        })
    }

    /// Measures a cell and checks it.
    ///
    /// A failed check of a noisy cell is repeated, at most three times. A check that passes in
    /// spite of noise counts as passed.
    pub(super) fn examine(
        &mut self,
        network: &Network,
        stack: &KnownStack,
        workload: &Workload,
        check: impl Fn(&Measured) -> Vec<Check>,
    ) -> Vec<Check> {
        let mut attempt = 1;
        loop {
            let measured = match self.measure(network, stack, workload) {
                Ok(measured) => measured,
                Err(e) => return vec![impossible(&stack.label(), &e)],
            };
            let mut checks = check(&measured);
            let mut audit = accounting::audit(&measured.window);
            add_shares(&mut audit, &measured.window, host::cores());
            let objections = objections(&audit);
            let passed = checks.iter().all(|c| c.pass);
            if self.fault.is_some() || objections.is_empty() || passed {
                return checks;
            }
            if attempt > MAX_RERUNS {
                let reason = format!("noisy {attempt} times: {}", objections.join("; "));
                checks.push(impossible(&stack.label(), &reason));
                return checks;
            }
            attempt += 1;
        }
    }
}

impl KnownStack {
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.name, self.protocol.name())
    }
}

/// Returns a check that passes when `measured` is within `margin` of `expected`.
pub(super) fn check(name: String, expected: f64, measured: f64, margin: f64, unit: &str) -> Check {
    // NaN is never within a margin.
    let pass = (measured - expected).abs() <= margin;
    Check {
        name,
        expected,
        measured,
        margin,
        unit: unit.to_owned(),
        pass,
    }
}

/// Returns a check that failed because it could not be made, with the reason in its name.
pub(super) fn impossible(name: &str, reason: &dyn std::fmt::Display) -> Check {
    check(
        format!("{name}: {reason}"),
        f64::NAN,
        f64::NAN,
        f64::NAN,
        "",
    )
}

/// Returns the median; NaN when there are no values.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}
