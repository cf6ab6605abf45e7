//! `commute link NETWORK -- CMD`: runs any command behind an emulated network.

mod audit;
mod bridge;
mod capture;
mod far;
mod foreground;
mod forward;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use link::Overrides;
use pump::{Bench, BenchOptions, Init, Side, Spawn};

use crate::{exit, out, progress};
use capture::Capture;
use far::FarProcess;
use forward::Forward;

/// Printed where the link's threads have ordinary priority. Lateness: docs/explanation/link-accuracy.md.
const NOT_REALTIME: &str = "warning: the link has no real-time priority, so that packets are up to \
     3 ms late while other programs run; run as root, or allow it by the limit `rtprio` 10 \
     (limits.conf)";
/// The far end's name in the command's hosts file.
const FAR: &str = "far";
/// Memory for the captured frames of one direction.
const CAPTURE_BYTES: usize = 256 << 20;

/// Run a command behind an emulated network
///
/// The command runs with your user id, environment and terminal, in a network namespace of its own,
/// where it may also capture packets (tcpdump -i eth0) and ping. The only host it can reach is `far`,
/// the far end of the link: --far runs a second program there, and --forward makes services of this
/// host reachable there. Exits with the command's status: 128 plus the signal's number if a signal
/// ended it, 127 if it does not exist, 126 if it cannot be run. Where commute itself fails, exits with
/// 125.
///
/// All capabilities but CAP_NET_RAW are dropped, also for root, from the command and from the program at the
/// far end: what changes its root folder or its user, e.g. sshd, fails. With -q only errors are printed.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute link true-metro --forward 8443=127.0.0.1:8443 -- curl -k https://far:8443/\n  \
    commute link 4g-tether --loss 2% --rtt 80ms --audit -- ./my-client\n  \
    commute link lan -- bash\n  \
    commute link true-metro --far 'iperf3 -s' -- iperf3 -c far\n  \
    commute link true-metro --between usb0 eth1    # a phone behind the link")]
pub(crate) struct Args {
    /// Name of a network (`commute networks` lists them), or path of a TOML file
    network: String,
    /// Let the network's file name this trace, which is outside its folder; repeatable
    #[arg(long, value_name = "FILE")]
    allow_file: Vec<PathBuf>,
    /// Round-trip time, e.g. 80ms
    #[arg(long)]
    rtt: Option<String>,
    /// Packet loss in both directions, e.g. 2%
    #[arg(long)]
    loss: Option<String>,
    /// Packet loss down, e.g. 2%
    #[arg(long)]
    loss_down: Option<String>,
    /// Packet loss up, e.g. 2%
    #[arg(long)]
    loss_up: Option<String>,
    /// Jitter in both directions, e.g. 5ms
    #[arg(long)]
    jitter: Option<String>,
    /// Largest IP packet (MTU), e.g. 1400
    #[arg(long)]
    mtu: Option<String>,
    /// Rate down, e.g. 5Mbit/s
    #[arg(long)]
    down: Option<String>,
    /// Rate up, e.g. 1Mbit/s
    #[arg(long)]
    up: Option<String>,
    /// Queue per direction, e.g. 100ms
    #[arg(long)]
    queue: Option<String>,
    /// Management of the queue: codel, fq-codel or none
    #[arg(long)]
    aqm: Option<String>,
    /// Random seed of loss and jitter
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Make the TCP and UDP service at HOST:PORT reachable at the far end; repeatable
    #[arg(long, value_name = "PORT=HOST:PORT")]
    forward: Vec<Forward>,
    /// Run this at the far end, e.g. 'python3 -m http.server 80'; nothing but the link is between it
    /// and CMD
    ///
    /// A shell runs it, with your user id and environment, without input; its output goes to
    /// standard error. CMD starts once it has opened a port, within 10 s at most, and reaches it by
    /// the name `far`. It gets SIGTERM when CMD has ended, and 5 s later SIGKILL.
    #[arg(long, value_name = "FAR_CMD")]
    far: Option<OsString>,
    /// Write every packet to this folder: client.pcapng is what the command's end of the link sent
    /// and received, server.pcapng the far end
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Print link statistics and timing error on exit
    #[arg(long)]
    audit: bool,
    /// Bridge two interfaces of this host through the link: the client, e.g. a tethered phone, is
    /// behind the first, the server behind the second
    ///
    /// Both sides share a subnet, and the host takes no part: give the interfaces no address. Runs
    /// until Ctrl-C, or until the command ends if there is one, which runs on this host as usual.
    /// Needs root.
    #[arg(long, num_args = 2, value_names = ["IF1", "IF2"], conflicts_with_all = ["forward", "far", "pcap"])]
    between: Vec<String>,
    /// The command and its arguments; put -- before it if it begins with a hyphen
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "between",
        value_name = "CMD"
    )]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    run_command(args).map_err(|e| match exit::code_of(&e) {
        exit::USAGE => e,
        _ => exit::with(exit::WRAPPER, e),
    })
}

