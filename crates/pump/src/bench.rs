//! The bench as its owner sees it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, IsTerminal, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use link::Network;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::facts::{Facts, Side};
use crate::kernel_thread;
use crate::other_cpu::OtherCpu;
use crate::process::{Process, Spawn};
use crate::protocol::{Bytes, CONTROL_FD, Hello, Reply, Request, SpawnWire};
use crate::tap::TapRecord;
use crate::window::Window;

/// How to start the other half of a bench: a program that calls [`crate::init_main`].
#[derive(Clone, Debug)]
pub struct Init {
    /// The program, usually the caller's own.
    pub program: PathBuf,
    /// Arguments that lead it to [`crate::init_main`].
    pub args: Vec<OsString>,
}

/// What a bench is to be.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// How to start its inside.
    pub init: Init,
    /// Host names that resolve to the server inside, over IPv4 and IPv6.
    pub names: Vec<String>,
    /// How many benches run side by side: they share the time that may be spent spinning.
    pub jobs: u32,
}

/// Two endpoints with a link between them, in namespaces that end with this object or with
/// the process that holds it, however that ends.
#[derive(Debug)]
pub struct Bench {
    connection: Arc<Connection>,
    facts: Facts,
    /// The endpoints' kernel threads, where this process can see them.
    kernel_threads: [Option<Vec<i32>>; 2],
    /// Their CPU when the window began.
    kernel_cpu_ns: [Option<u64>; 2],
    /// The process that holds all others of this bench.
    init: u32,
    /// What everybody else had used when the window began.
    others: Option<OtherCpu>,
}

