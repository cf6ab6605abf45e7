//! Runs one cell on a bench: server and driver started, the workload followed, the driver's
//! rows proven against the server's log.

pub(crate) mod accounting;
pub(crate) mod capabilities;
pub(crate) mod driver_process;
pub(crate) mod exclusion;
pub(crate) mod server_process;
pub(crate) mod value_files;

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use driver::protocol::{Clock, Hello, Protocol, Row, Setup};
use driver::{RunAnswer, SetupAnswer};
use link::Network;
use pump::{Bench, TapRecord, Window};
use record::server_log::ServerEvent;
use record::{Call, ConnectionSettings, Socket, Stack};
use tempfile::TempDir;

use crate::cell::capabilities::lacking;
use crate::cell::driver_process::{Driven, STARTUP_LIMIT};
use crate::cell::exclusion::Turn;
use crate::cell::server_process::{Origin, ServerOptions};
use crate::plan::slug;
use crate::plan::workload::Workload;
use crate::stacks;
use crate::study::{Arm, Security};
use crate::verify::proof::{Claim, prove};

/// What to measure.
pub(crate) struct Job<'a> {
    pub(crate) network: &'a Network,
    /// Seed of the link's luck.
    pub(crate) link_seed: u64,
    pub(crate) arm: &'a Arm,
    pub(crate) workload: &'a Workload,
    /// Where the messages of its exchanges come from.
    pub(crate) seed: u64,
    pub(crate) timeout_ns: u64,
    pub(crate) server: ServerOptions,
    /// Where its temporary folder is made; the system's place when none.
    pub(crate) scratch: Option<&'a Path>,
    /// Keep every frame, for pcapng.
    pub(crate) capture: Option<&'a Path>,
    /// Changes what the driver is told, for conformance cases.
    pub(crate) amend: Option<&'a dyn Fn(&mut Setup)>,
}

/// What came of it, not yet judged.
pub(crate) struct Measured {
    pub(crate) calls: Vec<Call>,
    /// What the calls were proven from.
    pub(crate) rows: Vec<Row>,
    pub(crate) log: Vec<ServerEvent>,
    pub(crate) clock: Clock,
    pub(crate) connections: Vec<ConnectionSettings>,
    pub(crate) stack: Stack,
    pub(crate) window: Window,
    pub(crate) tap: Vec<TapRecord>,
    pub(crate) handshakes: Vec<Handshake>,
    pub(crate) started_ns: u64,
    pub(crate) took_ns: u64,
    pub(crate) startup_ns: u64,
    pub(crate) startup_cpu_ns: u64,
    pub(crate) peak_bytes: u64,
}

/// Until when the packets of a connection belong to its handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    pub(crate) port: u16,
    pub(crate) until_ns: u64,
}

/// Why a cell was not measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The stack cannot do this.
    #[error("{0}")]
    Unsupported(String),
    /// The driver lied, died or broke the protocol, or a part of the lab failed.
    #[error("{0}")]
    Failed(String),
    /// The bench itself is gone: a new one is needed.
    #[error("bench: {0}")]
    Bench(#[from] pump::BenchError),
}

