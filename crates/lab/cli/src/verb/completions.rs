//! `commute completions`: a script that completes commands in a shell.

use clap_complete::Shell;

use crate::{exit, out};

/// Print a script that completes commands in a shell
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute completions bash > ~/.local/share/bash-completion/completions/commute\n  \
    commute completions fish > ~/.config/fish/completions/commute.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "commute", &mut script);
    out::print(&String::from_utf8(script)?)?;
    Ok(exit::PASS)
}
