//! A bench, as its owner uses it.

mod moves;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufReader, IsTerminal, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use link::Network;
use link::tap::TapRecord;
use link::window::Window;

use crate::cgroup::Cgroup;
use crate::confinement::{Sandbox, SandboxId};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::facts::{Facts, Side};
use crate::kernel_thread;
use crate::other_cpu::OtherCpu;
use crate::process::{Process, Spawn};
use crate::protocol::{self, Bytes, CONTROL_FD, Hello, Reply, Request, SpawnWire};
use crate::sys;
use crate::teardown;

/// Spinning may take half of a core, over all benches and both directions of each. At 100 Mbit/s a
/// tenth of that left a spacing error of 2 to 8 us (median); this leaves 0.4.
const SPIN_PERMILLE: u64 = 500;

/// The program that runs as the init process of a bench; it must call [`crate::init_main`].
#[derive(Clone, Debug)]
pub struct Init {
    /// Its path, usually the caller's own.
    pub program: PathBuf,
    /// Arguments that make it call [`crate::init_main`].
    pub args: Vec<OsString>,
}

/// The configuration of a bench.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The program to run as its init process.
    pub init: Init,
    /// Host names that resolve to the server inside, over IPv4 and IPv6.
    pub names: Vec<String>,
    /// Number of benches that run in parallel: they share the CPU time allowed for spinning.
    pub jobs: u32,
    /// Files and folders that programs in sandboxes need. They are read-only there, and everything else in parents
    /// that are hidden, or that only their owner may enter, is not there.
    pub visible: Vec<PathBuf>,
    /// Folders that are empty in sandboxes, besides those of every sandbox.
    pub hidden: Vec<PathBuf>,
}

/// Reports whether a variable may hold a credential of a cloud, which is for the process that writes records only.
fn may_be_credential(name: &OsStr) -> bool {
    let clouds = ["AWS_", "AZURE_", "GOOGLE_"];
    clouds
        .iter()
        .any(|cloud| name.as_bytes().starts_with(cloud.as_bytes()))
}

/// Two endpoints with a link between them, in namespaces of their own. Everything in it ends with
/// this object, or with the process that owns it, however that ends.
#[derive(Debug)]
pub struct Bench {
    connection: Arc<Connection>,
    facts: Facts,
    /// Ids of the endpoints' kernel threads, where they are visible to this process.
    kernel_threads: [Option<Vec<i32>>; 2],
    /// Their CPU time when the window began.
    kernel_cpu_ns: [Option<u64>; 2],
    /// CPU time of processes outside the bench when the window began.
    other_cpu: Option<OtherCpu>,
    /// The cgroups of sandboxes, as far as this machine has them.
    cgroups: HashMap<SandboxId, Cgroup>,
}

impl Bench {
    /// Creates the namespaces, interfaces and threads. The link forwards without impairment until
    /// a network is set.
    pub fn start(options: &BenchOptions) -> Result<Bench, BenchError> {
        let program = &options.init.program;
        let failed = |source| BenchError::Start {
            program: program.clone(),
            source,
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| may_be_credential(name)) {
            command.env_remove(name);
        }
        let child = command
            .args(&options.init.args)
            .env(CONTROL_FD, "0")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .map_err(failed)?;
        // Its copy of the child's end of the socket would hide that the child has died.
        drop(command);
        let connection = Connection::new(ours, child);

        let hello = Hello {
            names: options.names.clone(),
            visible: protocol::bytes(&options.visible),
            hidden: protocol::bytes(&options.hidden),
            spin_permille: SPIN_PERMILLE / (2 * u64::from(options.jobs.max(1))),
        };
        let mut facts = connection
            .hello(&hello)
            .inspect_err(|_| connection.close())?;
        let kernel_threads = facts
            .kernel_threads
            .each_ref()
            .map(|names| kernel_thread::find(names));
        facts.kernel_threads_realtime = kernel_threads
            .iter()
            .all(|tids| tids.as_deref().is_some_and(kernel_thread::make_realtime));
        Ok(Bench {
            connection: Arc::new(connection),
            kernel_threads,
            facts,
            kernel_cpu_ns: [None; 2],
            other_cpu: None,
            cgroups: HashMap::new(),
        })
    }