impl Job<'_> {
    /// Runs the cell. Start-up holds `turn` alone; measuring shares it.
    pub(crate) fn measure(
        &self,
        bench: &mut Bench,
        stack: &stacks::Driver,
        exe: &Path,
        turn: &Turn<'_>,
    ) -> Result<Measured, Trouble> {
        if let Some(reason) = stack.missing() {
            return Err(Trouble::Unsupported(reason));
        }
        let dir = self.scratch().map_err(|e| failed("temporary folder", &e))?;
        let starting = turn.alone();
        bench.set_network(self.network, self.link_seed)?;
        let congestion = self.arm.congestion.as_deref().unwrap_or(CONGESTION);
        bench.set_congestion(congestion)?;
        let mut server = self.server.clone();
        server.key = stack.entry.certificate;
        server
            .args
            .extend(["--congestion".to_owned(), congestion.to_owned()]);
        if self.arm.discovery.is_some() {
            server.args.push("--alt-svc".to_owned());
        }
        let origin = Origin::start(bench, exe, dir.path(), &server)?;
        // Before the driver: making its keys is no part of the driver's start.
        let near = match self.arm.warmup_calls {
            0 => None,
            _ => Some(Origin::near(bench, exe, dir.path(), &server)?),
        };
        let mut driver = match Driven::start(bench, stack, &dir) {
            Ok(driver) => driver,
            Err(trouble) => {
                origin.stop()?;
                return Err(trouble);
            }
        };
        let ready = self.prepare(&mut driver, &origin, near, dir.path());
        let outcome = ready.and_then(|hello| {
            let startup_ns = driver.spawned.elapsed().as_nanos() as u64;
            let measuring = turn.shared(starting);
            let steps = self.steps(bench, &mut driver);
            drop(measuring);
            Ok((hello, startup_ns, steps?))
        });
        // Whatever happened, both processes end before the next cell, and the driver's own
        // last words explain a failure better than ours.
        let stopped = driver.stop()?;
        let log = origin.stop()?;
        let (hello, startup_ns, steps) = outcome.map_err(|t| stopped.explain(t))?;
        let claim = Claim {
            workload: self.workload,
            protocol: self.arm.protocol,
            codec: self.arm.codec.name(),
            discovery: self.arm.discovery,
            clock: hello.clock,
            run_ns: steps.run_ns,
            rtt_ns: self.network.rtt_ns(),
            warmed_up: self.arm.warmup_calls > 0,
        };
        show(&steps.rows, &log);
        let (calls, mut connections) = prove(&claim, &steps.rows, &log).map_err(Trouble::Failed)?;
        for (of, port) in &mut connections {
            of.certificate = server.key.name().to_owned();
            of.client = socket(&steps.window.client_sockets, |s| s.local_port == *port);
            of.server = socket(&steps.window.server_sockets, |s| s.peer_port == Some(*port));
        }
        let connections = connections
            .into_iter()
            .map(|(settings, _)| settings)
            .collect();
        let handshakes = steps
            .rows
            .iter()
            .filter(|r| !r.reused)
            .filter_map(|r| {
                Some(Handshake {
                    port: r.local_port?,
                    until_ns: r.tls_ns?,
                })
            })
            .collect();
        let (in_window_ns, peak_rss_bytes) = (
            steps.window.client.cpu_ns,
            steps.window.client.peak_rss_bytes,
        );
        Ok(Measured {
            calls,
            rows: steps.rows,
            log,
            clock: hello.clock,
            connections,
            stack: stack_of(&hello),
            window: steps.window,
            tap: steps.tap,
            handshakes,
            started_ns: steps.run_ns,
            took_ns: steps.took_ns,
            startup_ns,
            startup_cpu_ns: stopped.exit.cpu_ns.saturating_sub(in_window_ns),
            peak_bytes: peak_rss_bytes,
        })
    }

    /// Hears who the driver is and tells it where to and how, warm if it is to be.
    fn prepare(
        &self,
        driver: &mut Driven,
        origin: &Origin,
        near: Option<Origin>,
        dir: &Path,
    ) -> Result<Hello, Trouble> {
        let deadline = driver.spawned + STARTUP_LIMIT;
        let fail = |e: driver::DriverError| Trouble::Failed(format!("driver: {e}"));
        let hello = driver.host.hello(deadline).map_err(fail)?;
        lacking(&hello, self.arm, &self.workload.steps)
            .map_or(Ok(()), |reason| Err(Trouble::Unsupported(reason)))?;
        let setup = self.setup(origin, near.as_ref(), dir)?;
        let answer = driver.host.setup(&setup, deadline + WARMUP_LIMIT);
        if let Some(near) = near {
            near.stop()?;
        }
        match answer.map_err(fail)? {
            SetupAnswer::Ready => Ok(hello),
            SetupAnswer::Unsupported { what, reason } => {
                Err(Trouble::Unsupported(format!("{what}: {reason}")))
            }
        }
    }

    fn steps(&self, bench: &mut Bench, driver: &mut Driven) -> Result<Steps, Trouble> {
        bench.set_capture(if self.capture.is_some() {
            CAPTURE_BYTES
        } else {
            0
        })?;
        bench.begin()?;
        let begun = Instant::now();
        let run_ns = monotonic_ns();
        let answer = driver
            .host
            .run(&self.workload.steps, begun + self.patience());
        let took_ns = begun.elapsed().as_nanos() as u64;
        let window = bench.end()?;
        if let Some(path) = self.capture {
            save_capture(bench, path)?;
        }
        let rows = match answer.map_err(|e| Trouble::Failed(format!("driver: {e}")))? {
            RunAnswer::Rows(rows) => rows,
            RunAnswer::Unsupported { what, reason } => {
                return Err(Trouble::Unsupported(format!("{what}: {reason}")));
            }
        };
        let tap = bench.tap()?;
        Ok(Steps {
            rows,
            window,
            tap,
            run_ns,
            took_ns,
        })
    }

    fn setup(&self, origin: &Origin, near: Option<&Origin>, dir: &Path) -> Result<Setup, Trouble> {
        let mtls = self.arm.security == Security::Mtls;
        let path = |name: &str| origin.credentials().join(name).display().to_string();
        let files = value_files::write(&self.workload.steps, self.seed, dir);
        let files = files.map_err(|e| failed("value files", &e))?;
        let (values, schema_file) = match files {
            Some(files) => (files.values, Some(files.schema)),
            None => (BTreeMap::new(), None),
        };
        let mut setup = Setup {
            url: origin.url(mtls),
            warmup_url: None,
            warmup_calls: None,
            ca_file: path("ca.pem"),
            client_cert_file: mtls.then(|| path("client.pem")),
            client_key_file: mtls.then(|| path("client.key")),
            protocol: self.arm.protocol,
            codec: self.arm.codec.clone(),
            timeout_ns: self.timeout_ns,
            // TCP's is the route's, see `set_congestion`; QUIC's is the stack's own.
            congestion: match self.arm.protocol {
                Protocol::H3 => self.arm.congestion.clone(),
                _ => None,
            },
            observe: self.arm.observe.clone(),
            discovery: self.arm.discovery,
            values,
            schema_file,
        };
        if let Some(near) = near {
            let both = near.bundle_with(origin, &dir.join("ca.pem"));
            setup.ca_file = both.map_err(|e| failed("ca.pem", &e))?;
            setup.warmup_url = Some(near.url(false));
            setup.warmup_calls = Some(self.arm.warmup_calls);
        }
        if let Some(amend) = self.amend {
            amend(&mut setup);
        }
        Ok(setup)
    }

    /// A folder of its own for keys, logs and the driver's home, gone with the cell. Only its
    /// owner may enter.
    fn scratch(&self) -> std::io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        builder
            .prefix(SCRATCH_PREFIX)
            .permissions(Permissions::from_mode(0o700));
        match self.scratch {
            Some(place) => builder.tempdir_in(place),
            None => builder.tempdir(),
        }
    }

    /// Longer than the workload can take when every call times out.
    fn patience(&self) -> Duration {
        let calls = self.workload.call_ids().count() as u64;
        let ideal_ns = self.workload.estimate_ns(self.network.rtt_ns(), None, None);
        Duration::from_nanos(calls * self.timeout_ns + ideal_ns) + STARTUP_LIMIT
    }
}

