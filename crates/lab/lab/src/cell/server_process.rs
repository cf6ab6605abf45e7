//! The server under test as a process on a bench, and its log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use driver::manifest::Certificate;
use driver::process::with_last_line;
use pump::{Bench, Process, Side, Spawn};
use record::server_log::ServerEvent;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use serde::Deserialize;
use study::Security;

use super::error::CellError;
use super::process::{ProcessLog, STARTUP_LIMIT, finish};
use super::scratch;
use crate::bench::{self, ORIGIN_NAMES};

/// The name of a server on the client's loopback, which every hosts file has.
const LOOPBACK_NAME: &str = "localhost";
const LOOPBACK: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];
const PORT: u16 = 8443;
const MTLS_PORT: u16 = 9443;
const PLAINTEXT_PORT: u16 = 8080;
/// A server that was asked to end is killed after this. A client may have vanished in mid-transfer, e.g. Cronet in a
/// tunnel. Then commute's server waits for 10 s for the rest to be acknowledged, and then as long at most for its QUIC
/// connections to end.
const DRAIN_LIMIT: Duration = Duration::from_secs(25);
/// A cell makes at most a few thousand requests, each with some 500 B of log.
const MAX_LOG_BYTES: u64 = 64 << 20;
/// The ready line is a few hundred bytes long.
const MAX_READY_BYTES: u64 = 64 << 10;

/// What an arm or a test changes about the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerOptions {
    /// Another server than commute's own.
    pub(crate) other: Option<OtherServer>,
    /// More arguments for the server.
    pub(crate) args: Vec<String>,
    /// The name its certificate is for; none for those that drivers ask for.
    pub(crate) certificate_name: Option<String>,
    /// Index of the origin that it serves in [`ORIGIN_NAMES`].
    pub(crate) origin: usize,
    /// Indices of further origins that it serves.
    pub(crate) more_origins: Vec<usize>,
    /// Kind of all keys.
    pub(crate) key: Certificate,
    pub(crate) location: Location,
    /// Whether it also listens without TLS.
    pub(crate) plaintext: bool,
}

/// A server that is not commute's own. It takes the arguments of `commute serve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherServer {
    pub(crate) command: Vec<String>,
    /// Whether it serves gRPC over TCP instead of HTTP: such servers are separate libraries.
    pub(crate) grpc: bool,
}

/// Where a server runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Location {
    /// At the far end of the link.
    #[default]
    Remote,
    /// On the client's own loopback, off the measured path, for warming up.
    ClientLoopback,
}

/// A running server.
pub(crate) struct ServerProcess {
    process: Process,
    location: Location,
    origin: usize,
    credentials: PathBuf,
    log: PathBuf,
    stderr_log: ProcessLog,
    libraries: Libraries,
}

/// The server's library and its version, by the name of the protocol that it serves.
pub(crate) type Libraries = BTreeMap<String, String>;

/// The line that a server prints once it listens.
#[derive(Deserialize)]
struct Ready {
    listening: Vec<String>,
    libraries: Libraries,
}

