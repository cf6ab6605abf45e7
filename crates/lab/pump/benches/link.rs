//! Accuracy and capacity of the link on this machine, busy and quiet. docs/explanation/link-accuracy.md has other
//! emulators', measured like for like.
//!
//! `cargo bench -p commute-pump` prints a line per measure: median and worst of nine consecutive
//! windows, with none left out. As root it measures twice, with and without privileges. An argument
//! selects the cases whose name contains it; `QUICK=1` takes three windows.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use link::{Direction, Network, PathSpec, QueueSpec, RateSpec};
use pump::{Bench, BenchOptions, Init, Side, Spawn};

use prober::{Probe, Probes, probe};

#[path = "../tests/common/prober.rs"]
mod prober;

const PEER: &str = env!("CARGO_BIN_EXE_pump-peer");
const DELAY_NS: u64 = 10_000_000;
/// Duration of sending in a window of the rate cases.
const RATE_WINDOW_NS: u64 = 4_000_000_000;
/// A user without privileges.
const NOBODY: u32 = 65534;

const CASES: &[Case] = &[
    Case {
        name: "dense 1 kpps",
        busy: true,
        run: |b| delays(b, 1_000_000, 2000),
    },
    Case {
        name: "dense 1 kpps after a teardown",
        busy: true,
        run: |b| delays_after(b, 1_000_000, 2000, || start_bench().map(drop)),
    },
    Case {
        name: "dense 1 kpps quiet",
        busy: false,
        run: |b| delays(b, 1_000_000, 2000),
    },
    Case {
        name: "sparse 20 ms",
        busy: true,
        run: |b| delays(b, 20_000_000, 150),
    },
    Case {
        name: "sparse 20 ms quiet",
        busy: false,
        run: |b| delays(b, 20_000_000, 150),
    },
    Case {
        name: "1 Mbit/s",
        busy: true,
        run: |b| rate(b, 1_000_000),
    },
    Case {
        name: "10 Mbit/s",
        busy: true,
        run: |b| rate(b, 10_000_000),
    },
    Case {
        name: "100 Mbit/s",
        busy: true,
        run: |b| rate(b, 100_000_000),
    },
    Case {
        name: "small UDP",
        busy: true,
        run: flood,
    },
    Case {
        name: "TCP",
        busy: true,
        run: tcp,
    },
    Case {
        name: "small UDP quiet",
        busy: false,
        run: flood,
    },
    Case {
        name: "TCP quiet",
        busy: false,
        run: tcp,
    },
];

const TARGETS: &[(&str, &str)] = &[
    ("dense 1 kpps: error p99", "25 us"),
    ("dense 1 kpps quiet: error p99", "40 us"),
    ("1 Mbit/s: rate error", "0.05 %"),
    ("10 Mbit/s: rate error", "0.05 %"),
    ("100 Mbit/s: rate error", "0.05 %"),
    ("100 Mbit/s: spacing error p50", "0.5 us"),
];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let filter = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .unwrap_or_default();
    let mut bench = start_bench()?;
    let facts = bench.facts();
    let user = if facts.rootless { "rootless" } else { "root" };
    let class = if facts.realtime {
        "SCHED_FIFO"
    } else {
        "normal scheduling"
    };
    println!("\n{user}, {class}: median / worst of {} windows", windows());
    println!("{:<34} {:>22} {:>9}", "", "measured", "target");
    for case in CASES.iter().filter(|case| case.name.contains(&filter)) {
        let load = if case.busy {
            burners(&mut bench)?
        } else {
            Vec::new()
        };
        let rows = (case.run)(&mut bench);
        drop(load);
        for (measure, values, unit) in rows? {
            let name = format!("{}: {measure}", case.name);
            let target = TARGETS.iter().find(|(n, _)| *n == name);
            let target = target.map_or("", |(_, text)| text);
            println!("{name:<34} {:>22} {target:>9}", spread(values, unit));
        }
    }
    if !bench.facts().rootless && std::env::var_os("ROOTLESS").is_none() {
        drop(bench);
        let rootless = Command::new(std::env::current_exe()?)
            .args(std::env::args().skip(1))
            .env("ROOTLESS", "1")
            .uid(NOBODY)
            .gid(NOBODY)
            .status()?;
        if !rootless.success() {
            return Err("the rootless half failed".into());
        }
    }
    Ok(())
}

