//! `commute doctor`: checks this machine and the lab.

use lab::{DoctorOptions, Fact, Fault, Part};
use record::Check;
use serde::Serialize;

use crate::out::Listing;
use crate::{out, progress};

/// Check this machine, then validate the lab against known physics
///
/// Exits with 3 if a check fails, and with 4 if no bench can be started on this machine.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also measure the interference between N parallel blocks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Run only this group of checks
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Only>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Listing,
    /// Inject a fault that doctor must detect, for tests
    #[arg(long = "break", hide = true, value_enum)]
    fault: Option<FaultArg>,
    /// Folder with stacks/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Only {
    /// One-way delays, as an application measures them
    Probes,
    /// Round trips to the first byte, per protocol
    RoundTrips,
    /// Goodput of saturated links
    Goodput,
    /// Packet counters, tap against kernel
    Accounting,
    /// The losses of two cells with the same seed
    Losses,
    /// The reasons for the time of calls, where they are known
    Causes,
    /// The radios of the built-in networks, in half a minute
    Radio,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FaultArg {
    Gso,
    Delay,
    Bbr,
    Nagle,
    Syn,
    Stray,
    Radio,
}

#[derive(Serialize)]
struct Report {
    machine: Vec<Fact>,
    checks: Vec<Check>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    let machine = lab.machine()?;
    if args.format == Listing::Human {
        print_machine(&machine)?;
    }
    let options = DoctorOptions {
        jobs: usize::from(args.jobs),
        only: args.only.map(|part| match part {
            Only::Probes => Part::Probes,
            Only::RoundTrips => Part::RoundTrips,
            Only::Goodput => Part::Goodput,
            Only::Accounting => Part::Accounting,
            Only::Losses => Part::Losses,
            Only::Causes => Part::Causes,
            Only::Radio => Part::Radio,
        }),
        fault: args.fault.map(|fault| match fault {
            FaultArg::Gso => Fault::Gso,
            FaultArg::Delay => Fault::Delay,
            FaultArg::Bbr => Fault::Bbr,
            FaultArg::Nagle => Fault::Nagle,
            FaultArg::Syn => Fault::Syn,
            FaultArg::Stray => Fault::Stray,
            FaultArg::Radio => Fault::Radio,
        }),
    };
    let bar = progress::waiting("checking");
    let print = |check: &Check| {
        if args.format == Listing::Human {
            // If standard output fails, so will the total below.
            bar.suspend(|| drop(crate::checks::print_line(check)));
        }
    };
    let checks = lab.doctor(&options, &print);
    bar.finish_and_clear();
    let checks = checks?;
    if args.format == Listing::Json {
        let report = Report { machine, checks };
        out::json(&report)?;
        return Ok(crate::checks::code(&report.checks));
    }
    crate::checks::print_total(&checks)
}

fn print_machine(machine: &[Fact]) -> anyhow::Result<()> {
    let mut text = String::new();
    for fact in machine {
        text += &format!("      {:<34} {}\n", fact.name, fact.value);
        if let Some(advice) = &fact.advice {
            text += &format!("      {:<34} -> {advice}\n", "");
        }
    }
    out::text(&text)
}
