//! `commute networks`: what there is, with its numbers; and whether it is so.

use anyhow::Context as _;
use link::Network;

use crate::{exit, out};

/// List the emulated networks with their numbers, or check one against its numbers.
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
    /// Send probes through a network and print what was set against what was got
    ///
    /// Exits with 3 when a figure is outside its margin.
    Check {
        /// A network's name, or the path of a TOML file
        network: String,
    },
    /// Print a network's file
    Show {
        /// A network's name
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
        .context("a network that came with commute is broken")?;
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
        eprintln!("{}: {}", network.name, network.numbers());
    }
    let checks = lab::check_network(&exe, &network).map_err(crate::home::judge)?;
    crate::checks::print(&checks, json)
}

/// A network by name or path.
pub(crate) fn find(name: &str) -> anyhow::Result<Network> {
    Ok(lab::find_network(name, std::path::Path::new(""))?)
}
