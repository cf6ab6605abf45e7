//! `commute stacks`: which client libraries can be measured, prepared and believed.

mod check;
mod install;
mod list;
mod matrix;
mod status;

use std::path::PathBuf;

use lab::{Driver, Lab};

/// List the client stacks, prepare them, check that their drivers tell the truth.
///
/// A stack is a client library as apps ship it, in a runtime of its own, with a small driver
/// program around it (docs/driver-protocol.md).
#[derive(clap::Args)]
#[command(after_help = "Try it:\n  \
    commute stacks\n  \
    commute stacks install go jvm\n  \
    commute stacks check okhttp\n  \
    commute stacks check ./my-driver")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Folder with stacks/ [default: nearest at or above this one]
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
        None => list::run(&lab, args.json),
        Some(Verb::Install(install)) => install::run(&lab, install),
        Some(Verb::Check(check)) => check::run(&lab, check),
    }
}

/// The drivers of these names; a folder's name stands for all its drivers, none for all.
fn chosen<'a>(lab: &'a Lab, names: &[String]) -> anyhow::Result<Vec<&'a Driver>> {
    if names.is_empty() {
        return Ok(lab.stacks.all().collect());
    }
    let mut found = Vec::new();
    for name in names {
        let of_folder: Vec<&Driver> = lab.stacks.in_folder(name).collect();
        match of_folder.is_empty() {
            false => found.extend(of_folder),
            true => found.push(lab.stacks.find(name)?),
        }
    }
    Ok(found)
}