impl ServerProcess {
    /// Starts a server with fresh keys and waits until it listens.
    pub(crate) fn start(
        bench: &mut Bench,
        exe: &Path,
        dir: &Path,
        options: &ServerOptions,
    ) -> Result<ServerProcess, CellError> {
        let folder = give(bench, dir).map_err(|e| CellError::io("the server's folder", &e))?;
        let other = options.other.as_ref();
        let named = other.map_or(&[][..], |other| &other.command);
        let sandbox = bench::server_sandbox(bench, &folder, named)?;
        let credentials = dir.join("credentials");
        let log = dir.join("server.ndjson");
        let (stderr_log, stderr) = ProcessLog::open()?;
        let (ready, stdout) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|e| CellError::io("pipe", &e.into()))?;
        let (side, addresses) = match options.location {
            Location::Remote => (Side::Server, bench.facts().server.all()),
            Location::ClientLoopback => (Side::Client, LOOPBACK),
        };
        let (program, mut args) = command(exe, options.other.as_ref());
        args.extend(["--json", "--threads", "1"].map(Into::into));
        for name in options.certificate_names() {
            args.extend(["--name".into(), name.into()]);
        }
        args.extend(["--key".into(), options.key.name().into()]);
        for address in addresses {
            let at = |first| {
                let port = port(first, options.origin);
                SocketAddr::new(address, port).to_string().into()
            };
            args.extend([
                "--listen".into(),
                at(PORT),
                "--mtls-listen".into(),
                at(MTLS_PORT),
            ]);
            if options.plaintext {
                args.extend(["--plaintext-listen".into(), at(PLAINTEXT_PORT)]);
            }
        }
        args.extend(["--credentials".into(), credentials.clone().into()]);
        args.extend(["--log".into(), log.clone().into()]);
        args.extend(options.args.iter().map(Into::into));
        let spawn = Spawn {
            program,
            args,
            cwd: Some(folder),
            fds: vec![(stdout, 1), (stderr, 2)],
            confinement: Some(bench::confinement(bench::server_user(bench))),
            sandbox: Some(sandbox),
            ..Spawn::default()
        };
        let process = bench.spawn(side, spawn)?;
        let ready = match wait_until_ready(fs::File::from(ready)) {
            Ok(ready) => ready,
            Err(reason) => {
                drop(process);
                let failure = format!("server: {reason}");
                return Err(CellError::Lab(with_last_line(
                    &failure,
                    &stderr_log.close(),
                )));
            }
        };
        Ok(ServerProcess {
            process,
            libraries: ready.libraries,
            location: options.location,
            origin: options.origin,
            credentials,
            log,
            stderr_log,
        })
    }

    /// Starts a server with the same kind of keys on the client's loopback.
    pub(crate) fn start_for_warmup(
        bench: &mut Bench,
        exe: &Path,
        dir: &Path,
        like: &ServerOptions,
    ) -> Result<ServerProcess, CellError> {
        let dir = dir.join("warmup");
        fs::create_dir(&dir).map_err(|e| CellError::io("warmup", &e))?;
        let options = ServerOptions {
            other: like.other.clone(),
            key: like.key,
            plaintext: like.plaintext,
            location: Location::ClientLoopback,
            ..ServerOptions::default()
        };
        ServerProcess::start(bench, exe, &dir, &options)
    }

    /// Returns the root certificates in these files as one.
    pub(crate) fn ca_bundle(authorities: &[PathBuf]) -> std::io::Result<Vec<u8>> {
        let mut bundle = Vec::new();
        for authority in authorities {
            bundle.extend(scratch::read(authority)?);
            bundle.push(b'\n');
        }
        Ok(bundle)
    }

    /// Returns the file with its root certificate.
    pub(crate) fn authority(&self) -> PathBuf {
        self.credentials.join("ca.pem")
    }

    /// Returns the folder with the root certificate and the client's key.
    pub(crate) fn credentials(&self) -> &Path {
        &self.credentials
    }

    /// Returns the server's library of each protocol.
    pub(crate) fn libraries(&self) -> &Libraries {
        &self.libraries
    }

    /// Returns the URL of the origin that it serves.
    pub(crate) fn url(&self, security: Security) -> String {
        self.url_of(self.origin, security)
    }

    /// Returns its URL by the name of this origin.
    pub(crate) fn url_of(&self, origin: usize, security: Security) -> String {
        let (scheme, first) = match security {
            Security::Tls => ("https", PORT),
            Security::Mtls => ("https", MTLS_PORT),
            Security::None => ("http", PLAINTEXT_PORT),
        };
        let name = match self.location {
            Location::Remote => ORIGIN_NAMES[origin],
            Location::ClientLoopback => LOOPBACK_NAME,
        };
        format!("{scheme}://{name}:{}", port(first, self.origin))
    }

    /// Ends the server, which completes its log, and reads that. A server that ended by itself, or
    /// could not write its log, proves nothing about the driver.
    pub(crate) fn stop(self) -> Result<Vec<ServerEvent>, CellError> {
        let ServerProcess {
            mut process,
            log,
            stderr_log,
            ..
        } = self;
        let ended = process.wait(Some(Duration::ZERO))?;
        process.kill(Signal::TERM.as_raw())?;
        let exit = finish(&mut process, DRAIN_LIMIT)?;
        let failed = |what: &str| {
            let failure = format!("server: {what} ({})", exit.status);
            CellError::Lab(with_last_line(&failure, &stderr_log.close()))
        };
        if ended.is_some() {
            return Err(failed("ended within the cell"));
        }
        if !exit.status.success() {
            return Err(failed("failed"));
        }
        read_log(&log).map_err(CellError::Lab)
    }
}

