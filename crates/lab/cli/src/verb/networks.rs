//! `commute networks`: lists the network profiles, or verifies one.

use std::path::PathBuf;

use anyhow::Context as _;
use lab::{AllowedFiles, NetworkCheck, NetworkCheckEvent};
use link::Network;
use record::Check;

use crate::out::Listing;
use crate::{exit, out};

/// List the network profiles with their numbers, print one, or verify one
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        commute networks\n  \
        commute networks true-metro > mine.toml   a network to change by hand\n  \
        commute networks check true-metro"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print the file of this network
    network: Option<String>,
    /// Output format
    #[arg(long, global = true, value_enum, default_value_t)]
    format: Listing,
    /// Let the network's file name this trace, which is outside its folder; repeatable
    #[arg(long, global = true, value_name = "FILE")]
    allow_file: Vec<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Send probes through a network, and compare configured and measured values
    ///
    /// The expected values are what the network does to the same probes in virtual time, with the
    /// same random losses and jitter. Exits with 3 if a value is outside its margin; if the machine was
    /// busy meanwhile, a line says so.
    Check {
        /// Name of a network, or path of a TOML file
        network: String,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let json = args.format == Listing::Json;
    match (args.verb, args.network) {
        (Some(Verb::Check { network }), _) => check(&find(&network, &args.allow_file)?, json),
        (None, Some(name)) => show(&name, &args.allow_file, json),
        (None, None) => list(json),
    }
}

fn show(name: &str, allow_file: &[PathBuf], json: bool) -> anyhow::Result<u8> {
    let network = find(name, allow_file)?;
    let built_in = link::builtin().iter().find(|(known, _)| *known == name);
    match built_in {
        _ if json => out::json(&network)?,
        Some((_, text)) => out::print(text)?,
        None => out::file(&std::fs::read_to_string(name)?)?,
    }
    Ok(exit::PASS)
}

fn list(json: bool) -> anyhow::Result<u8> {
    let networks: Vec<Network> = link::builtin()
        .iter()
        .map(|(name, text)| Network::parse(name, text))
        .collect::<Result<_, _>>()
        .context("a bundled network is invalid")?;
    if json {
        out::json(&networks)?;
        return Ok(exit::PASS);
    }
    let width = networks.iter().map(|n| n.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for n in &networks {
        text += &format!("{:width$}  {}\n", n.name, n.numbers());
        text += &format!("{:width$}  {}\n", "", n.about);
    }
    out::text(&text)?;
    Ok(exit::PASS)
}

fn check(network: &Network, json: bool) -> anyhow::Result<u8> {
    let exe = std::env::current_exe().context("cannot find the commute binary")?;
    if !json {
        out::note!("{}: {}", network.name, network.numbers());
    }
    let observer = |event: NetworkCheckEvent<'_>| {
        if !json {
            // If standard output fails, so will the total below.
            drop(print_event(event));
        }
    };
    let found = lab::check_network(&exe, network, &observer)?;
    let checks: Vec<Check> = found.iter().map(|c| c.check.clone()).collect();
    if json {
        out::json(&found)?;
        return Ok(crate::checks::code(&checks));
    }
    crate::checks::print_total(&checks)
}

fn print_event(event: NetworkCheckEvent<'_>) -> anyhow::Result<()> {
    match event {
        NetworkCheckEvent::Sending { train, takes } => {
            out::note!("{train}, {:.0} s", takes.as_secs_f64().ceil());
        }
        NetworkCheckEvent::Repeating { noise } => {
            out::note!("a check failed, but {}; again", noise.join("; "));
        }
        NetworkCheckEvent::Checked(NetworkCheck { check, noise }) => {
            crate::checks::print_line(check)?;
            if !check.pass && !noise.is_empty() {
                out::text(&format!("      noisy: {}\n", noise.join("; ")))?;
            }
        }
    }
    Ok(())
}

/// Finds a network by name or path; its traces may be these files outside its folder.
pub(crate) fn find(name: &str, allow_file: &[PathBuf]) -> anyhow::Result<Network> {
    let allowed = AllowedFiles::new(allow_file)?;
    Ok(lab::find_network(name, &allowed)?)
}
