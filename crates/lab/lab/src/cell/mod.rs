//! Runs one cell on a bench: starts server and driver, has the driver follow the workload, and
//! proves its rows against the server's log.

pub(crate) mod accounting;
mod activity;
mod call_path;
pub(crate) mod capabilities;
pub(crate) mod captures;
mod collect;
mod concurrent;
mod critical_path;
pub(crate) mod driver_process;
pub(crate) mod error;
pub(crate) mod exclusion;
pub(crate) mod external;
mod first_flight;
mod load;
pub(crate) mod measured;
mod moves;
mod own_files;
pub(crate) mod packets;
pub(crate) mod process;
mod processes;
mod radio;
pub(crate) mod refusals;
pub(crate) mod scratch;
pub(crate) mod server_process;
mod server_side;
mod servers;
mod setup;
mod timeline;
mod value_files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use driver::manifest::Certificate;
use driver::protocol::{Capability, Hello, Row, Setup};
use driver::{RunAnswer, SetupAnswer};
use link::Network;
use link::tap::TapRecord;
use link::window::Window;
use proof::{Claim, Destination, Traffic, highest_bps};
use pump::Bench;
use study::plan::{Pipe, Workload, estimate_ns};
use study::{Arm, AuthScheme, ExternalServer, Security};

use crate::bench;
use crate::stacks;
use capabilities::missing_capabilities;
use captures::Captures;
use collect::{RunOutput, collect};
use driver::clock::monotonic_ns;
use driver_process::DriverProcess;
use error::CellError;
use exclusion::{Access, Permit};
use external::External;
use measured::Measured;
use processes::{Moves, Processes};
use radio::radio;
use scratch::Scratch;
use server_process::{ServerOptions, ServerProcess};
use server_side::ServerSide;

pub(crate) use driver_process::CLOSE_LIMIT;
pub(crate) use process::STARTUP_LIMIT;

/// The congestion control of arms that set none: the default of Linux and of the QUIC libraries
/// measured here.
pub(crate) const DEFAULT_CONGESTION: &str = "cubic";
/// Added to the start-up limit of a driver that warms up.
const WARMUP_LIMIT: Duration = Duration::from_secs(60);
/// How long to wait before a window until nothing is on the link.
const SETTLE_LIMIT: Duration = Duration::from_millis(500);

/// A cell to be measured.
pub(crate) struct CellRun<'a> {
    pub(crate) network: &'a Network,
    /// Seed of the link's random draws.
    pub(crate) link_seed: u64,
    pub(crate) arm: &'a Arm,
    pub(crate) workload: &'a Workload,
    /// What happens to the phone meanwhile.
    pub(crate) moves: &'a [study::Move],
    /// Seed of the exchanged messages.
    pub(crate) seed: u64,
    pub(crate) timeout_ns: u64,
    pub(crate) server: ServerOptions,
    /// The user's own server, in the place of the lab's.
    pub(crate) external: Option<&'a External>,
    pub(crate) captures: Captures,
    /// Changes the driver's setup, for conformance cases.
    pub(crate) amend_setup: Option<&'a dyn Fn(&mut Setup)>,
    /// A folder that the changed setup names.
    pub(crate) also_readable: Option<PathBuf>,
}

/// What a cell is measured with.
pub(crate) struct CellContext<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) stack: &'a stacks::Driver,
    /// The `commute` binary, which is the server.
    pub(crate) exe: &'a Path,
    pub(crate) access: &'a Access<'a>,
}

/// Server and driver, started and set up.
struct Prepared<'a> {
    servers: ServerSide,
    processes: Processes<'a>,
    /// The driver's hello and the setup it got, or why it cannot measure this cell.
    set_up: Result<(Hello, Setup), CellError>,
}

/// What the window measured.
struct Steps {
    rows: Vec<Row>,
    moves: Vec<record::Move>,
    window: Window,
    tap: Vec<TapRecord>,
    run_ns: u64,
    took_ns: u64,
}