impl ServerOptions {
    fn certificate_names(&self) -> Vec<&str> {
        match (&self.certificate_name, self.location) {
            (Some(name), _) => vec![name],
            (None, Location::ClientLoopback) => vec![LOOPBACK_NAME],
            (None, Location::Remote) => [&self.origin]
                .into_iter()
                .chain(&self.more_origins)
                .map(|origin| ORIGIN_NAMES[*origin])
                .collect(),
        }
    }
}

/// Returns the port of an origin's own server, where the first origin's has this one.
fn port(first: u16, origin: usize) -> u16 {
    first + origin as u16
}

/// Returns a server's program and its first arguments.
fn command(exe: &Path, other: Option<&OtherServer>) -> (PathBuf, Vec<OsString>) {
    match other {
        Some(OtherServer { command, grpc }) => {
            let mut words = command.iter().map(OsString::from);
            let program = words.next().unwrap_or_default();
            let grpc = grpc.then(|| "--grpc".into());
            (program.into(), words.chain(grpc).collect())
        }
        // The bench is closed, whatever addresses it has.
        None => (exe.to_owned(), vec!["serve".into(), "--quiet".into()]),
    }
}

/// Gives a folder to the server's user. Returns the folder of all servers of the cell, which it is or is in.
fn give(bench: &Bench, dir: &Path) -> std::io::Result<PathBuf> {
    let folder = scratch::server_folder(dir)?;
    if let Some(user) = bench::server_user(bench) {
        for dir in [dir, &folder] {
            // Not what a link of another server leads to.
            lchown(dir, Some(user), Some(user))?;
        }
    }
    Ok(folder)
}

fn wait_until_ready(stdout: fs::File) -> Result<Ready, String> {
    let (sender, receiver) = mpsc::channel();
    // The pipe closes when the server ends, so this thread always ends.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout.take(MAX_READY_BYTES)).read_line(&mut line);
        // Nobody receives it any more if the wait below timed out.
        drop(sender.send(read.map(|_| line)));
    });
    let line = receiver
        .recv_timeout(STARTUP_LIMIT)
        .map_err(|_| "was not ready in time".to_owned())?
        .map_err(|e| e.to_string())?;
    let ready: Ready =
        serde_json::from_str(&line).map_err(|_| "ended before it listened".to_owned())?;
    if ready.listening.is_empty() {
        return Err("listens on no address".to_owned());
    }
    Ok(ready)
}

fn read_log(path: &Path) -> Result<Vec<ServerEvent>, String> {
    let file = scratch::open_written(path).map_err(|e| format!("server's log: {e}"))?;
    BufReader::new(file.take(MAX_LOG_BYTES))
        .lines()
        .map(|line| {
            let line = line.map_err(|e| format!("server's log: {e}"))?;
            serde_json::from_str(&line).map_err(|e| format!("server's log: {e} in {line:?}"))
        })
        .collect()
}