fn start_bench() -> Result<Bench, Failure> {
    Ok(Bench::start(&BenchOptions {
        init: Init {
            program: PEER.into(),
            args: vec!["init".into()],
        },
        names: Vec::new(),
        jobs: 1,
        visible: Vec::new(),
        hidden: Vec::new(),
    })?)
}

/// A case of the benchmark.
struct Case {
    name: &'static str,
    /// Ordinary processes keep every core busy meanwhile.
    busy: bool,
    run: fn(&mut Bench) -> Result<Vec<Row>, Failure>,
}

/// A measure, its value per window, and the unit.
type Row = (&'static str, Vec<f64>, &'static str);

/// Measures the delay of probes beyond the 10 ms of the link.
fn delays(bench: &mut Bench, spacing_ns: u64, count: u32) -> Result<Vec<Row>, Failure> {
    delays_after(bench, spacing_ns, count, || Ok(()))
}

/// Measures like [`delays`], and calls `before` before each window.
fn delays_after(
    bench: &mut Bench,
    spacing_ns: u64,
    count: u32,
    before: impl Fn() -> Result<(), Failure>,
) -> Result<Vec<Row>, Failure> {
    bench.set_network(&network(delay_10_ms(), 1500), 1)?;
    let (mut p50, mut p99, mut late, mut cpu) = (vec![], vec![], vec![], vec![]);
    for _ in 0..windows() {
        before()?;
        bench.begin_window()?;
        let probes = Probes {
            direction: Direction::Up,
            count,
            spacing_ns,
            ip_bytes: 100,
        };
        let errors = errors_us(&probe(bench, &probes)?);
        let window = bench.end_window()?;
        p50.push(quantile(&errors, 0.5));
        p99.push(quantile(&errors, 0.99));
        late.push(window.up.lateness.p99_ns as f64 / 1e3);
        cpu.push(window.link_cpu_ns as f64 / 1e3 / f64::from(count));
    }
    Ok(vec![
        ("error p50", p50, "us"),
        ("error p99", p99, "us"),
        ("lateness p99", late, "us"),
        ("CPU per packet", cpu, "us"),
    ])
}

/// Offers twice the rate of the link, and measures the rate and spacing of arrivals.
fn rate(bench: &mut Bench, bps: u64) -> Result<Vec<Row>, Failure> {
    let path = PathSpec {
        rate: RateSpec::constant(bps),
        queue: QueueSpec {
            time_ns: Some(200_000_000),
            ..QueueSpec::default()
        },
        ..delay_10_ms()
    };
    bench.set_network(&network(path, 1500), 1)?;
    let ideal_ns = 1500.0 * 8.0 * 1e9 / bps as f64;
    let (mut off, mut p50, mut p99) = (vec![], vec![], vec![]);
    for _ in 0..windows() {
        let spacing_ns = ideal_ns as u64 / 2;
        let count = (RATE_WINDOW_NS / spacing_ns) as u32;
        let probes = Probes {
            direction: Direction::Up,
            count,
            spacing_ns,
            ip_bytes: 1500,
        };
        let mut arrivals: Vec<u64> = probe(bench, &probes)?
            .iter()
            .filter_map(|p| p.received_ns)
            .collect();
        arrivals.sort_unstable();
        // The queue fills at once and drains after the last probe is sent, so the link is saturated
        // from the first arrival to the last.
        let span_ns = (arrivals[arrivals.len() - 1] - arrivals[0]) as f64;
        off.push(((arrivals.len() - 1) as f64 * ideal_ns / span_ns - 1.0).abs() * 100.0);
        let gaps: Vec<f64> = arrivals
            .windows(2)
            .map(|w| ((w[1] - w[0]) as f64 - ideal_ns).abs() / 1e3)
            .collect();
        p50.push(quantile(&gaps, 0.5));
        p99.push(quantile(&gaps, 0.99));
    }
    Ok(vec![
        ("rate error", off, "%"),
        ("spacing error p50", p50, "us"),
        ("spacing error p99", p99, "us"),
    ])
}