impl CellRun<'_> {
    /// Measures the cell. Start-up excludes every other cell; the window does so only where the
    /// network asks for it.
    pub(crate) fn measure(&self, mut context: CellContext<'_>) -> Result<Measured, CellError> {
        let (stack, access) = (context.stack, context.access);
        if let Some(reason) = stack.missing() {
            return Err(CellError::Unsupported(reason));
        }
        if self.external.is_some()
            && let Some(reason) = ExternalServer::unsupported(self.arm)
        {
            return Err(CellError::Unsupported(reason.to_owned()));
        }
        if self.external.is_some() && !self.moves.is_empty() {
            let reason = "a [[move]] needs a server of the lab".to_owned();
            return Err(CellError::Unsupported(reason));
        }
        let key = stack.key(self.arm.key).map_err(CellError::Unsupported)?;
        let scratch = Scratch::new(bench::driver_user(context.bench))
            .map_err(|e| CellError::io("temporary folder", &e))?;
        let permit = access.exclusive();
        let output = self
            .prepare(&mut context, &scratch, key)
            .and_then(|prepared| self.drive(&mut context, prepared, permit));
        // Whatever happened, nothing of this cell may send packets into the next one.
        let cleared = context.bench.clear_endpoints();
        let mut output = output?;
        self.captures.keep_of_server(&scratch.server())?;
        let left = cleared?;
        if !left.is_empty() {
            return Err(CellError::Failed(format!(
                "the driver left processes behind: {}",
                left.join(", ")
            )));
        }
        let destinations = std::mem::take(&mut output.destinations);
        let traffic = Traffic::of(&output.tap).with_clock_step(output.window.clock_step_ns);
        let claim = self.claim(destinations, &output.hello, output.run_ns, traffic);
        let mut measured = collect(output, &claim, key)?;
        if let Some(spec) = &self.network.up.radio {
            measured.radio = radio(&measured.window.radio, spec, measured.started_ns);
        }
        critical_path::explain_calls(
            &mut measured,
            &claim.traffic,
            self.network,
            self.captures.paths,
        );
        Ok(measured)
    }

    /// Configures the link, and starts and sets up server and driver.
    fn prepare<'a, 'c: 'a>(
        &self,
        context: &mut CellContext<'c>,
        scratch: &'a Scratch,
        key: Certificate,
    ) -> Result<Prepared<'a>, CellError> {
        let (bench, exe) = (&mut *context.bench, context.exe);
        bench.set_network(self.network, self.link_seed)?;
        let congestion = self.arm.congestion.as_deref().unwrap_or(DEFAULT_CONGESTION);
        bench.set_congestion(setup::of_tcp(congestion))?;
        let mut options = self.server_options(key);
        let answers = own_files::write_answers(self.workload, &scratch.server())
            .map_err(|e| CellError::io("answers", &e))?;
        options.args.extend(answers);
        (options.args).extend(self.captures.server_args(&scratch.server()));
        let (dir, origins) = (scratch.server(), &self.arm.origins);
        let servers = ServerSide::start(bench, exe, &dir, self.external, &options, origins)?;
        // Started before the driver, so that making its keys is not counted as driver start-up.
        let warmup_server = match self.arm.warmup_calls {
            0 => None,
            _ => Some(ServerProcess::start_for_warmup(
                bench,
                exe,
                &scratch.server(),
                &options,
            )?),
        };
        let also_readable = self.also_readable.clone();
        let mut processes = match Processes::start(bench, context.stack, scratch, also_readable) {
            Ok(processes) => processes,
            Err(e) => {
                servers.stop()?;
                return Err(e);
            }
        };
        let driver = processes.running()?;
        let set_up = self.set_up(driver, &servers, warmup_server, scratch);
        Ok(Prepared {
            servers,
            processes,
            set_up,
        })
    }

    /// Reads the driver's hello, sends it the setup and, for warm arms, waits for its warm-up.
    fn set_up(
        &self,
        driver: &mut DriverProcess,
        servers: &ServerSide,
        warmup_server: Option<ServerProcess>,
        scratch: &Scratch,
    ) -> Result<(Hello, Setup), CellError> {
        let deadline = driver.spawned + STARTUP_LIMIT;
        let hello = driver.host.hello(deadline)?;
        let setup = self.setup(&hello, servers, warmup_server.as_ref(), scratch)?;
        let mut arm = self.arm.clone();
        if arm.security == Security::Mtls && setup.client_cert_file.is_none() {
            // A case takes the certificate away; any driver must fail without one.
            arm.security = Security::Tls;
        }
        let missing = missing_capabilities(&hello, &arm, self.workload);
        if !missing.is_empty() {
            return Err(CellError::Unsupported(missing.join("; ")));
        }
        let answer = driver.host.setup(&setup, deadline + WARMUP_LIMIT);
        if let Some(server) = warmup_server {
            server.stop()?;
        }
        match answer? {
            SetupAnswer::Ready => Ok((hello, setup)),
            SetupAnswer::Unsupported { what, reason } => {
                Err(CellError::Unsupported(format!("{what}: {reason}")))
            }
        }
    }

    /// Has the driver follow the workload inside a window, then ends both processes.
    fn drive<'a>(
        &self,
        context: &mut CellContext<'a>,
        prepared: Prepared<'_>,
        permit: Permit<'a>,
    ) -> Result<RunOutput, CellError> {
        let Prepared {
            servers,
            mut processes,
            set_up,
        } = prepared;
        let measured = set_up.and_then(|(hello, setup)| {
            let startup_ns = processes.running()?.spawned.elapsed().as_nanos() as u64;
            let permit = context.access.for_measuring(permit);
            let notifies = hello.capabilities.contains(&Capability::Network);
            let steps = self.run_steps(context.bench, &mut processes, &setup, notifies);
            drop(permit);
            Ok((hello, startup_ns, steps?))
        });
        // Whatever happened, both processes end before the next cell.
        let driver = processes.stop()?;
        let server_libraries = servers.libraries();
        let destinations = servers.destinations(self.arm.security);
        let testimony = servers.stop()?;
        let (hello, startup_ns, steps) =
            measured.map_err(|e| refusals::explain(driver.explain(e), testimony.log()))?;
        Ok(RunOutput {
            hello,
            startup_ns,
            rows: steps.rows,
            moves: steps.moves,
            window: steps.window,
            tap: steps.tap,
            run_ns: steps.run_ns,
            took_ns: steps.took_ns,
            testimony,
            destinations,
            server_libraries,
            driver_cpu_ns: driver.cpu_ns,
        })
    }

    fn run_steps(
        &self,
        bench: &mut Bench,
        processes: &mut Processes<'_>,
        setup: &Setup,
        notifies: bool,
    ) -> Result<Steps, CellError> {
        bench.set_capture(self.captures.frame_bytes())?;
        // A driver that goes on sending is not waited for: its packets are counted as stray.
        bench.settle(SETTLE_LIMIT)?;
        bench.begin_cell()?;
        let started = Instant::now();
        let run_ns = monotonic_ns();
        let deadline = || Instant::now() + self.run_limit();
        let moves = Moves {
            planned: self.moves,
            notifies,
        };
        let answer = processes.follow(bench, self.workload, moves, setup, deadline);
        let took_ns = started.elapsed().as_nanos() as u64;
        let window = bench.end_window()?;
        self.captures.keep_frames(bench)?;
        let (answer, moves) = answer?;
        let rows = match answer {
            RunAnswer::Rows(rows) => rows,
            RunAnswer::Unsupported { what, reason } => {
                return Err(CellError::Unsupported(format!("{what}: {reason}")));
            }
        };
        let tap = bench.tap()?;
        Ok(Steps {
            rows,
            moves,
            window,
            tap,
            run_ns,
            took_ns,
        })
    }

    fn claim(
        &self,
        destinations: BTreeMap<Option<String>, Destination>,
        hello: &Hello,
        run_ns: u64,
        traffic: Traffic,
    ) -> Claim<'_> {
        Claim {
            steps: self.workload.planned_steps(),
            protocol: self.arm.protocol,
            codec: self.arm.codec.name(),
            auth: self.arm.auth.map(AuthScheme::name),
            discovery: self.arm.discovery,
            destinations,
            clock: hello.clock,
            codes_own: self.codes_own(hello),
            run_ns,
            least_rtt_ns: self.network.least_rtt_ns(),
            down_bps: highest_bps(&self.network.down.rate),
            up_bps: highest_bps(&self.network.up.rate),
            warmed_up: self.arm.warmup_calls > 0,
            traffic,
        }
    }

    /// Returns a time that is longer than the workload takes when every request times out.
    fn run_limit(&self) -> Duration {
        // When the time of a load is over, each of its requests in flight may still time out.
        let is_planned = |id: &u32| self.workload.load_of(*id).is_none();
        let planned = self.workload.call_ids().filter(is_planned).count();
        let calls = (planned + self.workload.loads().count()) as u64;
        let ideal_ns = estimate_ns(self.workload, &Pipe::of(self.network));
        Duration::from_nanos(calls * self.timeout_ns + ideal_ns) + STARTUP_LIMIT
    }
}
