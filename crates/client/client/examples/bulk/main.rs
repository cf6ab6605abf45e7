//! Measures the CPU time of a download over HTTP/3 on loopback: the client, libcurl and Cronet in turn.
//!
//! `cargo run --release -p commute-client --example bulk [ROUNDS] [MBIT_PER_S]`; by default 5 rounds at 1,000 Mbit/s. A rate
//! of 0 sends as fast as the client reads. Every download has 300 MB, after one small request that opens the connection
//! and is not counted. The CPU time is that of the whole process, all threads and the kernel's part included.
//! curl.py and cronet.py beside this file need `commute stacks install curl cronet`; a stack that is missing is left out.

mod server;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use client::{Engine, Policy, Trust};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BYTES: u64 = 300_000_000;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", folder, mbit_per_s] => server::run(Path::new(folder), mbit_per_s.parse()?, BYTES),
        ["get", url, authority] => get(url, authority),
        [] => compare(5, 1_000),
        [rounds] => compare(rounds.parse()?, 1_000),
        [rounds, mbit_per_s] => compare(rounds.parse()?, mbit_per_s.parse()?),
        _ => Err("usage: bulk [ROUNDS] [MBIT_PER_S]".into()),
    }
}

/// A stack and its program, which takes a URL and a file of authorities.
struct Stack {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<PathBuf>,
}

/// One download.
struct Download {
    cpu_s: f64,
    wall_s: f64,
}

fn compare(rounds: usize, mbit_per_s: u64) -> Outcome<()> {
    let own = std::env::current_exe()?;
    let folder = tempfile::tempdir()?;
    let mut server = Command::new(&own)
        .arg("serve")
        .arg(folder.path())
        .arg(mbit_per_s.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let port = first_line(&mut server)?;
    let url = format!("https://localhost:{}/", port.trim());
    let authority = folder.path().join("ca.pem");
    let stacks = stacks(own);
    let mut downloads: Vec<Vec<Download>> = stacks.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for place in 0..stacks.len() {
            let number = (round + place) % stacks.len();
            let download = run(&stacks[number], &url, &authority)?;
            let (name, rate) = (stacks[number].name, rate(&download));
            println!(
                "{name}: {:.2} s of CPU time per GB, {rate:.0} Mbit/s",
                per_gb(&download)
            );
            downloads[number].push(download);
        }
    }
    // The server ends with its standard input.
    drop(server.stdin.take());
    server.wait()?;
    println!(
        "\n| stack | CPU s per GB, median | least | most | Mbit/s | the client's against it, median of rounds |"
    );
    println!("|---|---|---|---|---|---|");
    for (stack, of) in stacks.iter().zip(&downloads) {
        let cpu = sorted(of.iter().map(per_gb));
        let rates = sorted(of.iter().map(rate));
        let pairs = downloads[0].iter().zip(of);
        let ratios = sorted(pairs.map(|(client, other)| client.cpu_s / other.cpu_s));
        let (least, most) = (cpu[0], cpu[cpu.len() - 1]);
        let (name, cpu) = (stack.name, median(&cpu));
        let (rate, ratio) = (median(&rates), median(&ratios));
        println!("| {name} | {cpu:.2} | {least:.2} | {most:.2} | {rate:.0} | {ratio:.2}x |");
    }
    Ok(())
}

/// Returns the client and those of the other stacks that are installed.
fn stacks(own: PathBuf) -> Vec<Stack> {
    let client = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = client.join("../../../stacks");
    let mut stacks = vec![Stack {
        name: "client",
        program: own,
        arguments: vec!["get".into()],
    }];
    for (name, script) in [("curl", "curl.py"), ("cronet", "cronet.py")] {
        let program = installed.join(name).join(".venv/bin/python3");
        if !program.exists() {
            println!("{name} is left out; to install it: commute stacks install {name}");
            continue;
        }
        let script = client.join("examples/bulk").join(script);
        let arguments = vec![script, installed.join(name)];
        stacks.push(Stack {
            name,
            program,
            arguments,
        });
    }
    stacks
}

fn run(stack: &Stack, url: &str, authority: &Path) -> Outcome<Download> {
    let mut child = Command::new(&stack.program)
        .args(&stack.arguments)
        .arg(url)
        .arg(authority)
        .stdout(Stdio::piped())
        .spawn()?;
    let line = first_line(&mut child)?;
    let status = child.wait()?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let [cpu_s, wall_s, bytes] = words[..] else {
        return Err(format!("{}: {status}, printed {line:?}", stack.name).into());
    };
    if bytes.parse::<u64>()? != BYTES {
        return Err(format!("{}: {bytes} of {BYTES} bytes", stack.name).into());
    }
    let (cpu_s, wall_s) = (cpu_s.parse()?, wall_s.parse()?);
    Ok(Download { cpu_s, wall_s })
}

fn first_line(child: &mut Child) -> Outcome<String> {
    let out = child.stdout.take().ok_or("its output is not piped")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    Ok(line)
}

/// Downloads twice, and prints CPU time, wall-clock time and bytes of the second download.
fn get(url: &str, authority: &str) -> Outcome<()> {
    let roots = std::fs::read(authority)?;
    let engine = Engine::builder().trust(Trust::Roots(roots)).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(fetch(&engine, url))?;
    let (cpu_s, began) = (cpu_s(), Instant::now());
    let bytes = runtime.block_on(fetch(&engine, url))?;
    let cpu_s = self::cpu_s() - cpu_s;
    println!("{cpu_s} {} {bytes}", began.elapsed().as_secs_f64());
    Ok(())
}

async fn fetch(engine: &Engine, url: &str) -> Outcome<u64> {
    let mut response = engine.get(url).policy(Policy::H3).send().await?;
    let mut bytes = 0;
    while let Some(chunk) = response.chunk().await? {
        bytes += chunk.len() as u64;
    }
    Ok(bytes)
}

/// Returns the CPU time of this process.
fn cpu_s() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the CPU time in seconds per 10^9 bytes.
fn per_gb(download: &Download) -> f64 {
    download.cpu_s * 1e9 / BYTES as f64
}

fn rate(download: &Download) -> f64 {
    BYTES as f64 * 8e-6 / download.wall_s
}

fn sorted(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}
