//! `commute link NETWORK -- CMD`: any command behind an emulated network.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use link::Overrides;
use pump::{Bench, BenchOptions, Init, Kind, Side, Spawn};

use crate::exit;
use crate::forward::{self, FarEnd, Forward};

/// Run a command behind an emulated network.
///
/// The command runs with your uid, your environment and your terminal, in a network of its
/// own: the only host it can reach is the far end of the link, where --forward puts services
/// of this host. Its exit status becomes ours: 128 plus the number of the signal that ended
/// it, 127 when there is no such command, 126 when it cannot be run.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute link true-metro --forward 8443=127.0.0.1:8443 -- curl -k https://far:8443/\n  \
    commute link 4g-tether --loss 2% --rtt 80ms --audit -- ./my-client\n  \
    commute link lan -- bash\n  \
    commute link true-metro --between usb0 eth1    # a phone behind the link")]
pub(crate) struct Args {
    /// A network's name (`commute networks` lists them), or the path of a TOML file
    network: String,
    /// Round trip, as 80ms
    #[arg(long)]
    rtt: Option<String>,
    /// Loss both ways, as 2%
    #[arg(long)]
    loss: Option<String>,
    /// Loss down, as 2%
    #[arg(long)]
    loss_down: Option<String>,
    /// Loss up, as 2%
    #[arg(long)]
    loss_up: Option<String>,
    /// Jitter both ways, as 5ms
    #[arg(long)]
    jitter: Option<String>,
    /// Largest IP packet, as 1400
    #[arg(long)]
    mtu: Option<String>,
    /// Rate down, as 5Mbit/s
    #[arg(long)]
    down: Option<String>,
    /// Rate up, as 1Mbit/s
    #[arg(long)]
    up: Option<String>,
    /// Queue of both directions in time, as 100ms
    #[arg(long)]
    queue: Option<String>,
    /// Seed of the link's luck
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Make a TCP and UDP service of this host reachable at the far end: PORT=HOST:PORT
    #[arg(long, value_name = "PORT=HOST:PORT")]
    forward: Vec<Forward>,
    /// Write every packet to this pcapng file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Print what the link did, and its own error, when the command has ended
    #[arg(long)]
    audit: bool,
    /// Join two interfaces of this host by the link instead, as a slow cable: a phone, a
    /// tethered device or another machine is behind the first, the server behind the second
    ///
    /// Every frame crosses, so both sides are on one subnet and the host takes no part; give
    /// the interfaces no address. Ends with Ctrl-C, or with the command if there is one, which
    /// runs on this host as usual. Needs root.
    #[arg(long, num_args = 2, value_names = ["IF1", "IF2"], conflicts_with_all = ["forward", "pcap"])]
    between: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "between", value_name = "CMD")]
    command: Vec<OsString>,
}

/// Name of the far end in the command's hosts file.
const FAR: &str = "far";
/// Room for the frames of one direction.
const CAPTURE_BYTES: usize = 256 << 20;

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let network = crate::verb::networks::find(&args.network)?.with_overrides(&args.overrides()?)?;
    if let [near, far] = &args.between[..] {
        return crate::between::run(&network, args.seed, [near, far], &args.command, args.audit);
    }
    let exe = std::env::current_exe().context("cannot find the commute binary")?;
    let options = BenchOptions {
        init: Init {
            program: exe,
            args: vec!["bench-init".into()],
        },
        names: vec![FAR.to_owned()],
        jobs: 1,
    };
    let mut bench = Bench::start(&options).map_err(|e| exit::Unfit(e.into()))?;
    bench.set_network(&network, args.seed)?;
    eprintln!("{}: {}", network.name, network.numbers());
    let far = far_ends(&mut bench, &args.forward)?;
    forward::start(far).context("--forward")?;
    if args.pcap.is_some() {
        bench.set_capture(CAPTURE_BYTES)?;
    }
    bench.begin()?;
    let spawn = Spawn {
        program: (&args.command[0]).into(),
        args: args.command[1..].to_vec(),
        env: std::env::vars_os().collect(),
        cwd: None,
        fds: crate::foreground::streams()?,
        foreground: true,
    };
    let mut process = match bench.spawn(Side::Client, spawn) {
        Err(pump::BenchError::NotRun { what, missing }) => {
            eprintln!("commute: {what}");
            return Ok(if missing {
                exit::NOT_FOUND
            } else {
                exit::NOT_RUN
            });
        }
        other => other?,
    };
    let status = crate::foreground::wait(&mut process)?;
    let window = bench.end()?;
    if let Some(path) = &args.pcap {
        save(&mut bench, path).with_context(|| format!("--pcap {}", path.display()))?;
    }
    if args.audit {
        crate::audit::print(&network, &window);
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
        ];
        for (key, value) in given {
            if let Some(value) = value {
                o.set(key, value).with_context(|| format!("--{key}"))?;
            }
        }
        Ok(o)
    }
}

fn save(bench: &mut Bench, path: &Path) -> anyhow::Result<()> {
    let (mut frames, missed) = bench.capture()?;
    std::io::copy(&mut frames, &mut File::create(path)?)?;
    if missed > 0 {
        eprintln!(
            "{}: {missed} packets came after it was full",
            path.display()
        );
    }
    Ok(())
}

/// Sockets at the far end, and a line that says how to reach each service.
fn far_ends(bench: &mut Bench, forwards: &[Forward]) -> anyhow::Result<Vec<(Forward, FarEnd)>> {
    let addresses = bench.facts().server.all();
    let mut out = Vec::new();
    for &forward in forwards {
        let mut far = FarEnd {
            tcp: Vec::new(),
            udp: Vec::new(),
        };
        for address in addresses {
            let at = SocketAddr::new(address, forward.port);
            let taken = || format!("--forward: port {} at the far end", forward.port);
            far.tcp.push(
                bench
                    .listen(Side::Server, Kind::Tcp, at)
                    .with_context(taken)?,
            );
            far.udp.push(
                bench
                    .listen(Side::Server, Kind::Udp, at)
                    .with_context(taken)?,
            );
        }
        eprintln!(
            "forward: {FAR}:{port} ({}:{port}) -> {}  TCP and UDP, split",
            addresses[0],
            forward.to,
            port = forward.port
        );
        out.push((forward, far));
    }
    Ok(out)
}