    /// Returns the properties that the bench found at its start.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Puts a network between the endpoints; `seed` determines its random draws. Discards the
    /// packets on the old link.
    pub fn set_network(&mut self, network: &Network, seed: u64) -> Result<(), BenchError> {
        let network = Box::new(network.clone());
        self.connection
            .request(&Request::SetNetwork { network, seed }, &[])
            .map(drop)
    }

    /// Sets the congestion control of new TCP connections at both ends.
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

    /// Breaks the bench on purpose: the endpoints send frames that hold several packets, as
    /// interfaces do by default.
    pub fn enable_segmentation_offload(&mut self) -> Result<(), BenchError> {
        self.connection
            .request(&Request::EnableSegmentationOffload, &[])
            .map(drop)
    }

    /// Breaks the bench on purpose: stray packets get random draws in cells too, so that they shift
    /// those of other connections.
    pub fn number_every_flow(&mut self) -> Result<(), BenchError> {
        self.connection
            .request(&Request::NumberEveryFlow, &[])
            .map(drop)
    }

    /// Captures whole frames in the following windows, up to `bytes` per direction (0: none).
    /// Restarts the link, as [`Bench::set_network`] does.
    pub fn set_capture(&mut self, bytes: usize) -> Result<(), BenchError> {
        self.connection
            .request(&Request::SetCapture { bytes }, &[])
            .map(drop)
    }

