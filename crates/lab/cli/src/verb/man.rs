//! `commute man`: the help texts as manual pages.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::exit;

/// Write the manual pages, one per verb
#[derive(clap::Args)]
#[command(after_help = "Example:\n  commute man ~/.local/share/man/man1 && man commute-run")]
pub(crate) struct Args {
    /// Folder to write them to
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn run(args: &Args, command: clap::Command) -> anyhow::Result<u8> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(command, dir))
        .with_context(|| format!("cannot write the manual pages into {}", dir.display()))?;
    Ok(exit::PASS)
}
