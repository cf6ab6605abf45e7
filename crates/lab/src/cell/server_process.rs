//! The server under test as a process on a bench, and its log.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use driver::manifest::Certificate;
use pump::{Bench, Process, Side, Spawn};
use record::server_log::ServerEvent;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use serde::Deserialize;

use crate::cell::driver_process::finish;
use crate::cell::{Trouble, failed};

/// The name under which drivers know the server; the bench's hosts file has it.
pub(crate) const NAME: &str = "origin.test";
/// What every hosts file calls the loopback.
const NEAR_NAME: &str = "localhost";
const LOOPBACK: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];
const PORT: u16 = 8443;
const MTLS_PORT: u16 = 9443;
const READY_LIMIT: Duration = Duration::from_secs(20);
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// A cell has at most a few thousand calls of some 500 B of log each.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// What an arm, or a test that breaks the lab on purpose, changes about the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerOptions {
    /// More arguments for `commute serve`.
    pub(crate) args: Vec<String>,
    /// The name its certificate is for, when not the one drivers ask for.
    pub(crate) name: Option<String>,
    /// Kind of all keys.
    pub(crate) key: Certificate,
    /// Where it runs.
    pub(crate) place: Place,
}

/// Where a server runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the far end of the link.
    #[default]
    Far,
    /// On the client's own loopback, off the measured path: for warming up.
    Near,
}

/// A running server.
pub(crate) struct Origin {
    process: Process,
    place: Place,
    credentials: PathBuf,
    log: PathBuf,
    errors: PathBuf,
}

/// The one line a server prints with `--json` once it listens.
#[derive(Deserialize)]
struct Ready {
    listening: Vec<String>,
}

impl Origin {
    /// Starts a server of fresh keys and waits until it listens.
    pub(crate) fn start(
        bench: &mut Bench,
        exe: &Path,
        dir: &Path,
        options: &ServerOptions,
    ) -> Result<Origin, Trouble> {
        let credentials = dir.join("credentials");
        let log = dir.join("server.ndjson");
        let errors = dir.join("server.log");
        let stderr = fs::File::create(&errors).map_err(|e| failed("server.log", &e))?;
        let (ready, their_out) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed("pipe", &e.into()))?;
        let (side, own_name, addresses) = match options.place {
            Place::Far => (Side::Server, NAME, bench.facts().server.all()),
            Place::Near => (Side::Client, NEAR_NAME, LOOPBACK),
        };
        let name = options.name.as_deref().unwrap_or(own_name);
        let mut args: Vec<OsString> = ["serve", "--json", "--threads", "1", "--name", name]
            .map(Into::into)
            .into();
        args.extend(["--key".into(), options.key.name().into()]);
        for address in addresses {
            let at = |port| SocketAddr::new(address, port).to_string().into();
            args.extend([
                "--listen".into(),
                at(PORT),
                "--mtls-listen".into(),
                at(MTLS_PORT),
            ]);
        }
        args.extend(["--credentials".into(), credentials.clone().into()]);
        args.extend(["--log".into(), log.clone().into()]);
        args.extend(options.args.iter().map(Into::into));
        let spawn = Spawn {
            program: exe.to_owned(),
            args,
            fds: vec![(their_out, 1), (stderr.into(), 2)],
            ..Spawn::default()
        };
        let process = bench.spawn(side, spawn)?;
        let origin = Origin {
            process,
            place: options.place,
            credentials,
            log,
            errors,
        };
        match origin.ready(fs::File::from(ready)) {
            Ok(()) => Ok(origin),
            Err(reason) => {
                let text = read_tail(&origin.errors);
                let last = text.lines().last().unwrap_or("it said nothing").to_owned();
                Err(Trouble::Failed(format!("server: {reason}: {last}")))
            }
        }
    }

    /// Starts one of the same kind near the client, for warming up.
    pub(crate) fn near(
        bench: &mut Bench,
        exe: &Path,
        dir: &Path,
        like: &ServerOptions,
    ) -> Result<Origin, Trouble> {
        let dir = dir.join("near");
        fs::create_dir(&dir).map_err(|e| failed("near", &e))?;
        let options = ServerOptions {
            key: like.key,
            place: Place::Near,
            ..ServerOptions::default()
        };
        Origin::start(bench, exe, &dir, &options)
    }

    /// Writes the authorities of both to one file, and says where that is.
    pub(crate) fn bundle_with(&self, other: &Origin, path: &Path) -> std::io::Result<String> {
        let of = |origin: &Origin| fs::read(origin.credentials.join("ca.pem"));
        fs::write(path, [of(other)?, of(self)?].concat())?;
        Ok(path.display().to_string())
    }

    /// Where its CA and the client's key are.
    pub(crate) fn credentials(&self) -> &Path {
        &self.credentials
    }

    /// The origin drivers are sent to.
    pub(crate) fn url(&self, mtls: bool) -> String {
        let port = if mtls { MTLS_PORT } else { PORT };
        match self.place {
            Place::Far => format!("https://{NAME}:{port}"),
            Place::Near => format!("https://{NEAR_NAME}:{port}"),
        }
    }

    /// Ends it, so that its log is whole, and reads that.
    pub(crate) fn stop(self) -> Result<Vec<ServerEvent>, Trouble> {
        let Origin {
            mut process, log, ..
        } = self;
        process.kill(Signal::TERM.as_raw())?;
        finish(&mut process, DRAIN_LIMIT)?;
        read_log(&log).map_err(Trouble::Failed)
    }

    fn ready(&self, pipe: fs::File) -> Result<(), String> {
        let deadline = Instant::now() + READY_LIMIT;
        let (sender, receiver) = std::sync::mpsc::channel();
        // The pipe's other end dies with the server, so this thread always ends.
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(pipe.take(64 << 10)).read_line(&mut line);
            let _gone = sender.send(read.map(|_| line));
        });
        let wait = deadline.saturating_duration_since(Instant::now());
        let line = receiver
            .recv_timeout(wait)
            .map_err(|_| "not ready in time".to_owned())?;
        let line = line.map_err(|e| e.to_string())?;
        let ready: Ready =
            serde_json::from_str(&line).map_err(|_| "ended before it listened".to_owned())?;
        if ready.listening.is_empty() {
            Err("listens nowhere".to_owned())
        } else {
            Ok(())
        }
    }
}

fn read_log(path: &Path) -> Result<Vec<ServerEvent>, String> {
    let file = fs::File::open(path).map_err(|e| format!("server's log: {e}"))?;
    BufReader::new(file.take(MAX_LOG_BYTES))
        .lines()
        .map(|line| {
            let line = line.map_err(|e| format!("server's log: {e}"))?;
            serde_json::from_str(&line).map_err(|e| format!("server's log: {e} in {line:?}"))
        })
        .collect()
}

/// The last few kilobytes of a log, for messages.
pub(crate) fn read_tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let from = bytes.len().saturating_sub(4096);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}
