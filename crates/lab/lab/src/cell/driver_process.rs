//! A driver's process on a bench, and the lab's end of its channel.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use driver::manifest::ChannelKind;
use driver::process::with_last_line;
use driver::{Host, Limits};
use pump::{Bench, BenchError, Exit, Process, SandboxId, Side, SocketKind, Spawn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Gid, Uid, fchown};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::error::CellError;
use super::process::{ProcessLog, STARTUP_LIMIT, finish};
use crate::bench;
use crate::stacks::Driver;

/// A driver that was asked to close is killed after this.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// A running driver.
pub(crate) struct DriverProcess {
    pub(crate) host: Host,
    pub(crate) spawned: Instant,
    process: Process,
    log: ProcessLog,
}

/// A driver that has exited.
pub(crate) struct Exited {
    pub(crate) exit: Exit,
    /// The end of its log.
    log: String,
}

/// What the driver gets of its channel.
struct DriverEnd {
    env: Vec<(OsString, OsString)>,
    fds: Vec<(OwnedFd, RawFd)>,
}

/// What the lab keeps of it.
enum LabEnd {
    Pipes {
        read: OwnedFd,
        write: OwnedFd,
    },
    /// The driver will connect to it.
    Tcp(TcpListener),
}

impl DriverProcess {
    /// Starts a driver in the client's namespace, in this sandbox with this home.
    pub(crate) fn start(
        bench: &mut Bench,
        driver: &Driver,
        home: PathBuf,
        sandbox: SandboxId,
    ) -> Result<DriverProcess, CellError> {
        let user = bench::driver_user(bench);
        let (log, stdout) = ProcessLog::open()?;
        let stderr = (stdout.try_clone()).map_err(|e| CellError::io("the driver's log", &e))?;
        let (driver_end, lab_end) = match driver.entry.channel {
            ChannelKind::Pipes => pipes(user)?,
            ChannelKind::Tcp => tcp(bench)?,
        };
        let mut env = driver::env::base_env(&home);
        env.extend(driver_end.env);
        let mut fds: Vec<(OwnedFd, RawFd)> = vec![(stdout, 1), (stderr, 2)];
        fds.extend(driver_end.fds);
        let spawn = Spawn {
            program: (&driver.command[0]).into(),
            args: driver.command[1..].iter().map(Into::into).collect(),
            env,
            cwd: Some(home),
            fds,
            foreground: false,
            confinement: Some(bench::confinement(user)),
            sandbox: Some(sandbox),
            raw_sockets: false,
        };
        let spawned = Instant::now();
        let process = bench.spawn(Side::Client, spawn).map_err(|e| match e {
            BenchError::CannotRun { message, .. } => {
                CellError::Unsupported(format!("{message}; {}", driver.folder.remedy()))
            }
            other => CellError::Bench(other),
        })?;
        let (read, write) = lab_end.open(spawned + STARTUP_LIMIT)?;
        let host = Host::new(read, write, Limits::default()).map_err(|e| channel_error(&e))?;
        Ok(DriverProcess {
            host,
            spawned,
            process,
            log,
        })
    }

    /// Asks the driver to close, and kills it if it does not exit in time.
    pub(crate) fn stop(self) -> Result<Exited, CellError> {
        let DriverProcess {
            host,
            mut process,
            log,
            ..
        } = self;
        host.close();
        let exit = finish(&mut process, CLOSE_LIMIT)?;
        Ok(Exited {
            exit,
            log: log.close(),
        })
    }
}

impl Exited {
    /// Adds the last line of the driver's log to a failure.
    pub(crate) fn explain(&self, error: CellError) -> CellError {
        match error {
            CellError::Failed(reason) => CellError::Failed(with_last_line(&reason, &self.log)),
            other => other,
        }
    }
}

impl LabEnd {
    fn open(self, deadline: Instant) -> Result<(OwnedFd, OwnedFd), CellError> {
        match self {
            Self::Pipes { read, write } => Ok((read, write)),
            Self::Tcp(listener) => {
                let stream = accept(&listener, deadline).map_err(|e| channel_error(&e))?;
                let other = stream.try_clone().map_err(|e| channel_error(&e))?;
                Ok((stream.into(), other.into()))
            }
        }
    }
}

fn pipes(user: Option<u32>) -> Result<(DriverEnd, LabEnd), CellError> {
    let failed = |e: Errno| CellError::io("pipe", &e.into());
    let (driver_in, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let (read, driver_out) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    // The driver opens them again by path, which only their owner may.
    for end in [&driver_in, &driver_out] {
        fchown(end, user.map(Uid::from_raw), user.map(Gid::from_raw)).map_err(failed)?;
    }
    let driver_end = DriverEnd {
        env: vec![
            (driver::env::ENV_IN.into(), "/proc/self/fd/3".into()),
            (driver::env::ENV_OUT.into(), "/proc/self/fd/4".into()),
        ],
        fds: vec![(driver_in, 3), (driver_out, 4)],
    };
    Ok((driver_end, LabEnd::Pipes { read, write }))
}

/// Listens on the client's own loopback, off the measured path.
fn tcp(bench: &mut Bench) -> Result<(DriverEnd, LabEnd), CellError> {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = TcpListener::from(bench.bind(Side::Client, SocketKind::Tcp, any_port)?);
    let address = listener.local_addr().map_err(|e| channel_error(&e))?;
    let driver_end = DriverEnd {
        env: vec![(driver::env::ENV_CONNECT.into(), address.to_string().into())],
        fds: Vec::new(),
    };
    Ok((driver_end, LabEnd::Tcp(listener)))
}

/// Accepts the one connection that a driver makes.
fn accept(listener: &TcpListener, deadline: Instant) -> std::io::Result<TcpStream> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(std::io::Error::other)?;
    if poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&left))? == 0 {
        return Err(std::io::Error::other("the driver did not connect"));
    }
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn channel_error(e: &std::io::Error) -> CellError {
    CellError::Failed(format!("the driver's channel: {e}"))
}
