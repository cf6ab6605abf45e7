//! `commute stacks`: lists, installs and tests the client stacks.

mod check;
mod install;
mod list;

use std::collections::BTreeSet;
use std::path::PathBuf;

use lab::{Driver, Lab};

use crate::out::Listing;

/// List the client stacks, install them, and run the driver conformance tests
///
/// A stack is a client library as apps ship it, in its own runtime; a driver is the small program
/// that makes it follow a workload (docs/driver-protocol.md).
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute stacks\n  \
    commute stacks install go jvm\n  \
    commute stacks check okhttp\n  \
    commute stacks check ./my-driver")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Listing,
    /// Folder with stacks/ [default: this program's own checkout, else the built-in files]
    #[arg(long, value_name = "DIR", env = "COMMUTE_HOME", global = true)]
    home: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Verb {
    Install(install::Args),
    Check(check::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let lab = crate::home::open(args.home.as_deref())?;
    match &args.verb {
        None => list::run(&lab, args.format),
        Some(Verb::Install(install)) => install::run(&lab, install),
        Some(Verb::Check(check)) => check::run(&lab, check),
    }
}

/// Returns the named drivers, or all drivers of the named folders, each once; all if there are no names.
fn selected<'a>(lab: &'a Lab, names: &[String]) -> anyhow::Result<Vec<&'a Driver>> {
    if names.is_empty() {
        return Ok(lab.stacks.all().collect());
    }
    let mut found: Vec<&Driver> = Vec::new();
    for name in names {
        let of_folder: Vec<&Driver> = lab.stacks.in_folder(name).collect();
        match of_folder.is_empty() {
            false => found.extend(of_folder),
            true => found.push(lab.stacks.find(name)?),
        }
    }
    // A folder may have the name of one of its drivers, and another of them be named beside it.
    let mut seen = BTreeSet::new();
    found.retain(|driver| seen.insert(driver.entry.name.as_str()));
    Ok(found)
}