impl Bench {
    /// Makes the namespaces, interfaces and threads. The link is open until a network is set.
    pub fn start(options: &BenchOptions) -> Result<Bench, BenchError> {
        let program = &options.init.program;
        let failed = |source| BenchError::Start {
            program: program.clone(),
            source,
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(program)
            .args(&options.init.args)
            .env(CONTROL_FD, "0")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .map_err(failed)?;
        let init = child.id();
        let connection = Connection::new(ours, child);

        let hello = Hello {
            names: options.names.clone(),
            spin_permille: SPIN_PERMILLE / (2 * u64::from(options.jobs.max(1))),
        };
        let mut facts = connection
            .hello(&hello)
            .inspect_err(|_| connection.close())?;
        let kernel_threads = facts
            .kernel_threads
            .each_ref()
            .map(|names| kernel_thread::find(names));
        facts.kernel_realtime = kernel_threads
            .iter()
            .all(|tids| tids.as_deref().is_some_and(kernel_thread::make_realtime));
        Ok(Bench {
            connection: Arc::new(connection),
            kernel_threads,
            facts,
            kernel_cpu_ns: [None; 2],
            init,
            others: None,
        })
    }

    /// What it is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Puts a network between the endpoints, with luck from `seed`. What is still on the old
    /// link is gone.
    pub fn set_network(&mut self, network: &Network, seed: u64) -> Result<(), BenchError> {
        let network = Box::new(network.clone());
        self.connection
            .request(&Request::SetNetwork { network, seed }, &[])
            .map(drop)
    }

    /// Sets the congestion control of new TCP connections, at both ends.
    pub fn set_congestion(&mut self, name: &str) -> Result<(), BenchError> {
        self.connection
            .request(
                &Request::SetCongestion {
                    name: name.to_owned(),
                },
                &[],
            )
            .map(drop)
    }

    /// Breaks the bench on purpose: the endpoints hand the link frames that hold several
    /// packets, as machines do that nobody set up for measuring.
    pub fn enable_segmentation_offload(&mut self) -> Result<(), BenchError> {
        self.connection
            .request(&Request::EnableSegmentationOffload, &[])
            .map(drop)
    }

    /// Keeps whole frames of the following windows, up to so many bytes a direction (0: none).
    /// The link starts anew, as with [`Bench::set_network`].
    pub fn set_capture(&mut self, bytes: usize) -> Result<(), BenchError> {
        self.connection
            .request(&Request::SetCapture { bytes }, &[])
            .map(drop)
    }

    /// Subtracts a bias from the delay of both directions, up first, for all networks from now
    /// on. The link starts again, as with [`Bench::set_network`].
    pub(crate) fn set_bias_ns(&mut self, bias_ns: [u64; 2]) -> Result<(), BenchError> {
        self.connection
            .request(&Request::SetBias { bias_ns }, &[])
            .map(drop)
    }

    /// Starts a process at one end.
    pub fn spawn(&mut self, side: Side, spawn: Spawn) -> Result<Process, BenchError> {
        let terminal = if spawn.foreground {
            let tty = spawn
                .fds
                .iter()
                .find(|(fd, to)| *to < 3 && fd.is_terminal());
            tty.map(|(fd, _)| fd.try_clone())
                .transpose()
                .map_err(BenchError::Gone)?
        } else {
            None
        };
        let cwd = spawn.cwd.or_else(|| std::env::current_dir().ok());
        let what = SpawnWire {
            program: spawn.program.as_os_str().into(),
            args: spawn.args.iter().map(|a| a.as_os_str().into()).collect(),
            env: spawn
                .env
                .iter()
                .map(|(k, v)| (Bytes::from(&**k), Bytes::from(&**v)))
                .collect(),
            cwd: cwd.map(|c| c.as_os_str().into()),
            targets: spawn.fds.iter().map(|(_, target)| *target).collect(),
            foreground: spawn.foreground,
        };
        let fds: Vec<BorrowedFd<'_>> = spawn.fds.iter().map(|(fd, _)| fd.as_fd()).collect();
        let (reply, mut told) = self
            .connection
            .request(&Request::Spawn { side, what }, &fds)?;
        match (reply, told.pop()) {
            (Reply::Spawned { pid }, Some(told)) => Ok(Process {
                connection: Arc::clone(&self.connection),
                pid,
                told: BufReader::new(File::from(told)),
                exit: None,
                terminal,
            }),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Begins a window: all books at zero, the model's clocks at their origin.
    pub fn begin_window(&mut self) -> Result<(), BenchError> {
        self.others = self.others();
        self.connection.request(&Request::Begin, &[])?;
        self.kernel_cpu_ns = self.kernel_threads_cpu_ns();
        Ok(())
    }

    /// Waits until the link is empty, so that a window's end cuts no packet in two; `false` when
    /// it was not within `limit`.
    pub fn settle(&mut self, limit: Duration) -> Result<bool, BenchError> {
        let limit_ns = limit.as_nanos() as u64;
        match self
            .connection
            .request(&Request::Settle { limit_ns }, &[])?
        {
            (Reply::Settled(quiet), _) => Ok(quiet),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Ends the window and tells what was seen in it.
    pub fn end_window(&mut self) -> Result<Window, BenchError> {
        let kernel_cpu_ns = self.kernel_threads_cpu_ns();
        let (Reply::Window(mut window), _) = self.connection.request(&Request::End, &[])? else {
            return Err(BenchError::unexpected_reply());
        };
        let used = |i: usize| Some(kernel_cpu_ns[i]?.saturating_sub(self.kernel_cpu_ns[i]?));
        window.client.kernel_cpu_ns = used(0);
        window.server.kernel_cpu_ns = used(1);
        let others = (self.others.take(), self.others());
        window.other_cpu_ns = match others {
            (Some(begun), Some(ended)) => Some(ended.since(&begun)),
            _ => None,
        };
        Ok(*window)
    }

    fn others(&self) -> Option<OtherCpu> {
        let threads = self.kernel_threads.iter().flatten().flatten();
        OtherCpu::read(self.init, &threads.copied().collect::<Vec<_>>())
    }

    /// The packets of the last window, in order of arrival at the link.
    pub fn tap(&mut self) -> Result<Vec<TapRecord>, BenchError> {
        let (file, _) = self.file(&Request::Tap)?;
        let bytes = read_whole(file)?;
        let (records, _) = bytes.as_chunks::<{ TapRecord::LEN }>();
        Ok(records.iter().filter_map(TapRecord::from_bytes).collect())
    }

    /// The last window as a pcapng file, with the client's and the server's end as its two
    /// interfaces, and how many frames it misses for want of the room that
    /// [`Bench::set_capture`] gave it.
    pub fn capture(&mut self) -> Result<(File, u64), BenchError> {
        self.file(&Request::Capture)
            .map(|(fd, missed)| (File::from(fd), missed))
    }

    /// Opens a socket at one end: a listening one of TCP, or a bound one of UDP.
    pub fn bind(
        &mut self,
        side: Side,
        kind: SocketKind,
        address: SocketAddr,
    ) -> Result<OwnedFd, BenchError> {
        let udp = kind == SocketKind::Udp;
        self.file(&Request::Listen { side, udp, address })
            .map(|(fd, _)| fd)
    }

    fn file(&self, request: &Request) -> Result<(OwnedFd, u64), BenchError> {
        let (reply, mut fds) = self.connection.request(request, &[])?;
        match (reply, fds.pop()) {
            (Reply::File { missed }, Some(fd)) => Ok((fd, missed)),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    fn kernel_threads_cpu_ns(&self) -> [Option<u64>; 2] {
        self.kernel_threads
            .each_ref()
            .map(|tids| kernel_thread::cpu_ns(tids.as_ref()?))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.connection.close();
    }
}

fn read_whole(file: OwnedFd) -> Result<Vec<u8>, BenchError> {
    let mut bytes = Vec::new();
    File::from(file)
        .read_to_end(&mut bytes)
        .map_err(BenchError::Gone)?;
    Ok(bytes)
}

/// What to listen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// TCP connections.
    Tcp,
    /// UDP datagrams.
    Udp,
}

/// Spinning may cost 5 % of one core, over all benches and both directions of each.
const SPIN_PERMILLE: u64 = 50;