    /// Makes a sandbox for processes, which lasts until [`Bench::clear_endpoints`].
    pub fn make_sandbox(&mut self, sandbox: &Sandbox) -> Result<SandboxId, BenchError> {
        let request = Request::MakeSandbox {
            sandbox: sandbox.into(),
        };
        let (Reply::Sandbox(id), _) = self.connection.request(&request, &[])? else {
            return Err(BenchError::unexpected_reply());
        };
        if let Some(cgroup) = Cgroup::new(sandbox) {
            self.cgroups.insert(id, cgroup);
        }
        Ok(id)
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
        let cgroup = spawn.sandbox.and_then(|id| self.cgroups.get(&id));
        let cwd = spawn.cwd.or_else(|| std::env::current_dir().ok());
        let command = SpawnWire {
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
            confinement: spawn.confinement,
            sandbox: spawn.sandbox,
            in_cgroup: cgroup.is_some(),
            raw_sockets: spawn.raw_sockets,
        };
        let fds = spawn.fds.iter().map(|(fd, _)| fd.as_fd());
        let fds: Vec<BorrowedFd<'_>> = fds
            .chain(cgroup.map(|cgroup| cgroup.join.as_fd()))
            .collect();
        let request = Request::Spawn { side, command };
        let (reply, mut fds) = self.connection.request(&request, &fds)?;
        match (reply, fds.pop()) {
            (Reply::Spawned { pid }, Some(events)) => Ok(Process {
                connection: Arc::clone(&self.connection),
                pid,
                events: BufReader::new(File::from(events)),
                exit: None,
                terminal,
            }),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Begins a window: resets all counts and restarts the model's virtual time. Flows are numbered
    /// in order of their first packet, whatever it is. Waits for up to 1.5 s where another bench
    /// of this process has just ended.
    pub fn begin_window(&mut self) -> Result<(), BenchError> {
        self.begin(false)
    }

    /// Begins the window of a cell, as [`Bench::begin_window`] does. A connection gets a number, and so random draws,
    /// only if its opening crosses the link from client to server within the window. An opening is a TCP SYN or a QUIC
    /// Initial. All other TCP and UDP packets are [`Stray`](link::window::Stray).
    pub fn begin_cell(&mut self) -> Result<(), BenchError> {
        self.begin(true)
    }

    fn begin(&mut self, cell: bool) -> Result<(), BenchError> {
        teardown::wait();
        self.other_cpu = self.read_other_cpu();
        self.connection
            .request(&Request::BeginWindow { cell }, &[])?;
        self.kernel_cpu_ns = self.kernel_threads_cpu_ns();
        Ok(())
    }

    /// Waits until the link is empty, so that the end of a window does not cut off packets. Returns
    /// `false` when that took longer than `limit`.
    pub fn settle(&mut self, limit: Duration) -> Result<bool, BenchError> {
        let limit_ns = limit.as_nanos() as u64;
        match self
            .connection
            .request(&Request::Settle { limit_ns }, &[])?
        {
            (Reply::Settled(empty), _) => Ok(empty),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Ends the window and returns its measurements.
    pub fn end_window(&mut self) -> Result<Window, BenchError> {
        let kernel_cpu_ns = self.kernel_threads_cpu_ns();
        let (reply, _) = self.connection.request(&Request::EndWindow, &[])?;
        let Reply::Window(mut window) = reply else {
            return Err(BenchError::unexpected_reply());
        };
        let used = |i: usize| Some(kernel_cpu_ns[i]?.saturating_sub(self.kernel_cpu_ns[i]?));
        window.client.kernel_cpu_ns = used(0);
        window.server.kernel_cpu_ns = used(1);
        window.other_cpu_ns = match (self.other_cpu.take(), self.read_other_cpu()) {
            // The kernel counts the time of children in ticks of 10 ms, and the readings enclose the
            // window: they may add up to a little more than the machine has.
            (Some(start), Some(end)) => Some(end.since(&start).min(sys::cores() * window.took_ns)),
            _ => None,
        };
        Ok(*window)
    }

    fn read_other_cpu(&self) -> Option<OtherCpu> {
        let threads = self.kernel_threads.iter().flatten().flatten();
        OtherCpu::read(&threads.copied().collect::<Vec<_>>())
    }

    /// Returns the packets of the last window, in order of arrival at the link.
    pub fn tap(&mut self) -> Result<Vec<TapRecord>, BenchError> {
        let (file, _) = self.request_file(&Request::Tap)?;
        let mut bytes = Vec::new();
        File::from(file)
            .read_to_end(&mut bytes)
            .map_err(BenchError::Gone)?;
        let (records, _) = bytes.as_chunks::<{ TapRecord::LEN }>();
        Ok(records.iter().filter_map(TapRecord::from_bytes).collect())
    }

    /// Returns what one end sent and received in the last window as a pcapng file. Also returns the number of frames
    /// that exceeded the room of [`Bench::set_capture`].
    pub fn capture(&mut self, side: Side) -> Result<(File, u64), BenchError> {
        self.request_file(&Request::Capture { side })
            .map(|(fd, missed)| (File::from(fd), missed))
    }

    /// Opens a socket at one end and binds it. A TCP socket listens.
    pub fn bind(
        &mut self,
        side: Side,
        kind: SocketKind,
        address: SocketAddr,
    ) -> Result<OwnedFd, BenchError> {
        let udp = kind == SocketKind::Udp;
        self.request_file(&Request::Bind { side, udp, address })
            .map(|(fd, _)| fd)
    }

    /// Opens a TCP connection from one end, across the link.
    pub fn connect(&mut self, side: Side, address: SocketAddr) -> Result<OwnedFd, BenchError> {
        self.request_file(&Request::Connect { side, address })
            .map(|(fd, _)| fd)
    }

    /// Kills every process at both ends, and closes every TCP socket there that does not listen:
    /// the kernel would go on retransmitting what a process left unacknowledged. Packets already on
    /// the link stay there until it is restarted, e.g. by [`Bench::set_network`].
    ///
    /// Processes that are about to end get a second to do so. Returns the names of those that had to
    /// be killed.
    pub fn clear_endpoints(&mut self) -> Result<Vec<String>, BenchError> {
        match self.connection.request(&Request::ClearEndpoints, &[])? {
            (Reply::Cleared(killed), _) => {
                self.cgroups.clear();
                Ok(killed)
            }
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Returns the number of ports open at one end: TCP sockets that listen, and UDP sockets that are
    /// bound.
    pub fn open_ports(&mut self, side: Side) -> Result<usize, BenchError> {
        match self.connection.request(&Request::OpenPorts { side }, &[])? {
            (Reply::OpenPorts(ports), _) => Ok(ports),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    fn request_file(&self, request: &Request) -> Result<(OwnedFd, u64), BenchError> {
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
        teardown::begun();
        self.connection.close();
    }
}

/// The kind of socket that [`Bench::bind`] opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// A TCP listener.
    Tcp,
    /// A UDP socket.
    Udp,
}
