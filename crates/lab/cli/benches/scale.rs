//! How long a plan of a million cells takes, and a report on a hundred million requests, and in how much memory.
//!
//! The aims on two cores are 10 s and 1 GB, and 10 minutes and 4 GB. `make scale` measures that. Without `--full`, plan and
//! report are a hundredth as large, and only printed. Figures are of a process of their own each.
//!
//! Records are text in memory, made as they are read: pretty JSON as in files. Reading files is not measured.
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Context as _;
use lab::{AllowedFiles, Home, Lab};
use record::{Collector, CompactCalls, CompactRun, Planned, Run};
use serde_json::{Value, json};

const ARMS: usize = 10;
const NETWORKS: usize = 20;
const REQUESTS: usize = 1_000;
/// Requests on a connection.
const ON_CONNECTION: usize = 10;
/// Cells have the requests of one of so many, which differ.
const VARIANTS: usize = 64;
/// Bytes in a MiB.
const MIB: u64 = 1 << 20;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_full = arguments.iter().any(|argument| argument == "--full");
    let begun = Instant::now();
    match arguments.first().map(String::as_str) {
        Some("plan") => plan(is_full)?,
        Some("report") => report(is_full)?,
        _ => {
            let mut within = measure("plan", is_full, 10.0, 1_000_000_000)?;
            within &= measure("report", is_full, 600.0, 4_000_000_000)?;
            return Ok(match within {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            });
        }
    }
    println!("time {}", begun.elapsed().as_secs_f64());
    println!("peak {}", peak_bytes()?);
    Ok(ExitCode::SUCCESS)
}

/// Measures a step in a process of its own, and reports whether it was within its limits.
fn measure(step: &str, is_full: bool, most_s: f64, most_bytes: u64) -> anyhow::Result<bool> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(step).args(is_full.then_some("--full"));
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    anyhow::ensure!(
        output.status.success(),
        "{step}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse::<f64>().ok())
            .with_context(|| format!("{step} printed no {name}"))
    };
    let (s, bytes) = (figure("time")?, figure("peak")?);
    for line in text
        .lines()
        .filter(|l| !l.starts_with("time") && !l.starts_with("peak"))
    {
        println!("{step}: {line}");
    }
    println!(
        "{step}: {s:.1} s, peak memory {:.0} MiB",
        bytes / MIB as f64
    );
    let within = s <= most_s && bytes <= most_bytes as f64;
    if is_full && !within {
        println!("{step}: beyond {most_s} s or {} MiB", most_bytes / MIB);
    }
    Ok(within || !is_full)
}

/// Returns the peak of the resident memory of this process.
fn peak_bytes() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.context("no VmHWM")?.trim().parse::<u64>()? * 1024)
}

/// Plans a study of many arms on all networks.
fn plan(is_full: bool) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let lab = Lab::open(Home::named(&root, std::env::current_exe()?)?)?;
    let file = lab.home.study(Path::new("quickstart"))?;
    let plan = lab.plan(&file, &AllowedFiles::default(), |study| {
        let networks = link::builtin().iter().map(|(name, _)| (*name).to_owned());
        study.networks = networks.collect();
        let in_block = study.arms.len() * study.networks.len();
        let cells = if is_full { 1_000_000 } else { 10_000 };
        study.blocks = (cells / in_block + 1) as u32;
    })?;
    let head = plan.head();
    println!(
        "{} arms, {} networks, {} blocks: {} cells",
        head.arms.len(),
        head.networks.len(),
        head.blocks,
        head.plan.len()
    );
    Ok(())
}

/// Reads records, and reports on them.
fn report(is_full: bool) -> anyhow::Result<()> {
    let blocks = if is_full { 500 } else { 5 };
    let run = header(blocks)?;
    let plan = run.plan.clone();
    let mut collector = Collector::<CompactCalls>::new();
    collector.add_header(run)?;
    let records = Records::new();
    let begun = Instant::now();
    collector.add_cells(Path::new("synthetic"), plan.len(), |number| {
        let (file, text) = records.of(&plan[number], number);
        record::parse_cell(&file, text.as_bytes())
    })?;
    drop(plan);
    let data: CompactRun = collector.finish()?;
    println!(
        "{} cells of {REQUESTS} requests, {} B each as text: read in {:.1} s, peak memory so far {} MiB",
        data.cells().len(),
        records.bytes_per_request(),
        begun.elapsed().as_secs_f64(),
        peak_bytes()? / MIB
    );
    let begun = Instant::now();
    let summary = report::summarise(&data);
    println!(
        "{} comparisons, {} decided: in {:.1} s",
        summary.comparisons.all,
        summary.comparisons.decided,
        begun.elapsed().as_secs_f64()
    );
    anyhow::ensure!(report::brief(&summary, 110, false).len() > 1_000);
    Ok(())
}

