//! `commute networks`: lists the network profiles, or verifies one.

use anyhow::Context as _;
use link::Network;

use crate::{exit, out};

/// List the network profiles with their numbers, or verify one
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Send probes through a network, and compare configured and measured values
    ///
    /// Exits with 3 if a value is outside its margin.
    Check {
        /// Name of a network, or path of a TOML file
        network: String,
    },
    /// Print a network's file
    Show {
        /// Name of a network
        network: String,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    match args.verb {
        None => list(args.json),
        Some(Verb::Show { network }) => {
            let found = find(&network)?;
            let text = link::builtin().iter().find(|(name, _)| *name == found.name);
            match text {
                Some((_, text)) => out::print(text)?,
                None => out::print(&std::fs::read_to_string(&network)?)?,
            }
            Ok(exit::PASS)
        }
        Some(Verb::Check { network }) => check(&network, args.json),
    }
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
    out::print(&text)?;
    Ok(exit::PASS)
}

fn check(name: &str, json: bool) -> anyhow::Result<u8> {
    let network = find(name)?;
    let exe = std::env::current_exe().context("cannot find the commute binary")?;
    if !json {
        out::note!("{}: {}", network.name, network.numbers());
    }
    let checks = lab::check_network(&exe, &network).map_err(crate::home::classify)?;
    crate::checks::print(&checks, json)
}

/// Finds a network by name or path.
pub(crate) fn find(name: &str) -> anyhow::Result<Network> {
    Ok(lab::find_network(name, std::path::Path::new(""))?)
}
