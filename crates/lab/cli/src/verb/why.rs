//! `commute why RUN`: where the time of requests went.

mod captures;
mod remedies;

use std::path::PathBuf;
use std::slice;

use record::{CompactRun, RunData};
use remote::Location;
use report::PathOf;

use crate::verb::report::width;
use crate::{exit, out, places};

/// Where did the time go? The parts of each arm's requests, and where arms differ.
///
/// Follows each request's critical path through the packets, from the last byte of the response back to the call:
/// round trips by their reason, the busy link, losses, client and server. The parts of a request sum to its time.
/// Experimental: docs/reference/parts.md lists the cases in which a wrong cause is named.
///
/// With --pcap, follows the exchanges of captures made elsewhere: one at the client, one at the server, or both.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute why runs/quickstart-1\n  \
    commute why runs/quickstart-1 --network 4g-tether --call 2\n  \
    commute why runs/quickstart-1 --arm 'libcurl h3' --against 'libcurl h2'\n  \
    commute why runs/quickstart-1 --network 4g-tether --arm 'libcurl h3' --path 1\n  \
    commute why runs/quickstart-1 --format csv > parts.csv\n  \
    commute why --pcap client.pcap server.pcap\n  \
    commute why --pcap client.pcap server.pcap --request 3\n  \
    commute why --pcap client.pcap --format csv > parts.csv")]
pub(crate) struct Args {
    /// Folder or prefix of the run, e.g. s3://BUCKET/PREFIX
    #[arg(value_name = "RUN", required_unless_present = "pcap", value_parser = places::Parser)]
    run: Option<Location>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
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
    /// Print the critical path of the call with this id step by step; needs a run with --explain
    #[arg(long, value_name = "ID", conflicts_with_all = ["against", "call"])]
    path: Option<u32>,
    /// The block whose call --path prints [default: the first that was measured]
    #[arg(long, value_name = "N", requires = "path")]
    block: Option<u32>,
    /// Follow the TCP connections of captures made elsewhere (pcap or pcapng), in any order
    #[arg(long, value_name = "FILE", num_args = 1..=2,
        conflicts_with_all = ["run", "network", "arm", "against", "call", "path"])]
    pcap: Vec<PathBuf>,
    /// Print the critical path of the exchange with this number step by step, in any format; exchanges are numbered
    /// from 1 over all connections, as the report without it lists them
    #[arg(long, value_name = "K", requires = "pcap")]
    request: Option<usize>,
    /// Folder with stacks/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME")]
    home: Option<PathBuf>,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Sentences and tables for a terminal
    Human,
    /// For a pull request
    Markdown,
    /// As docs/why.schema.json says, with --pcap docs/why-pcap.schema.json
    Json,
    /// The mean of every part: network, measure, arm, part, ns, round_trips, calls; with --pcap a row for every part of
    /// every exchange, or for every step of --request
    Csv,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let Some(run) = &args.run else {
        return captures::run(&args.pcap, args.format, args.request);
    };
    if let Some(call) = args.path {
        // Only this form has paths.
        let data: RunData = places::read(slice::from_ref(run))?;
        let wanted = PathOf {
            call,
            network: args.network.as_deref(),
            arm: args.arm.as_deref(),
            block: args.block,
        };
        let path = report::call_path(&data, &wanted).map_err(exit::usage)?;
        out::print(&path.human())?;
        return Ok(exit::PASS);
    }
    let data: CompactRun = places::read(slice::from_ref(run))?;
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
    let wanted = report::Wanted {
        network: args.network.as_deref(),
        arm: args.arm.as_deref(),
        against: args.against.as_deref(),
        call: args.call,
    };
    let why = report::why(&data, &wanted).map_err(exit::usage)?;
    out::print(&match args.format {
        Format::Human => {
            let everything = report::Wanted {
                network: None,
                arm: None,
                ..wanted
            };
            let all = report::why(&data, &everything).map_err(exit::usage)?;
            let lab = crate::home::open(args.home.as_deref())?;
            let known = remedies::known(&lab)?;
            let chosen = report::choose_remedies(&why, &all, &data.run().arms, &known);
            [why.human(width()), report::remedies(&chosen, width())].join("\n")
        }
        Format::Markdown => why.markdown(),
        Format::Json => why.json(),
        Format::Csv => why.csv(),
    })?;
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
