//! A driver's process on a bench, and our end of its wire.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use driver::manifest::ChannelKind;
use driver::{Host, Limits};
use pump::{Bench, BenchError, Exit, Kind, Process, Side, Spawn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::cell::server_process::read_tail;
use crate::cell::{Trouble, failed};
use crate::stacks::Driver;

/// A driver that runs.
pub(crate) struct Driven {
    pub(crate) host: Host,
    pub(crate) spawned: Instant,
    process: Process,
    log: PathBuf,
}

impl Driven {
    /// Starts it at the client's end, with a home of its own.
    pub(crate) fn start(
        bench: &mut Bench,
        driver: &Driver,
        dir: &TempDir,
    ) -> Result<Driven, Trouble> {
        let home = dir.path().join("home");
        std::fs::create_dir(&home).map_err(|e| failed("the driver's home", &e))?;
        let log = dir.path().join("driver.log");
        let output = std::fs::File::create(&log).map_err(|e| failed("driver.log", &e))?;
        let errors = output.try_clone().map_err(|e| failed("driver.log", &e))?;
        let (theirs, ours) = match driver.entry.channel {
            ChannelKind::Pipes => pipes()?,
            ChannelKind::Tcp => tcp(bench)?,
        };
        let mut env = driver::process::surroundings(&home);
        env.extend(theirs.env);
        let mut fds: Vec<(OwnedFd, RawFd)> = vec![(output.into(), 1), (errors.into(), 2)];
        fds.extend(theirs.fds);
        let spawn = Spawn {
            program: (&driver.command[0]).into(),
            args: driver.command[1..].iter().map(Into::into).collect(),
            env,
            cwd: Some(home),
            fds,
            foreground: false,
        };
        let spawned = Instant::now();
        let process = bench.spawn(Side::Client, spawn).map_err(|e| match e {
            BenchError::NotRun { what, .. } => {
                Trouble::Unsupported(format!("{what}: {}", driver.folder.way_in()))
            }
            other => Trouble::Bench(other),
        })?;
        let (read, write) = ours.open(spawned + STARTUP_LIMIT)?;
        let host = Host::new(read, write, Limits::default())
            .map_err(|e| failed("the driver's wire", &e))?;
        Ok(Driven {
            host,
            spawned,
            process,
            log,
        })
    }

    /// Tells it to close, and makes sure that it is gone.
    pub(crate) fn stop(self) -> Result<Stopped, Trouble> {
        let Driven {
            host,
            mut process,
            log,
            ..
        } = self;
        // A driver that is gone already cannot be told.
        host.close();
        let exit = finish(&mut process, CLOSE_LIMIT)?;
        Ok(Stopped { exit, log })
    }
}

/// Waits for a process to end by itself, then ends it.
pub(crate) fn finish(process: &mut Process, limit: Duration) -> Result<Exit, pump::BenchError> {
    if let Some(exit) = process.wait(Some(limit))? {
        return Ok(exit);
    }
    process.kill(Signal::KILL.as_raw())?;
    loop {
        if let Some(exit) = process.wait(None)? {
            return Ok(exit);
        }
    }
}

/// What is left of a driver.
pub(crate) struct Stopped {
    pub(crate) exit: Exit,
    log: PathBuf,
}

impl Stopped {
    /// Adds the last line of the driver's log to a failure.
    pub(crate) fn explain(&self, trouble: Trouble) -> Trouble {
        let Trouble::Failed(reason) = trouble else {
            return trouble;
        };
        Trouble::Failed(with_last_words(&reason, &self.log))
    }
}

/// A failure and the last line of the driver's log, which explains it better than we do.
pub(crate) fn with_last_words(failure: &str, log: &Path) -> String {
    let text = read_tail(log);
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) => format!("{failure}; its log ends: {}", last.trim()),
        None => failure.to_owned(),
    }
}

/// What a driver is given of its wire.
struct Theirs {
    env: Vec<(OsString, OsString)>,
    fds: Vec<(OwnedFd, RawFd)>,
}

/// Our end of it.
enum Ours {
    Pipes(OwnedFd, OwnedFd),
    /// It will connect.
    Tcp(TcpListener),
}

fn pipes() -> Result<(Theirs, Ours), Trouble> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed("pipe", &e.into()));
    let (their_in, our_out) = pipe()?;
    let (our_in, their_out) = pipe()?;
    let theirs = Theirs {
        env: vec![
            (driver::pipes::ENV_IN.into(), "/proc/self/fd/3".into()),
            (driver::pipes::ENV_OUT.into(), "/proc/self/fd/4".into()),
        ],
        fds: vec![(their_in, 3), (their_out, 4)],
    };
    Ok((theirs, Ours::Pipes(our_in, our_out)))
}

/// A port on the client's own loopback, off the measured path.
fn tcp(bench: &mut Bench) -> Result<(Theirs, Ours), Trouble> {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::from(bench.listen(Side::Client, Kind::Tcp, any)?);
    let address = listener.local_addr().map_err(|e| failed("the wire", &e))?;
    let theirs = Theirs {
        env: vec![(
            driver::pipes::ENV_CONNECT.into(),
            address.to_string().into(),
        )],
        fds: Vec::new(),
    };
    Ok((theirs, Ours::Tcp(listener)))
}

impl Ours {
    fn open(self, deadline: Instant) -> Result<(OwnedFd, OwnedFd), Trouble> {
        match self {
            Self::Pipes(read, write) => Ok((read, write)),
            Self::Tcp(listener) => {
                let stream = accept(&listener, deadline).map_err(|e| failed("the wire", &e))?;
                let other = stream.try_clone().map_err(|e| failed("the wire", &e))?;
                Ok((stream.into(), other.into()))
            }
        }
    }
}

/// The one connection a driver makes.
pub(crate) fn accept(listener: &TcpListener, deadline: Instant) -> std::io::Result<TcpStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(std::io::Error::other)?;
    if poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&left))? == 0 {
        return Err(std::io::Error::other("the driver did not connect"));
    }
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// From spawning a process to its being ready; a JVM on a busy phone-sized machine needs a few.
pub(crate) const STARTUP_LIMIT: Duration = Duration::from_secs(20);
/// For a driver told to close.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(3);
