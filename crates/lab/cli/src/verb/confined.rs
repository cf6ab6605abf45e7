//! `commute confined`: runs a codec runner confined. Started by commute itself.

use std::ffi::OsString;
use std::path::PathBuf;

use driver::env::{ENV_IN, ENV_OUT};
use pump::Sandbox;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file or folder that the program needs
    #[arg(long)]
    visible: Vec<PathBuf>,
    /// A folder that it may write to
    #[arg(long)]
    writable: Vec<PathBuf>,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Runs the program and exits with its status; returns only an error.
pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let mut command = args.command.into_iter();
    let program = command.next().unwrap_or_default();
    let confinement = lab::runner_confinement();
    let confined = pump::Confined {
        program: program.clone(),
        args: command.collect(),
        confinement,
        sandbox: Sandbox {
            user: confinement.user,
            home: std::env::var_os("HOME").map(Into::into),
            readable: args.visible,
            writable: args.writable,
            max_file_bytes: confinement.max_file_bytes,
            ..Sandbox::default()
        },
        hidden: vec![std::env::temp_dir()],
        pipes: [ENV_IN.to_owned(), ENV_OUT.to_owned()],
    };
    let error = confined.run();
    Err(anyhow::Error::new(error).context(format!("cannot run {}", program.display())))
}
