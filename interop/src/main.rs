//! `interop` runs commute's client against servers that others wrote, and commute's server against their clients.
//! interop/README.md says how; the Makefile runs it.

mod checks;
mod child;
mod files;
mod foreign;
mod matrix;
mod page;
mod results;
mod servers;
mod tool;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use checks::{Check, Protocol, Target};

/// Runs commute's client against other servers, and commute's server against other clients.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Runs the matrix. Exits with 1 if a cell fails.
    Run(RunOptions),
    /// Runs one check on a server that is running, and prints what it measured.
    Check(CheckOptions),
}

/// Which cells to run, and where results go.
#[derive(Args, Debug)]
struct RunOptions {
    /// Servers by name; none: all.
    #[arg(long, value_delimiter = ',')]
    servers: Vec<String>,
    /// Checks by name; none: all.
    #[arg(long, value_delimiter = ',')]
    checks: Vec<Check>,
    /// Versions of HTTP; none: all.
    #[arg(long, value_delimiter = ',')]
    protocols: Vec<Protocol>,
    /// Clients to run against `commute serve`; none: all, unless servers are named.
    #[arg(long, value_delimiter = ',')]
    clients: Vec<String>,
    /// Runs the short subset: nginx, Go and Node.
    #[arg(long)]
    short: bool,
    /// Writes a line of JSON for each cell to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Writes the page to this file.
    #[arg(long)]
    page: Option<PathBuf>,
    /// Where programs are installed.
    #[arg(long, default_value = "target/interop")]
    cache: PathBuf,
    /// The lab's binary, for its server and its link.
    #[arg(long, default_value = "target/debug/commute")]
    commute: PathBuf,
}

#[derive(Args, Debug)]
struct CheckOptions {
    /// The check's name.
    check: Check,
    /// `https://HOST:PORT`.
    #[arg(long)]
    origin: String,
    /// The CA's certificate, PEM.
    #[arg(long)]
    ca: PathBuf,
    /// The version of HTTP.
    #[arg(long)]
    protocol: Protocol,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("start the runtime")
        .and_then(|runtime| {
            let outcome = runtime.block_on(async {
                tokio::select! {
                    outcome = dispatch(cli) => outcome,
                    _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
                }
            });
            // A blocking task may still wait for a program that ends by its own limit.
            runtime.shutdown_timeout(Duration::from_secs(1));
            outcome
        });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("interop: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.verb {
        Verb::Run(options) => matrix::run(&options).await,
        Verb::Check(options) => {
            let mut target = Target {
                origin: options.origin,
                ca: options.ca,
                protocol: options.protocol,
                server: None,
            };
            println!("{}", checks::run(options.check, &mut target).await?);
            Ok(ExitCode::SUCCESS)
        }
    }
}
