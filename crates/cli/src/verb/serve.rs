//! `commute serve`: the server under test, on its own.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use server::{Config, Congestion, Fault, KeyKind, Server};

use crate::exit;

/// Serve HTTP/1.1, HTTP/2, HTTP/3 and gRPC on one name and port.
///
/// TCP and UDP listen on the same port; a second port demands a client certificate. Keys are
/// made at start and never stored; the CA's certificate and a client's key are written to
/// --credentials.
#[derive(clap::Args)]
#[command(after_help = "Try it:\n  \
    commute serve --credentials cred &\n  \
    curl --cacert cred/ca.pem https://localhost:8443/health")]
pub(crate) struct Args {
    /// Where to listen, TCP and UDP; may be given again
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8443")]
    listen: Vec<SocketAddr>,
    /// The same, demanding a client certificate
    #[arg(long, value_name = "ADDR")]
    mtls_listen: Vec<SocketAddr>,
    /// Name or address the certificate is valid for; may be given again
    #[arg(long, value_name = "NAME", default_values = ["localhost", "127.0.0.1", "::1"])]
    name: Vec<String>,
    /// Kind of all keys
    #[arg(long, value_enum, default_value_t = Key::P256)]
    key: Key,
    /// Folder for ca.pem, client.pem and client.key, made when missing
    #[arg(long, value_name = "DIR")]
    credentials: Option<PathBuf>,
    /// Log of connections and requests, one JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Point HTTP/1.1 and HTTP/2 clients at HTTP/3 (Alt-Svc)
    #[arg(long)]
    alt_svc: bool,
    /// Accept early data (0-RTT) over QUIC
    #[arg(long)]
    early_data: bool,
    /// Hand out no session tickets
    #[arg(long)]
    no_resumption: bool,
    /// Congestion control of QUIC; TCP's is the kernel's
    #[arg(long, value_enum, default_value_t = Control::Cubic)]
    congestion: Control,
    /// Inject a fault into the request with this ID: reset, truncate, garbage, stall, slow,
    /// unavailable or redirect; repeatable
    #[arg(long, value_name = "ID=FAULT", value_parser = parse_fault)]
    inject: Vec<(u32, Fault)>,
    /// Issue session tickets but reject them, so that resumption and early data fail
    #[arg(long)]
    reject_tickets: bool,
    /// Threads that serve [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Print one line of JSON once listening
    #[arg(long)]
    json: bool,
    /// Leave Nagle's algorithm on: breaks the lab on purpose
    #[arg(long, hide = true)]
    nagle: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Key {
    /// ECDSA on P-256
    P256,
    /// RSA of 2048 bits
    #[value(name = "rsa-2048")]
    Rsa2048,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Control {
    Cubic,
    Reno,
    Bbr,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let json = args.json;
    let credentials = args.credentials.clone();
    let mut builder = match args.threads {
        Some(1) => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if let Some(threads) = args.threads {
        builder.worker_threads(usize::from(threads));
    }
    let config = args.config()?;
    let runtime = builder
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let server = Server::bind(config).await?;
        announce(&server, credentials.as_deref(), json)?;
        server.run(until_signal()?).await?;
        anyhow::Ok(exit::PASS)
    })
}

impl Args {
    fn config(self) -> anyhow::Result<Config> {
        let log = self.log.as_ref().map(append).transpose()?;
        Ok(Config {
            listen: self.listen,
            mtls_listen: self.mtls_listen,
            names: self.name,
            key: match self.key {
                Key::P256 => KeyKind::P256,
                Key::Rsa2048 => KeyKind::Rsa2048,
            },
            credentials_dir: self.credentials,
            alt_svc: self.alt_svc,
            early_data: self.early_data,
            resumption: !self.no_resumption,
            log,
            faults: self.inject.into_iter().collect(),
            reject_tickets: self.reject_tickets,
            congestion: match self.congestion {
                Control::Cubic => Congestion::Cubic,
                Control::Reno => Congestion::NewReno,
                Control::Bbr => Congestion::Bbr,
            },
            nodelay: !self.nagle,
            ..Config::default()
        })
    }
}

fn parse_fault(text: &str) -> Result<(u32, Fault), String> {
    let (id, fault) = text
        .split_once('=')
        .ok_or("write it as ID=FAULT, as in 3=reset")?;
    let id = id.parse().map_err(|_| format!("`{id}` is no call's id"))?;
    let fault = fault.parse::<Fault>().map_err(|e| e.to_string())?;
    Ok((id, fault))
}

fn append(path: &PathBuf) -> anyhow::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("--log {}", path.display()))
}

/// What is printed once listening: a line of JSON for programs, a few lines for people.
fn announce(server: &Server, credentials: Option<&Path>, json: bool) -> anyhow::Result<()> {
    let addresses = server.addresses();
    if json {
        let listening: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        println!("{}", serde_json::json!({ "listening": listening }));
    } else {
        for address in addresses {
            println!("listening on {address}, TCP and UDP");
        }
        println!("{}", server.settings());
        if let Some(dir) = credentials {
            println!("credentials in {}", dir.display());
        }
    }
    std::io::stdout()
        .flush()
        .context("cannot write to standard output")
}

/// Ends with SIGINT or SIGTERM.
fn until_signal() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
