//! Checks the lab against known physics.
//!
//! A new connection takes 3 round trips to the first byte over TCP with TLS 1.3 and 2 over QUIC. It takes 1 with early
//! data or when warm (RFC 8446, RFC 9001). A long certificate chain costs QUIC a third (RFC 9000). A saturated link
//! carries its rate times the payload's share of each packet. The tap counts the packets that the kernel counts. Two
//! cells with the same seed lose the same packets. Time whose cause is known is charged to that cause. A radio that slept
//! wakes up as late as its states say. A lab that gets these wrong cannot be trusted with anything else. So every run
//! checks some of them first, and `commute doctor` checks all.

mod accounting;
mod causes;
mod examination;
mod goodput;
mod interference;
mod losses;
mod machine;
mod network_check;
mod physics;
mod probes;
mod radio;
mod replay;
mod udp_probe;

use record::Check;
use study::plan::Plan;

use crate::bench;
use crate::error::LabError;
use crate::lab::Lab;
use examination::Examination;

pub use examination::Fault;
pub use machine::{Fact, machine};
pub use network_check::{NetworkCheck, NetworkCheckEvent, check_network};

/// What to check.
#[derive(Clone, Copy, Debug)]
pub struct DoctorOptions {
    /// Also measure the interference between this many parallel blocks, if more than 1.
    pub jobs: usize,
    /// The only part to check; none for all.
    pub only: Option<Part>,
    /// A fault to inject first, for tests.
    pub fault: Option<Fault>,
}

/// A group of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One-way delays, as an application measures them.
    Probes,
    /// Round trips to the first byte, per protocol.
    RoundTrips,
    /// Goodput of saturated links.
    Goodput,
    /// Packet counters, tap against kernel.
    Accounting,
    /// The losses of two cells with the same seed.
    Losses,
    /// The reasons for the time of calls, where they are known.
    Causes,
    /// The radios of the built-in networks.
    Radio,
}

impl Lab {
    /// Runs the checks, and calls `observer` with each result.
    pub fn doctor(
        &self,
        options: &DoctorOptions,
        observer: &dyn Fn(&Check),
    ) -> Result<Vec<Check>, LabError> {
        let mut examination = Examination::start(self, options.fault)?;
        let mut checks = Vec::new();
        let mut add = |found: Vec<Check>| {
            found.iter().for_each(observer);
            checks.extend(found);
        };
        let wanted = |part| options.only.is_none_or(|only| only == part);
        if wanted(Part::Probes) {
            add(probes::delay(&mut examination));
        }
        if wanted(Part::RoundTrips) {
            let mut detected = false;
            for stack in physics::STACKS {
                let found = physics::round_trips(&mut examination, stack);
                // One stack is enough to show that doctor detects a fault.
                detected = options.fault.is_some() && found.iter().any(|check| !check.pass);
                add(found);
                if detected {
                    break;
                }
            }
            if !detected {
                add(physics::long_chain(&mut examination));
            }
        }
        if wanted(Part::Goodput) {
            add(goodput::saturated(&mut examination));
        }
        if wanted(Part::Accounting) {
            add(accounting::compare_counters(&mut examination));
        }
        if wanted(Part::Losses) {
            add(losses::same_losses(&mut examination));
        }
        if wanted(Part::Causes) {
            add(causes::known(&mut examination));
        }
        if wanted(Part::Radio) {
            add(radio::known(&self.home.commute, options.fault));
        }
        if options.jobs > 1 {
            add(interference::shift(&mut examination, options.jobs));
        }
        Ok(checks)
    }

    /// Checks delays, and round trips for the protocols of a plan; takes a few seconds.
    pub fn self_test(&self, plan: &Plan) -> Result<Vec<Check>, LabError> {
        let mut examination = Examination::start(self, None)?;
        let mut checks = probes::delay(&mut examination);
        for stack in physics::STACKS {
            if plan.study.arms.iter().any(|a| a.protocol == stack.protocol) {
                checks.extend(physics::round_trips(&mut examination, stack));
            }
        }
        Ok(checks)
    }

    /// Returns the facts about this machine that matter to a lab, with advice.
    pub fn machine(&self) -> Result<Vec<Fact>, LabError> {
        let bench = bench::start(&self.home.commute)?;
        let host = crate::host::facts(&self.home.root);
        Ok(machine(&host, Some(bench.facts())))
    }
}

/// Returns one line per check: result, expected and measured value, margin; of a check that could not be
/// made, which has no values, the result alone.
pub fn check_line(check: &Check) -> String {
    let Check {
        name,
        expected,
        measured,
        margin,
        unit,
        pass,
    } = check;
    let result = if *pass { "ok  " } else { "FAIL" };
    if expected.is_nan() {
        return format!("{result}  {name}");
    }
    format!(
        "{result}  {name:<58} expected {expected:>9.3}  measured {measured:>9.3}  \
         margin {margin:.3} {unit}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_without_values_has_only_its_reason() {
        let line = check_line(&examination::impossible("hyper h2", &"noisy 4 times"));
        assert_eq!(line, "FAIL  hyper h2: noisy 4 times");
    }
}
