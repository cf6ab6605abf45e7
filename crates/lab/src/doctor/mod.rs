//! The lab held against answers that physics knows.
//!
//! A new connection costs 3 round trips to the first byte over TCP with TLS 1.3, 2 over QUIC,
//! 1 with early data or warm (RFC 8446, RFC 9001); a saturated link carries its rate times the
//! payload's share of each packet; what the tap counted is what the kernel counted. A lab that
//! gets these wrong is not to be believed about anything else, so every run checks some of
//! them first, and `commute doctor` all.

mod accounting;
mod goodput;
mod interference;
mod machine;
mod physics;
mod probes;
mod udp_probe;

use link::{Network, PathSpec};
use pump::Bench;
use record::Check;

use crate::cell::exclusion::Turns;
use crate::cell::server_process::ServerOptions;
use crate::cell::{Job, Measured, Trouble};
use crate::lab::{Lab, LabError};
use crate::plan::Plan;
use crate::plan::remaining::MAX_RERUNS;
use crate::plan::workload::Workload;
use crate::run::worker::bench;
use crate::study::Arm;
use crate::verify::audit::{Bounds, objections};
use driver::protocol::Protocol;

pub use machine::{Fact, machine};
pub use probes::check_network;

/// A way to break the lab, for the tests that doctor must fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Segmentation offload left on at the endpoints.
    Gso,
    /// The link delays by 1 % more than it says.
    Delay,
    /// TCP runs BBR.
    Bbr,
    /// The server leaves Nagle's algorithm on.
    Nagle,
    /// The first packets of a connection are lost.
    Syn,
}

/// What doctor is to look at.
#[derive(Clone, Copy, Debug)]
pub struct DoctorOptions {
    /// Measure what so many blocks side by side do to each other.
    pub jobs: usize,
    /// Only this part.
    pub only: Option<Part>,
    /// Break the lab first.
    pub broken: Option<Break>,
}

/// Parts of an examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One-way delays, as an application sees them.
    Probes,
    /// Round trips to the first byte, for each protocol.
    RoundTrips,
    /// Saturated links.
    Goodput,
    /// Packets as counted by tap and kernel.
    Accounting,
}

impl Lab {
    /// Every known answer; `watch` is told of each as it comes.
    pub fn doctor(
        &self,
        options: &DoctorOptions,
        watch: &dyn Fn(&Check),
    ) -> Result<Vec<Check>, LabError> {
        let mut surgery = Surgery::open(self, options.broken)?;
        let mut checks = Vec::new();
        let mut add = |found: Vec<Check>| {
            found.iter().for_each(watch);
            checks.extend(found);
        };
        let wanted = |part| options.only.is_none_or(|only| only == part);
        if wanted(Part::Probes) {
            add(probes::delay(&mut surgery));
        }
        if wanted(Part::RoundTrips) {
            for stack in physics::STACKS {
                add(physics::round_trips(&mut surgery, stack));
            }
        }
        if wanted(Part::Goodput) {
            add(goodput::ceiling(&mut surgery));
        }
        if wanted(Part::Accounting) {
            add(accounting::balance(&mut surgery));
        }
        if options.jobs > 1 {
            add(interference::shift(&mut surgery, options.jobs));
        }
        Ok(checks)
    }

    /// The known answers for the protocols of a plan, in a few seconds.
    pub fn self_test(&self, plan: &Plan) -> Result<Vec<Check>, LabError> {
        let mut surgery = Surgery::open(self, None)?;
        let mut checks = probes::delay(&mut surgery);
        for stack in physics::STACKS {
            if plan.study.arms.iter().any(|a| a.protocol == stack.protocol) {
                checks.extend(physics::round_trips(&mut surgery, stack));
            }
        }
        Ok(checks)
    }
}

/// One line a check, for people: held or not, expected, measured, margin.
pub fn check_line(check: &Check) -> String {
    let Check {
        name,
        expected,
        measured,
        margin,
        unit,
        pass,
    } = check;
    let held = if *pass { "ok  " } else { "FAIL" };
    format!(
        "{held}  {name:<58} expected {expected:>9.3}  measured {measured:>9.3}  margin {margin:.3} {unit}"
    )
}