/// Sends small packets as fast as one sender can.
fn flood(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    bench.set_network(&network(PathSpec::default(), 1500), 1)?;
    let (mut kpps, mut lost, mut cpu) = (vec![], vec![], vec![]);
    for _ in 0..windows() {
        bench.begin_window()?;
        let probes = Probes {
            direction: Direction::Up,
            count: 300_000,
            spacing_ns: 0,
            ip_bytes: 64,
        };
        let table = probe(bench, &probes)?;
        let window = bench.end_window()?;
        let arrivals: Vec<u64> = table.iter().filter_map(|p| p.received_ns).collect();
        let span_ns = arrivals.iter().max().unwrap_or(&1) - arrivals.iter().min().unwrap_or(&0);
        kpps.push(window.up.delivered.udp.packets as f64 * 1e6 / span_ns as f64);
        lost.push(window.foreign_drops.ring as f64);
        cpu.push(window.link_cpu_ns as f64 / 1e3 / window.up.delivered.udp.packets as f64);
    }
    Ok(vec![
        ("delivered", kpps, "kpps"),
        ("ring drops", lost, "packets"),
        ("CPU per packet", cpu, "us"),
    ])
}

/// Measures one TCP flow over an unimpaired link, server to client.
fn tcp(bench: &mut Bench) -> Result<Vec<Row>, Failure> {
    bench.set_network(&network(PathSpec::default(), 1500), 1)?;
    let server = Side::Server.addresses().v4;
    let address = format!("{server}:5001");
    let (_server, mut ready) = spawn(bench, Side::Server, &["serve", &address])?;
    ready.read_line(&mut String::new())?;
    let (mut goodput, mut cpu, mut lost) = (vec![], vec![], vec![]);
    for _ in 0..windows() {
        bench.begin_window()?;
        let (mut process, mut output) =
            spawn(bench, Side::Client, &["fetch", &address, "500000000"])?;
        let mut text = String::new();
        output.read_to_string(&mut text)?;
        process.wait(None)?;
        let window = bench.end_window()?;
        let numbers: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
        let [bytes, took_ns] = numbers[..] else {
            return Err("fetch printed nothing".into());
        };
        goodput.push(bytes * 8.0 / took_ns);
        let packets = window.up.sent.tcp.packets + window.down.sent.tcp.packets;
        cpu.push(window.link_cpu_ns as f64 / 1e3 / packets as f64);
        lost.push(window.foreign_drops.total() as f64);
    }
    Ok(vec![
        ("goodput", goodput, "Gbit/s"),
        ("foreign drops", lost, "packets"),
        ("CPU per packet", cpu, "us"),
    ])
}

fn spawn(
    bench: &mut Bench,
    side: Side,
    args: &[&str],
) -> Result<(pump::Process, BufReader<std::io::PipeReader>), Failure> {
    let (output, input) = std::io::pipe()?;
    let process = bench.spawn(
        side,
        Spawn {
            program: PEER.into(),
            args: args.iter().map(Into::into).collect(),
            fds: vec![(OwnedFd::from(input), 1)],
            ..Spawn::default()
        },
    )?;
    Ok((process, BufReader::new(output)))
}

/// Starts processes that keep every core busy until they are dropped or the bench ends.
fn burners(bench: &mut Bench) -> Result<Vec<pump::Process>, Failure> {
    let cores = std::thread::available_parallelism()?.get();
    (0..cores)
        .map(|_| Ok(spawn(bench, Side::Client, &["burn", "600000"])?.0))
        .collect()
}

fn delay_10_ms() -> PathSpec {
    PathSpec {
        delay_ns: DELAY_NS,
        ..PathSpec::default()
    }
}

fn network(path: PathSpec, mtu: u32) -> Network {
    Network {
        name: "bench".into(),
        about: String::new(),
        source: String::new(),
        basis: None,
        mtu,
        up: path.clone(),
        down: path,
        nat: None,
    }
}

fn errors_us(probes: &[Probe]) -> Vec<f64> {
    probes
        .iter()
        .filter_map(Probe::delay_ns)
        .map(|ns| (ns as f64 - DELAY_NS as f64) / 1e3)
        .collect()
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
        .get((sorted.len() as f64 * q) as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// Formats median and worst value; the worst throughput is the smallest.
fn spread(mut values: Vec<f64>, unit: &str) -> String {
    values.sort_by(f64::total_cmp);
    let more_is_better = matches!(unit, "kpps" | "Gbit/s");
    let worst = if more_is_better {
        values[0]
    } else {
        values[values.len() - 1]
    };
    let digits = match unit {
        "%" => 4,
        "Gbit/s" => 2,
        _ => 1,
    };
    format!(
        "{:.digits$} / {worst:.digits$} {unit}",
        values[values.len() / 2]
    )
}

fn windows() -> usize {
    if std::env::var_os("QUICK").is_some() {
        3
    } else {
        9
    }
}
