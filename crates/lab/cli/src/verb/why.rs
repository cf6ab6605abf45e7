//! `commute why RUN`: where the time of requests went.

use std::path::PathBuf;

use record::Store;

use crate::verb::report::width;
use crate::{exit, out};

/// Where did the time go? The parts of each arm's requests, and where arms differ.
///
/// Follows each request's critical path through the packets, from the last byte of the response back to the call:
/// round trips by their reason, the busy link, losses, client and server. The parts of a request sum to its time.
/// Experimental: docs/reference/parts.md lists the cases in which a wrong cause is named.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute why runs/quickstart-1\n  \
    commute why runs/quickstart-1 --network 4g-tether --call 2\n  \
    commute why runs/quickstart-1 --arm 'libcurl h3' --against 'libcurl h2'")]
pub(crate) struct Args {
    /// Folder of the run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Only this network
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Only this arm, and the one it is compared with
    #[arg(long, value_name = "NAME")]
    arm: Option<String>,
    /// Compare with this arm instead of the baseline
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    /// Only the call with this id in each cell, e.g. 2 for the second request
    #[arg(long, value_name = "ID")]
    call: Option<u32>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let data = Store::open(&args.run)?.read()?;
    let arms: Vec<&str> = data
        .run()
        .arms
        .iter()
        .map(|arm| arm.name.as_str())
        .collect();
    let networks: Vec<&str> = data
        .run()
        .networks
        .iter()
        .map(|n| n.name.as_str())
        .collect();
    known("network", args.network.as_deref(), &networks)?;
    known("arm", args.arm.as_deref(), &arms)?;
    known("arm", args.against.as_deref(), &arms)?;
    let mut why = report::why(&data, args.call);
    let against = args.against.as_ref().unwrap_or(&why.baseline).clone();
    for measure in &mut why.measures {
        let is_wanted = |name: &str| args.arm.as_deref().is_none_or(|arm| arm == name);
        (measure.arms).retain(|arm| is_wanted(&arm.arm) || arm.arm == against);
    }
    let of_network = |name: &str| {
        args.network
            .as_deref()
            .is_none_or(|network| network == name)
    };
    why.measures
        .retain(|measure| of_network(&measure.network) && !measure.arms.is_empty());
    if why.measures.is_empty() {
        return Err(exit::usage(
            "no request of this run has parts: records of earlier versions have none, nor have clients with a \
             clock of their own",
        ));
    }
    out::print(&why.human(width(), args.against.as_deref()))?;
    Ok(exit::PASS)
}

/// Checks that a name is one of the run's.
fn known(what: &str, name: Option<&str>, names: &[&str]) -> anyhow::Result<()> {
    match name {
        Some(name) if !names.contains(&name) => Err(exit::usage(format!(
            "the run has no {what} `{name}`; it has: {}",
            names.join(", ")
        ))),
        _ => Ok(()),
    }
}