struct Steps {
    rows: Vec<Row>,
    window: Window,
    tap: Vec<TapRecord>,
    run_ns: u64,
    took_ns: u64,
}

/// For the writer of a driver, with `COMMUTE_LOG=debug`: what it said, what the server saw.
fn show(rows: &[Row], log: &[ServerEvent]) {
    for row in rows {
        tracing::debug!("row {}", serde_json::to_string(row).unwrap_or_default());
    }
    for line in log {
        tracing::debug!("server {}", serde_json::to_string(line).unwrap_or_default());
    }
}

/// The socket that is meant, as recorded.
fn socket(all: &[pump::Socket], meant: impl Fn(&pump::Socket) -> bool) -> Option<Socket> {
    let socket = all.iter().find(|s| meant(s))?.clone();
    Some(Socket {
        send_buffer_bytes: socket.send_buffer_bytes,
        receive_buffer_bytes: socket.receive_buffer_bytes,
        nodelay: socket.nodelay,
        congestion: socket.congestion,
        mss_bytes: socket.mss_bytes,
        udp_gro: socket.udp_gro,
    })
}

fn save_capture(bench: &mut Bench, path: &Path) -> Result<(), Trouble> {
    let (mut frames, missed) = bench.capture()?;
    let failed = |e: &std::io::Error| failed(&format!("--pcap {}", path.display()), e);
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir).map_err(|e| failed(&e))?;
    }
    let mut file = std::fs::File::create(path).map_err(|e| failed(&e))?;
    std::io::copy(&mut frames, &mut file).map_err(|e| failed(&e))?;
    if missed > 0 {
        tracing::warn!("{}: {missed} frames did not fit", path.display());
    }
    Ok(())
}

/// CLOCK_MONOTONIC, the clock of drivers, server and link.
pub(crate) fn monotonic_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

pub(crate) fn failed(what: &str, e: &std::io::Error) -> Trouble {
    Trouble::Failed(format!("{what}: {e}"))
}

fn stack_of(hello: &Hello) -> Stack {
    Stack {
        name: hello.stack.clone(),
        version: hello.stack_version.clone(),
        tls: hello.tls.clone(),
        clock: slug(&format!("{:?}", hello.clock)),
        resolution_ns: hello.resolution_ns,
        settings: hello.settings.clone(),
    }
}

/// More for one that warms up.
const WARMUP_LIMIT: Duration = Duration::from_secs(60);
/// Removes what cells left in a run's folder that were killed before they could.
pub(crate) fn sweep(place: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(place)? {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with(SCRATCH_PREFIX)
        {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

const SCRATCH_PREFIX: &str = ".cell-";
/// Unless the arm says otherwise: the default of Linux and of the QUIC libraries measured here.
pub(crate) const CONGESTION: &str = "cubic";
/// Room for the frames of one direction of a cell.
const CAPTURE_BYTES: usize = 64 << 20;