/// Returns the header of a run whose cells have the same requests.
fn header(blocks: usize) -> anyhow::Result<Run> {
    let text = include_str!("../../record/tests/golden/format-2/run.json");
    let mut run: Value = serde_json::from_str(text)?;
    let arm = |arm: usize| with(&run["arms"][0], &[("name", json!(format!("arm {arm}")))]);
    let arms: Vec<Value> = (0..ARMS).map(arm).collect();
    let network = |n: usize| {
        with(
            &run["networks"][0],
            &[("name", json!(format!("network {n}")))],
        )
    };
    let networks: Vec<Value> = (0..NETWORKS).map(network).collect();
    let call = |id: usize| {
        let position = match id {
            0 => "cold_process",
            id if id.is_multiple_of(ON_CONNECTION) => "first",
            _ => "warm",
        };
        json!({ "id": id + 1, "group": "echo", "position": position, "batch": 1 })
    };
    let mut plan = Vec::new();
    for block in 0..blocks {
        for network in 0..NETWORKS {
            for arm in 0..ARMS {
                plan.push(json!({
                    "id": format!("{network}-{block}-{arm}"),
                    "network": format!("network {network}"),
                    "block": block,
                    "arm": format!("arm {arm}"),
                    "position": arm,
                }));
            }
        }
    }
    let changes = [
        ("arms", json!(arms)),
        ("networks", json!(networks)),
        ("calls", (0..REQUESTS).map(call).collect()),
        ("plan", json!(plan)),
        ("baseline", json!("arm 0")),
        ("blocks", json!(blocks)),
    ];
    Ok(serde_json::from_value(with(&run.take(), &changes))?)
}

/// Returns an object with other values for these keys.
fn with(object: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = object.clone();
    for (key, value) in changes {
        object[*key] = value.clone();
    }
    object
}

/// The texts of records.
struct Records {
    /// A record without requests.
    cell: Value,
    /// The requests of each variant.
    calls: Vec<String>,
}

impl Records {
    fn new() -> Records {
        let text = include_str!("../../record/tests/golden/format-2/cells/nowhere-0-one.1.1.json");
        let cell: Value = serde_json::from_str(text).expect("the record is valid");
        let (mut call, mut state) = (cell["calls"][0].clone(), 1_u64);
        for absent in ["parts", "path"] {
            call.as_object_mut().map(|call| call.remove(absent));
        }
        let mut random = || {
            // Xorshift (Marsaglia 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 5_000_000
        };
        let mut call_of = |id: usize| {
            let first = id.is_multiple_of(ON_CONNECTION);
            let (connect, tls) = (first.then(&mut random), first.then(&mut random));
            let end_ns = 100_000_000 + random() + if first { 200_000_000 } else { 0 };
            let changes = [
                ("id", json!(id + 1)),
                ("connection", json!(id / ON_CONNECTION + 1)),
                ("first", json!(first)),
                (
                    "state",
                    json!(if first { "cold_connection" } else { "warm" }),
                ),
                ("start_ns", json!(id as u64 * 350_000_000 + random())),
                ("connect_ns", json!(connect.map(|ns| 100_000_000 + ns))),
                ("tls_ns", json!(tls.map(|ns| 200_000_000 + ns))),
                ("request_sent_ns", json!(random())),
                ("first_byte_ns", json!(end_ns - 50_000)),
                ("end_ns", json!(end_ns)),
                ("server_ns", json!(random())),
            ];
            with(&call, &changes)
        };
        let mut calls_of = || -> Vec<Value> { (0..REQUESTS).map(&mut call_of).collect() };
        let text = |calls: Vec<Value>| serde_json::to_string_pretty(&calls);
        let calls = (0..VARIANTS).map(|_| text(calls_of()).expect("a value is valid"));
        Records {
            calls: calls.collect(),
            cell: with(&cell, &[("calls", Value::Null)]),
        }
    }

    /// Returns the name and the text of a record.
    fn of(&self, planned: &Planned, number: usize) -> (PathBuf, String) {
        let cell = with(
            &self.cell,
            &[
                ("id", json!(planned.id)),
                ("network", json!(planned.network)),
                ("block", json!(planned.block)),
                ("arm", json!(planned.arm)),
            ],
        );
        let text = serde_json::to_string_pretty(&cell).expect("a value is valid");
        // Neighbours do not have the same requests.
        let calls = &self.calls[number.wrapping_mul(2_654_435_761) % VARIANTS];
        let file = format!("{}.1.1.json", planned.id);
        (
            file.into(),
            text.replacen("\"calls\": null", &format!("\"calls\": {calls}"), 1),
        )
    }

    fn bytes_per_request(&self) -> usize {
        self.calls[0].len() / REQUESTS
    }
}