/// A bench to examine the lab on.
struct Surgery<'a> {
    lab: &'a Lab,
    bench: Bench,
    broken: Option<Break>,
    turns: Turns,
}

impl<'a> Surgery<'a> {
    fn open(lab: &'a Lab, broken: Option<Break>) -> Result<Surgery<'a>, LabError> {
        let mut bench = bench(&lab.exe, 1)?;
        if broken == Some(Break::Gso) {
            bench.leave_segmentation_on()?;
        }
        Ok(Surgery {
            lab,
            bench,
            broken,
            turns: Turns::default(),
        })
    }

    /// Runs one cell on this network.
    fn measure(
        &mut self,
        network: &Network,
        stack: &Stack,
        workload: &Workload,
    ) -> Result<Measured, Trouble> {
        let arm = Arm {
            congestion: (self.broken == Some(Break::Bbr)).then(|| "bbr".to_owned()),
            ..Arm::plain(stack.name, stack.protocol)
        };
        let mut server = ServerOptions {
            args: vec!["--early-data".to_owned()],
            ..ServerOptions::default()
        };
        if self.broken == Some(Break::Nagle) {
            server.args.push("--nagle".to_owned());
        }
        let job = Job {
            network,
            link_seed: 1,
            arm: &arm,
            workload,
            seed: 1,
            timeout_ns: TIMEOUT_NS,
            server,
            scratch: None,
            capture: None,
            amend: None,
        };
        let turn = self.turns.for_network(network);
        let stack = self.lab.stacks.find(stack.name);
        let stack = stack.map_err(|e| Trouble::Failed(e.to_string()))?;
        job.measure(&mut self.bench, stack, &self.lab.exe, &turn)
    }

    /// Measures and judges; again, at most three times, when a check fails in a cell that the
    /// audit calls noisy. One that holds in spite of it holds.
    fn examine(
        &mut self,
        network: &Network,
        stack: &Stack,
        workload: &Workload,
        judge: impl Fn(&Measured) -> Vec<Check>,
    ) -> Vec<Check> {
        let mut attempt = 1;
        loop {
            let measured = match self.measure(network, stack, workload) {
                Ok(measured) => measured,
                Err(e) => return vec![not_made(&stack.label(), &e)],
            };
            let mut checks = judge(&measured);
            let bounds = Bounds::new(&measured.calls, None, &measured.window);
            let objections = objections(&crate::cell::accounting::audit(&measured.window), &bounds);
            let broken = self.broken.is_some();
            if broken || objections.is_empty() || checks.iter().all(|c| c.pass) {
                return checks;
            }
            if attempt > MAX_RERUNS {
                let reason = format!("noisy {attempt} times: {}", objections.join("; "));
                checks.push(not_made(&stack.label(), &reason));
                return checks;
            }
            attempt += 1;
        }
    }
}

/// A stack whose behaviour is known well enough to judge the lab by.
#[derive(Clone, Copy)]
struct Stack {
    name: &'static str,
    protocol: Protocol,
}

impl Stack {
    fn label(&self) -> String {
        format!("{} {}", self.name, self.protocol.name())
    }
}

/// A check with its verdict.
fn check(name: String, expected: f64, measured: f64, margin: f64, unit: &str) -> Check {
    // A NaN is never within a margin.
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

/// A check that could not be made is one that failed, with the reason in its name.
fn not_made(name: &str, reason: &dyn std::fmt::Display) -> Check {
    Check {
        name: format!("{name}: {reason}"),
        expected: f64::NAN,
        measured: f64::NAN,
        margin: f64::NAN,
        unit: String::new(),
        pass: false,
    }
}

/// A network of doctor's own: the same both ways.
pub(crate) fn network(name: &str, path: PathSpec) -> Network {
    Network {
        name: name.to_owned(),
        about: "one of doctor's".to_owned(),
        source: "made for a known answer".to_owned(),
        mtu: 1500,
        up: path.clone(),
        down: path,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

const TIMEOUT_NS: u64 = 20_000_000_000;
