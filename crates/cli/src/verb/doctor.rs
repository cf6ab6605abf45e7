//! `commute doctor`: is this machine, and this lab, to be believed?

use lab::{DoctorOptions, Fact, Fault, Part};
use record::Check;
use serde::Serialize;

use crate::out;

/// Check this machine, then the lab against answers that physics knows.
///
/// Exits with 3 when a check does not hold, with 4 when this machine can have no bench.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also measure what so many blocks side by side do to each other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Only this part of the examination
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Only>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Inject a fault that doctor must detect, for tests
    #[arg(long = "break", hide = true, value_enum)]
    fault: Option<FaultArg>,
    /// Folder with `stacks/`, when not at or above this one
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Only {
    /// One-way delays, as an application sees them
    Probes,
    /// Round trips to the first byte, for each protocol
    RoundTrips,
    /// Goodput of saturated links
    Goodput,
    /// Packets as counted by tap and kernel
    Accounting,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FaultArg {
    Gso,
    Delay,
    Bbr,
    Nagle,
    Syn,
}

#[derive(Serialize)]
struct Findings {
    machine: Vec<Fact>,
    checks: Vec<Check>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    let machine = lab.machine().map_err(crate::home::judge)?;
    if !args.json {
        print_machine(&machine)?;
    }
    let options = DoctorOptions {
        jobs: usize::from(args.jobs),
        only: args.only.map(|part| match part {
            Only::Probes => Part::Probes,
            Only::RoundTrips => Part::RoundTrips,
            Only::Goodput => Part::Goodput,
            Only::Accounting => Part::Accounting,
        }),
        fault: args.fault.map(|fault| match fault {
            FaultArg::Gso => Fault::Gso,
            FaultArg::Delay => Fault::Delay,
            FaultArg::Bbr => Fault::Bbr,
            FaultArg::Nagle => Fault::Nagle,
            FaultArg::Syn => Fault::Syn,
        }),
    };
    let watch = |check: &Check| {
        if !args.json {
            // Nothing is lost when this line cannot be written: the sum below fails then.
            let _unseen = crate::checks::line(check);
        }
    };
    let checks = lab.doctor(&options, &watch).map_err(crate::home::judge)?;
    if args.json {
        let findings = Findings { machine, checks };
        out::json(&findings)?;
        return Ok(crate::checks::code(&findings.checks));
    }
    crate::checks::sum_up(&checks)
}

fn print_machine(machine: &[Fact]) -> anyhow::Result<()> {
    let mut text = String::new();
    for fact in machine {
        text += &format!("      {:<34} {}\n", fact.name, fact.value);
        if let Some(advice) = &fact.advice {
            text += &format!("      {:<34} -> {advice}\n", "");
        }
    }
    out::print(&text)
}