fn run_command(args: &Args) -> anyhow::Result<u8> {
    let network = crate::verb::networks::find(&args.network, &args.allow_file)?
        .with_overrides(&args.overrides()?)?;
    if let [near, far] = &args.between[..] {
        return bridge::run(&network, args.seed, [near, far], &args.command, args.audit);
    }
    let capture = args.pcap.as_deref().map(Capture::create).transpose()?;
    let exe = std::env::current_exe().context("cannot find the commute binary")?;
    let options = BenchOptions {
        init: Init {
            program: exe,
            args: vec!["bench-init".into()],
        },
        names: vec![FAR.to_owned()],
        jobs: 1,
        visible: Vec::new(),
        hidden: Vec::new(),
    };
    let mut bench = Bench::start(&options)?;
    if !bench.facts().realtime {
        progress::line(NOT_REALTIME);
    }
    bench.set_network(&network, args.seed)?;
    progress::line(&format!("{}: {}", network.name, network.numbers()));
    let _relay = forward::start(&mut bench, &args.forward)?;
    if capture.is_some() {
        bench.set_capture(CAPTURE_BYTES)?;
    }
    bench.begin_window()?;
    let mut far_process = match &args.far {
        Some(command) => Some(FarProcess::start(&mut bench, command)?),
        None => None,
    };
    let spawn = Spawn {
        program: (&args.command[0]).into(),
        args: args.command[1..].to_vec(),
        env: std::env::vars_os().collect(),
        cwd: None,
        fds: foreground::streams()?,
        foreground: true,
        confinement: None,
        sandbox: None,
        raw_sockets: true,
    };
    let mut signals = foreground::catch_signals()?;
    let mut process = match bench.spawn(Side::Client, spawn) {
        Err(pump::BenchError::CannotRun { message, not_found }) => {
            out::note!("commute: {message}");
            return Ok(if not_found {
                exit::NOT_FOUND
            } else {
                exit::NOT_RUN
            });
        }
        other => other?,
    };
    let status = foreground::wait(&mut process, &mut signals, || {
        far_process.as_mut().map_or(Ok(()), FarProcess::check)
    })?;
    let window = bench.end_window()?;
    if let Some(far) = far_process {
        far.end()?;
    }
    if let Some(capture) = capture {
        capture.save(&mut bench)?;
    }
    if args.audit {
        audit::print(&network, &window);
    }
    Ok(status)
}

impl Args {
    fn overrides(&self) -> anyhow::Result<Overrides> {
        let mut o = Overrides::default();
        let given = [
            ("rtt", &self.rtt),
            ("loss", &self.loss),
            ("loss-down", &self.loss_down),
            ("loss-up", &self.loss_up),
            ("jitter", &self.jitter),
            ("mtu", &self.mtu),
            ("down", &self.down),
            ("up", &self.up),
            ("queue", &self.queue),
            ("aqm", &self.aqm),
        ];
        for (key, value) in given {
            if let Some(value) = value {
                o.set(key, value).with_context(|| format!("--{key}"))?;
            }
        }
        Ok(o)
    }
}
